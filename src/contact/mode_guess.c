/* The mode problem as a linear complementarity problem (Stewart and Trinkle). The force of an
 * undecided grip is a sum of d l, l >= 0, over directions d in opposite pairs; s is the speed at
 * which it slips away:
 *
 *     r >= 0,  y >= 0,            r y = 0           for contacts,
 *     l >= 0,  d y + s >= 0,      l (d y + s) = 0   for each direction,
 *     s >= 0,  L - sum l >= 0,    s (L - sum l) = 0.
 *
 * Reactions of grips that slip already are eliminated first: r = -L share. Grips that begin to slip
 * with a kinetic limit of their own then join them, and the problem is solved again. */
#include "contact/mode_guess.h"
#include "contact/lemke.h"
#include "base/arena.h"
#include "base/dense.h"

#include <math.h>
#include <string.h>

typedef struct guess {
    const nh_mode_problem *p;
    const nh_mode_limits *held;
    int facets;    /* of a grip with two components */
    int *row;      /* [items] */
    bool *slips;   /* [items]: slips in a known direction */
    double *share; /* [rows]: r = -L share, of these */
    double *scale; /* [rows] */
    int known, unknown;
    int *known_row, *unknown_row;
    double *by_unknown; /* [rows][unknown + 1]: reactions, from those that are unknown and 1 */
    double *y, *limit;  /* [rows][unknown + 1], in the same form */
    int size;           /* of the complementarity problem */
    double *basis;      /* [unknown][size]: unknown reactions, from its variables */
    double *matrix, *right, *z, *room, *reaction, *acceleration;
    int *marks;
    double slack;
} guess;

static bool is_grip(const guess *g, int k)
{
    return g->p->item[k].components > 0;
}

static int facets_of(const guess *g, int k)
{
    return g->p->item[k].components == 1 ? 2 : g->facets;
}

/* The ratio of the second half axis of a cone to the first. */
static double stretch_of(const guess *g, int k)
{
    double size[2];
    for (int c = 0; c < 2; c++) {
        int i = g->row[k] + c;
        size[c] = fabs(g->held->constant[i]);
        for (int j = 0; j < g->p->rows; j++)
            size[c] += fabs(g->held->load[i * g->p->rows + j]) / g->scale[j];
    }
    return size[0] > 0 ? size[1] / size[0] : 1;
}

/* The direction of facet number f of grip k. */
static void facet(const guess *g, int k, int f, double *d)
{
    if (g->p->item[k].components == 1) {
        d[0] = f ? -1 : 1;
        return;
    }
    double angle = 2 * acos(-1) * f / g->facets;
    d[0] = cos(angle);
    d[1] = sin(angle) * stretch_of(g, k);
}

static void set_slip(guess *g, int k, const double *d)
{
    g->slips[k] = true;
    double stretch = g->p->item[k].components == 2 ? stretch_of(g, k) : 0;
    double length = hypot(d[0], g->p->item[k].components == 2 ? stretch * d[1] : 0);
    g->share[g->row[k]] = d[0] / length;
    if (g->p->item[k].components == 2)
        g->share[g->row[k] + 1] = stretch * d[1] / length;
}

static bool begin(guess *g, nh_arena *arena)
{
    const nh_mode_problem *p = g->p;
    size_t rows = p->rows, most = rows;
    g->row = nh_arena_array(arena, p->items + 1, sizeof(int));
    g->slips = nh_arena_array(arena, p->items, sizeof(bool));
    g->known_row = nh_arena_array(arena, rows, sizeof(int));
    g->unknown_row = nh_arena_array(arena, rows, sizeof(int));
    g->share = nh_arena_array(arena, rows, sizeof(double));
    g->scale = nh_arena_array(arena, rows, sizeof(double));
    g->by_unknown = nh_arena_array(arena, rows * (rows + 1), sizeof(double));
    g->y = nh_arena_array(arena, rows * (rows + 1), sizeof(double));
    g->limit = nh_arena_array(arena, rows * (rows + 1), sizeof(double));
    g->reaction = nh_arena_array(arena, rows, sizeof(double));
    g->acceleration = nh_arena_array(arena, rows, sizeof(double));
    for (int k = 0; k < p->items; k++)
        most += is_grip(g, k) ? facets_of(g, k) : 0;
    g->basis = nh_arena_array(arena, rows * most, sizeof(double));
    g->matrix = nh_arena_array(arena, most * most, sizeof(double));
    g->right = nh_arena_array(arena, most, sizeof(double));
    g->z = nh_arena_array(arena, most, sizeof(double));
    g->room = nh_arena_array(arena, NH_LEMKE_ROOM(most) + rows * rows, sizeof(double));
    g->marks = nh_arena_array(arena, most, sizeof(int));
    if (arena->failed)
        return false;
    for (int k = 0; k < p->items; k++)
        g->row[k + 1] = g->row[k] + (is_grip(g, k) ? p->item[k].components : 1);
    for (int i = 0; i < p->rows; i++) {
        double own = p->response[i * p->rows + i];
        g->scale[i] = own > 0 ? sqrt(own) : 1;
    }
    for (int k = 0; k < p->items; k++) {
        static const double ahead[1] = {1}, back[1] = {-1};
        unsigned allowed = p->item[k].allowed & (NH_MODE_HELD | NH_MODE_SLIPS);
        if (is_grip(g, k) && p->item[k].moves)
            set_slip(g, k, p->item[k].direction);
        else if (p->item[k].components == 1 && allowed == NH_MODE_FORWARD)
            set_slip(g, k, ahead);
        else if (p->item[k].components == 1 && allowed == NH_MODE_BACKWARD)
            set_slip(g, k, back);
    }
    return true;
}

/* Divides the rows into those of grips that slip, those that are unknown, and open contacts. */
static void divide(guess *g)
{
    g->known = g->unknown = 0;
    for (int k = 0; k < g->p->items; k++)
        for (int i = g->row[k]; i < g->row[k + 1]; i++)
            if (g->slips[k])
                g->known_row[g->known++] = i;
            else if (is_grip(g, k) || (g->p->item[k].allowed & NH_MODE_CLOSED))
                g->unknown_row[g->unknown++] = i;
}

/* Combines lines over reactions with reactions over unknowns: out = line by_unknown + (0, constant)
 */
static void combine(const guess *g, const double *line, double constant, double *out)
{
    int width = g->unknown + 1;
    memset(out, 0, width * sizeof *out);
    for (int j = 0; j < g->p->rows; j++)
        for (int b = 0; b < width; b++)
            out[b] += line[j] * g->by_unknown[j * width + b];
    out[width - 1] += constant;
}

/* Eliminates the reactions of grips that slip. */
static bool eliminate(guess *g)
{
    const nh_mode_problem *p = g->p;
    int n = g->known, width = g->unknown + 1, rows = p->rows;
    memset(g->by_unknown, 0, (size_t)rows * width * sizeof(double));
    for (int b = 0; b < g->unknown; b++)
        g->by_unknown[g->unknown_row[b] * width + b] = 1;
    double *a = g->room, *x = g->right;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i * n + j] = (i == j) + g->share[g->known_row[i]] *
                                          p->kinetic.load[g->known_row[i] * rows + g->known_row[j]];
    if (n && !nh_dense_factor(n, a, g->marks))
        return false;
    for (int b = 0; b < width && n; b++) {
        for (int i = 0; i < n; i++) {
            int row = g->known_row[i];
            x[i] =
                -g->share[row] * (b < g->unknown ? p->kinetic.load[row * rows + g->unknown_row[b]]
                                                 : p->kinetic.constant[row]);
        }
        nh_dense_solve(n, a, g->marks, x);
        for (int i = 0; i < n; i++)
            g->by_unknown[g->known_row[i] * width + b] = x[i];
    }
    for (int i = 0; i < rows; i++) {
        combine(g, p->response + i * rows, p->free[i], g->y + i * width);
        combine(g, g->held->load + i * rows, g->held->constant[i], g->limit + i * width);
    }
    return true;
}

/* Numbers the variables: contacts, then for each undecided grip its facets and its speed. */
static void set_basis(guess *g)
{
    int size = 0;
    for (int pass = 0; pass < 2; pass++) { /* the first counts */
        int n = 0, b = 0;
        for (int k = 0; k < g->p->items; k++) {
            if (g->slips[k] || (!is_grip(g, k) && !(g->p->item[k].allowed & NH_MODE_CLOSED)))
                continue;
            int components = g->row[k + 1] - g->row[k];
            if (!is_grip(g, k) && pass)
                g->basis[b * size + n] = 1 / g->scale[g->row[k]];
            for (int f = 0; is_grip(g, k) && pass && f < facets_of(g, k); f++) {
                double d[2];
                facet(g, k, f, d);
                for (int c = 0; c < components; c++)
                    g->basis[(b + c) * size + n + f] = d[c] / g->scale[g->row[k]];
            }
            n += is_grip(g, k) ? facets_of(g, k) + 1 : 1;
            b += components;
        }
        size = n;
        if (!pass)
            memset(g->basis, 0, (size_t)g->unknown * size * sizeof(double));
    }
    g->size = size;
}

/* Row n of the problem: factor times a line over the unknown reactions and 1. */
static void add_line(guess *g, int n, double factor, const double *line)
{
    for (int b = 0; b < g->unknown; b++)
        for (int j = 0; j < g->size; j++)
            g->matrix[n * g->size + j] += factor * line[b] * g->basis[b * g->size + j];
    g->right[n] += factor * line[g->unknown];
}

static bool solve_complementarity(guess *g)
{
    set_basis(g);
    int size = g->size, width = g->unknown + 1, n = 0;
    memset(g->matrix, 0, (size_t)size * size * sizeof(double));
    memset(g->right, 0, size * sizeof(double));
    for (int k = 0; k < g->p->items; k++) {
        int row = g->row[k], components = g->row[k + 1] - row;
        if (g->slips[k] || (!is_grip(g, k) && !(g->p->item[k].allowed & NH_MODE_CLOSED)))
            continue;
        if (!is_grip(g, k)) {
            add_line(g, n++, 1 / g->scale[row], g->y + row * width);
            continue;
        }
        int facets = facets_of(g, k), speed = n + facets;
        for (int f = 0; f < facets; f++, n++) {
            double d[2];
            facet(g, k, f, d);
            for (int c = 0; c < components; c++)
                add_line(g, n, d[c] / g->scale[row], g->y + (row + c) * width);
            g->matrix[n * size + speed] = 1;
            g->matrix[speed * size + n] = -1;
        }
        add_line(g, n++, g->scale[row], g->limit + row * width);
    }
    double largest = 0;
    for (int i = 0; i < size; i++)
        largest = fmax(largest, fabs(g->right[i]));
    g->slack = 1e-9 * largest;
    return nh_lemke(size, g->matrix, g->right, g->z, g->room, g->marks);
}

static void find_motion(guess *g)
{
    int width = g->unknown + 1;
    for (int b = 0; b < g->unknown; b++) {
        g->reaction[b] = 0;
        for (int j = 0; j < g->size; j++)
            g->reaction[b] += g->basis[b * g->size + j] * g->z[j];
    }
    for (int i = 0; i < g->p->rows; i++) {
        g->acceleration[i] = g->y[i * width + g->unknown];
        for (int b = 0; b < g->unknown; b++)
            g->acceleration[i] += g->y[i * width + b] * g->reaction[b];
    }
}

static bool limits_differ(const guess *g, int k)
{
    const nh_mode_limits *a = &g->p->kinetic, *b = g->held;
    for (int i = g->row[k]; i < g->row[k + 1]; i++)
        if (a->constant[i] != b->constant[i] ||
            memcmp(a->load + i * g->p->rows, b->load + i * g->p->rows,
                   g->p->rows * sizeof(double)) != 0)
            return true;
    return false;
}

/* Reads the mode off the solution; true if a grip has begun to slip with another limit. */
static bool read_mode(guess *g, unsigned char *mode)
{
    bool again = false;
    int b = 0;
    for (int k = 0; k < g->p->items; k++) {
        const nh_mode_item *item = &g->p->item[k];
        int row = g->row[k];
        const double *y = g->acceleration + row;
        double speed = hypot(y[0], item->components == 2 ? y[1] : 0) / g->scale[row];
        if (!item->components) {
            bool bears = item->allowed & NH_MODE_CLOSED;
            mode[k] =
                bears && (speed <= g->slack || g->reaction[b] > 0) ? NH_MODE_CLOSED : NH_MODE_OPEN;
            b += bears;
            continue;
        }
        bool was = g->slips[k];
        double way = was ? g->share[row] : y[0];
        if (!was && speed <= g->slack && !(item->allowed & NH_MODE_HELD))
            way = -g->reaction[b];
        mode[k] = item->components == 1 && way < 0 ? NH_MODE_BACKWARD : NH_MODE_FORWARD;
        if (!was && speed <= g->slack && (item->allowed & NH_MODE_HELD))
            mode[k] = NH_MODE_HELD;
        else if (!was && limits_differ(g, k)) {
            set_slip(g, k, y);
            again = true;
        }
        b += was ? 0 : item->components;
    }
    return again;
}

bool nh_mode_guess(const nh_mode_problem *p, int round, unsigned char *mode)
{
    nh_arena arena = {0};
    guess g = {.p = p, .held = p->held.load ? &p->held : &p->kinetic, .facets = 8 << round};
    bool found = begin(&g, &arena), again = found;
    for (int k = 0; again && k <= p->items; k++) {
        divide(&g);
        found = eliminate(&g) && solve_complementarity(&g);
        if (!found)
            break;
        find_motion(&g);
        again = read_mode(&g, mode);
    }
    nh_arena_free(&arena);
    return found;
}
