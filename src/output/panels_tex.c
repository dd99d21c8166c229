/* Writes panels of curves for pgfplots. Names are set as in the model's LaTeX (tex_names.h). */
#include "output/panels_tex.h"
#include "output/file.h"
#include "output/tex_names.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/decimal.h"

static const char *const marks[] = {"*", "square*", "triangle*", "diamond*", "o", "square"};

static double millimetres(double pixels)
{
    return pixels * 25.4 / 96;
}

/* ---- texts ---- */

static bool is_symbol(const char *word, size_t length, bool whole)
{
    char copy[32];
    size_t letters = 0;
    nh_text tex = {0};
    while (letters < length && isalpha((unsigned char)word[letters]))
        letters++;
    if (letters == 1 || (whole && length > letters))
        return whole || length > 1;
    if (letters >= sizeof copy)
        return false;
    memcpy(copy, word, letters);
    copy[letters] = '\0';
    nh_tex_name(&tex, copy, NULL, 0); /* \theta */
    const bool greek = tex.data && tex.data[0] == '\\' && strncmp(tex.data, "\\mathit", 7) != 0;
    nh_text_free(&tex);
    return greek;
}

/* The length of a name such as x, theta', y[3] or R.w1. */
static size_t name_length(const char *at)
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_' ||
           (at[length] == '.' && isalnum((unsigned char)at[length + 1])))
        length++;
    if (at[length] == '[' && strchr(at + length, ']'))
        length += strcspn(at + length, "]") + 1;
    return at[length] == '\'' ? length + 1 : length;
}

/* Characters that are no ASCII have commands. */
static size_t put_other(nh_text *out, const char *at)
{
    static const char *const known[][2] = {
        {"−", "$-$"}, {"′", "$'$"}, {"·", "$\\cdot$"}, {"±", "$\\pm$"}, {"…", "\\dots{}"}};
    uint32_t code;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(at, known[i][0], strlen(known[i][0])) == 0) {
            nh_text_add_plain(out, known[i][1]);
            return strlen(known[i][0]);
        }
    const size_t size = nh_utf8(at, strlen(at), &code);
    if ((unsigned char)*at < ' ' || size == 0)
        nh_text_add_plain(out, " ");
    else if (size == 1)
        nh_tex_words(out, (char[2]){*at});
    else
        nh_text_add_bytes(out, at, size);
    return size ? size : 1;
}

/* A text in which names are symbols; a text that is a name is one altogether. */
static void put_text(nh_text *out, const char *text)
{
    const bool whole = text && *text && name_length(text) == strlen(text);
    for (const char *at = text ? text : ""; *at;) {
        const size_t length = isalpha((unsigned char)*at) ? name_length(at) : 0;
        char name[128];
        if (length > 0 && length < sizeof name) {
            memcpy(name, at, length);
            name[length] = '\0';
            if (is_symbol(at, length, whole)) {
                nh_text_add_plain(out, "$");
                nh_tex_name(out, name, NULL, 0);
                nh_text_add_plain(out, "$");
            } else
                nh_tex_words(out, name);
            at += length;
        } else
            at += put_other(out, at);
    }
}

static void put_key(nh_text *out, const char *key, const char *text)
{
    if (!text || !text[0])
        return;
    nh_text_add(out, "  %s={", key);
    put_text(out, text);
    nh_text_add_plain(out, "},\n");
}

static void put_number(nh_text *out, double value)
{
    char text[40];
    nh_print(text, sizeof text, "%.6g", value);
    nh_text_add_plain(out, text);
}

/* ---- curves ---- */

/* Coordinates relative to the range, in as many digits as a picture shows. */
static void put_points(nh_text *out, const nh_panel *panel, const nh_curve *c, const double *y)
{
    char text[80];
    bool gap = false;
    for (int64_t i = 0; i < c->count; i++) {
        if (!nh_panel_can_draw(panel, c->x[i], y[i])) {
            gap = true;
            continue;
        }
        nh_print(text, sizeof text, "%s%.8g %.8g\n", gap && i > 0 ? "\n" : "", c->x[i], y[i]);
        nh_text_add_plain(out, text);
        gap = false;
    }
}

static void put_style(nh_text *out, const nh_panel *panel, int number)
{
    const nh_curve *c = panel->curve + number;
    const int colour = number % NH_CURVE_COLOURS;
    const bool own = !c->dots || panel->own_names;
    if (c->guide)
        nh_text_add_plain(out, "black!50, dashed, thin");
    else
        nh_text_add(out, own ? "nh%d" : "black", colour);
    if (c->bars)
        nh_text_add(out, ", ybar, fill=nh%d, draw=none, bar width=0.9", colour);
    else if (c->cloud || c->dots || c->marked)
        nh_text_add(out, ", %smark=%s, mark size=%s", c->marked ? "" : "only marks, ",
                    c->cloud ? "*" : marks[number % 6], c->cloud ? "0.3pt" : "1.5pt");
    else if (!c->guide)
        nh_text_add_plain(out, c->faint ? ", very thin" : ", semithick");
    if (number >= NH_CURVE_COLOURS)
        nh_text_add_plain(out, ", dashed");
}

static void put_band(nh_text *out, const nh_panel *panel, int number)
{
    const nh_curve *c = panel->curve + number;
    int owner = number;
    while (owner > 0 && panel->curve[owner].upper)
        owner--;
    for (int side = 0; side < 2; side++) {
        nh_text_add(out, "\\addplot[draw=none, forget plot, name path=b%d%d] table {\n", number,
                    side);
        put_points(out, panel, c, side ? c->upper : c->y);
        nh_text_add_plain(out, "};\n");
    }
    nh_text_add(out, "\\addplot[nh%d, opacity=%s, forget plot] fill between[of=b%d0 and b%d1];\n",
                owner % NH_CURVE_COLOURS, number - owner > 1 ? "0.2" : "0.4", number, number);
}

static void put_curve(nh_text *out, const nh_panel *panel, int number, bool named)
{
    const nh_curve *c = panel->curve + number;
    if (c->upper) {
        put_band(out, panel, number);
        return;
    }
    named = named && c->name && c->name[0];
    nh_text_add_plain(out, "\\addplot[");
    put_style(out, panel, number);
    nh_text_add_plain(out, named ? "] table {\n" : ", forget plot] table {\n");
    put_points(out, panel, c, c->y);
    nh_text_add_plain(out, "};\n");
    if (!named)
        return;
    nh_text_add_plain(out, "\\addlegendentry{");
    put_text(out, c->name);
    nh_text_add_plain(out, "}\n");
}

/* ---- panels ---- */

static void put_range(nh_text *out, char axis, const double range[2])
{
    if (!(isfinite(range[0]) && isfinite(range[1]) && range[0] < range[1]))
        return;
    nh_text_add(out, "  %cmin=", axis);
    put_number(out, range[0]);
    nh_text_add(out, ", %cmax=", axis);
    put_number(out, range[1]);
    nh_text_add_plain(out, ",\n");
}

static void put_angle_marks(nh_text *out, char axis)
{
    nh_text_add(out,
                "  %ctick={-3.14159,-1.5708,0,1.5708,3.14159},\n  %cticklabels={$-\\pi$,"
                "$-\\pi/2$,$0$,$\\pi/2$,$\\pi$},\n",
                axis, axis);
}

static void put_axes(nh_text *out, const nh_layout *l, int number)
{
    const nh_panel *p = l->panel + number;
    const nh_box box = nh_layout_box(l, number);
    const nh_ranges r = nh_layout_ranges(l, number);
    double least, greatest;
    char text[200];
    nh_print(text, sizeof text,
             "\\begin{axis}[nonholo, at={(%.3fmm,%.3fmm)}, width=%.3fmm, height=%.3fmm,\n",
             millimetres(box.left), millimetres(box.bottom), millimetres(box.right - box.left),
             millimetres(box.top - box.bottom));
    nh_text_add_plain(out, text);
    put_key(out, "title", p->title);
    nh_print(text, sizeof text, "  title style={yshift=%.3fmm},\n",
             millimetres(nh_layout_head(l, number) - 2.7 * l->letter));
    nh_text_add_plain(out, text);
    put_key(out, "xlabel", p->x_label);
    put_key(out, "ylabel", p->y_label);
    nh_text_add_plain(out, p->x_log ? "  xmode=log,\n" : "");
    nh_text_add_plain(out, p->y_log ? "  ymode=log,\n" : "");
    nh_text_add_plain(out, r.shrinks ? "  axis equal image,\n" : "");
    put_range(out, 'x', r.x);
    put_range(out, 'y', r.y);
    nh_panel_range(p, true, &least, &greatest);
    if (p->y_angle && fmax(-least, greatest) > M_PI / 2)
        put_angle_marks(out, 'y');
    nh_panel_range(p, false, &least, &greatest);
    if (p->x_angle && fmax(-least, greatest) > M_PI / 2)
        put_angle_marks(out, 'x');
    nh_text_add(out, "  legend columns=%d]\n",
                p->own_names ? nh_layout_names_across(l, p) : l->legend_columns);
}

static void put_note(nh_text *out, const nh_layout *l, int number)
{
    const char *note = l->panel[number].note;
    const nh_box box = nh_layout_box(l, number);
    char text[160];
    if (!note || !note[0])
        return;
    nh_print(text, sizeof text,
             "\\node[anchor=north, align=center, text width=%.3fmm, font=\\scriptsize] at "
             "(%.3fmm,%.3fmm) {",
             millimetres(l->slot_width), millimetres((box.left + box.right) / 2),
             millimetres(box.bottom - 3 * l->letter));
    nh_text_add_plain(out, text);
    put_text(out, note);
    nh_text_add_plain(out, "};\n");
}

static void put_head(nh_text *out, const nh_layout *l, const char *title)
{
    char text[200];
    const double points = l->letter * 0.75;
    nh_text_add_plain(out, "% \\usepackage{pgfplots} \\pgfplotsset{compat=1.17}"
                           " \\usepgfplotslibrary{fillbetween}\n");
    for (int i = 0; i < NH_CURVE_COLOURS; i++)
        nh_text_add(out, "\\definecolor{nh%d}{HTML}{%s}\n", i, nh_curve_colours[i] + 1);
    nh_print(text, sizeof text,
             "\\begin{tikzpicture}[font=\\fontsize{%.4g}{%.4g}\\selectfont]\n"
             "\\useasboundingbox (0,0) rectangle (%.3fmm,%.3fmm);\n",
             points, 1.2 * points, millimetres(l->width), millimetres(l->height));
    nh_text_add_plain(out, text);
    nh_text_add_plain(
        out, "\\pgfplotsset{nonholo/.style={scale only axis, grid=major, grid style={black!15}, "
             "axis lines*=left, tick label style={/pgf/number format/std=-3, font=\\fontsize");
    nh_print(text, sizeof text, "{%.4g}{%.4g}", 0.9 * points, points);
    nh_text_add_plain(out, text);
    nh_text_add_plain(out, "\\selectfont}, legend cell align=left, unbounded coords=jump, filter "
                           "discard warning=false, legend style={draw=none, fill=none, at={(0,1)}, "
                           "anchor=south west, inner sep=1pt, column sep=1ex}}}\n");
    if (!(l->title > 0))
        return;
    nh_print(text, sizeof text, "\\node at (%.3fmm,%.3fmm) {", millimetres(l->width / 2),
             millimetres(l->height - l->title));
    nh_text_add_plain(out, text);
    put_text(out, title);
    nh_text_add_plain(out, "};\n");
}

nh_status nh_panels_tex(const nh_layout *l, const char *title, const char *path, nh_report *report)
{
    nh_text text = {0};
    nh_file *file;
    put_head(&text, l, title);
    for (int i = 0; i < l->panels; i++) {
        const nh_panel *panel = l->panel + i;
        put_axes(&text, l, i);
        for (int c = 0; c < panel->curves; c++)
            put_curve(&text, panel, c, panel->own_names || i == 0);
        nh_text_add_plain(&text, "\\end{axis}\n");
        put_note(&text, l, i);
    }
    nh_text_add_plain(&text, "\\end{tikzpicture}\n");
    nh_status status = text.failed ? nh_fail_memory(report) : nh_file_begin(&file, path, report);
    if (status == NH_OK) {
        nh_file_write(file, text.data, text.length);
        status = nh_file_commit(file, report);
    }
    nh_text_free(&text);
    return status;
}
