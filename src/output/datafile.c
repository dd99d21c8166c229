/* Reads recorded tables: the formats, and pictures of chosen columns. */
#include "output/datafile.h"
#include "output/file.h"
#include "output/gnuplot.h"
#include "output/page.h"
#include "output/sheet.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const endings[] = {".csv", ".npy", ".npz", ".h5", ".hdf5", ".nc", NULL};
static nh_datafile_reader *const readers[] = {nh_datafile_read_csv,  nh_datafile_read_npy,
                                              nh_datafile_read_npz,  nh_datafile_read_hdf5,
                                              nh_datafile_read_hdf5, nh_datafile_read_hdf5};

/* The least number of bytes per number: in text it may be missing between two commas, and HDF5's
 * filters shrink constant data to a thousandth. */
static const double least[] = {1, 8, 8, 1e-3, 1e-3, 1e-3};

nh_status nh_datafile_refuse(const nh_datafile *t, nh_report *report)
{
    return t->beyond
               ? nh_fail(report, NH_BAD_ARGUMENT,
                         "%s: its header announces more numbers than the file contains", t->path)
               : nh_fail_memory(report);
}

static nh_status measure(nh_datafile *t, int format, nh_report *report)
{
    struct stat file;
    if (stat(t->path, &file) != 0)
        return nh_fail(report, NH_FILE_FAILED, "cannot open %s: %s", t->path, strerror(errno));
    if (!S_ISREG(file.st_mode))
        return nh_fail(report, NH_FILE_FAILED, "cannot read %s: it is not a regular file", t->path);
    t->bytes = (int64_t)file.st_size;
    t->most = (int64_t)fmin((double)t->bytes / least[format], 0x1p53);
    return NH_OK;
}

double *nh_datafile_add(nh_datafile *t, const char *name, size_t length, int64_t rows)
{
    t->beyond = rows < 0 || (rows > 0 ? rows : 1) > t->most / (t->columns + 1);
    if (t->beyond)
        return NULL;
    if (t->columns == t->room) {
        int room = t->room ? 2 * t->room : 16;
        char **names = realloc(t->name, (size_t)room * sizeof *names);
        t->name = names ? names : t->name;
        double **columns = names ? realloc(t->column, (size_t)room * sizeof *columns) : NULL;
        t->column = columns ? columns : t->column;
        if (!columns)
            return NULL;
        t->room = room;
    }
    char *copy = nh_arena_text(&t->arena, name, length);
    double *column = malloc(((size_t)rows + 1) * sizeof *column);
    if (!copy || !column || (t->columns > 0 && rows != t->rows)) {
        free(column);
        return NULL;
    }
    for (int64_t i = 0; i < rows; i++)
        column[i] = NAN;
    t->rows = rows;
    t->name[t->columns] = copy;
    return t->column[t->columns++] = column;
}

nh_status nh_datafile_read(nh_datafile **out, const char *path, int64_t member, nh_report *report)
{
    *out = NULL;
    int format = nh_file_ending(path, endings);
    if (format < 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s: expected a recorded file, .csv, .npy, .npz or .h5", path);
    nh_datafile *t = calloc(1, sizeof *t);
    if (!t)
        return nh_fail_memory(report);
    t->path = path;
    t->members = 1;
    nh_status status = measure(t, format, report);
    if (status == NH_OK)
        status = readers[format](t, member, report);
    if (status == NH_OK && (t->rows == 0 || t->columns < 2))
        status = nh_fail(report, NH_BAD_ARGUMENT, "%s: the file contains nothing to draw", path);
    if (status == NH_OK)
        *out = t;
    else
        nh_datafile_free(t);
    return status;
}

void nh_datafile_free(nh_datafile *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->columns; i++)
        free(t->column[i]);
    free(t->column);
    free(t->name);
    nh_arena_free(&t->arena);
    free(t);
}

int64_t nh_datafile_rows(const nh_datafile *table)
{
    return table->rows;
}

int64_t nh_datafile_members(const nh_datafile *table)
{
    return table->members;
}

int nh_datafile_columns(const nh_datafile *table)
{
    return table->columns;
}

const char *nh_datafile_column_name(const nh_datafile *table, int column)
{
    return column >= 0 && column < table->columns ? table->name[column] : NULL;
}

const double *nh_datafile_column(const nh_datafile *table, int column)
{
    return column >= 0 && column < table->columns ? table->column[column] : NULL;
}

/* ---- pictures ---- */

static int find_name(const nh_datafile *t, const char *name, size_t length)
{
    for (int i = 0; i < t->columns; i++)
        if (strlen(t->name[i]) == length && strncmp(t->name[i], name, length) == 0)
            return i;
    return -1;
}

/* The velocity of a coordinate is a column next to it; a file does not say which coordinates are
 * angles. */
static nh_sheet_kind kind_of(const nh_datafile *t, int column)
{
    char velocity[300];
    const char *name = t->name[column];
    size_t length = strlen(name);
    if (column == 0)
        return NH_SHEET_TIME;
    if (strcmp(name, "energy") == 0)
        return NH_SHEET_ENERGY;
    if (length > 0 && name[length - 1] == '\'')
        return NH_SHEET_VELOCITY;
    snprintf(velocity, sizeof velocity, "%.250s'", name);
    return find_name(t, velocity, strlen(velocity)) >= 0 ? NH_SHEET_COORDINATE
                                                         : nh_sheet_kind_of_observable(name);
}

/* A file does not say whether the energy is conserved; if it changes by less than a millionth, the
 * change is drawn as an error. */
static bool is_kept(const nh_datafile *t, int energy)
{
    double largest = 0;
    for (int64_t i = 1; energy >= 0 && i < t->rows; i++)
        largest = fmax(largest, fabs(t->column[energy][i] - t->column[energy][0]));
    return energy >= 0 && largest < 1e-6 * fabs(t->column[energy][0]);
}

typedef struct picture {
    nh_sheet sheet;
    double *data;
    nh_sheet_panel *panel;
    int *list;
    int panels, used;
} picture;

static void free_picture(picture *p)
{
    free(p->sheet.name);
    free(p->sheet.kind);
    free(p->data);
    free(p->panel);
    free(p->list);
}

static nh_status lay_out(picture *p, const nh_datafile *t, nh_report *report)
{
    size_t columns = (size_t)t->columns, rows = (size_t)t->rows;
    p->data = malloc((columns * rows + 1) * sizeof *p->data);
    p->sheet = (nh_sheet){.rows = t->rows,
                          .columns = t->columns,
                          .width = t->columns,
                          .data = p->data,
                          .name = calloc(columns, sizeof *p->sheet.name),
                          .kind = calloc(columns, sizeof *p->sheet.kind)};
    if (!p->data || !p->sheet.name || !p->sheet.kind)
        return nh_fail_memory(report);
    for (size_t c = 0; c < columns; c++) {
        p->sheet.name[c] = t->name[c];
        p->sheet.kind[c] = kind_of(t, (int)c);
        for (size_t r = 0; r < rows; r++)
            p->data[r * columns + c] = t->column[c][r];
    }
    p->sheet.scattered = strcmp(t->name[0], "member") == 0;
    p->sheet.keeps_energy = is_kept(t, find_name(t, "energy", strlen("energy")));
    return NH_OK;
}

static nh_status unknown(const nh_datafile *t, const char *name, size_t length, nh_report *report)
{
    char list[400] = "";
    size_t used = 0;
    for (int i = 0; i < t->columns && used < sizeof list; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", t->name[i]);
    return nh_fail(report, NH_BAD_ARGUMENT, "%s has no column '%.*s'; it has %s%s", t->path,
                   (int)(length < 80 ? length : 80), name, list, used < sizeof list ? "" : "...");
}

/* "A,B,Y/X": names over time share one panel, Y/X has one of its own. */
static nh_status choose(picture *p, const nh_datafile *t, const char *names, nh_report *report)
{
    size_t most = strlen(names) / 2 + 2;
    p->panel = calloc(most, sizeof *p->panel);
    p->list = calloc(most, sizeof *p->list);
    if (!p->panel || !p->list)
        return nh_fail_memory(report);
    nh_sheet_panel *together = NULL;
    for (const char *at = names; *at; at += *at == ',') {
        const size_t length = nh_column_length(at);
        const char *over = memchr(at, '/', length);
        const size_t before = over ? (size_t)(over - at) : length;
        int y = find_name(t, at, before), x = -1;
        if (y < 0)
            return unknown(t, at, before, report);
        if (before < length && (x = find_name(t, at + before + 1, length - before - 1)) < 0)
            return unknown(t, at + before + 1, length - before - 1, report);
        p->list[p->used] = y;
        if (x >= 0 || !together) {
            p->panel[p->panels] =
                (nh_sheet_panel){.title = "", .over = x, .columns = 1, .column = p->list + p->used};
            together = x >= 0 ? NULL : &p->panel[p->panels];
            p->panels++;
        } else
            together->columns++;
        p->used++;
        at += length;
    }
    return p->panels ? NH_OK
                     : nh_fail(report, NH_BAD_ARGUMENT, "expected names of columns, as in x,y/x");
}

nh_status nh_datafile_draw(const nh_datafile *table, const char *columns, const char *path,
                           const nh_picture *how, nh_report *report)
{
    picture p = {0};
    nh_status status = lay_out(&p, table, report);
    if (status == NH_OK && columns)
        status = choose(&p, table, columns, report);
    if (status == NH_OK)
        status = columns ? nh_sheet_plot_panels(&p.sheet, p.panel, p.panels, path, how, report)
                         : nh_sheet_plot(&p.sheet, path, how, report);
    free_picture(&p);
    return status;
}
