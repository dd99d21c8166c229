/* Sines of doubled angles, and of sums and differences of angles: computed from existing ones,
 * and as accurate as the C library's to a few units in the last place of 1. */
#include "check.h"

#include <math.h>
#include <nonholo.h>

#include "system/system.h"

static const char text[] = "model angles\n"
                           "coordinate x\n"
                           "coordinate a, b, c angle\n"
                           "lagrangian (x'^2 + a'^2 + b'^2 + c'^2)/2\n"
                           "observe s = sin(a)\n"
                           "observe n = sin(b)\n"
                           "observe k = cos(c)\n"
                           "observe s2 = sin(2*a)\n"
                           "observe c2 = cos(2*a)\n"
                           "observe d2 = cos(2*c)\n"
                           "observe p = sin(a + b)\n"
                           "observe m = sin(b - a)\n"
                           "observe w = sin(-a - c)\n"
                           "observe r = cos(a - b)\n"
                           "observe u = cos(a + c)\n"
                           "observe alone = sin(2*x)\n";
enum { FIRST = 1, OBSERVED = 12, TRIES = 20000 };

/* Instructions that compute sines: those of a, b, c in pairs, and that of 2 x, whose half has none.
 */
static int count_sines(const nh_tape *t)
{
    int count = 0;
    for (size_t i = 0; i < t->instructions; i++)
        count += t->code[i].op == NH_OP_SIN || t->code[i].op == NH_OP_COS ||
                 t->code[i].op == NH_OP_SINCOS;
    return count;
}

int main(void)
{
    nh_report report;
    nh_model *model;
    nh_system *system;
    double worst = 0, out[FIRST + OBSERVED];
    if (nh_model_parse(&model, "angles", text, sizeof text - 1, &report) != NH_OK ||
        nh_system_build(&system, model, NULL, 0, &report) != NH_OK) {
        printf("%s\n", report.text);
        return 1;
    }
    const nh_tape *tape;
    CHECK(nh_system_tape(&tape, system, NH_FN_OBSERVE, &report) == NH_OK);
    CHECK(count_sines(tape) == 4);
    for (int i = 0; i < TRIES; i++) {
        const double q[] = {1.0 * i / TRIES, -4 + 8e-4 * i * 0.5, 3.7 * sin(i), 3.9 * cos(2.0 * i)};
        const double v[4] = {0}, a = q[1], b = q[2], c = q[3];
        const double right[OBSERVED] = {sin(a),      sin(b),     cos(c),     sin(2 * a),
                                        cos(2 * a),  cos(2 * c), sin(a + b), sin(b - a),
                                        sin(-a - c), cos(a - b), cos(a + c), sin(2 * q[0])};
        CHECK(nh_system_evaluate(system, NH_FN_OBSERVE, 0, q, v, NULL, out, &report) == NH_OK);
        for (int j = 0; j < OBSERVED; j++)
            worst = fmax(worst, fabs(out[FIRST + j] - right[j]));
    }
    /* measured: 6.4e-16, to which the rounding of a + b on the right side contributes */
    CHECK(worst < 1e-15);
    printf("largest difference %.2g\n", worst);
    nh_system_free(system);
    nh_model_free(model);
    return check_end();
}
