/* What a run hands to a kernel: state, sizes, options. The same for kernels built into the library
 * and for emitted ones, so this header includes nothing. Arrays hold LANES numbers an entry. */
#ifndef NH_KERNEL_IO_H
#define NH_KERNEL_IO_H

#ifndef NH_EMITTED
/* What is compiled for every kind of lanes and processor has a name for each. */
#define NH_OF_VARIANT_2(name, variant) name##_##variant
#define NH_OF_VARIANT_1(name, variant) NH_OF_VARIANT_2(name, variant)
#define OF_VARIANT(name) NH_OF_VARIANT_1(name, NH_VARIANT)
#endif

/* Sizes and patterns of a system. Sparse matrices K and B are lists of entries by constraint:
 * those of constraint j are first[j] .. first[j+1]-1, column[] says which coordinate each is for.
 */
typedef struct nh_shape {
    int n, m, nk, nb;
    int positions, ng; /* conditions on positions, the last of the m, and their entries of K */
    int nf;            /* numbers in the factors of the mass matrix, without constants */
    const int *k_first, *k_column, *b_first, *b_column;
    /* K B: entry (i, j) is the sum over e in pair_first[i*m+j] .. of K[pair_k[e]] * B[pair_b[e]].
     * NULL when m is too large for it. */
    const int *pair_first, *pair_k, *pair_b;
    int inputs; /* numbers that a run is given from outside, for those inputs that are open */
    int angles;
    const int *angle; /* coordinates that are angles */
    int rotations;
    const int *rotation; /* the first of the four coordinates of each */
    int reaction_is_linear, constant_mass, separable, affine, linear; /* as in nh_facts */
    int nonideal;       /* the force of the constraints is more than K^T psi */
    int slope_degree;   /* of gradV as a polynomial of q; -1 where it is none */
    int surface_degree; /* of G, the rows of positions, likewise */
    int flat;           /* constant mass, and every velocity belongs to a coordinate */
    int plain_momentum; /* p = M v + constant, with a constant M */
    int driver;         /* of a coupled system, or -1 */
    int energy_scales;  /* is conserved, and v may be scaled: energy = V(q) + s^2 T for s v */
} nh_shape;

/* Computes function fn (an nh_fn); 0, or what the user's function returned. u: the inputs. */
typedef int nh_call_fn(const void *self, int fn, double t, const void *q, const void *v,
                       const void *x, void *out, const void *u);

typedef struct nh_kernel_io {
    double step, time;  /* h, and t when index was 0 */
    int parts;          /* of a composed step, else 1 */
    const double *part; /* their lengths in units of h, then where they begin */
    long long index;    /* steps done */
    /* the state; of several lanes, its parts follow each other without a gap, to the inputs */
    double *q, *v;           /* [n] */
    double *q_low, *v_low;   /* [n], what rounding left out; used when compensated */
    double *revolutions;     /* [angles], full revolutions taken off */
    double *memory;          /* of the method, survives between steps */
    const double *u;         /* inputs, the same in all steps of a call */
    double *scratch;         /* for a step; general kernels only */
    long long *scratch_peak; /* the most that any step took of it, in reals */
    const double *option, *table;
    const int *size; /* [NH_SIZES] as the method's descriptor gives them */
    const nh_shape *shape;
    nh_call_fn *const *call; /* what computes each function; all of them get `self` */
    const void *self;
    int compensated;
    /* With `row` the state of one trajectory is kept on the way: t, q with full revolutions, v,
     * after each `every` steps from step `row_from` on, one row behind the other; angles as they
     * are computed with, if `wrapped` is given, in rows of q alone. */
    double *row, *wrapped;
    long long row_from, every;
    /* With `node` a method that chooses its own steps keeps the end of each: t, how many steps it
     * has taken and attempts it has given up, q, v, v', revolutions taken off. Where there is no
     * room for more it stops with NH_KERNEL_FULL and goes on when it is called again. One lane. */
    double *node;
    long long nodes, nodes_max;
    /* of a failed step */
    double residual;
    int iterations;
} nh_kernel_io;

/* Numbers of a node. */
#define NH_NODE_SIZE(n, angles) (3 + 3 * (n) + (angles))

/* Full revolutions added back: 2 pi in two parts, as it was taken off. */
static inline double nh_whole_angle(double wrapped, double revolutions)
{
    return revolutions * 0x1.921fb544p+2 + (wrapped + revolutions * 0x1.0b4611a626331p-32);
}

enum {
    NH_KERNEL_OK = 0,
    NH_KERNEL_NOT_CONVERGED = 1,
    NH_KERNEL_STOPPED = 2,
    NH_KERNEL_REFUSED = 3,
    NH_KERNEL_STUCK = 4,    /* steps of its own became too short or too many */
    NH_KERNEL_PACELESS = 5, /* the motion has no pace there (run/pace.h) */
    NH_KERNEL_FULL = 6      /* no room for more nodes */
};

enum { NH_TEAM_MAX = 4, NH_SIZES = 4 };

typedef struct nh_kernel {
    int (*start)(nh_kernel_io *io); /* after the state was set */
    /* Advances one trajectory, or up to NH_TEAM_MAX groups of lanes, all from the same index. Stops
     * at the first failure: each index tells how far that group went, and the failing group is the
     * first of those that are behind. */
    int (*advance)(nh_kernel_io *io, int groups, long long steps);
} nh_kernel;

#endif
