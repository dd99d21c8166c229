/* The drift of each method to leading order, as proved in docs/theory.md. */
#include "analysis/drift.h"

#include <math.h>
#include <string.h>

static double option(const nh_choice *choice, const char *name)
{
    int count;
    const nh_option *options = nh_method_options(choice->method, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(options[i].name, name) == 0)
            return choice->option[i];
    return NAN;
}

static drift_law zero(const char *formula)
{
    return (drift_law){.formula = formula, .standing = "proved"};
}

static drift_law second_order(const char *formula)
{
    return (drift_law){.power = 2, .formula = formula, .standing = "proved"};
}

/* Force and reaction at (q0 + q1)/2 - c h (v1 - v0), c = reaction. */
static drift_law of_reaction_at(double reaction)
{
    drift_law l = second_order(reaction == 0.25 ? "h^2 <r.J>/8"
                               : reaction == 0  ? "-h^2 <r.J>/8"
                                                : "-h^2 (1/8 - reaction) <r.J>");
    l.weight[R_J] = reaction - 0.125;
    if (reaction == 0.125) {
        l = (drift_law){.power = 4, .formula = "-h^4 <xi'''' r.Pi_xi v>/128", .standing = "proved"};
        l.weight[HERMITE] = -1.0 / 128;
    }
    return l;
}

static drift_law of_dla(double alpha)
{
    if (alpha == 0.5)
        return of_reaction_at(0.25);
    drift_law l = {.power = 1,
                   .formula = "h (alpha - 1/2) (<v'.v'> - <v.Kv>) + h^2 <r.J>/8",
                   .standing = "proved; the term with h^2 up to (alpha - 1/2)^2"};
    l.weight[A_A] = alpha - 0.5;
    l.weight[V_K] = 0.5 - alpha;
    l.next[R_J] = 0.125;
    return l;
}

/* Newmark's symmetric method with beta2 = beta and alpha = 1/2. */
static drift_law of_symmetric_newmark(double beta, bool average)
{
    const double share = 0.5 - 2 * beta;
    drift_law l;
    if (average) {
        l = second_order(
            "h^2 (beta <Nv'.v''> + (<lambda.A'v'>/8 + beta <F.A^+A'v'>/2) / (1/2 - 2 beta))");
        l.weight[NA_B] = beta;
        l.weight[L_A] = 0.125 / share;
        l.weight[F_A] = beta / 2 / share;
    } else {
        l = second_order("h^2 (<r.J>/16 + beta <F.J>/4 - 2 beta (beta - 1/8) <Nv'.v''>) / (1/2 - 2 "
                         "beta)");
        l.weight[R_J] = 1 / (16 * share);
        l.weight[F_J] = beta / (4 * share);
        l.weight[NA_B] = -2 * beta * (beta - 0.125) / share;
    }
    return l;
}

/* Exchanging beta and beta2, and alpha and 1 - alpha, gives the adjoint, so that the term with h^2
 * is that of the symmetric method half way up to squares of the differences. */
static drift_law of_newmark(double beta, double beta2, double alpha, bool average)
{
    const double g = 0.5 + beta - beta2;
    const drift_law symmetric = of_symmetric_newmark((beta + beta2) / 2, average);
    if (beta == beta2 && alpha == 0.5)
        return symmetric;
    drift_law l = {.power = 1,
                   .formula = "-h (g - 1/2) <v'.v'> - h (2 alpha - 1) (g (1 - g) <Nv'.Nv'> / (2 "
                              "beta - g) + <F.Nv'>/2) + h^2 (that of the symmetric method half "
                              "way), g = 1/2 + beta - beta2",
                   .standing = "proved; the term with h^2 up to squares of g - 1/2, alpha - 1/2"};
    l.weight[A_A] = 0.5 - g;
    l.weight[NA_NA] = (1 - 2 * alpha) * g * (1 - g) / (2 * beta - g);
    l.weight[F_NA] = (1 - 2 * alpha) / 2;
    memcpy(l.next, symmetric.weight, sizeof l.next);
    return l;
}

static drift_law of_lobatto(const char *name)
{
    drift_law l = second_order("h^2 <lambda.A'v'>/4");
    if (strcmp(name, "lobatto-ab") == 0)
        l.weight[L_A] = 0.25;
    else if (strcmp(name, "lobatto-abd") == 0) {
        l.formula = "h^2 <lambda.A'F>/4";
        l.weight[L_F] = 0.25;
    } else
        l.formula = "0 h^2";
    return l;
}

/* C_s h^2s <lambda^(s-1).(A v^(s+1) + A_xi v xi^(s+1))>, C_s = s! (s-1)! / (2 (s+1) (2s)! (2s-1)!)
 */
static drift_law of_gauss(int stages)
{
    if (stages == 1)
        return of_reaction_at(0);
    drift_law l = {.power = 2 * stages,
                   .formula = "C_s h^(2s) <lambda^(s-1).(A v^(s+1) + A_xi v xi^(s+1))>",
                   .standing = "sketched"};
    l.weight[GAUSS + stages - 1] = tgamma(stages + 1) * tgamma(stages) /
                                   (2 * (stages + 1) * tgamma(2 * stages + 1) * tgamma(2 * stages));
    return l;
}

static bool has_frame(const nh_choice *choice, const char *like)
{
    nh_choice other;
    return nh_choice_parse(&other, like, NULL) == NH_OK &&
           option(choice, "frame") == option(&other, "frame");
}

/* The methods whose names alone decide. */
static bool law_by_name(const char *name, drift_law *out)
{
    const struct {
        const char *name;
        drift_law law;
    } laws[] = {{"dla01", of_reaction_at(0.25)},
                {"lobatto-ab-midpoint", of_reaction_at(0.25)},
                {"euler-1", of_dla(1)},
                {"euler-2", of_dla(0)},
                {"staggered", zero("0 at every order")},
                {"leapfrog", zero("0, exactly but for a function of the state")},
                {"dd",
                 {.power = 2,
                  .of_gonzalez = true,
                  .formula = "-h^2 <kappa |x'|^2>, kappa = V''' xi'^3 / (24 (xi'^2 + |x'|^2))",
                  .standing = "proved if the driver and the passengers are not in resonance"}}};
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        if (strcmp(laws[i].name, name) == 0) {
            *out = laws[i].law;
            return true;
        }
    return false;
}

bool nh_drift_find_law(const nh_choice *choice, drift_law *out)
{
    const char *name = nh_method_name(choice->method);
    const double beta = option(choice, "beta"), beta2 = option(choice, "beta2");
    const double stages = option(choice, "stages");
    if (nh_choice_pace(choice) > 0)
        return false;
    if (law_by_name(name, out))
        return true;
    if (strcmp(name, "dla") == 0)
        *out = of_dla(option(choice, "alpha"));
    else if (strcmp(name, "shifted") == 0)
        *out = of_reaction_at(option(choice, "reaction"));
    else if (strcmp(name, "newmark") == 0)
        *out = of_newmark(beta, beta2, option(choice, "alpha"), option(choice, "constraint") != 0);
    else if (strcmp(name, "newmark-pair") == 0 && beta == 0 && beta2 == 0) {
        *out = second_order("-h^2 <r.(Pi v')'>/16");
        out->weight[R_PA] = -1.0 / 16;
    } else if (strncmp(name, "lobatto-", 8) == 0 && stages == 2)
        *out = of_lobatto(name);
    else if (strcmp(name, "gauss") == 0 && stages <= NH_DRIFT_STAGES_MAX)
        *out = of_gauss((int)stages);
    else if (strcmp(name, "jay-negrut") == 0 && beta == 0 && option(choice, "gamma") == 0.5 &&
             option(choice, "alpha_m") == 0 && option(choice, "alpha_f") == 0)
        *out = zero("0, exactly but for a function of the state");
    else if ((strcmp(name, "collocation") == 0 && has_frame(choice, "collocation:frame=polar")) ||
             (strcmp(name, "discrete-gradient") == 0 && has_frame(choice, "avf-p") &&
              option(choice, "gradient") == 0))
        *out = zero("0, exactly");
    else
        return false;
    return true;
}
