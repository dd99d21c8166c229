/* Products with common factors: shared factors are computed once, and the values are
 * those of the products as written, to a few units in the last place. */
#include "check.h"

#include <math.h>
#include <nonholo.h>

#include "system/system.h"

/* a b is in four products, the inverse of the root of a + 2 in three; a^2 b in one and c in none
 * but its own. */
static const char text[] = "model products\n"
                           "coordinate a, b, c, d\n"
                           "lagrangian (a'^2 + b'^2 + c'^2 + d'^2)/2\n"
                           "observe first = a*b*c\n"
                           "observe second = a*b*d\n"
                           "observe third = c + 3*a*b*d^2\n"
                           "observe fourth = d - a*b*sin(c)\n"
                           "observe root = b/sqrt(a + 2)\n"
                           "observe cube = c/(a + 2)^1.5\n"
                           "observe both = d - b*c/(a + 2)\n"
                           "observe single = a/(b + 3)\n";
enum { FIRST = 1, OBSERVED = 8, TRIES = 2000 };

static int count(const nh_tape *t, nh_op op)
{
    int found = 0;
    for (size_t i = 0; i < t->instructions; i++)
        found += (nh_op)t->code[i].op == op;
    return found;
}

int main(void)
{
    nh_report report;
    nh_model *model;
    nh_system *system;
    const nh_tape *tape;
    double worst = 0, out[FIRST + OBSERVED];
    if (nh_model_parse(&model, "products", text, sizeof text - 1, &report) != NH_OK ||
        nh_system_build(&system, model, NULL, 0, &report) != NH_OK) {
        printf("%s\n", report.text);
        return 1;
    }
    CHECK(nh_system_tape(&tape, system, NH_FN_OBSERVE, &report) == NH_OK);
    CHECK(count(tape, NH_OP_DIV) == 2); /* by the root of a + 2, and by b + 3 */
    CHECK(count(tape, NH_OP_SQRT) == 1);
    for (int i = 0; i < TRIES; i++) {
        const double a = sin(3.0 * i), b = 2 * cos(0.7 * i), c = 1.7 * sin(1.0 * i * i),
                     d = 1e-3 * i;
        const double q[] = {a, b, c, d}, v[4] = {0};
        const double right[OBSERVED] = {a * b * c,           a * b * d,       c + 3 * a * b * d * d,
                                        d - a * b * sin(c),  b / sqrt(a + 2), c / pow(a + 2, 1.5),
                                        d - b * c / (a + 2), a / (b + 3)};
        CHECK(nh_system_evaluate(system, NH_FN_OBSERVE, 0, q, v, NULL, out, &report) == NH_OK);
        for (int j = 0; j < OBSERVED; j++)
            worst = fmax(worst, fabs(out[FIRST + j] - right[j]));
    }
    CHECK(worst < 1e-14); /* 4e-15: values are up to 20 */
    printf("largest difference %.2g\n", worst);
    nh_system_free(system);
    nh_model_free(model);
    return check_end();
}
