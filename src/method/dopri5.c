/* The method of Dormand and Prince of order 5 with an error estimate of order 4; six stages.
 *
 * Order 5. Preserves the constraints and, where the energy is conserved and the constraints are
 * linear in the velocities, the energy (explicit_step.h). The interpolation is of order 4 and takes
 * no further stages. */
#define STAGES 6
#define EXTRA 0
#define MORE_TERMS 1
#define ESTIMATES 1
#define ERROR_ORDER 5
#define DAMPING 0.04
#define STABLE 2.2
#include "method/explicit.h"

EXPLICIT_KERNEL(dopri5);

#ifdef NH_DESCRIBE
#include "method/explicit_table.h"

#define D NH_DECIMAL

/* Dormand & Prince 1980; test/method/test_tables.c verifies the order conditions. Row 6 of the
 * points is b. */
static const explicit_entry point[] = {
    {1, 0, D(1.0) / 5},        {2, 0, D(3.0) / 40},        {2, 1, D(9.0) / 40},
    {3, 0, D(44.0) / 45},      {3, 1, D(-56.0) / 15},      {3, 2, D(32.0) / 9},
    {4, 0, D(19372.0) / 6561}, {4, 1, D(-25360.0) / 2187}, {4, 2, D(64448.0) / 6561},
    {4, 3, D(-212.0) / 729},   {5, 0, D(9017.0) / 3168},   {5, 1, D(-355.0) / 33},
    {5, 2, D(46732.0) / 5247}, {5, 3, D(49.0) / 176},      {5, 4, D(-5103.0) / 18656},
    {6, 0, D(35.0) / 384},     {6, 2, D(500.0) / 1113},    {6, 3, D(125.0) / 192},
    {6, 4, D(-2187.0) / 6784}, {6, 5, D(11.0) / 84},
};
static const explicit_entry estimate[] = {
    {0, 0, D(71.0) / 57600},      {0, 2, D(-71.0) / 16695}, {0, 3, D(71.0) / 1920},
    {0, 4, D(-17253.0) / 339200}, {0, 5, D(22.0) / 525},    {0, 6, D(-1.0) / 40},
};
static const explicit_entry further[] = {
    {0, 0, D(-12715105075.0) / 11282082432}, {0, 2, D(87487479700.0) / 32700410799},
    {0, 3, D(-10690763975.0) / 1880347072},  {0, 4, D(701980252875.0) / 199316789632},
    {0, 5, D(-1453857185.0) / 822651844},    {0, 6, D(69997945.0) / 29380423},
};

EXPLICIT_TABLE(EXPLICIT_ENTRIES(point), EXPLICIT_ENTRIES(estimate),
               .further = EXPLICIT_ENTRIES(further))

NH_METHOD(dopri5) = {
    .name = "dopri5",
    .summary =
        "explicit, order 5, with given steps or a tolerance; preserves constraints and energy",
    .reference = "Dormand & Prince 1980; Hairer, Norsett & Wanner 1993, II.5, II.6",
    .formulas = "Like dop853, with six stages.",
    EXPLICIT_SHARED,
};
#endif
