/* Short forms: statements for bodies, wheels, blades and springs that stand for ordinary ones.
 *
 *     gravity  VECTOR
 *     body     NAME [for i in a..b:] mass m [inertia I] at POINT [attitude R | angle A]
 *     wheel    NAME [for ..:] radius r [mass m] [inertia I] at CENTRE attitude R axis a [spin s]
 *                   [on ground | on plane POINT normal N] [free | grip mu [restitution e]]
 *     wheel    NAME [for ..:] radius r [mass m] [inertia I] at POINT along A [spin s]
 *                   [free | grip LIMIT]
 *     blade    NAME [for ..:] at POINT along A [grip LIMIT]
 *     spring   [for ..:] P, Q stiffness k [length l] [damping c]
 *     damper   [for ..:] P, Q damping c
 *     draw     NAME none, draw NAME SHAPE {KEY value}
 *
 * A text with short forms is read in four steps. The outline (short_read.c) has the statements of
 * the text and the parts of short forms. The survey (short_survey.c) asks, twice, questions that
 * only values can answer: is an inertia a number, a vector or a matrix; does a wheel touch the
 * plane by itself. It does so by building a model that contains only what is needed for an answer.
 * Then the expansion (short_text.c) is written, and read in place of the text. So there is nothing
 * that the expansion does not say; and since its characters know where they come from, messages
 * point into the text as it was written. */
#ifndef NH_MODEL_SHORT_FORMS_H
#define NH_MODEL_SHORT_FORMS_H

#include "model/ast.h"
#include "model/suggest.h"

typedef enum nh_short_kind {
    NH_SHORT_GRAVITY,
    NH_SHORT_BODY,
    NH_SHORT_WHEEL,
    NH_SHORT_BLADE,
    NH_SHORT_SPRING,
    NH_SHORT_DAMPER,
    NH_SHORT_KINDS
} nh_short_kind;

/* What is given in a short form; the word before it, except for the first three. */
typedef enum nh_short_part {
    NH_PART_VECTOR, /* of gravity */
    NH_PART_FROM,   /* the ends of a spring */
    NH_PART_TO,
    NH_PART_MASS,
    NH_PART_INERTIA,
    NH_PART_AT,
    NH_PART_ATTITUDE,
    NH_PART_ANGLE,
    NH_PART_RADIUS,
    NH_PART_AXIS,
    NH_PART_SPIN,
    NH_PART_ON, /* without a value: `ground` or `plane` follows */
    NH_PART_PLANE,
    NH_PART_NORMAL,
    NH_PART_ALONG,
    NH_PART_FREE, /* without a value */
    NH_PART_GRIP,
    NH_PART_RESTITUTION,
    NH_PART_STIFFNESS,
    NH_PART_LENGTH,
    NH_PART_DAMPING,
    NH_SHORT_PARTS,

    /* what the survey finds out */
    NH_IS_UNKNOWN = NH_SHORT_PARTS, /* whether `along` is followed by an angle: not yet */
    NH_IS_PAIR,                     /* the inertia is (across, along); */
    NH_IS_DIAGONAL,                 /* a vector of length 3, */
    NH_IS_MATRIX,                   /* this or a matrix; otherwise a number */
    NH_IS_IN_SPACE,                 /* the point has length 3 */
    NH_IS_DIRECTION,                /* `along` is followed by a vector, not by an angle */
    NH_IS_MASSLESS,
    NH_IS_HELD,    /* the wheel touches the plane by itself */
    NH_IS_CARRIED, /* the plane moves */
    NH_IS_STEADY,  /* the first component of the slip vanishes by itself, or with earlier ones */
    NH_IS_GUIDED,  /* the second component, or the only one of a blade */
    NH_IS_FALLING, /* there is gravity */
    NH_IS_DRAWN,   /* as nothing else is said */
    NH_IS_REDRAWN  /* by `draw NAME SHAPE` */
} nh_short_part;

#define NH_SHORT_BIT(part) (UINT64_C(1) << (part))

typedef struct nh_slice { /* of the text as it was written */
    size_t from, to;
    nh_place place;
} nh_slice;

typedef struct nh_use { /* a property that the text uses: "at" of frame.at */
    const char *word;
    nh_place place; /* where first */
    struct nh_use *next;
} nh_use;

typedef struct nh_short {
    nh_short_kind kind;
    const char *name;  /* "frame"; of a spring "spring1" */
    const char *index; /* of a family, or NULL */
    nh_slice range;    /* "i in 1..N" */
    nh_place place;    /* of the name */
    nh_slice part[NH_SHORT_PARTS];
    nh_use *use;  /* each property once */
    uint64_t has; /* NH_SHORT_BIT of the parts that are given and of what was found out */
    struct nh_short *next;
} nh_short;

typedef struct nh_passage { /* a statement of the text */
    nh_slice slice;
    nh_statement_kind kind; /* of an ordinary one */
    bool grips;             /* it contains `grip`: it need not hold */
    nh_short *is;           /* the short form that it is, */
    const nh_short *draws;  /* or whose drawing it gives */
    nh_slice drawing;       /* its shape and keys */
    nh_place end;           /* behind it */
    struct nh_passage *next;
} nh_passage;

typedef struct nh_outline {
    nh_arena arena;
    const nh_source *source;
    nh_passage *passage;
    nh_short *first;
    int shorts;
} nh_outline;

/* What the text is written for. */
typedef enum nh_short_stage {
    NH_STAGE_SHAPES, /* to find out what the parts are */
    NH_STAGE_ROWS,   /* to find out which constraints hold by themselves */
    NH_STAGE_WHOLE
} nh_short_stage;

/* "mass"; "vector", "from", "to" and "plane" for those that no word precedes. */
const char *nh_short_part_name(int part);
/* How many points a drawing of this shape has at most. */
int nh_short_points(const char *shape);
/* Offers the names of the short forms. */
void nh_short_forms_offer(nh_suggest *suggest);

/* Without short forms (`shorts` is 0) nothing is reported. */
nh_status nh_outline_read(nh_outline *outline, const nh_source *source, nh_report *report);
/* Whether the properties that the text uses exist, for any forms of this kind or, once `surveyed`,
 * for these. */
nh_status nh_outline_check(const nh_outline *outline, bool surveyed, nh_report *report);
nh_status nh_outline_survey(nh_outline *outline, nh_report *report);
/* The text to read, in the arena. */
nh_status nh_outline_write(const nh_outline *outline, nh_short_stage stage, nh_arena *arena,
                           nh_source *expanded, nh_report *report);
void nh_outline_free(nh_outline *outline);

#endif
