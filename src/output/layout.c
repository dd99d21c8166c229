/* Divides a picture among its panels. All panels have the same margins, so that their axes are
 * aligned; names and titles are above them. */
#include "output/layout.h"
#include "output/file.h"

#include <math.h>
#include <string.h>

/* The colours of Okabe and Ito without their yellow: told apart by colour-blind eyes, too. */
const char *const nh_curve_colours[NH_CURVE_COLOURS] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                        "#E69F00", "#56B4E9", "#000000"};

enum { PAPER_MILLIMETRES = 170, PAGE_MILLIMETRES = 235 }; /* the text of a page */
enum { MARK_DIGITS = 6 };                                 /* for which margins have room */

/* In heights of letters. */
static const double panel_width = 40, panel_height = 26, narrowest = 23, row = 1.5,
                    letter_width = 0.58;

static const char *const papers[] = {".pdf", ".eps", ".tex", NULL};

/* ---- curves ---- */

bool nh_panel_can_draw(const nh_panel *panel, double x, double y)
{
    return isfinite(x) && isfinite(y) && !(panel->x_log && x <= 0) && !(panel->y_log && y <= 0);
}

void nh_panel_range(const nh_panel *panel, bool is_y, double *least, double *greatest)
{
    *least = INFINITY;
    *greatest = -INFINITY;
    for (int c = 0; c < panel->curves; c++)
        for (int64_t i = 0; i < panel->curve[c].count; i++)
            if (nh_panel_can_draw(panel, panel->curve[c].x[i], panel->curve[c].y[i])) {
                const double value = (is_y ? panel->curve[c].y : panel->curve[c].x)[i];
                *least = fmin(*least, value);
                *greatest = fmax(*greatest, value);
            }
}

/* ---- names and notes ---- */

static int longest_name(const nh_panel *panel, int *names)
{
    int longest = 1;
    *names = 0;
    for (int i = 0; i < panel->curves; i++) {
        const int length = panel->curve[i].name ? (int)strlen(panel->curve[i].name) : 0;
        longest = length > longest ? length : longest;
        *names += length > 0;
    }
    return longest;
}

static int names_across(double width, double letter, const nh_panel *panel, int *names)
{
    const int longest = longest_name(panel, names);
    const int fit = (int)(width / letter / (letter_width * longest + 4));
    return fit < 1 ? 1 : fit > *names ? (*names > 0 ? *names : 1) : fit;
}

int nh_layout_names_across(const nh_layout *l, const nh_panel *panel)
{
    int names;
    return names_across(l->slot_width - l->margin - l->letter, l->letter, panel, &names);
}

static int rows_of_names(const nh_layout *l, const nh_panel *panel)
{
    int names;
    const int across =
        names_across(l->slot_width - l->margin - l->letter, l->letter, panel, &names);
    return panel->own_names ? (names + across - 1) / across : 0;
}

/* All of it, or up to the last space that fits. */
size_t nh_note_line(const nh_layout *l, const char *note)
{
    const size_t most = (size_t)l->note_letters;
    size_t length = strlen(note);
    if (length <= most)
        return length;
    for (length = most; length > 0 && note[length] != ' ';)
        length--;
    return length ? length : most;
}

static int lines_of(const nh_layout *l, const char *note)
{
    int lines = 0;
    for (; note && *note; note += *note == ' ')
        note += nh_note_line(l, note), lines++;
    return lines;
}

/* ---- the whole ---- */

static double pixels_of(const nh_picture *p, double length)
{
    return p->millimetres ? length * 96 / 25.4 : length;
}

static void choose_columns(nh_layout *l)
{
    const int natural = l->panels <= 1 ? 1 : l->panels <= 4 ? 2 : 3;
    const int room = l->width > 0 ? (int)(l->width / (narrowest * l->letter)) : natural;
    l->columns = room < 1 ? 1 : room < natural ? room : natural;
    l->rows = (l->panels + l->columns - 1) / l->columns;
}

/* As many digits as its marks need to differ. */
int nh_axis_digits(double least, double greatest)
{
    const double size = fmax(fabs(least), fabs(greatest)), width = greatest - least;
    const double digits = width > 0 && isfinite(size / width) ? ceil(log10(size / width)) + 2 : 0;
    return (int)fmin(12, fmax(MARK_DIGITS, digits));
}

/* Room for marks of more digits than usual. */
static double long_marks(const nh_layout *l)
{
    int digits = MARK_DIGITS;
    for (int i = 0; i < l->panels; i++) {
        double range[2];
        nh_panel_range(l->panel + i, true, &range[0], &range[1]);
        if (l->panel[i].y_range)
            memcpy(range, l->panel[i].y_range, sizeof range);
        if (!l->panel[i].y_log)
            digits = (int)fmax(digits, nh_axis_digits(range[0], range[1]));
    }
    return letter_width * (digits - MARK_DIGITS);
}

static bool has_labels(const nh_layout *l)
{
    for (int i = 0; i < l->panels; i++)
        if (l->panel[i].y_label && l->panel[i].y_label[0])
            return true;
    return false;
}

static void measure_head(nh_layout *l, const nh_picture *picture)
{
    const bool titled = picture->title && picture->title[0];
    int names;
    l->title = titled ? 1.2 * row * l->letter : 0;
    l->legend = titled ? 2.2 * row * l->letter : 0.4 * l->letter;
    l->legend_columns = names_across(l->width - 2 * l->letter, l->letter, l->panel, &names);
    l->legend_rows = l->panel->own_names ? 0 : (names + l->legend_columns - 1) / l->legend_columns;
}

double nh_layout_head(const nh_layout *l, int panel)
{
    const int first = panel / l->columns * l->columns;
    double above = 0;
    for (int i = first; i < l->panels && i < first + l->columns; i++) {
        const nh_panel *p = l->panel + i;
        above = fmax(above, (p->title && p->title[0] ? row : 0) + row * rows_of_names(l, p));
    }
    return (above + 0.8) * l->letter;
}

/* Labels of the x axis and notes are below the axes. */
static double foot_of(const nh_layout *l)
{
    return (4.2 + l->notes) * l->letter;
}

static void measure_notes(nh_layout *l)
{
    for (int i = 0; i < l->panels; i++)
        l->notes = fmax(l->notes, lines_of(l, l->panel[i].note));
}

/* The height of axes that suits their width; what is for a paper must fit on a page. */
static double height_of_axes(const nh_layout *l, double others, bool paper)
{
    const double width = l->slot_width - l->margin;
    double height = l->panels == 1 ? 0.7 * width : fmin(panel_height * l->letter, 0.7 * width);
    if (paper)
        height = fmin(height, (PAGE_MILLIMETRES * 96 / 25.4 - others) / l->rows);
    return fmax(height, 5 * l->letter);
}

nh_layout nh_lay_out(const nh_panel *panel, int panels, const nh_picture *picture, const char *path)
{
    const bool paper = picture->millimetres || nh_file_ending(path, papers) >= 0;
    nh_layout l = {.panel = panel,
                   .panels = panels,
                   .letter = (picture->font > 0 ? picture->font
                              : paper           ? 8
                                                : 10) *
                             96 / 72,
                   .width = pixels_of(picture, picture->width)};
    if (paper && !(l.width > 0))
        l.width = PAPER_MILLIMETRES * 96 / 25.4;
    choose_columns(&l);
    if (!(l.width > 0))
        l.width = l.columns * panel_width * l.letter * (panels == 1 ? 1.4 : 1);
    l.slot_width = l.width / l.columns;
    l.margin = ((has_labels(&l) ? 6.8 : 5.2) + long_marks(&l)) * l.letter;
    l.note_letters = (int)fmax(10, (l.slot_width - l.letter) / (0.5 * l.letter));
    measure_head(&l, picture);
    measure_notes(&l);
    double others = l.legend + row * l.letter * l.legend_rows;
    for (int i = 0; i < panels; i += l.columns)
        others += nh_layout_head(&l, i) + foot_of(&l);
    l.height = picture->height > 0 ? pixels_of(picture, picture->height)
                                   : others + l.rows * height_of_axes(&l, others, paper);
    l.axes_height = (l.height - others) / l.rows;
    return l;
}

nh_box nh_layout_box(const nh_layout *l, int panel)
{
    const int column = panel % l->columns;
    double top = l->height - l->legend - row * l->letter * l->legend_rows;
    for (int i = 0; i < panel / l->columns * l->columns; i += l->columns)
        top -= nh_layout_head(l, i) + l->axes_height + foot_of(l);
    top -= nh_layout_head(l, panel);
    return (nh_box){.left = column * l->slot_width + l->margin,
                    .right = (column + 1) * l->slot_width - 1.4 * l->letter,
                    .bottom = top - l->axes_height,
                    .top = top};
}

/* ---- axes ---- */

static double unit_for(double width, double marks)
{
    const double least = width / marks, unit = pow(10, floor(log10(least))), count = least / unit;
    return unit * (count > 5 ? 10 : count > 2 ? 5 : count > 1 ? 2 : 1);
}

/* The middle stays, and the half is at least this. */
static void widen(double range[2], double half)
{
    const double middle = range[0] + (range[1] - range[0]) / 2;
    range[0] = middle - half;
    range[1] = middle + half;
}

static void fill_box(nh_ranges *r, const nh_box *box)
{
    const double across = 0.54 * (r->x[1] - r->x[0]), up = 0.54 * (r->y[1] - r->y[0]);
    const double aspect = (box->right - box->left) / (box->top - box->bottom);
    const double half = fmax(up, across / aspect);
    if (!(half > 0) || !isfinite(half) || !(aspect > 0)) {
        *r = (nh_ranges){.x = {NAN, NAN}, .y = {NAN, NAN}};
        return;
    }
    widen(r->x, half * aspect);
    widen(r->y, half);
}

/* An axis over time begins at zero if the curves nearly do, and ends with them. */
static void fit_ends(nh_ranges *r, double unit)
{
    if (r->x[0] >= 0 && r->x[0] < 0.05 * r->x[1])
        r->x[0] = 0;
    r->x[1] = ceil(r->x[1] / unit * 10 - 1e-6) * unit / 10;
}

/* So that at most so many marks fit between the ends; on a logarithmic scale, a power of ten. */
static double unit_between(const double range[2], bool is_log, double marks)
{
    const double width = is_log ? log10(range[1] / range[0]) : range[1] - range[0];
    if (!(width > 0) || !isfinite(width))
        return 0;
    return is_log ? pow(10, fmax(1, ceil(width / marks))) : unit_for(width, marks);
}

/* Ranges and marks that do not overlap: each has room for some letters. */
nh_ranges nh_layout_ranges(const nh_layout *l, int i)
{
    const nh_panel *p = l->panel + i;
    const nh_box box = nh_layout_box(l, i);
    const double aspect = (box.right - box.left) / (box.top - box.bottom);
    nh_ranges r = {.shrinks = p->equal && p->x_range && p->y_range};
    nh_panel_range(p, false, &r.x[0], &r.x[1]);
    nh_panel_range(p, true, &r.y[0], &r.y[1]);
    if (p->x_range)
        memcpy(r.x, p->x_range, sizeof r.x);
    if (p->y_range)
        memcpy(r.y, p->y_range, sizeof r.y);
    if (p->equal && !r.shrinks)
        fill_box(&r, &box);
    double across = fmin(8, fmax(2, (box.right - box.left) / (4.5 * l->letter)));
    if (r.shrinks) /* taller than wide: some of the box is empty */
        across *= fmin(1, fmax(0.2, (r.x[1] - r.x[0]) / fabs(r.y[1] - r.y[0]) / aspect));
    r.x_unit = unit_between(r.x, p->x_log, across);
    r.y_unit =
        unit_between(r.y, p->y_log, fmin(10, fmax(2, (box.top - box.bottom) / (1.7 * l->letter))));
    if (r.x_unit > 0 && !p->x_log && !p->x_range && !p->equal && !p->own_names)
        fit_ends(&r, r.x_unit);
    if (p->y_angle && fmax(-r.y[0], r.y[1]) > M_PI / 2)
        memcpy(r.y, (double[2]){-3.3, 3.3}, sizeof r.y);
    else if (!p->y_range && !p->equal)
        r.y[0] = r.y[1] = NAN;
    return r;
}
