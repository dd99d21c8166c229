/* What a run hands to a kernel: state, sizes, options. It is the same for kernels built into the
 * library and for emitted ones, so this header includes nothing. Every entry of an array is LANES
 * numbers. */
#ifndef NH_KERNEL_IO_H
#define NH_KERNEL_IO_H

#ifndef NH_EMITTED
/* Whatever is compiled for each number of lanes and each kind of processor has a name for each
 * variant. */
#define NH_OF_VARIANT_2(name, variant) name##_##variant
#define NH_OF_VARIANT_1(name, variant) NH_OF_VARIANT_2(name, variant)
#define OF_VARIANT(name) NH_OF_VARIANT_1(name, NH_VARIANT)
#endif

/* Sizes and patterns of a system. The sparse matrices K and B are lists of entries by constraint:
 * those of constraint j are first[j] .. first[j+1]-1, and column[] says to which coordinate each
 * belongs. */
typedef struct nh_shape {
    int n, m, nk, nb;
    int positions, ng; /* conditions on positions (the last of the m), and their entries of K */
    int nf;            /* numbers in the factors of the mass matrix that are not constant */
    const int *k_first, *k_column, *b_first, *b_column;
    /* K B: entry (i, j) is the sum over e in pair_first[i*m+j] .. of K[pair_k[e]] * B[pair_b[e]].
     * NULL when m is too large for it. */
    const int *pair_first, *pair_k, *pair_b;
    int inputs; /* numbers that a run is given from outside for its open inputs */
    int angles;
    const int *angle; /* coordinates that are angles */
    int rotations;
    const int *rotation; /* the first of the four coordinates of each rotation */
    int reaction_is_linear, constant_mass, separable, affine, linear; /* as in nh_facts */
    int nonideal;       /* the force of the constraints is more than K^T psi */
    int slope_degree;   /* degree of gradV as a polynomial in q; -1 if it is not one */
    int surface_degree; /* likewise of G, the rows of conditions on positions */
    int flat;           /* constant mass, and every velocity belongs to a coordinate */
    int plain_momentum; /* p = M v + constant, with a constant M */
    int driver;         /* of a coupled system, or -1 */
    int energy_scales;  /* energy is conserved and v may be scaled: energy = V(q) + s^2 T for s v */
    int settles;        /* velocities are projected by SETTLE, which does without B */
    double size_of_positions; /* round-off of the conditions on positions moves coordinates by about
                               * one unit in the last place of this, however near zero they are;
                               * the only number, and the last field (method/precise_step.c) */
} nh_shape;

/* Computes function fn (an nh_fn). Returns 0, or what the user's function returned. u: the
 * inputs. */
typedef int nh_call_fn(const void *self, int fn, double t, const void *q, const void *v,
                       const void *x, void *out, const void *u);

typedef struct nh_kernel_io {
    double step, time;  /* h, and t when index was 0 */
    int parts;          /* number of parts of a composed step, else 1 */
    const double *part; /* their lengths in units of h, then where they begin */
    long long index;    /* steps done */
    /* the state; with several lanes its parts, up to the inputs, are contiguous */
    double *q, *v;           /* [n] */
    double *q_low, *v_low;   /* [n], rounding errors; used when compensated */
    double *revolutions;     /* [angles], full revolutions taken off */
    double *memory;          /* of the method; survives between steps */
    const double *u;         /* inputs, constant during a call; with derivatives (dual.h) there is
                                room for the time after them */
    double *scratch;         /* used during a step, by general kernels only */
    long long *scratch_peak; /* the most that any step took of it, in reals */
    const double *option, *table;
    const int *size; /* [NH_SIZES], from the method's descriptor */
    const nh_shape *shape;
    nh_call_fn *const *call; /* computes each function; all of them get `self` */
    const void *self;
    int compensated;
    /* If `row` is given, the states of one trajectory are stored on the way: t, q with full
     * revolutions, v, after every `every` steps from step `row_from` on, in consecutive rows. If
     * `wrapped` is given, it receives the wrapped angles, in rows of q alone. */
    double *row, *wrapped;
    long long row_from, every;
    /* If `node` is given, a method that chooses its own steps stores the end of each: t, the
     * numbers of steps taken and of attempts rejected, its length, q, v, v', revolutions taken off.
     * When there is no room left it stops with NH_KERNEL_FULL, and continues when it is called
     * again. One lane only. Where kernels compute with derivatives (dual.h), the nodes are those of
     * another run of the same step, and steps of these lengths are taken. */
    double *node;
    long long nodes, nodes_max;
    /* A time beyond which such a method must not evaluate anything; 0: none. */
    double bound;
    /* The derivatives of step and time, where kernels compute with derivatives (dual.h); NULL:
     * none.
     */
    const double *step_moves, *time_moves;
    /* of a failed step */
    double residual;
    int iterations;
} nh_kernel_io;

/* How many numbers a node has. */
#define NH_NODE_SIZE(n, angles) (4 + 3 * (n) + (angles))

/* Adds full revolutions back: 2 pi in two parts, as it was subtracted. */
static inline double nh_whole_angle(double wrapped, double revolutions)
{
    return revolutions * 0x1.921fb544p+2 + (wrapped + revolutions * 0x1.0b4611a626331p-32);
}

enum {
    NH_KERNEL_OK = 0,
    NH_KERNEL_NOT_CONVERGED = 1,
    NH_KERNEL_STOPPED = 2,
    NH_KERNEL_REFUSED = 3,
    NH_KERNEL_STUCK = 4,    /* own steps became too short or too many */
    NH_KERNEL_PACELESS = 5, /* the motion has no pace there (run/pace.h) */
    NH_KERNEL_FULL = 6      /* no room for more nodes */
};

/* How many states advance together, each as wide as a register, and the most groups they can be:
 * where registers hold two groups, two for each. */
enum { NH_TEAM = 4, NH_TEAM_MAX = 2 * NH_TEAM, NH_SIZES = 6 };

#define NH_KERNEL_TEAM (LANES > 1 ? NH_TEAM : 1) /* of a kernel being compiled */

typedef struct nh_kernel {
    int (*start)(nh_kernel_io *io); /* called after the state was set */
    /* Advances one trajectory, or up to `team` groups of lanes, all from the same index. Stops
     * at the first failure: each index says how far its group got, and the group that failed is the
     * first of those that are behind. */
    int (*advance)(nh_kernel_io *io, int groups, long long steps);
    int team;
} nh_kernel;

#endif
