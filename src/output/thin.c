/* Thins curves to what can be seen of them. */
#include "output/thin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double nh_wrapped(double angle)
{
    return angle - 2 * M_PI * round(angle / (2 * M_PI));
}

static double x_of(const nh_points *p, int64_t i)
{
    const double x = p->x[i * p->stride_x];
    return p->x_turns ? nh_wrapped(x) : p->x_log ? log(x) : x;
}

static double y_of(const nh_points *p, int64_t i)
{
    const double y = p->y[i * p->stride_y];
    return p->y_turns ? nh_wrapped(y) : y;
}

static bool can_draw(const nh_points *p, int64_t i)
{
    return isfinite(x_of(p, i)) && isfinite(y_of(p, i));
}

/* Whether the line from a point to the next one is drawn. */
static bool are_joined(const nh_points *p, int64_t i)
{
    return !p->dots && can_draw(p, i) && can_draw(p, i + 1) &&
           !(p->y_turns && fabs(y_of(p, i + 1) - y_of(p, i)) > M_PI) &&
           !(p->x_turns && fabs(x_of(p, i + 1) - x_of(p, i)) > M_PI);
}

void nh_kept_free(nh_kept *kept)
{
    free(kept->point);
    *kept = (nh_kept){0};
}

/* Gaps and points that follow themselves are left out. */
static bool keep(nh_kept *kept, int64_t point)
{
    if (kept->count > 0 ? kept->point[kept->count - 1] == point : point == NH_GAP)
        return true;
    if (kept->count == kept->room) {
        const int64_t room = kept->room ? 2 * kept->room : 1024;
        int64_t *more = realloc(kept->point, (size_t)room * sizeof *more);
        if (!more)
            return false;
        kept->point = more;
        kept->room = room;
    }
    kept->point[kept->count++] = point;
    return true;
}

/* ---- functions ----------------------------------------------------------------------------- */

/* A stretch of points: first and last, and those with the least and the greatest value. */
typedef struct stretch {
    int64_t first, last, low, high;
} stretch;

static void extend(const nh_points *p, stretch *s, int64_t i)
{
    s->last = i;
    s->low = y_of(p, i) < y_of(p, s->low) ? i : s->low;
    s->high = y_of(p, i) > y_of(p, s->high) ? i : s->high;
}

static bool keep_extremes(nh_kept *kept, const stretch *s)
{
    return keep(kept, s->low < s->high ? s->low : s->high) &&
           keep(kept, s->low < s->high ? s->high : s->low);
}

static bool keep_stretch(nh_kept *kept, const stretch *s)
{
    return keep(kept, s->first) && keep_extremes(kept, s) && keep(kept, s->last);
}

/* The pieces into which the gaps divide a column: the first and the last may go on in the columns
 * beside it; those in between are one stroke from the least to the greatest of their values. */
static bool keep_column(nh_kept *kept, const nh_points *p, int64_t from, int64_t to)
{
    stretch piece, between = {0};
    int pieces = 0;
    for (int64_t i = from; i < to; i++) {
        if (!can_draw(p, i))
            continue;
        piece = (stretch){i, i, i, i};
        for (; i + 1 < to && are_joined(p, i); i++)
            extend(p, &piece, i + 1);
        pieces++;
        bool ends = true; /* whether this is the last piece */
        for (int64_t k = i + 1; k < to && ends; k++)
            ends = !can_draw(p, k);
        if (pieces > 1 && !ends) {
            between = pieces == 2 ? piece : between;
            extend(p, &between, piece.low);
            extend(p, &between, piece.high);
            continue;
        }
        if ((pieces > 2 && (!keep_extremes(kept, &between) || !keep(kept, NH_GAP))) ||
            !keep_stretch(kept, &piece) || (!ends && !keep(kept, NH_GAP)))
            return false;
    }
    return true;
}

static int64_t column_of(const nh_points *p, int64_t i, double from, double width, int columns)
{
    const double at = floor((x_of(p, i) - from) / width * columns);
    return at >= 0 ? (int64_t)fmin(at, columns - 1) : 0;
}

static void find_range(const nh_points *p, double value_of(const nh_points *, int64_t),
                       double *least, double *width)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < p->count; i++)
        if (can_draw(p, i)) {
            low = fmin(low, value_of(p, i));
            high = fmax(high, value_of(p, i));
        }
    *least = low;
    *width = high > low ? high - low : 1;
}

nh_status nh_thin_function(nh_kept *kept, const nh_points *p, int columns, nh_report *report)
{
    double first, width;
    find_range(p, x_of, &first, &width);
    for (int64_t from = 0, to; from < p->count; from = to) {
        const int64_t column = column_of(p, from, first, width, columns);
        for (to = from + 1; to < p->count && column_of(p, to, first, width, columns) == column;)
            to++;
        if (!keep_column(kept, p, from, to) ||
            (to < p->count && !are_joined(p, to - 1) && !keep(kept, NH_GAP)))
            return nh_fail_memory(report);
    }
    return NH_OK;
}

/* ---- paths --------------------------------------------------------------------------------- */

typedef struct canvas {
    int64_t pixels;
    double left, width, bottom, height;
    bool *seen;
} canvas;

/* Marks the pixels of a straight line; returns whether one of them is new. */
static bool mark(const canvas *c, const nh_points *p, int64_t from, int64_t to)
{
    const double scale = (double)(c->pixels - 1);
    const double x = (x_of(p, from) - c->left) / c->width * scale;
    const double y = (y_of(p, from) - c->bottom) / c->height * scale;
    const double across = (x_of(p, to) - c->left) / c->width * scale - x;
    const double up = (y_of(p, to) - c->bottom) / c->height * scale - y;
    const int steps = (int)ceil(fmax(fabs(across), fabs(up)));
    bool fresh = false;
    for (int i = 0; i <= steps; i++) {
        const double part = steps ? (double)i / steps : 0;
        bool *pixel = &c->seen[llround(y + part * up) * c->pixels + llround(x + part * across)];
        fresh |= !*pixel;
        *pixel = true;
    }
    return fresh;
}

nh_status nh_thin_path(nh_kept *kept, const nh_points *p, int pixels, nh_report *report)
{
    canvas c = {.pixels = pixels, .seen = calloc((size_t)pixels * (size_t)pixels, 1)};
    bool good = c.seen != NULL;
    find_range(p, x_of, &c.left, &c.width);
    find_range(p, y_of, &c.bottom, &c.height);
    for (int64_t i = 0; i < p->count && good; i++) {
        if (!can_draw(p, i))
            continue;
        const bool joined = i > 0 && are_joined(p, i - 1);
        if (!joined && !p->dots)
            good = keep(kept, NH_GAP);
        if (good && mark(&c, p, joined ? i - 1 : i, i))
            good = (!joined || (kept->count > 0 && kept->point[kept->count - 1] == i - 1) ||
                    (keep(kept, NH_GAP) && keep(kept, i - 1))) &&
                   keep(kept, i);
    }
    free(c.seen);
    return good ? NH_OK : nh_fail_memory(report);
}
