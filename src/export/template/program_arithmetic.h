/* ---- numbers ---- */

typedef PREFIX_real real;
typedef long long mask; /* 0 or -1 */

#define LANE(x, l) (*((void)(l), &(x)))

static inline real broadcast(double x)
{
    return (real)x;
}

/* a b + c, rounded once as on the machine that exported this, whatever the flags of the compiler
 * are; with the instruction if the compiler may use it. */
static inline real fma_(real a, real b, real c)
{
#if FUSED
    return multiply_add(a, b, c);
#else
    return a * b + c;
#endif
}

static inline real sqrt_(real x)
{
    return sqrt(x);
}

static inline real abs_(real x)
{
    return fabs(x);
}

/* A function of the C library. */
#define LANEWISE1(function, x) function(x)
#define LANEWISE2(function, x, y) function(x, y)

/* ---- a step as the method sees it ---- */

typedef struct nh_kernel_io {
    double step, time;                                     /* h, and t when index was 0 */
    long long index;                                       /* steps done */
    double bound;                                          /* of time; 0: none */
    double *q, *v, *q_low, *v_low, *revolutions, *memory; /* the state */
    const double *u;                                       /* inputs */
    double *work;                                          /* for a step that needs more care */
    double *node;                                          /* none */
    long long nodes, nodes_max;
    int parts;                                             /* of a composed step */
    double residual;                                       /* of a failed step */
    int iterations;
} nh_kernel_io;

enum {
    NH_KERNEL_OK = PREFIX_OK,
    NH_KERNEL_NOT_CONVERGED = PREFIX_NOT_CONVERGED,
    NH_KERNEL_STUCK = PREFIX_STUCK,
    NH_KERNEL_STOPPED,
    NH_KERNEL_REFUSED,
    NH_KERNEL_PACELESS,
    NH_KERNEL_FULL
};

/* The ends of a method's own steps are not kept. */
#define note_node(k, f) ((void)(k), (void)(f))

/* 2 pi in two parts; multiples of the first are exact. */
#define TWO_PI_HIGH 0x1.921fb544p+2
#define TWO_PI_LOW 0x1.0b4611a626331p-32

#define CHECK_TABLE (void)0
