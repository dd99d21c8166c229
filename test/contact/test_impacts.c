/* Impacts with friction: against tiny steps of impulse, closed forms, and what must always hold:
 * energy never grows, impulses stay in the cone, nothing approaches afterwards. With an argument,
 * that many random planar impacts. */
#include "check.h"
#include "problems_at_random.h"
#include "contact/impact.h"

#include <stdlib.h>

static nh_impact_solver *solver;

typedef struct hit {
    double impulse[MOST_ROWS], velocity[MOST_ROWS];
    unsigned char mode[MOST_ITEMS];
    nh_impact_answer answer;
} hit;

static nh_status strike(const drawn *d, bool in_turn, hit *h)
{
    nh_report report = {0};
    nh_impact_problem p = {.items = d->items,
                           .rows = d->rows,
                           .item = d->item,
                           .velocity = d->free,
                           .response = d->response,
                           .kinetic = d->load,
                           .restitution = d->restitution,
                           .contact = d->contact,
                           .in_turn = in_turn,
                           .rest = 1e-12};
    h->answer = (nh_impact_answer){.impulse = h->impulse, .velocity = h->velocity, .mode = h->mode};
    return nh_impact_solve(solver, &p, &h->answer, &report);
}

/* One contact and one grip with a given response (normal, mixed, tangential) and velocities. */
static drawn planar(double normal, double mixed, double tangential, double approach, double slip,
                    double mu, double e)
{
    drawn d = {.items = 2, .rows = 2, .row = {0, 1, 2}, .restitution = {e}};
    d.item[0] = (nh_mode_item){.allowed = NH_MODE_ANY};
    d.item[1] = (nh_mode_item){.components = 1, .allowed = NH_MODE_ANY};
    d.free[0] = -approach;
    d.free[1] = slip;
    d.response[0] = normal;
    d.response[1] = d.response[2] = mixed;
    d.response[3] = tangential;
    d.load[2] = mu;
    return d;
}

/* ---- a sample of all planar impacts ---- */

typedef struct tally {
    double gained, outside, approaching;
    int failed, newton_gains;
} tally;

/* The energy by Newton's law: u+ = -e u, with Coulomb's law for the total impulses. */
static double newton_loses(const drawn *d)
{
    double e = d->restitution[0], mu = d->load[2], *g = (double *)d->response,
           *u = (double *)d->free;
    double rise = -(1 + e) * u[0], det = g[0] * g[3] - g[1] * g[1];
    double n = (rise * g[3] + u[1] * g[1]) / det, t = (-u[1] * g[0] - rise * g[1]) / det;
    for (int sign = -1; fabs(t) > mu * n && sign <= 1; sign += 2) {
        double normal = rise / (g[0] - sign * mu * g[1]), force = -sign * mu * normal;
        if (normal > 0 && sign * (u[1] + g[1] * normal + g[3] * force) > 0) {
            n = normal;
            t = force;
            break;
        }
    }
    double after = u[1] + g[1] * n + g[3] * t;
    return -0.5 * ((u[0] - e * u[0]) * n + (u[1] + after) * t);
}

static void count_planar(int count, tally *sum)
{
    *sum = (tally){0};
    for (int n = 0; n < count; n++) {
        double normal = exp(between(-2, 2)), tangential = exp(between(-2, 2));
        double mixed = between(-1, 1) * sqrt(normal * tangential) * 0.999;
        drawn d = planar(normal, mixed, tangential, exp(between(-2, 2)),
                         between(-1, 1) * exp(between(-2, 2)), 2 * chance(), chance());
        hit h;
        if (strike(&d, false, &h) != NH_OK) {
            sum->failed++;
            continue;
        }
        double scale = d.free[0] * d.free[0] / normal;
        sum->gained = fmax(sum->gained, -h.answer.lost / scale);
        sum->outside = fmax(sum->outside, (fabs(h.impulse[1]) - d.load[2] * h.impulse[0]) * normal /
                                              fabs(d.free[0]));
        sum->approaching = fmax(sum->approaching, -h.velocity[0] / fabs(d.free[0]));
        sum->newton_gains += newton_loses(&d) < -1e-12 * scale;
    }
}

static void test_planar(int count)
{
    tally sum;
    count_planar(count, &sum);
    printf("%d planar impacts: energy gained %.2g, outside of the cone %.2g, approach left %.2g; "
           "by Newton's law %.2g%% gain\n",
           count, sum.gained, sum.outside, sum.approaching, 100.0 * sum.newton_gains / count);
    CHECK(sum.failed == 0);
    CHECK_NEAR(sum.gained, 0, 1e-14); /* relative to u^2/normal: measured 0 */
    CHECK_NEAR(sum.outside, 0, 1e-13);
    CHECK_NEAR(sum.approaching, 0, 0);
    CHECK(sum.newton_gains > count / 200); /* so that the sample contains hard cases */
}

/* ---- against tiny steps of impulse ---- */

/* Coulomb's law with steps dP of the normal impulse: the slip is stopped where a step would reverse
 * it. Two components with friction mu in any direction. */
static void tiny_steps(const drawn *d, int components, int steps, double *u)
{
    double mu = d->load[d->rows], e = d->restitution[0], work = 0, goal = INFINITY;
    double dp = -d->free[0] / d->response[0] / steps;
    int rows = components + 1;
    memcpy(u, d->free, rows * sizeof *u);
    for (int n = 0; n < 400 * steps && !(u[0] > 0 && work >= goal); n++) {
        double before = u[0], p[3] = {dp, 0, 0}, slip[2] = {0, 0};
        for (int c = 0; c < components; c++)
            slip[c] = u[1 + c] + d->response[(1 + c) * rows] * dp;
        /* the impulse that would stop the slip, or the largest against it */
        double a = d->response[rows + 1], b = components == 2 ? d->response[rows + 2] : 0;
        double c = components == 2 ? d->response[2 * rows + 2] : 1, det = a * c - b * b;
        p[1] = -(c * slip[0] - b * slip[1]) / det;
        p[2] = components == 2 ? -(a * slip[1] - b * slip[0]) / det : 0;
        double size = hypot(p[1], p[2]), length = hypot(slip[0], slip[1]);
        if (size > mu * dp) {
            p[1] = -mu * dp * slip[0] / length;
            p[2] = -mu * dp * slip[1] / length;
        }
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
                u[i] += d->response[i * rows + j] * p[j];
        work += 0.5 * (before + u[0]) * dp;
        if (before < 0 && u[0] >= 0)
            goal = work * (1 - e * e); /* all that was taken, and e^2 of it returned */
    }
}

static void test_against_tiny_steps(int components, int count, int steps, double allowed)
{
    double worst = 0, u[3];
    int turning = 0;
    for (int n = 0; n < count; n++) {
        drawn d;
        draw_problem(&d, 1, components, 6, 1.5);
        d.free[0] = -between(0.2, 1);
        hit h;
        CHECK(strike(&d, false, &h) == NH_OK);
        tiny_steps(&d, components, steps, u);
        for (int i = 0; i <= components; i++)
            worst = fmax(worst, fabs(u[i] - h.velocity[i]));
        turning += h.answer.turning > 0;
    }
    printf("%d impacts with %d components against %d steps: %.2g (%d turn)\n", count, components,
           steps, worst, turning);
    CHECK_NEAR(worst, 0, allowed);
    CHECK(components == 1 || turning > count / 2);
}

/* ---- known impacts ---- */

/* A rod that falls obliquely (cases impact-reverses and impact-kane-levinson). */
static void test_rod(double mu, double e, double angle, double slip, const double *expected)
{
    double s = sin(angle), c = cos(angle);
    drawn d = planar(1 + 3 * s * s, 3 * s * c, 1 + 3 * c * c, 1, slip, mu, e);
    hit h;
    d.response[1] = d.response[2] = 3 * s * c * -1;
    CHECK(strike(&d, false, &h) == NH_OK);
    CHECK_NEAR(slip + h.impulse[1], expected[0], 1e-14);
    CHECK_NEAR(-1 + h.impulse[0], expected[1], 1e-14);
    CHECK_NEAR(h.answer.lost, expected[2], 1e-14);
}

/* A ball: slip that stops gives v - 2/7 s, and a hard one bounces by e. */
static void test_ball(void)
{
    drawn d = planar(1, 0, 3.5, 2, 1, 0.3, 0.5);
    hit h;
    CHECK(strike(&d, false, &h) == NH_OK);
    CHECK_NEAR(h.velocity[0], 1, 1e-15);
    CHECK_NEAR(h.velocity[1], 0, 0);
    CHECK_NEAR(h.impulse[1], -2.0 / 7, 1e-16);
    d.load[2] = 0.05;
    CHECK(strike(&d, false, &h) == NH_OK);
    CHECK_NEAR(h.velocity[1], 1 - 3.5 * 0.05 * 3, 1e-15);
}

/* Two components whose response is that of a sphere: the direction of slip stays, in closed form.
 */
static void test_straight_slip(void)
{
    drawn d = {.items = 2, .rows = 3, .row = {0, 1, 3}, .restitution = {0.8}};
    d.item[0] = (nh_mode_item){.allowed = NH_MODE_ANY};
    d.item[1] = (nh_mode_item){.components = 2, .allowed = NH_MODE_ANY};
    d.free[0] = -1;
    d.free[1] = 3;
    d.free[2] = 4;
    d.response[0] = 1;
    d.response[4] = d.response[8] = 3.5;
    d.load[3] = d.load[6] = 0.2;
    hit h;
    CHECK(strike(&d, false, &h) == NH_OK);
    CHECK(h.answer.turning == 0);
    CHECK_NEAR(h.velocity[0], 0.8, 1e-15);
    CHECK_NEAR(h.velocity[1], 3 - 0.6 * 3.5 * 0.2 * 1.8, 1e-15);
    CHECK_NEAR(h.velocity[2], 4 - 0.8 * 3.5 * 0.2 * 1.8, 1e-15);
    d.load[3] = d.load[6] = 2; /* stops */
    CHECK(strike(&d, false, &h) == NH_OK);
    CHECK_NEAR(hypot(h.velocity[1], h.velocity[2]), 0, 0);
    CHECK_NEAR(h.impulse[1], -3 / 3.5, 1e-15);
}

/* Painleve's jam: no approach, but friction presses the contact; the impulse stops the slip. */
static void test_jam(void)
{
    double s = sin(0.4636), c = cos(0.4636);
    drawn d = planar(1 + 3 * s * s, 3 * s * c, 1 + 3 * c * c, 0, 3, 2, 0);
    hit h;
    CHECK(strike(&d, false, &h) == NH_OK);
    CHECK(h.impulse[0] > 0);
    CHECK_NEAR(h.velocity[0], 0, 0);
    CHECK_NEAR(h.velocity[1], 0, 0);
    CHECK(h.answer.lost > 0);
}

/* ---- several contacts ---- */

/* Balls of equal mass on a line that touch; the first arrives with speed 1. */
static void row_of_balls(drawn *d, int balls, double e)
{
    memset(d, 0, sizeof *d);
    d->items = d->rows = balls - 1;
    for (int i = 0; i < d->items; i++) {
        d->item[i] = (nh_mode_item){.allowed = NH_MODE_ANY};
        d->contact[i] = d->row[i] = i;
        d->restitution[i] = e;
        d->response[i * d->rows + i] = 2;
        if (i)
            d->response[i * d->rows + i - 1] = d->response[(i - 1) * d->rows + i] = -1;
    }
    d->row[d->items] = d->rows;
    d->free[0] = -1;
}

static void test_balls(void)
{
    drawn d;
    hit h;
    row_of_balls(&d, 4, 1);
    CHECK(strike(&d, true, &h) == NH_OK);
    CHECK(h.answer.impacts == 3); /* the last ball leaves with all of the speed: 0, 0, 0, 1 */
    CHECK_NEAR(h.impulse[0], 1, 1e-15);
    CHECK_NEAR(h.impulse[2], 1, 1e-15);
    CHECK_NEAR(h.answer.lost, 0, 1e-15);
    CHECK(strike(&d, false, &h) == NH_OK); /* at once: the others stay together */
    CHECK_NEAR(h.velocity[0], 1, 1e-15);
    CHECK_NEAR(h.velocity[1], 0, 0);
    CHECK_NEAR(h.impulse[0], 1.5, 1e-15);
    CHECK_NEAR(h.answer.lost, 0, 1e-15);
    row_of_balls(&d, 30, 0.9);
    CHECK(strike(&d, true, &h) == NH_OK);
    double slowest = 1;
    for (int i = 0; i < d.rows; i++)
        slowest = fmin(slowest, h.velocity[i]);
    CHECK(slowest >= -1e-12);
    CHECK(h.answer.lost > 0);
}

/* A ball wedged between two walls that are hit in turn for ever: reported. */
static void test_without_end(void)
{
    drawn d;
    hit h;
    row_of_balls(&d, 3, 1);
    d.response[1] = d.response[2] = -1.999999999; /* walls almost opposite to each other */
    CHECK(strike(&d, true, &h) == NH_NOT_CONVERGED);
    CHECK(h.answer.impacts == NH_IMPACTS_IN_TURN);
}

static void test_several(int contacts, int components, int freedoms, int count)
{
    double gained = 0, outside = 0, approaching = 0;
    int scaled = 0, failed = 0, size = components == 2;
    for (int n = 0; n < count; n++) {
        drawn d;
        hit h;
        draw_problem(&d, contacts, components, freedoms, 1);
        for (int turn = 0; turn < 2; turn++) {
            if (strike(&d, turn, &h) != NH_OK) {
                failed++;
                continue;
            }
            scaled += h.answer.factor < 1;
            gained = fmax(gained, -h.answer.lost);
            for (int k = 0; k < contacts; k++)
                approaching = fmax(approaching, -h.velocity[k]);
            for (int k = contacts; k < d.items; k++) {
                const double *p = h.impulse + d.row[k];
                double limit = d.load[d.row[k] * d.rows + d.contact[k]] * h.impulse[d.contact[k]];
                outside = fmax(outside, hypot(p[0], size ? p[1] : 0) - limit);
            }
        }
    }
    printf("%d contacts, %d components: gained %.2g, outside %.2g, approach %.2g; %d scaled\n",
           contacts, components, gained, outside, approaching, scaled);
    CHECK(failed == 0);
    CHECK_NEAR(gained, 0, 1e-11);
    CHECK_NEAR(outside, 0, 1e-9);
    CHECK_NEAR(approaching, 0, 1e-9);
}

int main(int count, char **argument)
{
    static const double reverses[3] = {0.5895192055339272, -0.26769912980507726,
                                       0.1714341446702301};
    static const double kane[3] = {0.8960066803563562, 0.030149302875654538, 0.04052013473700733};
    setbuf(stdout, NULL);
    solver = nh_impact_solver_create(MOST_ITEMS, MOST_ROWS);
    test_planar(count > 1 ? atoi(argument[1]) : 20000);
    test_against_tiny_steps(1, 40, 100000, 2e-5);
    test_against_tiny_steps(2, 40, 100000, 2e-5);
    test_rod(0.3, 0.6, 0.7, 0.5, reverses);
    test_rod(0.95, 0.99, 0.67, 0.566, kane);
    test_ball();
    test_straight_slip();
    test_jam();
    test_balls();
    test_without_end();
    test_several(2, 1, 6, 300);
    test_several(3, 1, 12, 50);
    test_several(10, 1, 30, 50);
    test_several(2, 2, 6, 50);
    nh_impact_solver_free(solver);
    return check_end();
}
