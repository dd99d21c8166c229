/* The drawing of a model: the shapes of its `draw` statements. Their numbers are expressions in a
 * separate graph, so that a drawing does not affect the motion and costs nothing until it is drawn.
 *
 * A number that moves is a channel; equal expressions share a channel. Everything is allocated in
 * the arena of the problem. */
#ifndef NH_MODEL_DRAW_H
#define NH_MODEL_DRAW_H

#include "model/graph.h"

typedef enum nh_draw_shape {
#define SHAPE(NAME, name, least, most, needs, takes) NH_DRAW_##NAME,
#include "model/draw.def"
    NH_DRAW_SHAPES
} nh_draw_shape;

typedef enum nh_draw_key {
#define KEY(NAME, name, value) NH_KEY_##NAME,
#include "model/draw.def"
    NH_DRAW_KEYS
} nh_draw_key;

enum {
    NH_DRAWN_MOST = 1000 /* how many members of a family are drawn: the first ones */
};

typedef enum nh_key_value {
    NH_KEY_IS_NUMBER,
    NH_KEY_IS_POINT,
    NH_KEY_IS_DIRECTION,
    NH_KEY_IS_EXTENT,
    NH_KEY_IS_SPACE,
    NH_KEY_IS_MATRIX,
    NH_KEY_IS_WORD
} nh_key_value;

typedef struct nh_shape_words {
    const char *name;
    int least, most;       /* number of points */
    unsigned needs, takes; /* bit (1 << nh_draw_key) */
} nh_shape_words;
extern const nh_shape_words nh_shape_words_of[NH_DRAW_SHAPES];

typedef struct nh_key_words {
    const char *name;
    nh_key_value value;
} nh_key_words;
extern const nh_key_words nh_key_words_of[NH_DRAW_KEYS];

typedef struct nh_colour {
    const char *name, *light, *dark;
} nh_colour;
extern const nh_colour nh_colours[];
extern const int nh_colour_total;

typedef struct nh_drawn_number {
    int channel; /* -1: constant */
    double value;
} nh_drawn_number;

typedef struct nh_drawn_value {
    int count; /* 0: not given; for an attitude, 4: a quaternion, 9: a matrix */
    nh_drawn_number *number;
} nh_drawn_value;

typedef struct nh_drawn {
    nh_draw_shape shape;
    int points;
    nh_drawn_value *point;
    nh_drawn_value key[NH_DRAW_KEYS];
    int colour;       /* index in nh_colours, -1: not given */
    const char *name; /* of the constraint whose reaction it is, or NULL */
    struct nh_drawn *next;
} nh_drawn;

/* What constraints exert, an argument NH_X of the channels: the sum of lambda of some rows, times
 * their derivatives by a velocity if there is one. */
typedef struct nh_drawn_reaction {
    int velocity; /* -1: lambda itself */
    int rows, *row;
} nh_drawn_reaction;

typedef struct nh_drawing {
    nh_graph *graph;
    int dimensions; /* 2 or 3 */
    nh_drawn *first;
    int channels;
    nh_expr *channel;
    int reactions;
    nh_drawn_reaction *reaction;
    bool cut; /* a family has more members than are drawn */
} nh_drawing;

#endif
