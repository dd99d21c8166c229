/* What is drawn of a curve covers what was computed: the envelope of the points that
 * nh_thin_function and nh_thin_path keep is compared with the data, pixel by pixel. */
#include "output/thin.h"

#include "check.h"

#include <stdlib.h>

enum { ROWS = 20000, COLUMNS = 300, PIXELS = 200 };

static double x[ROWS], y[ROWS];

typedef double curve(int64_t i);

static double slow_angle(int64_t i)
{
    return 1e-3 * (double)i;
}
static double turning(int64_t i) /* one wrap in ten columns */
{
    return 0.01 * (double)i;
}
static double fast_angle(int64_t i) /* three turns in a column */
{
    return 0.3 * (double)i + sin(1e-3 * (double)i);
}
static double stroboscopic(int64_t i) /* nearly the same angle after each turn */
{
    return (2 * M_PI - 1e-4) * (double)i;
}
static double spikes(int64_t i)
{
    return i % 977 == 5 ? 40 : i % 1013 == 7 ? -30 : sin(1e-2 * (double)i);
}
static double noise(int64_t i)
{
    return sin(1e4 * sin((double)i));
}
static double with_gaps(int64_t i)
{
    return i % 50 / 3 == 7 ? NAN : noise(i);
}

static void fill(curve *of)
{
    for (int64_t i = 0; i < ROWS; i++) {
        x[i] = 0.5 * (double)i;
        y[i] = of(i);
    }
}

static nh_points all(bool turns)
{
    return (nh_points){
        .x = x, .y = y, .stride_x = 1, .stride_y = 1, .count = ROWS, .y_turns = turns};
}

static double value(const nh_points *p, int64_t i)
{
    return p->y_turns ? nh_wrapped(y[i]) : y[i];
}

static int column_of(int64_t i)
{
    const int64_t column = i * COLUMNS / (ROWS - 1);
    return column < COLUMNS ? (int)column : COLUMNS - 1;
}

/* Every stroke that is drawn joins neighbours, or stays within a column; in every column, strokes
 * reach from the least to the greatest value. */
static void check_function(curve *of, bool turns)
{
    nh_kept kept = {0};
    fill(of);
    const nh_points p = all(turns);
    CHECK(nh_thin_function(&kept, &p, COLUMNS, NULL) == NH_OK);
    double low[COLUMNS], high[COLUMNS], least[COLUMNS], greatest[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        low[c] = least[c] = INFINITY, high[c] = greatest[c] = -INFINITY;
    for (int64_t i = 0; i < ROWS; i++) {
        least[column_of(i)] = fmin(least[column_of(i)], value(&p, i));
        greatest[column_of(i)] = fmax(greatest[column_of(i)], value(&p, i));
    }
    int across = 0; /* strokes over a wrap from one column to another */
    for (int64_t k = 0; k < kept.count; k++) {
        const int64_t i = kept.point[k], before = k > 0 ? kept.point[k - 1] : NH_GAP;
        if (i == NH_GAP)
            continue;
        low[column_of(i)] = fmin(low[column_of(i)], value(&p, i));
        high[column_of(i)] = fmax(high[column_of(i)], value(&p, i));
        if (turns && before != NH_GAP && column_of(i) != column_of(before))
            across += fabs(value(&p, i) - value(&p, before)) > M_PI;
    }
    int wrong = 0;
    for (int c = 0; c < COLUMNS; c++)
        wrong += low[c] != least[c] || high[c] != greatest[c];
    CHECK(wrong == 0);
    CHECK(across == 0);
    CHECK(kept.count <= 14 * COLUMNS);
    nh_kept_free(&kept);
}

/* Within a column an angle that turns once is two pieces, not a vertical line. */
static void check_breaks(void)
{
    nh_kept kept = {0};
    int vertical = 0, gaps = 0;
    fill(turning);
    const nh_points p = all(true);
    CHECK(nh_thin_function(&kept, &p, COLUMNS, NULL) == NH_OK);
    for (int64_t k = 1; k < kept.count; k++) {
        gaps += kept.point[k] == NH_GAP;
        if (kept.point[k] != NH_GAP && kept.point[k - 1] != NH_GAP)
            vertical += fabs(value(&p, kept.point[k]) - value(&p, kept.point[k - 1])) > M_PI;
    }
    CHECK(vertical == 0);
    CHECK(gaps == 32); /* 200 radians */
    nh_kept_free(&kept);
}

static void mark(bool *seen, double x0, double y0, double x1, double y1)
{
    for (int i = 0; i <= 1000; i++) {
        const double part = i / 1000.0;
        const int64_t across = llround((x0 + part * (x1 - x0) + 1) / 2 * (PIXELS - 1));
        const int64_t up = llround((y0 + part * (y1 - y0) + 1) / 2 * (PIXELS - 1));
        seen[up * PIXELS + across] = true;
    }
}

/* A stroke may touch the corner of a pixel without being drawn there. */
static bool is_near(const bool *seen, int pixel)
{
    const int row = pixel / PIXELS, column = pixel % PIXELS;
    for (int r = row - 1; r <= row + 1; r++)
        for (int c = column - 1; c <= column + 1; c++)
            if (r >= 0 && r < PIXELS && c >= 0 && c < PIXELS && seen[r * PIXELS + c])
                return true;
    return false;
}

/* A rosette, drawn over and over: all of its pixels but few of its strokes. */
static void check_path(void)
{
    static bool data[PIXELS * PIXELS], drawn[PIXELS * PIXELS];
    nh_kept kept = {0};
    for (int64_t i = 0; i < ROWS; i++) {
        const double angle = 0.05 * (double)i, radius = cos(0.11 * (double)i);
        x[i] = radius * cos(angle);
        y[i] = radius * sin(angle);
    }
    x[0] = y[0] = -1; /* so that the pixels are those of mark() */
    x[1] = y[1] = 1;
    const nh_points p = all(false);
    CHECK(nh_thin_path(&kept, &p, PIXELS, NULL) == NH_OK);
    for (int64_t i = 1; i < ROWS; i++)
        mark(data, x[i - 1], y[i - 1], x[i], y[i]);
    for (int64_t k = 1; k < kept.count; k++)
        if (kept.point[k] != NH_GAP && kept.point[k - 1] != NH_GAP)
            mark(drawn, x[kept.point[k - 1]], y[kept.point[k - 1]], x[kept.point[k]],
                 y[kept.point[k]]);
    int missing = 0, invented = 0, many = 0;
    for (int i = 0; i < PIXELS * PIXELS; i++) {
        missing += data[i] && !is_near(drawn, i);
        invented += drawn[i] && !data[i];
        many += data[i];
    }
    CHECK(many > 1000);
    CHECK(missing == 0);
    CHECK(invented == 0);
    CHECK(kept.count < ROWS);
    nh_kept_free(&kept);
}

static void check_small(void)
{
    nh_kept kept = {0};
    nh_points p = all(false);
    p.count = 0;
    CHECK(nh_thin_function(&kept, &p, COLUMNS, NULL) == NH_OK && kept.count == 0);
    CHECK(nh_thin_path(&kept, &p, PIXELS, NULL) == NH_OK && kept.count == 0);
    fill(slow_angle);
    p.count = 3;
    CHECK(nh_thin_function(&kept, &p, COLUMNS, NULL) == NH_OK && kept.count == 3);
    nh_kept_free(&kept);
}

int main(void)
{
    curve *const angles[] = {slow_angle, turning, fast_angle, stroboscopic};
    curve *const others[] = {slow_angle, spikes, noise, with_gaps};
    for (int i = 0; i < 4; i++) {
        check_function(angles[i], true);
        check_function(others[i], false);
    }
    check_breaks();
    check_path();
    check_small();
    return check_end();
}
