/* Random numbers, exact sums, and ensembles: the same bits for any threads, blocks and order, and
 * members that fail alone. */
#include <stdlib.h>
#include <unistd.h>

#include <nonholo.h>

#include "base/exact.h"
#include "base/random.h"
#include "check.h"
#include "simulate/machines.h"
#include "simulate/starts.h"

/* ---- Philox against the known answers that come with the paper's library ---- */

static void check_philox(uint32_t fill, const uint32_t expected[4])
{
    uint32_t counter[4] = {fill, fill, fill, fill}, key[2] = {fill, fill}, out[4];
    nh_philox(counter, key, out);
    CHECK(memcmp(out, expected, sizeof out) == 0);
}

static void random_numbers(void)
{
    check_philox(0, (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    check_philox(0xffffffff, (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    uint32_t counter[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, out[4];
    uint32_t key[2] = {0xa4093822, 0x299f31d0};
    nh_philox(counter, key, out);
    CHECK(memcmp(out, (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}, sizeof out) ==
          0);
    double sum = 0, squares = 0, least = 1, greatest = 0;
    enum { COUNT = 100000 };
    nh_stream s = {.seed = 7};
    for (int i = 0; i < COUNT; i++) {
        double x = nh_stream_normal(&s), u = nh_stream_uniform(&s);
        sum += x;
        squares += x * x;
        least = fmin(least, u);
        greatest = fmax(greatest, u);
    }
    CHECK_NEAR(sum / COUNT, 0, 4 / sqrt(COUNT)); /* four standard deviations */
    CHECK_NEAR(squares / COUNT, 1, 4 * sqrt(2.0 / COUNT));
    CHECK(least > 0 && least < 1e-3 && greatest < 1 && greatest > 1 - 1e-3);
}

/* ---- sums ---- */

static void exact_sums(void)
{
    static const double terms[] = {1e308, 1, -1e308, 0x1p-1074, 1e-300, -1, 3, 1e16, -1e16, 0.1};
    enum { TERMS = sizeof terms / sizeof *terms };
    nh_exact up = {0}, down = {0};
    double high, low;
    for (int i = 0; i < TERMS; i++) {
        nh_exact_add(&up, terms[i]);
        nh_exact_add(&down, terms[TERMS - 1 - i]);
    }
    nh_exact_value(&up, &high, &low);
    nh_exact_carry(&down);
    CHECK(memcmp(&up, &down, sizeof up) == 0);
    CHECK(high == 3.1);
    CHECK(low == 0.1 - (3.1 - 3)); /* both differences are exact */
    nh_exact negative = {0};
    nh_exact_add(&negative, -0x1p-1074);
    nh_exact_value(&negative, &high, &low);
    CHECK(high == -0x1p-1074 && low == 0);
}

static void gatherings(void)
{
    nh_gathering one = {0}, half[2] = {{0}};
    for (int i = 0; i < 1000; i++) {
        double x = 1e6 + 1e-6 * (i % 2 ? 1 : -1); /* variance 1e-12, mean square 1e12 */
        nh_gather(&one, x);
        nh_gather(&half[i % 3 == 0], x);
    }
    double low = 1e6 - 1e-6, up = 1e6 + 1e-6, expected = (up - low) / 2;
    CHECK_NEAR(nh_gathered_variance(&one), expected * expected, 1e-24);
    nh_gather_join(&half[1], &half[0]);
    CHECK(half[1].count == 1000 && half[1].least == low && half[1].greatest == up);
    CHECK(nh_gathered_variance(&half[1]) == nh_gathered_variance(&one));
    CHECK(nh_gathered_mean(&half[1]) == nh_gathered_mean(&one));
    nh_gather(&one, NAN);
    nh_gather(&one, INFINITY);
    CHECK(one.count == 1000 && one.infinite == 2);
    nh_gathering none = {0};
    CHECK(isnan(nh_gathered_mean(&none)) && isnan(nh_gathered_variance(&none)));
}

/* ---- random starts ---- */

static void random_starts(const char *name, double energy)
{
    nh_model *model;
    nh_system *system;
    nh_report report;
    double q[16], v[16], again_q[16], again_v[16], found, k[8], worst_energy = 0, worst = 0;
    CHECK(nh_model_open(&model, name, &report) == NH_OK);
    CHECK(nh_system_build(&system, model, NULL, 0, &report) == NH_OK);
    for (uint64_t i = 0; i < 200; i++) {
        CHECK(nh_random_start(system, 0, energy, 5, i, NULL, q, v, &report) == NH_OK);
        nh_system_energy(system, 0, q, v, &found, &report);
        nh_system_residual(system, 0, q, v, k, &report);
        worst_energy = fmax(worst_energy, fabs(found - energy));
        for (int c = 0; c < nh_system_constraints(system); c++)
            worst = fmax(worst, fabs(k[c]));
    }
    CHECK_NEAR(worst_energy, 0, 4e-12); /* found: 9e-16 to 3e-14 */
    CHECK_NEAR(worst, 0, 1e-13);        /* found: at most 2e-15 */
    CHECK(nh_random_start(system, 0, energy, 5, 199, NULL, again_q, again_v, &report) == NH_OK);
    CHECK(memcmp(q, again_q, (size_t)nh_system_coordinates(system) * sizeof *q) == 0);
    CHECK(memcmp(v, again_v, (size_t)nh_system_velocities(system) * sizeof *v) == 0);
    CHECK(nh_random_start(system, 0, energy, 6, 199, NULL, again_q, again_v, &report) == NH_OK);
    CHECK(memcmp(v, again_v, (size_t)nh_system_velocities(system) * sizeof *v) != 0);
    CHECK(nh_random_start(system, 0, NAN, 5, 0, NULL, q, v, &report) == NH_BAD_ARGUMENT);
    nh_system_free(system);
    nh_model_free(model);
}

/* ---- ensembles ---- */

/* A particle in a potential -x^4: it reaches infinity in finite time when it is thrown hard. */
static const char runaway[] =
    "model runaway\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - x^2/2 + x^4\n"
    "constraint y' = x*x'\nstart x = 0.1\nobserve height = y\n";
enum { MEMBERS = 43, FAILING = 17 };

typedef struct kept { /* what the hooks received */
    double q[MEMBERS][2], energy[MEMBERS][11];
    int64_t steps[MEMBERS], next;
    int status[MEMBERS], rows, out_of_order;
} kept;

static int keep_rows(void *user, const nh_rows *rows)
{
    kept *k = user;
    for (int m = 0; m < rows->members; m++)
        for (int r = 0; r < rows->records; r++, k->rows++)
            k->energy[rows->first_member + m][rows->first_record + r] =
                rows->value[(m * rows->records + r) * rows->columns];
    return 0;
}

static int keep_member(void *user, const nh_member *m)
{
    kept *k = user;
    k->out_of_order += m->member != k->next++;
    memcpy(k->q[m->member], m->q, sizeof k->q[0]);
    k->steps[m->member] = m->steps;
    k->status[m->member] = (int)m->status;
    return 0;
}

typedef struct table {
    double q[MEMBERS][2], v[MEMBERS][2];
} table;

static void fill_starts(table *t, bool reversed)
{
    for (int i = 0; i < MEMBERS; i++) {
        int at = reversed ? MEMBERS - 1 - i : i;
        double x = i == FAILING ? 5 : 0.1 + 0.001 * i;
        t->q[at][0] = x;
        t->q[at][1] = 0;
        t->v[at][0] = i == FAILING ? 30 : 0;
        t->v[at][1] = x * t->v[at][0];
    }
}

static nh_simulation *run_list(const nh_model *model, const table *t, int threads,
                               nh_backend backend, kept *k)
{
    nh_report report;
    nh_simulation *e;
    const nh_run_options how = {.method = "dla01",
                                .step = 0.01,
                                .backend = backend,
                                .steps = 1000,
                                .every = 100,
                                .q = t->q[0],
                                .v = t->v[0]};
    nh_simulation_options options = {.run = &how,
                                     .model = model,
                                     .starts = NH_STARTS_LIST,
                                     .members = MEMBERS,
                                     .threads = threads,
                                     .user = k,
                                     .rows = keep_rows,
                                     .member = keep_member};
    *k = (kept){0};
    CHECK(nh_simulation_create(&e, NULL, &options, &report) == NH_OK);
    CHECK(nh_simulation_advance(e, &report) == NH_OK && nh_simulation_arrived(e));
    CHECK(k->out_of_order == 0 && k->next == MEMBERS && k->rows == MEMBERS * 11);
    return e;
}

static bool same_statistics(const nh_simulation *a, const nh_simulation *b)
{
    for (int64_t r = 0; r < nh_simulation_records(a); r++)
        for (int c = 0; c < nh_simulation_columns(a); c++) {
            nh_statistic x = nh_simulation_statistic(a, r, c), y = nh_simulation_statistic(b, r, c);
            if (memcmp(&x, &y, sizeof x) != 0)
                return false;
        }
    return true;
}

/* One member alone, as a run. */
static void alone(const nh_model *model, const table *t, int member, double q[2])
{
    nh_system *system;
    nh_run *run;
    nh_report report;
    nh_run_options options = {.method = "dla01", .step = 0.01};
    CHECK(nh_system_build(&system, model, NULL, 0, &report) == NH_OK);
    CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
    CHECK(nh_run_start(run, 0, 0, t->q[member], t->v[member], &report) == NH_OK);
    CHECK(nh_run_advance(run, 1000, &report) == NH_OK);
    nh_run_state(run, 0, NULL, q, NULL);
    nh_run_free(run);
    nh_system_free(system);
}

static void failing_member(const nh_simulation *e, const kept *k, int failing)
{
    int64_t member;
    CHECK(nh_simulation_failures(e) == 1);
    const nh_report *report = nh_simulation_failure(e, 0, &member);
    CHECK(report && member == failing && report->status == NH_NOT_CONVERGED);
    CHECK(report && strncmp(report->text,
                            failing == FAILING ? "member 17, step " : "member 25, step ", 16) == 0);
    CHECK(nh_simulation_failure(e, 1, &member) == NULL);
    for (int i = 0; i < MEMBERS; i++) {
        CHECK((k->status[i] != NH_OK) == (i == failing));
        CHECK(k->steps[i] == 1000 || i == failing);
        CHECK(isnan(k->energy[i][10]) == (i == failing));
    }
    CHECK(nh_simulation_statistic(e, 0, 0).count == MEMBERS);
    CHECK(nh_simulation_statistic(e, 10, 0).count == MEMBERS - 1);
}

static void lists(void)
{
    nh_model *model;
    nh_report report;
    table straight, reversed;
    kept a, b;
    CHECK(nh_model_parse(&model, "runaway.nh", runaway, strlen(runaway), &report) == NH_OK);
    fill_starts(&straight, false);
    fill_starts(&reversed, true);
    nh_simulation *one = run_list(model, &straight, 1, NH_BACKEND_TAPE, &a);
    failing_member(one, &a, FAILING);
    double q[2];
    for (int i = 0; i < MEMBERS; i += 6) { /* neighbours of the failing one too: 12, 18 */
        alone(model, &straight, i, q);
        CHECK(memcmp(q, a.q[i], sizeof q) == 0);
    }
    for (int threads = 2; threads <= 3; threads++) {
        nh_simulation *other = run_list(model, &straight, threads, NH_BACKEND_TAPE, &b);
        CHECK(same_statistics(one, other));
        CHECK(memcmp(a.q, b.q, sizeof a.q) == 0);
        nh_simulation_free(other);
    }
    nh_simulation *other = run_list(model, &straight, 2, NH_BACKEND_COMPILED, &b);
    CHECK(same_statistics(one, other) && memcmp(a.q, b.q, sizeof a.q) == 0);
    nh_simulation_free(other);
    other = run_list(model, &reversed, 2, NH_BACKEND_TAPE, &b);
    failing_member(other, &b, MEMBERS - 1 - FAILING);
    CHECK(same_statistics(one, other));
    for (int i = 0; i < MEMBERS; i++)
        CHECK(memcmp(a.q[i], b.q[MEMBERS - 1 - i], sizeof q) == 0);
    nh_simulation_free(other);
    nh_simulation_free(one);
    nh_model_free(model);
}

/* Parts are consecutive members; joined, they give the result of one process, to the last bit. */
static void parts_and_sweeps(void)
{
    enum { PARTS = 7 };
    nh_model *model;
    nh_report report;
    nh_sweep sweep[] = {{"eps", 0, 0.5, 3}, {"shift", 1, 2, 2}};
    const nh_run_options how = {.method = "gauss", .step = 0.1, .steps = 50, .every = 7};
    nh_simulation_options options = {.run = &how,
                                     .starts = NH_STARTS_RANDOM,
                                     .members = 20,
                                     .fixed_energy = true,
                                     .energy = 6,
                                     .sweep = sweep,
                                     .sweeps = 2};
    CHECK(nh_model_open(&model, "pendulum-cvt", &report) == NH_OK);
    options.model = model;
    nh_simulation *whole, *joined = NULL;
    CHECK(nh_simulation_create(&whole, NULL, &options, &report) == NH_OK);
    CHECK(nh_simulation_advance(whole, &report) == NH_OK);
    int64_t next = 0;
    options.parts = PARTS;
    for (options.part = 1; options.part <= PARTS; options.part++) {
        nh_simulation *e;
        void *bytes;
        size_t size;
        CHECK(nh_simulation_create(&e, NULL, &options, &report) == NH_OK);
        const nh_members members = nh_simulation_members(e);
        CHECK(members.all == 120 && members.combinations == 6);
        CHECK(nh_simulation_records(e) == 9 && nh_simulation_time(e, 8) == 5.0);
        CHECK(nh_simulation_swept_value(e, 3, 0) == 0.25 &&
              nh_simulation_swept_value(e, 3, 1) == 2);
        CHECK(members.first == next && members.own > 0);
        next += members.own;
        CHECK(nh_simulation_advance(e, &report) == NH_OK);
        CHECK(nh_simulation_statistic(e, 8, 0).count == members.own);
        if (!joined) {
            joined = e;
            continue;
        }
        CHECK(nh_simulation_result(e, &bytes, &size, &report) == NH_OK);
        CHECK(nh_simulation_join(joined, bytes, size, &report) == NH_OK);
        nh_bytes_free(bytes);
        nh_simulation_free(e);
    }
    CHECK(next == 120 && same_statistics(whole, joined));
    nh_simulation_free(whole);
    nh_simulation_free(joined);
    options.part = options.parts = 121;
    CHECK(nh_simulation_create(&joined, NULL, &options, &report) == NH_BAD_ARGUMENT);
    nh_model_free(model);
}

static int stop_soon(void *user)
{
    return ++*(int *)user > 3;
}

static void refusals(void)
{
    nh_model *model;
    nh_report report;
    nh_simulation *e;
    CHECK(nh_model_open(&model, "pendulum-cvt", &report) == NH_OK);
    nh_run_options how = {.method = "dla01", .step = 0.1, .steps = 100, .every = 10};
    nh_simulation_options good = {.run = &how,
                                  .model = model,
                                  .threads = 1, /* the first failure is that of the first member */
                                  .members = 10,
                                  .starts = NH_STARTS_RANDOM,
                                  .fixed_energy = true,
                                  .energy = 6};
    nh_simulation_options bad = good;
    bad.model = NULL;
    CHECK(nh_simulation_create(&e, NULL, &bad, &report) == NH_BAD_ARGUMENT && !e);
    bad = good;
    bad.observe = "power";
    CHECK(nh_simulation_create(&e, NULL, &bad, &report) == NH_BAD_ARGUMENT);
    bad = good;
    how.every = -1;
    CHECK(nh_simulation_create(&e, NULL, &bad, &report) == NH_BAD_ARGUMENT);
    how.every = 10;
    how.method = "nonsense";
    CHECK(nh_simulation_create(&e, NULL, &bad, &report) == NH_BAD_ARGUMENT);
    how.method = "dla01";
    how.steps = INT64_C(1) << 50;
    how.every = 1;
    CHECK(nh_simulation_create(&e, NULL, &bad, &report) == NH_TOO_LARGE);
    how.steps = 100;
    how.every = 10;
    bad.energy = -10; /* below the potential's minimum */
    CHECK(nh_simulation_create(&e, NULL, &bad, &report) == NH_OK);
    CHECK(nh_simulation_advance(e, &report) == NH_BAD_START);
    CHECK(strncmp(report.text, "member 0: 1000 random directions", 32) == 0);
    nh_simulation_free(e);
    int asked = 0;
    how.user = &asked;
    how.stop = stop_soon;
    CHECK(nh_simulation_create(&e, NULL, &good, &report) == NH_OK);
    CHECK(nh_simulation_advance(e, &report) == NH_OK && !nh_simulation_arrived(e));
    CHECK(nh_simulation_steps(e) > 0 && nh_simulation_steps(e) < 1000);
    how.stop = NULL; /* the simulation has its own copy */
    asked = -1000000;
    CHECK(nh_simulation_advance(e, &report) == NH_OK && nh_simulation_arrived(e));
    CHECK(nh_simulation_steps(e) == 1000);
    nh_simulation_free(e);
    nh_model_free(model);
}

/* ---- checkpoints on the way ---- */

enum { KEPT_MOST = 4, CROWD = 150 };

static char folder[] = "/tmp/nonholo-ensemble-XXXXXX";

typedef struct watcher {
    int64_t told;
    int looks, kept;
    double q[CROWD][2];
    const char *checkpoint;
} watcher;

static int hear_member(void *user, const nh_member *member)
{
    watcher *w = user;
    CHECK(member->member >= w->told && member->member < CROWD); /* one after the other */
    w->told = member->member + 1;
    memcpy(w->q[member->member], member->q, sizeof w->q[0]);
    return 0;
}

/* Keeps a copy of some of the checkpoints. */
static void look(void *user, int64_t done, int64_t all)
{
    watcher *w = user;
    char command[256];
    (void)done, (void)all;
    if (++w->looks % 40 != 0 || w->kept == KEPT_MOST || access(w->checkpoint, F_OK) != 0)
        return;
    snprintf(command, sizeof command, "cp %s %s/%d", w->checkpoint, folder, w->kept++);
    CHECK(system(command) == 0);
}

static void run_watched(nh_simulation_options options, watcher *w, const char *resume)
{
    nh_report report;
    nh_simulation *e;
    options.user = w;
    options.resume = resume;
    w->checkpoint = options.checkpoint;
    CHECK(nh_simulation_create(&e, NULL, &options, &report) == NH_OK);
    while (!nh_simulation_arrived(e)) /* it pauses */
        CHECK(nh_simulation_advance(e, &report) == NH_OK);
    CHECK(nh_simulation_finish(e, &report) == NH_OK);
    CHECK(w->told == CROWD);
    nh_simulation_remove_checkpoints(e);
    nh_simulation_free(e);
}

/* Threads that halt for checkpoints again and again, and for pauses; a checkpoint continues to the
 * same bits. The alarm is for threads that wait for each other forever. */
static void checkpoints(void)
{
    nh_model *model;
    nh_report report;
    char checkpoint[64], copy[64];
    CHECK(mkdtemp(folder) != NULL);
    CHECK(nh_model_open(&model, "harmonic-cvt", &report) == NH_OK);
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", folder);
    const nh_run_options how = {
        .method = "dla01", .step = 0.1, .backend = NH_BACKEND_TAPE, .steps = 40, .every = 2};
    nh_simulation_options options = {.run = &how,
                                     .model = model,
                                     .starts = NH_STARTS_RANDOM,
                                     .members = CROWD,
                                     .fixed_energy = true,
                                     .energy = 3,
                                     .threads = 3,
                                     .member = hear_member,
                                     .progress = look,
                                     .checkpoint = checkpoint,
                                     .checkpoint_steps = 60,
                                     .pause = 1e-3};
    static watcher first, second;
    alarm(3600);
    for (int round = 0; round < 2; round++) {
        first = (watcher){0};
        run_watched(options, &first, NULL);
        CHECK(first.kept > 0);
        for (int i = 0; i < first.kept; i++) {
            second = (watcher){.kept = KEPT_MOST};
            snprintf(copy, sizeof copy, "%s/%d", folder, i);
            run_watched(options, &second, copy);
            for (int member = 0; member < CROWD; member++) /* those told of before stay 0 */
                CHECK(second.q[member][0] == 0 ||
                      memcmp(second.q[member], first.q[member], sizeof first.q[0]) == 0);
        }
    }
    alarm(0);
    CHECK(rmdir(folder) == 0);
    nh_model_free(model);
}

/* Rows that stay in memory are those that are handed on. */
static void kept_rows(void)
{
    nh_model *model;
    nh_report report;
    table straight;
    kept told;
    CHECK(nh_model_parse(&model, "runaway.nh", runaway, strlen(runaway), &report) == NH_OK);
    fill_starts(&straight, false);
    for (int way = 0; way < 2; way++) {
        nh_simulation *e;
        const nh_run_options how = {.method = "dla01",
                                    .step = 0.01,
                                    .steps = 1000,
                                    .every = 100,
                                    .q = straight.q[0],
                                    .v = straight.v[0]};
        nh_simulation_options options = {.run = &how,
                                         .model = model,
                                         .starts = NH_STARTS_LIST,
                                         .members = MEMBERS,
                                         .keep = way ? NH_KEEP_LAST_ROW : NH_KEEP_ROWS,
                                         .threads = 2,
                                         .user = &told,
                                         .rows = keep_rows};
        told = (kept){0};
        CHECK(nh_simulation_create(&e, NULL, &options, &report) == NH_OK);
        CHECK(nh_simulation_advance(e, &report) == NH_OK);
        CHECK(nh_simulation_finish(e, &report) == NH_OK);
        const nh_rows *rows = nh_simulation_rows(e);
        CHECK(rows->members == MEMBERS && rows->records == (way ? 1 : 11));
        for (int64_t m = 0; m < MEMBERS; m++)
            for (int64_t r = 0; r < rows->records; r++) {
                double here = rows->value[(m * rows->records + r) * rows->columns];
                double there = told.energy[m][rows->first_record + r];
                CHECK(memcmp(&here, &there, sizeof here) == 0);
            }
        nh_simulation_free(e);
    }
    nh_model_free(model);
}

int main(void)
{
    random_numbers();
    exact_sums();
    gatherings();
    random_starts("chaotic-particle", 1.535);
    random_starts("pendulum-cvt", 6);
    random_starts("chaplygin-sleigh", 0.2);
    random_starts("suslov", 1);
    lists();
    parts_and_sweeps();
    refusals();
    checkpoints();
    kept_rows();
    return check_end();
}
