/* The quadrature rules of collocation.c, and where the parts of its table lie; collocation-table.h
 * fills the table. There are s stages.
 *
 *     a[s*s], b[s]   Gauss' coefficients and weights
 *     E[s*s]         continues the K_i of a step into the next
 *     half[s]        int_0^(1/2) l_j
 *     F[s*(2s+2)]    continues velocities of two steps into the next
 *     then of each rule with P points A[P*s] = int_0^t_p l_j and G[s*P] = w_p l_i(t_p)/b_i */
#ifndef NH_METHOD_COLLOCATION_RULES_H
#define NH_METHOD_COLLOCATION_RULES_H

#define RULE_PAST (2 * STAGES + 2)
#define RULE_A (TABLE)
#define RULE_B (RULE_A + STAGES * STAGES)
#define RULE_E (RULE_B + STAGES)
#define RULE_HALF (RULE_E + STAGES * STAGES)
#define RULE_F (RULE_HALF + STAGES)
#define RULES_SIZE (RULE_F + STAGES * RULE_PAST)

/* Rules: for the first iterations, which only approach the solution; exact for forces that are
 * polynomials of degree 1 or 3; exact to round-off for steps of four lengths; with the number of
 * points that was asked for. The path has degree s. */
enum {
    RULE_WARM,
    RULE_LINEAR,
    RULE_CUBIC,
    RULE_SHORT,
    RULE_LONG = RULE_SHORT + 3,
    RULE_OWN,
    RULES
};
static inline int rule_points(int s, int own, int rule)
{
    return rule == RULE_WARM     ? s + 1
           : rule == RULE_LINEAR ? s
           : rule == RULE_CUBIC  ? 2 * s
           : rule == RULE_OWN    ? own
                                 : s + 5 + 2 * (rule - RULE_SHORT);
}

typedef struct path_rule {
    int points;
    const double *A, *G;
} path_rule;

static inline path_rule rule_number(kernel *k, int number)
{
    const double *A = RULES_SIZE;
    for (int i = 0; i < number; i++)
        A += 2 * STAGES * rule_points(STAGES, POINTS, i);
    const int points = rule_points(STAGES, POINTS, number);
    return (path_rule){points, A, A + points * STAGES};
}

static inline int rule_by_step(const kernel *k)
{
    const double size = k->h < 0 ? -k->h : k->h;
    return RULE_SHORT + (size <= 0.1 ? 0 : size <= 0.5 ? 1 : size <= 1 ? 2 : 3);
}

static inline path_rule full_rule(kernel *k)
{
    const int exact = SLOPE_DEGREE <= 1 ? RULE_LINEAR : RULE_CUBIC;
    if (POINTS > 0)
        return rule_number(k, RULE_OWN);
    if (FRAME == FRAME_POLAR && SLOPE_DEGREE >= 0 && SLOPE_DEGREE <= 3 &&
        rule_points(STAGES, 0, exact) <= rule_points(STAGES, 0, RULE_SHORT))
        return rule_number(k, exact);
    return rule_number(k, rule_by_step(k));
}

#endif
