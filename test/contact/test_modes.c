/* The mode solver: against its own conditions, enumeration against Lemke's method, and cases known
 * from mechanics: Painleve's rod, tables on more legs than needed, static friction, ties. */
#include "check.h"
#include "problems_at_random.h"
#include "contact/lemke.h"
#include "contact/mode_guess.h"

static nh_mode_solver *solver;

/* How far an answer is from meeting the conditions of its mode, recomputed from the problem. */
static double violation(const drawn *d, const nh_mode_answer *a)
{
    double worst = 0, limit = 0;
    for (int k = 0; k < d->items; k++) {
        const double *r = a->reaction + d->row[k], *y = a->acceleration + d->row[k];
        for (int i = d->row[k]; i < d->row[k + 1]; i++) {
            double sum = d->free[i];
            for (int j = 0; j < d->rows; j++)
                sum += d->response[i * d->rows + j] * a->reaction[j];
            worst = fmax(worst, fabs(sum - a->acceleration[i]));
        }
        if (d->item[k].components == 0) {
            worst = fmax(worst, fmax(-r[0], -y[0]));
            worst = fmax(worst, fabs(fmin(fabs(r[0]), fabs(y[0]))));
            continue;
        }
        int two = d->item[k].components == 2;
        limit = d->constant[d->row[k]] +
                d->load[d->row[k] * d->rows + d->contact[k]] * a->reaction[d->contact[k]];
        double force = hypot(r[0], two ? r[1] : 0), speed = hypot(y[0], two ? y[1] : 0);
        double power = r[0] * y[0] + (two ? r[1] * y[1] : 0);
        worst = fmax(worst, force - limit);
        worst = fmax(worst, fabs(power + limit * speed)); /* greatest dissipation */
    }
    return worst;
}

static void test_random(int contacts, int components, int freedoms, int count, double allowed)
{
    drawn d;
    double worst = 0;
    int none = 0, several = 0;
    for (int n = 0; n < count; n++) {
        draw_problem(&d, contacts, components, freedoms, 0.5);
        nh_mode_problem p = problem_of(&d);
        nh_mode_answer a;
        nh_modes_solve(solver, &p, &a);
        none += a.motions == 0;
        several += a.motions > 1;
        if (a.motions)
            worst = fmax(worst, violation(&d, &a));
    }
    printf("%d contacts, %d components: %.2g, %d without a motion, %d with several\n", contacts,
           components, worst, none, several);
    CHECK_NEAR(worst, 0, allowed);
    CHECK(none == 0); /* without slip at first there always is one */
}

/* Where all modes are tried, Lemke's method finds one of those that are possible. */
static void test_lemke_against_all(int contacts, int freedoms, int count)
{
    drawn d;
    unsigned char mode[MOST_ITEMS];
    int same = 0, other = 0, compared = 0;
    for (int n = 0; n < count; n++) {
        draw_problem(&d, contacts, 1, freedoms, 0.5);
        nh_mode_problem p = problem_of(&d);
        nh_mode_answer a;
        CHECK(nh_mode_guess(&p, 0, mode));
        nh_modes_solve(solver, &p, &a);
        for (int k = contacts; k < d.items; k++) /* grips of open contacts */
            if (mode[d.contact[k]] == NH_MODE_OPEN)
                mode[k] = NH_MODE_FREE;
        compared += a.motions == 1;
        same += a.motions == 1 && memcmp(mode, a.mode, d.items) == 0;
        other += a.motions == 2;
    }
    CHECK(same == compared);
    CHECK(other < count / 5);
}

/* Lemke's method on a problem with a known solution, and one without. */
static void test_lemke(void)
{
    const double m[4] = {2, 1, 1, 2}, q[2] = {-5, -6}, one[1] = {-1}, below[1] = {-1};
    double z[2], room[NH_LEMKE_ROOM(2)];
    int basis[2];
    CHECK(nh_lemke(2, m, q, z, room, basis));
    CHECK_NEAR(z[0], 4.0 / 3, 1e-15); /* exact to rounding */
    CHECK_NEAR(z[1], 7.0 / 3, 1e-15);
    CHECK(!nh_lemke(1, one, below, z, room, basis));
}

/* A rod that slides with its foot ahead (cases painleve.nh): gap'' and foot'' of its foot. */
static int motions_of_rod(double mu, double angle, double rate, nh_mode_answer *a)
{
    double s = sin(angle), c = cos(angle), g = 9.81;
    drawn d = {.items = 2, .rows = 2, .row = {0, 1, 2}};
    d.item[0] = (nh_mode_item){.allowed = NH_MODE_ANY};
    d.item[1] =
        (nh_mode_item){.components = 1, .allowed = NH_MODE_ANY, .moves = true, .direction = {3}};
    d.free[0] = -g + c * rate * rate / 2;
    d.free[1] = -s * rate * rate / 2;
    d.response[0] = 1 + 3 * s * s;
    d.response[1] = d.response[2] = 3 * s * c;
    d.response[3] = 1 + 3 * c * c;
    d.load[2] = mu;
    nh_mode_problem p = problem_of(&d);
    nh_modes_solve(solver, &p, a);
    return a->motions;
}

static void test_painleve(void)
{
    nh_mode_answer a;
    CHECK(motions_of_rod(1.3, 0.6, 0, &a) == 1);
    CHECK(a.mode[0] == NH_MODE_CLOSED && a.mode[1] == NH_MODE_FORWARD);
    CHECK(motions_of_rod(2, 0.4636, 0, &a) == 0);
    CHECK(a.pulling == 0);
    CHECK_NEAR(a.without, -9.81, 0);
    CHECK_NEAR(a.per_unit, -0.8, 1e-4); /* 1 + 3/5 - 2*3*2/5 at tan(a) = 1/2 */
    CHECK(motions_of_rod(2, 0.4636, 6, &a) == 2);
    CHECK(a.mode[0] != a.other[0]); /* flies away, or is pressed down by its friction */
}

/* A table of unit mass on legs at (x, y), loaded at (0.1, 0.05). */
static void table(drawn *d, int legs, const double (*leg)[2])
{
    memset(d, 0, sizeof *d);
    d->items = d->rows = legs;
    d->row[legs] = legs;
    for (int i = 0; i < legs; i++) {
        d->row[i] = i;
        d->item[i] = (nh_mode_item){.allowed = NH_MODE_ANY};
        d->free[i] = -1 - 3 * (0.1 * leg[i][0] + 0.05 * leg[i][1]);
        for (int j = 0; j < legs; j++)
            d->response[i * legs + j] = 1 + 3 * leg[i][0] * leg[j][0] + 3 * leg[i][1] * leg[j][1];
    }
}

static void test_table(void)
{
    static const double leg[8][2] = {{1, 1},  {-1, 1}, {-1, -1}, {1, -1},
                                     {0, .5}, {.5, 0}, {0, -.5}, {-.5, 0}};
    drawn d;
    nh_mode_answer a;
    for (int legs = 3; legs <= 8; legs++) {
        table(&d, legs, leg);
        nh_mode_problem p = problem_of(&d);
        nh_modes_solve(solver, &p, &a);
        CHECK(a.motions == 1);
        if (legs == 3) { /* falls towards the missing leg if loaded beyond the diagonal */
            CHECK(!a.redundant);
            continue;
        }
        CHECK(a.redundant);
        CHECK(!a.tied);
        double sum = 0, x = 0, y = 0, least = 1;
        for (int i = 0; i < legs; i++) {
            CHECK(a.mode[i] == NH_MODE_CLOSED);
            CHECK_NEAR(a.acceleration[i], 0, 1e-15);
            sum += a.reaction[i];
            x += a.reaction[i] * leg[i][0];
            y += a.reaction[i] * leg[i][1];
            least = fmin(least, a.reaction[i]);
        }
        CHECK(least >= 0);
        CHECK_NEAR(sum, 1, 1e-14);
        CHECK_NEAR(x, 0.1, 1e-14);
        CHECK_NEAR(y, 0.05, 1e-14);
        if (legs == 4) { /* those of least norm are linear in x and y */
            CHECK_NEAR(a.reaction[0], 0.2875, 1e-14);
            CHECK_NEAR(a.reaction[2], 0.2125, 1e-14);
        }
    }
}

/* Reactions of least norm that would pull: the least ones that do not. */
static void test_least_that_push(void)
{
    static const double leg[4][2] = {{0, 0}, {1, 0}, {2, 0}, {0, 1}};
    drawn d = {.items = 4, .rows = 4, .row = {0, 1, 2, 3, 4}};
    double at = 0.2; /* the load, on the line of the first three legs */
    for (int i = 0; i < 4; i++) {
        d.item[i] = (nh_mode_item){.allowed = NH_MODE_ANY};
        d.free[i] = -1 - 3 * at * leg[i][0];
        for (int j = 0; j < 4; j++)
            d.response[i * 4 + j] = 1 + 3 * leg[i][0] * leg[j][0] + 3 * leg[i][1] * leg[j][1];
    }
    nh_mode_problem p = problem_of(&d);
    nh_mode_answer a;
    nh_modes_solve(solver, &p, &a); /* least norm of all: (19, 10, 1, 0)/30 with sum 1, moment .4 */
    CHECK(a.motions == 1 && a.redundant);
    CHECK_NEAR(a.reaction[0] + a.reaction[1] + a.reaction[2], 1, 1e-14);
    CHECK_NEAR(a.reaction[1] + 2 * a.reaction[2], at, 1e-14);
    CHECK_NEAR(a.reaction[2], 0, 1e-9); /* would be -1/15 without the condition */
    CHECK_NEAR(a.reaction[3], 0, 1e-9);
}

/* One block: force 1 + f against static limit 1.2 and kinetic limit 0.8. */
static void test_static(void)
{
    static const double force[4] = {0.5, 1, 1.3, -1.3};
    static const unsigned char mode[4] = {NH_MODE_HELD, NH_MODE_HELD, NH_MODE_FORWARD,
                                          NH_MODE_BACKWARD};
    double none[1] = {0}, response[1] = {2}, kinetic[1] = {0.8}, held[1] = {1.2};
    nh_mode_item item = {.components = 1, .allowed = NH_MODE_ANY, .loaded = true};
    for (int n = 0; n < 4; n++) {
        double free[1] = {2 * force[n]};
        nh_mode_problem p = {.items = 1,
                             .rows = 1,
                             .item = &item,
                             .free = free,
                             .response = response,
                             .kinetic = {kinetic, none},
                             .held = {held, none}};
        nh_mode_answer a;
        nh_modes_solve(solver, &p, &a);
        CHECK(a.motions == 1);
        CHECK(a.mode[0] == mode[n]);
    }
}

/* A force exactly at the limit: its rate tells whether the block holds. */
static void test_tie(void)
{
    double none[1] = {0}, response[1] = {1}, limit[1] = {1}, free[1] = {1}, rate[1] = {0.5};
    nh_mode_item item = {.components = 1, .allowed = NH_MODE_ANY, .loaded = true};
    nh_mode_problem p = {.items = 1,
                         .rows = 1,
                         .item = &item,
                         .free = free,
                         .response = response,
                         .kinetic = {limit, none}};
    nh_mode_answer a;
    nh_modes_solve(solver, &p, &a);
    CHECK(a.motions == 1 && a.mode[0] == NH_MODE_HELD && a.tied);
    p.free_rate = rate;
    p.response_rate = none;
    p.kinetic_rate = (nh_mode_limits){none, none};
    nh_modes_solve(solver, &p, &a);
    CHECK(a.motions == 1 && a.mode[0] == NH_MODE_FORWARD && !a.tied);
    rate[0] = -0.5;
    nh_modes_solve(solver, &p, &a);
    CHECK(a.motions == 1 && a.mode[0] == NH_MODE_HELD && !a.tied);
    p.free_rate = NULL;
    item.allowed = NH_MODE_SLIPS; /* the limit was crossed */
    nh_modes_solve(solver, &p, &a);
    CHECK(a.motions == 1 && a.mode[0] == NH_MODE_FORWARD);
}

/* A particle on a grooved plane (mu 0.1 along, 0.3 across), pushed by a force: the direction in
 * which it begins to slip, and the force in slip. */
static void test_ellipse(void)
{
    double response[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, constant[3] = {0};
    double load[9] = {0, 0, 0, 0.1, 0, 0, 0.3, 0, 0};
    nh_mode_item item[2] = {{.allowed = NH_MODE_ANY}, {.components = 2, .allowed = NH_MODE_ANY}};
    for (int n = 0; n < 20; n++) {
        double angle = 0.05 + 0.314 * n, push = 5;
        double free[3] = {-10, push * cos(angle), push * sin(angle)};
        nh_mode_problem p = {.items = 2,
                             .rows = 3,
                             .item = item,
                             .free = free,
                             .response = response,
                             .kinetic = {constant, load}};
        nh_mode_answer a;
        nh_modes_solve(solver, &p, &a);
        CHECK(a.motions == 1 && a.mode[0] == NH_MODE_CLOSED && a.mode[1] == NH_MODE_FORWARD);
        const double *d = a.direction + 1, *y = a.acceleration + 1, *r = a.reaction + 1;
        CHECK_NEAR(d[0] * y[1] - d[1] * y[0], 0, 1e-14);
        CHECK(d[0] * y[0] + d[1] * y[1] > 0);
        CHECK_NEAR(r[0] * r[0] + r[1] * r[1] / 9, 1, 1e-14); /* on the ellipse (1, 3) */
        CHECK_NEAR(r[1] * d[0] - 9 * r[0] * d[1], 0, 1e-13); /* the force of greatest dissipation */
        double length = push * hypot(cos(angle), sin(angle) / 3);
        free[1] /= 1.001 * length;
        free[2] /= 1.001 * length;
        nh_modes_solve(solver, &p, &a);
        CHECK(a.motions == 1 && a.mode[1] == NH_MODE_HELD);
    }
}

int main(void)
{
    solver = nh_mode_solver_create(MOST_ITEMS, MOST_ROWS);
    test_lemke();
    test_random(1, 1, 3, 2000, 1e-12);
    test_random(2, 1, 3, 500, 1e-9);
    test_random(4, 1, 12, 40, 1e-11);
    test_random(1, 2, 6, 1000, 1e-11);
    test_random(2, 2, 6, 100, 1e-9);
    test_random(8, 1, 24, 200, 1e-10); /* Lemke */
    test_random(12, 1, 12, 200, 1e-7); /* Lemke, with more rows than freedoms */
    test_random(6, 2, 24, 100, 1e-9);  /* Lemke with pyramids */
    test_lemke_against_all(1, 3, 500);
    test_lemke_against_all(3, 9, 200);
    test_painleve();
    test_table();
    test_least_that_push();
    test_static();
    test_tie();
    test_ellipse();
    nh_mode_solver_free(solver);
    return check_end();
}
