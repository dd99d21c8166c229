/* Chooses the frames of an animation.
 *
 * A frame is left out if linear interpolation between the frames around it reproduces every number
 * of the drawing within a tolerance. Starting from the last frame that was kept, each later frame
 * narrows, for every number, the range of slopes that pass within the tolerance of all frames so
 * far; at the first frame whose own slope is outside that range, the frame before it is kept. That
 * takes one pass, and the frames in between need not be stored. */
#include "output/frames.h"
#include "model/draw.h"
#include "output/packed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MOST = 40000 };

/* Tolerances: of lengths, relative to the visible extent; of angles and unit vectors; of angular
 * velocities, relative to the largest; of widths in pixels. Values are rounded to a quarter of
 * these. */
static const double length_part = 2.5e-4, angle_most = 4e-3, unit_most = 1.5e-3, rate_part = 2e-3,
                    width_most = 0.1;

typedef struct frames {
    const nh_record *record;
    const nh_drawing *drawing;
    int channels;
    double *tolerance;                        /* [channels] */
    double *now, *last, *anchor, *low, *high; /* [channels] */
    double *kept;                             /* [count][1 + channels] */
    int64_t count, room;
} frames;

static nh_status look(const frames *f, int64_t row, double *t, double *numbers, nh_report *report)
{
    const nh_record *r = f->record;
    const double *values = r->table + row * r->width;
    *t = values[0];
    return nh_system_draw(r->system, *t, values + 1, values + 1 + r->coordinates, numbers, report);
}

/* ---- tolerances ---- */

typedef struct ranges {
    double *least, *greatest; /* [channels] over all rows */
    double low, high;         /* of the coordinates of points in the first row */
} ranges;

static nh_status find_ranges(frames *f, ranges *r, nh_report *report)
{
    double t;
    nh_status status = NH_OK;
    for (int c = 0; c < f->channels; c++)
        r->least[c] = INFINITY, r->greatest[c] = -INFINITY;
    for (int64_t row = 0; row < f->record->rows && status == NH_OK; row++) {
        status = look(f, row, &t, f->now, report);
        for (int c = 0; c < f->channels && status == NH_OK; c++) {
            r->least[c] = fmin(r->least[c], f->now[c]);
            r->greatest[c] = fmax(r->greatest[c], f->now[c]);
        }
    }
    return status ? status : look(f, 0, &t, f->now, report);
}

static double value_of(const frames *f, const nh_drawn_number *number)
{
    return number->channel < 0 ? number->value : f->now[number->channel];
}

typedef void visit(frames *f, const nh_drawn *drawn, nh_draw_key key, const nh_drawn_value *value,
                   void *user);

/* All values of the drawing; points count as NH_KEY_AT. */
static void visit_all(frames *f, visit *look_at, void *user)
{
    for (const nh_drawn *drawn = f->drawing->first; drawn; drawn = drawn->next) {
        for (int i = 0; i < drawn->points; i++)
            look_at(f, drawn, NH_KEY_AT, &drawn->point[i], user);
        for (int key = 0; key < NH_DRAW_KEYS; key++)
            if (drawn->key[key].count)
                look_at(f, drawn, (nh_draw_key)key, &drawn->key[key], user);
    }
}

static void widen(frames *f, const nh_drawn *drawn, nh_draw_key key, const nh_drawn_value *value,
                  void *user)
{
    ranges *r = user;
    (void)drawn;
    for (int i = 0; i < value->count && (key == NH_KEY_AT || key == NH_KEY_RADIUS); i++) {
        double size = value_of(f, &value->number[i]);
        r->low = fmin(r->low, key == NH_KEY_RADIUS ? -size : size);
        r->high = fmax(r->high, size);
    }
}

/* The extent of the view in which the motion is shown: the camera's own width; for a camera that
 * follows, what is visible at the start; otherwise the extent of the whole motion. */
static double seen_at_once(frames *f, ranges *r)
{
    double widest = 0;
    bool follows = false;
    for (const nh_drawn *drawn = f->drawing->first; drawn; drawn = drawn->next)
        if (drawn->shape == NH_DRAW_CAMERA) {
            const nh_drawn_value *width = &drawn->key[NH_KEY_WIDTH];
            follows = drawn->key[NH_KEY_AT].count > 0;
            if (width->count)
                return fabs(value_of(f, width->number));
        }
    r->low = INFINITY, r->high = -INFINITY;
    visit_all(f, widen, r);
    if (follows)
        return r->high - r->low;
    for (int c = 0; c < f->channels; c++)
        widest = fmax(widest, r->greatest[c] - r->least[c]);
    return fmax(widest, r->high - r->low);
}

typedef struct scales {
    double length;
    const ranges *ranges;
} scales;

static void set_tolerance(frames *f, const nh_drawn *drawn, nh_draw_key key,
                          const nh_drawn_value *value, void *user)
{
    const scales *s = user;
    for (int i = 0; i < value->count; i++) {
        int c = value->number[i].channel;
        if (c < 0)
            continue;
        double largest = fmax(fabs(s->ranges->least[c]), fabs(s->ranges->greatest[c]));
        double own = length_part * s->length;
        if (key == NH_KEY_ANGLE)
            own = angle_most;
        else if (key == NH_KEY_AXIS || key == NH_KEY_ATTITUDE || key == NH_KEY_NORMAL ||
                 key == NH_KEY_FROM)
            own = unit_most;
        else if (key == NH_KEY_SPIN || key == NH_KEY_BODYSPIN || key == NH_KEY_RATE ||
                 key == NH_KEY_VECTOR)
            own = rate_part * largest;
        else if (key == NH_KEY_WIDTH && drawn->shape != NH_DRAW_CAMERA)
            own = width_most;
        f->tolerance[c] = fmin(f->tolerance[c], own);
    }
}

static nh_status choose_tolerances(frames *f, nh_report *report)
{
    ranges r = {.least = calloc((size_t)f->channels + 1, sizeof(double)),
                .greatest = calloc((size_t)f->channels + 1, sizeof(double))};
    nh_status status = r.least && r.greatest ? find_ranges(f, &r, report) : nh_fail_memory(report);
    if (status == NH_OK) {
        scales s = {.length = seen_at_once(f, &r), .ranges = &r};
        for (int c = 0; c < f->channels; c++)
            f->tolerance[c] = INFINITY;
        visit_all(f, set_tolerance, &s);
    }
    free(r.least);
    free(r.greatest);
    return status;
}

/* ---- thinning ---- */

static nh_status keep(frames *f, double t, const double *numbers, nh_report *report)
{
    size_t width = 1 + (size_t)f->channels;
    if (f->count == f->room) {
        int64_t room = f->room ? 2 * f->room : 256;
        double *kept = realloc(f->kept, (size_t)room * width * sizeof *kept);
        if (!kept)
            return nh_fail_memory(report);
        f->kept = kept;
        f->room = room;
    }
    double *to = f->kept + (size_t)f->count++ * width;
    to[0] = t;
    memcpy(to + 1, numbers, (size_t)f->channels * sizeof *to);
    return NH_OK;
}

static void begin_at(frames *f, const double *numbers)
{
    memcpy(f->anchor, numbers, (size_t)f->channels * sizeof *numbers);
    for (int c = 0; c < f->channels; c++)
        f->low[c] = -INFINITY, f->high[c] = INFINITY;
}

/* Whether a straight line from the anchor to here passes close enough to all frames in between; and
 * how that restricts the lines to later frames. */
static bool reaches(frames *f, double h, const double *numbers)
{
    bool fits = true;
    for (int c = 0; c < f->channels && fits; c++) {
        double slope = (numbers[c] - f->anchor[c]) / h;
        fits = !(slope < f->low[c] || slope > f->high[c]);
    }
    for (int c = 0; c < f->channels && fits; c++) {
        double rise = numbers[c] - f->anchor[c];
        f->low[c] = fmax(f->low[c], (rise - f->tolerance[c]) / h);
        f->high[c] = fmin(f->high[c], (rise + f->tolerance[c]) / h);
    }
    return fits;
}

typedef nh_status source(const frames *f, int64_t index, double *t, double *numbers,
                         nh_report *report);

static void exchange(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

/* Thins `count` frames of a source into `kept`; the caller deals with too many of them. */
static nh_status thin(frames *f, source *get, int64_t count, nh_report *report)
{
    double from = 0, before = 0, t = 0;
    nh_status status = NH_OK;
    f->count = 0;
    for (int64_t i = 0; i < count && status == NH_OK && f->count <= FRAMES_MOST; i++) {
        status = get(f, i, &t, f->now, report);
        if (status != NH_OK)
            break;
        bool fresh = i == 0;
        if (!fresh && !reaches(f, t - from, f->now)) {
            status = keep(f, before, f->last, report);
            begin_at(f, f->last);
            from = before;
            reaches(f, t - from, f->now);
        } else if (fresh) {
            status = keep(f, t, f->now, report);
            begin_at(f, f->now);
            from = t;
        }
        exchange(&f->now, &f->last);
        before = t;
    }
    if (status == NH_OK && count > 1)
        status = keep(f, before, f->last, report);
    return status;
}

static void coarsen(frames *f)
{
    for (int c = 0; c < f->channels; c++)
        f->tolerance[c] *= 2;
}

/* ---- the whole ---- */

static void put_frames(nh_text *text, const frames *f)
{
    int64_t width = 1 + f->channels;
    double length = f->count > 1 ? f->kept[(f->count - 1) * width] - f->kept[0] : 1;
    nh_text_add_plain(text, "{\"t\":");
    nh_pack(text, f->kept, f->count, width, length * 0x1p-26);
    nh_text_add_plain(text, ",\"channels\":[");
    for (int c = 0; c < f->channels; c++) {
        nh_text_add_plain(text, c ? ",\n" : "\n");
        nh_pack(text, f->kept + 1 + c, f->count, width, f->tolerance[c] / 4);
    }
    nh_text_add_plain(text, "]}");
}

static nh_status choose(frames *f, nh_text *text, size_t most, nh_report *report)
{
    nh_status status = choose_tolerances(f, report);
    for (;;) {
        if (status == NH_OK)
            status = thin(f, look, f->record->rows, report);
        if (status != NH_OK)
            return status;
        if (f->count <= FRAMES_MOST) {
            nh_text packed = {0};
            put_frames(&packed, f);
            bool fits = packed.length <= most || f->count <= 2;
            if (fits)
                nh_text_add_plain(text, packed.data ? packed.data : "");
            text->failed = text->failed || packed.failed;
            nh_text_free(&packed);
            if (fits || text->failed)
                return text->failed ? nh_fail_memory(report) : NH_OK;
        }
        coarsen(f);
    }
}

nh_status nh_frames_put(nh_text *text, const nh_record *record, size_t most, nh_report *report)
{
    int channels = nh_system_drawn_numbers(record->system);
    frames f = {
        .record = record, .drawing = nh_system_drawing(record->system), .channels = channels};
    double *room = calloc(6 * ((size_t)channels + 1), sizeof *room);
    if (!room)
        return nh_fail_memory(report);
    double **part[] = {&f.tolerance, &f.now, &f.last, &f.anchor, &f.low, &f.high};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        *part[i] = room + i * ((size_t)channels + 1);
    nh_status status = choose(&f, text, most, report);
    free(room);
    free(f.kept);
    return status;
}
