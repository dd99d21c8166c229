/* Numbers of quadruple precision, with 113 bits or 34 digits. The compiler does their arithmetic;
 * functions, and conversion from and to decimals, are those of libquadmath, which is loaded when
 * they are needed first. A build whose compiler has no such numbers has none of this. */
#ifndef NH_BASE_PRECISE_H
#define NH_BASE_PRECISE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef NH_HAVE_PRECISE

typedef __float128 nh_precise;

#define NH_PRECISE_UNIT 0x1p-112 /* the last digit of 1 */

/* The functions of libquadmath, of one argument and of two. */
#define NH_PRECISE_OF_ONE(X)                                                                       \
    X(sqrtq)                                                                                       \
    X(sinq) X(cosq) X(tanq) X(asinq) X(acosq) X(atanq) X(sinhq) X(coshq) X(tanhq) X(expq) X(logq)
#define NH_PRECISE_OF_TWO(X) X(atan2q) X(powq)

typedef struct nh_precise_functions {
#define OF_ONE(name) nh_precise (*name)(nh_precise);
#define OF_TWO(name) nh_precise (*name)(nh_precise, nh_precise);
    NH_PRECISE_OF_ONE(OF_ONE)
    NH_PRECISE_OF_TWO(OF_TWO)
#undef OF_ONE
#undef OF_TWO
    void (*sincosq)(nh_precise, nh_precise *, nh_precise *);
    nh_precise (*from_text)(const char *, char **);
    int (*to_text)(char *, size_t, const char *, ...);
} nh_precise_functions;

/* Valid after nh_have_precise() has returned true. */
extern nh_precise_functions nh_quadmath;

static inline nh_precise nh_precise_abs(nh_precise x)
{
    return x < 0 ? -x : x;
}

static inline bool nh_precise_is_finite(nh_precise x)
{
    return x - x == 0;
}

/* The number that a text begins with; and the one that a `double` is a shortest decimal of: 0.1
 * means one tenth. */
nh_precise nh_precise_read(const char *text, char **end);
nh_precise nh_precise_decimal(double x);

/* As many digits as distinguish all numbers, 36. */
enum { NH_PRECISE_TEXT = 48 };
void nh_precise_print(nh_precise x, char text[NH_PRECISE_TEXT]);

#endif

/* Whether this build, and this machine, have such numbers. */
bool nh_have_precise(void);

#endif
