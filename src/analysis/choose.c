/* Rows of a matrix that determine all others: see choose.h. */
#include "analysis/choose.h"

#include <math.h>

static double largest_in(const nh_choose *w, int row, int *column)
{
    double most = 0;
    for (int c = 0; c < w->columns; c++)
        if (fabs(w->a[row * w->columns + c]) > most) {
            most = fabs(w->a[row * w->columns + c]);
            *column = c;
        }
    return most;
}

static void eliminate(nh_choose *w, int row, int column)
{
    const int C = w->columns;
    w->used[row] = true;
    w->row[w->count] = row;
    w->column[w->count++] = column;
    for (int c = 0; c < C; c++) {
        const double factor = c == column ? 0 : w->a[row * C + c] / w->a[row * C + column];
        for (int i = 0; i < w->rows && factor != 0; i++)
            w->a[i * C + c] -= factor * w->a[i * C + column];
    }
    for (int i = 0; i < w->rows; i++)
        w->a[i * C + column] = 0;
}

void nh_choose_among(nh_choose *w, int from, int to, const bool *allowed, double least,
                     double share)
{
    while (w->count < w->columns) {
        double most = 0;
        int column = 0, row = -1;
        for (int i = from; i < to; i++)
            if (!w->used[i] && (!allowed || allowed[i]))
                most = fmax(most, largest_in(w, i, &column));
        if (!(most > least))
            return;
        for (int i = from; i < to && row < 0; i++)
            if (!w->used[i] && (!allowed || allowed[i]) &&
                largest_in(w, i, &column) >= share * most)
                row = i;
        eliminate(w, row, column);
    }
}
