/* Random contacts with grips for the tests of the mode problem and of impacts. */
#ifndef TEST_CONTACT_PROBLEMS_AT_RANDOM_H
#define TEST_CONTACT_PROBLEMS_AT_RANDOM_H

#include "contact/modes.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define MOST_ITEMS 32
#define MOST_ROWS 48

/* Numbers between 0 and 1 (xorshift*): the same on every machine. */
static uint64_t chance_state = 88172645463325252u;

static inline double chance(void)
{
    chance_state ^= chance_state >> 12;
    chance_state ^= chance_state << 25;
    chance_state ^= chance_state >> 27;
    return (double)((chance_state * 2685821657736338717u) >> 11) / 9007199254740992.0;
}

static inline double between(double a, double b)
{
    return a + (b - a) * chance();
}

typedef struct drawn {
    int items, rows;
    nh_mode_item item[MOST_ITEMS];
    int contact[MOST_ITEMS], row[MOST_ITEMS + 1];
    double free[MOST_ROWS], response[MOST_ROWS * MOST_ROWS], restitution[MOST_ITEMS];
    double constant[MOST_ROWS], load[MOST_ROWS * MOST_ROWS];
} drawn;

/* `contacts` contacts, each with a grip of `components` (0: none), on a body with `freedoms`
 * velocities and a mass matrix that is the unit matrix. */
static inline void draw_problem(drawn *d, int contacts, int components, int freedoms, double mu)
{
    double w[MOST_ROWS][64], push[64];
    memset(d, 0, sizeof *d);
    for (int c = 0; c < contacts; c++) {
        d->contact[d->items] = d->items;
        d->restitution[d->items] = chance();
        d->row[d->items] = d->rows++;
        d->item[d->items++] = (nh_mode_item){.allowed = NH_MODE_ANY};
    }
    for (int c = 0; c < contacts && components; c++) {
        d->contact[d->items] = c;
        d->item[d->items] = (nh_mode_item){.components = components, .allowed = NH_MODE_ANY};
        d->row[d->items++] = d->rows;
        d->rows += components;
    }
    d->row[d->items] = d->rows;
    for (int i = 0; i < d->rows; i++)
        for (int j = 0; j < freedoms; j++)
            w[i][j] = between(-1, 1);
    for (int f = 0; f < freedoms; f++)
        push[f] = between(-1, 1);
    for (int i = 0; i < d->rows; i++)
        for (int f = 0; f < freedoms; f++) {
            d->free[i] += w[i][f] * push[f];
            for (int j = 0; j < d->rows; j++)
                d->response[i * d->rows + j] += w[i][f] * w[j][f];
        }
    for (int k = contacts; k < d->items; k++) {
        double own = mu * chance();
        for (int i = d->row[k]; i < d->row[k + 1]; i++)
            d->load[i * d->rows + d->contact[k]] = own;
    }
}

static inline nh_mode_problem problem_of(const drawn *d)
{
    return (nh_mode_problem){.items = d->items,
                             .rows = d->rows,
                             .item = d->item,
                             .free = d->free,
                             .response = d->response,
                             .kinetic = {d->constant, d->load}};
}

#endif
