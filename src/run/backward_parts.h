/* What the files of a sweep share; see backward.h. */
#ifndef NH_RUN_BACKWARD_PARTS_H
#define NH_RUN_BACKWARD_PARTS_H

#include "base/pack.h"
#include "run/journal.h"
#include "run/backward.h"

typedef struct nh_backward_state { /* a state that is kept */
    int64_t node;
    nh_pack state;
} nh_backward_state;

typedef struct nh_backward_stretch { /* moves of equal length, up to the next stretch */
    int64_t first;
    double length; /* 0: that of the run's steps */
} nh_backward_stretch;

typedef struct nh_backward_move { /* on the way back */
    double time;                  /* when it begins */
    size_t first, last;           /* items of the journal */
    bool other;                   /* more happened */
    double *end;                  /* the state before inputs were given, if they were */
} nh_backward_move;

struct nh_backward {
    nh_run *run;
    nh_adjoint *adjoint;
    nh_journal journal;
    bool parameters;
    nh_backward_stretch *stretch;
    int stretches;
    int64_t moves, spacing; /* all, and those between two states that are kept */
    int64_t planned;        /* after which the run ends; 0: it may go on */
    nh_backward_state *kept;
    int count, room;
    size_t memory, used, most; /* bytes: allowed, of states at present, and at once */
    nh_backward_move *move;
    int64_t move_room;
    const nh_backward_hooks *hooks; /* of the present way back */
    double told;                    /* when they were told last */
    double *at_end;                 /* derivatives by the end of a move */
    nh_tangent *tangent;            /* in many directions, once it is needed */
    double **piece; /* [inputs][rows][values]: derivatives by the pieces of tables */
    double *moved;  /* results of directions */
};

/* To a later node, from a state that is kept or from the present one. */
nh_status nh_backward_return(nh_backward *s, const nh_backward_state *from, int64_t node,
                             nh_report *report);
nh_status nh_backward_go(nh_backward *s, int64_t from, int64_t to, nh_report *report);

/* ---- backward_transfer.c ---- */

/* Carries d back through a move by its derivatives in all directions. `from` is before it. */
nh_status nh_backward_transfer(nh_backward *s, const nh_backward_state *from, int64_t node,
                               double *d, nh_report *report);
void nh_backward_forget_pieces(nh_backward *s);
void nh_backward_free_transfer(nh_backward *s);

#endif
