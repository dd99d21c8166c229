/* Reads the statements of a figure file; man/nonholo-figure.5.scd documents them. */
#include "method/compose.h"
#include "figure/words.h"
#include "model/suggest.h"

#include <math.h>
#include <string.h>

/* ---- what is computed ---------------------------------------------------------------------- */

static nh_setup *setup_of(nh_reader *r)
{
    nh_figure *f = r->figure;
    return r->section == NH_IN_CASE ? &f->cases[f->case_count - 1].setup : &f->setup;
}

static nh_figure_panel *panel_of(nh_reader *r)
{
    return &r->figure->panels[r->figure->panel_count - 1];
}

static size_t name_length(const char *item)
{
    size_t length = strcspn(item, "=");
    while (length > 0 && item[length - 1] == ' ')
        length--;
    return length;
}

/* A later value for the same name replaces the earlier one. */
static nh_status put_item(nh_reader *r, const char **list, int *count, const char *item)
{
    size_t length = name_length(item);
    if (length == 0 || !strchr(item, '='))
        return nh_reader_fail(r, "expected NAME = VALUE");
    for (int i = 0; i < *count; i++)
        if (name_length(list[i]) == length && strncmp(list[i], item, length) == 0) {
            list[i] = item;
            return NH_OK;
        }
    if (*count == NH_FIGURE_ITEMS)
        return nh_reader_fail(r, "there are at most %d of these", NH_FIGURE_ITEMS);
    list[(*count)++] = item;
    return NH_OK;
}

/* NAME=VALUE, NAME=VALUE: commas outside parentheses separate. */
static nh_status read_items(nh_reader *r, const char **list, int *count)
{
    const char *rest = r->line.word[r->line.at].rest;
    nh_status status = NH_OK;
    while (status == NH_OK) {
        rest += strspn(rest, " \t");
        size_t end = 0;
        for (int depth = 0; rest[end] && !(rest[end] == ',' && depth == 0); end++)
            depth += (rest[end] == '(') - (rest[end] == ')');
        status = put_item(r, list, count, nh_arena_text(&r->figure->arena, rest, end));
        if (!rest[end])
            break;
        rest += end + 1;
    }
    r->line.at = r->line.count;
    return status;
}

static nh_status read_model(nh_reader *r)
{
    setup_of(r)->place = r->line.word[r->line.at].place;
    return nh_take_word(r, "a model", &setup_of(r)->model);
}

static nh_status read_set(nh_reader *r)
{
    nh_setup *s = setup_of(r);
    return read_items(r, s->set, &s->sets);
}

static nh_status read_start(nh_reader *r)
{
    nh_setup *s = setup_of(r);
    return read_items(r, s->start, &s->starts);
}

static nh_status read_project(nh_reader *r)
{
    setup_of(r)->project = true;
    return NH_OK;
}

static nh_status read_step(nh_reader *r)
{
    nh_figure *f = r->figure;
    bool own = r->section == NH_IN_METHOD;
    return nh_take_positive(r, "a step",
                            own ? &f->methods[f->method_count - 1].step : &setup_of(r)->step);
}

static nh_status read_time(nh_reader *r)
{
    nh_setup *s = setup_of(r);
    s->quick_time = NAN;
    return nh_take_positive(r, "a time", &s->time);
}

static nh_status read_every(nh_reader *r)
{
    return nh_take_count(r, "a number of steps", 1, INT64_C(1) << 40, &setup_of(r)->every);
}

static nh_status read_compose(nh_reader *r)
{
    nh_figure *f = r->figure;
    bool own = r->section == NH_IN_METHOD;
    return nh_take_word(r, "a composition",
                        own ? &f->methods[f->method_count - 1].compose : &setup_of(r)->compose);
}

/* members N energy E seed S */
static nh_status read_members(nh_reader *r)
{
    nh_setup *s = setup_of(r);
    int64_t members = 0, seed = 1;
    nh_status status = nh_take_count(r, "a number of members", 1, 100000, &members);
    while (status == NH_OK && !nh_at_end(r)) {
        if (nh_take_if(r, "energy"))
            status = nh_take_number(r, "an energy", &s->energy);
        else if (nh_take_if(r, "seed"))
            status = nh_take_count(r, "a seed", 0, INT64_C(1) << 53, &seed);
        else
            return nh_reader_fail(r, "expected 'energy E' or 'seed S'");
    }
    s->members = (int)members;
    s->seed = (uint64_t)seed;
    s->swept = NULL; /* replaces a sweep */
    return status;
}

/* sweep NAME = a b c ... */
static nh_status read_sweep(nh_reader *r)
{
    nh_setup *s = setup_of(r);
    nh_status status = nh_take_word(r, "a parameter", &s->swept);
    if (status == NH_OK && !nh_take_if(r, "="))
        return nh_reader_fail(r, "expected '='");
    s->members = 0;
    while (status == NH_OK && (!nh_at_end(r) || s->members == 0)) {
        if (s->members == NH_FIGURE_ITEMS)
            return nh_reader_fail(r, "a sweep has at most %d values", NH_FIGURE_ITEMS);
        status = nh_take_number(r, "a value", &s->sweep[s->members++]);
    }
    return status;
}

static nh_status read_halvings(nh_reader *r)
{
    int64_t count = 0;
    nh_status status = nh_take_count(r, "the number of halvings", 1, 30, &count);
    setup_of(r)->halvings = (int)count;
    return status;
}

/* quick time T, quick members N, quick halvings N */
static nh_status read_quick(nh_reader *r)
{
    nh_setup *s = setup_of(r);
    int64_t count = 0;
    r->figure->quick_is_shorter = true;
    if (nh_take_if(r, "time"))
        return nh_take_positive(r, "a time", &s->quick_time);
    bool halvings = nh_take_if(r, "halvings");
    if (!halvings && !nh_take_if(r, "members"))
        return nh_reader_fail(r, "expected 'time', 'members' or 'halvings'");
    nh_status status = nh_take_count(r, "a whole number", 1, halvings ? 30 : 100000, &count);
    *(halvings ? &s->quick_halvings : &s->quick_members) = (int)count;
    return status;
}

/* ---- the figure ---------------------------------------------------------------------------- */

static nh_status read_figure(nh_reader *r)
{
    if (r->figure->name)
        return nh_reader_fail(r, "the figure already has a name");
    const char *name;
    nh_status status = nh_take_word(r, "the figure's name", &name);
    if (status)
        return status;
    /* Files are named after it, and a figure file is untrusted input. */
    if (name[0] == '.' || strlen(name) > 100 ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")]) {
        r->line.at--;
        return nh_reader_fail(r, "a figure's name consists of letters, digits, '-', '_' and '.'");
    }
    r->figure->name = name;
    return NH_OK;
}

static nh_status read_rest(nh_reader *r, const char **text)
{
    *text = r->line.word[r->line.at].rest;
    if (nh_at_end(r))
        return nh_reader_fail(r, "expected a text");
    r->line.at = r->line.count;
    return NH_OK;
}

static nh_status read_title(nh_reader *r)
{
    return read_rest(r, &r->figure->title);
}

static nh_status read_credit(nh_reader *r)
{
    return read_rest(r, &r->figure->credit);
}

static nh_status take_label(nh_reader *r, const char **label, const char *standard)
{
    *label = standard;
    return nh_at_end(r) ? NH_OK : nh_take_word(r, "a label", label);
}

static nh_status check_room(nh_reader *r, int count, const char *what)
{
    return count < NH_FIGURE_LIST
               ? NH_OK
               : nh_reader_fail(r, "a figure has at most %d %s", NH_FIGURE_LIST, what);
}

/* case NAME "label" */
static nh_status read_case(nh_reader *r)
{
    nh_figure *f = r->figure;
    nh_status status = check_room(r, f->case_count, "cases");
    if (status)
        return status;
    nh_case *one = &f->cases[f->case_count++];
    *one = (nh_case){.setup = f->setup};
    r->section = NH_IN_CASE;
    status = nh_take_word(r, "a name for the case", &one->name);
    return status ? status : take_label(r, &one->label, one->name);
}

/* method METHOD "label" */
static nh_status read_method(nh_reader *r)
{
    nh_figure *f = r->figure;
    nh_status status = check_room(r, f->method_count, "methods");
    nh_choice choice;
    nh_report report;
    if (status)
        return status;
    nh_contestant *one = &f->methods[f->method_count++];
    *one = (nh_contestant){.step = NAN, .place = r->line.word[r->line.at].place};
    r->section = NH_IN_METHOD;
    status = nh_take_word(r, "a method", &one->text);
    if (status == NH_OK && nh_choice_or_first(&choice, one->text, &report) != NH_OK) {
        r->line.at--;
        return nh_reader_fail(r, "%s", report.text);
    }
    return status ? status : take_label(r, &one->label, one->text);
}

/* ---- panels -------------------------------------------------------------------------------- */

static nh_status read_panel(nh_reader *r)
{
    nh_figure *f = r->figure;
    nh_status status = check_room(r, f->panel_count, "panels");
    if (status)
        return status;
    nh_figure_panel *p = &f->panels[f->panel_count++];
    *p = (nh_figure_panel){
        .x_range = {NAN, NAN}, .y_range = {NAN, NAN}, .guide = NAN, .place = r->line.word[0].place};
    r->section = NH_IN_PANEL;
    return take_label(r, &p->title, "");
}

static nh_status read_draw(nh_reader *r)
{
    nh_figure *f = r->figure;
    if (r->section != NH_IN_TABLE)
        return nh_read_chain(r, &panel_of(r)->y);
    nh_status status = check_room(r, f->table.columns, "columns");
    return status ? status : nh_read_chain(r, &f->table.column[f->table.columns++]);
}

static nh_status read_against(nh_reader *r)
{
    panel_of(r)->has_x = true;
    return nh_read_chain(r, &panel_of(r)->x);
}

static nh_status read_cases(nh_reader *r)
{
    nh_figure_panel *p = panel_of(r);
    p->some_case = true;
    do {
        const char *name;
        int i = 0;
        nh_status status = nh_take_word(r, "a case", &name);
        if (status)
            return status;
        while (i < r->figure->case_count && strcmp(r->figure->cases[i].name, name) != 0)
            i++;
        if (i == r->figure->case_count) {
            r->line.at--;
            return nh_reader_fail(r, "there is no case '%.40s' above", name);
        }
        p->in_case[i] = true;
    } while (!nh_at_end(r));
    return NH_OK;
}

static nh_status read_methods(nh_reader *r)
{
    nh_figure_panel *p = panel_of(r);
    p->some_method = true;
    do {
        const char *name;
        bool found = false;
        nh_status status = nh_take_word(r, "a method's label", &name);
        if (status)
            return status;
        for (int i = 0; i < r->figure->method_count; i++)
            if (strcmp(r->figure->methods[i].label, name) == 0)
                found = p->by_method[i] = true;
        if (!found) {
            r->line.at--;
            return nh_reader_fail(r, "there is no method labelled '%.40s' above", name);
        }
    } while (!nh_at_end(r));
    return NH_OK;
}

/* x "label" from A to B */
static nh_status read_axis(nh_reader *r, const char **label, double *range)
{
    nh_status status = nh_take_word(r, "a label", label);
    if (status == NH_OK && nh_take_if(r, "from")) {
        status = nh_take_number(r, "the beginning of the axis", &range[0]);
        if (status == NH_OK && !nh_take_if(r, "to"))
            return nh_reader_fail(r, "expected 'to'");
        if (status == NH_OK)
            status = nh_take_number(r, "the end of the axis", &range[1]);
    }
    return status;
}

static nh_status read_x(nh_reader *r)
{
    return read_axis(r, &panel_of(r)->x_label, panel_of(r)->x_range);
}

static nh_status read_y(nh_reader *r)
{
    return read_axis(r, &panel_of(r)->y_label, panel_of(r)->y_range);
}

static nh_status read_log(nh_reader *r)
{
    while (!nh_at_end(r))
        if (nh_take_if(r, "x"))
            panel_of(r)->x_log = true;
        else if (nh_take_if(r, "y"))
            panel_of(r)->y_log = true;
        else
            return nh_reader_fail(r, "expected 'x' or 'y'");
    return NH_OK;
}

static nh_status read_equal(nh_reader *r)
{
    panel_of(r)->equal = true;
    return NH_OK;
}

static nh_status read_marks(nh_reader *r)
{
    panel_of(r)->marks = true;
    return NH_OK;
}

/* guide FACTOR power P: the line FACTOR*x^P */
static nh_status read_guide(nh_reader *r)
{
    nh_figure_panel *p = panel_of(r);
    nh_status status = nh_take_number(r, "a factor", &p->guide_factor);
    if (status == NH_OK && !nh_take_if(r, "power"))
        return nh_reader_fail(r, "expected 'power'");
    return status ? status : nh_take_number(r, "a power", &p->guide);
}

/* point X Y: a mark at one place, such as an equilibrium */
static nh_status read_point(nh_reader *r)
{
    nh_figure_panel *p = panel_of(r);
    if (p->points == NH_FIGURE_ITEMS)
        return nh_reader_fail(r, "a panel has at most %d points", NH_FIGURE_ITEMS);
    nh_status status =
        nh_take_number(r, "the horizontal position of the point", &p->point_x[p->points]);
    return status
               ? status
               : nh_take_number(r, "the vertical position of the point", &p->point_y[p->points++]);
}

/* table MEASURE */
static nh_status read_table(nh_reader *r)
{
    nh_figure_table *t = &r->figure->table;
    if (r->figure->has_table)
        return nh_reader_fail(r, "a figure has one table");
    r->figure->has_table = true;
    r->section = NH_IN_TABLE;
    return nh_read_measure(r, &t->measure);
}

static nh_status read_finding(nh_reader *r)
{
    return nh_read_finding(r, (nh_finding_role){.is_test = true});
}

static nh_status read_claim(nh_reader *r)
{
    return nh_read_finding(r, (nh_finding_role){.is_claim = true});
}

static nh_status read_claimed(nh_reader *r)
{
    if (!nh_take_if(r, "finding"))
        return nh_reader_fail(r, "expected 'finding'");
    return nh_read_finding(r, (nh_finding_role){.is_claim = true, .is_test = true});
}

static nh_status read_long(nh_reader *r)
{
    nh_finding_role role = {.needs_time = true};
    role.is_claim = nh_take_if(r, "claim");
    if (!role.is_claim) {
        role.is_claim = nh_take_if(r, "claimed");
        role.is_test = true;
        if (!nh_take_if(r, "finding"))
            return nh_reader_fail(r, role.is_claim
                                         ? "expected 'finding'"
                                         : "expected 'finding', 'claim' or 'claimed finding'");
    }
    return nh_read_finding(r, role);
}

/* ---- the table of statements --------------------------------------------------------------- */

enum {
    FIGURE = 1 << NH_IN_FIGURE,
    CASE = 1 << NH_IN_CASE,
    METHOD = 1 << NH_IN_METHOD,
    PANEL = 1 << NH_IN_PANEL,
    TABLE = 1 << NH_IN_TABLE,
    ANYWHERE = FIGURE | CASE | METHOD | PANEL | TABLE
};

static const struct statement {
    const char *name;
    unsigned sections;
    nh_status (*read)(nh_reader *r);
} statements[] = {
    {"figure", FIGURE, read_figure},
    {"title", FIGURE, read_title},
    {"source", FIGURE, read_credit},
    {"model", FIGURE | CASE, read_model},
    {"set", FIGURE | CASE, read_set},
    {"start", FIGURE | CASE, read_start},
    {"project", FIGURE | CASE, read_project},
    {"step", FIGURE | CASE | METHOD, read_step},
    {"time", FIGURE | CASE, read_time},
    {"every", FIGURE | CASE, read_every},
    {"compose", FIGURE | CASE | METHOD, read_compose},
    {"members", FIGURE | CASE, read_members},
    {"sweep", FIGURE | CASE, read_sweep},
    {"halvings", FIGURE | CASE, read_halvings},
    {"quick", FIGURE | CASE, read_quick},
    {"method", ANYWHERE, read_method},
    {"panel", ANYWHERE, read_panel},
    {"draw", PANEL | TABLE, read_draw},
    {"against", PANEL, read_against},
    {"methods", PANEL, read_methods},
    {"x", PANEL, read_x},
    {"y", PANEL, read_y},
    {"log", PANEL, read_log},
    {"equal", PANEL, read_equal},
    {"marks", PANEL, read_marks},
    {"guide", PANEL, read_guide},
    {"point", PANEL, read_point},
    {"table", ANYWHERE, read_table},
    {"finding", ANYWHERE, read_finding},
    {"claim", ANYWHERE, read_claim},
    {"claimed", ANYWHERE, read_claimed},
    {"long", ANYWHERE, read_long},
    {"cases", PANEL, read_cases},
    {"case", ANYWHERE, read_case},
};
enum { STATEMENTS = sizeof statements / sizeof *statements };

static nh_status unknown_statement(nh_reader *r, const char *name)
{
    nh_suggest suggest = nh_suggest_begin(name);
    for (int i = 0; i < STATEMENTS; i++)
        nh_suggest_offer(&suggest, statements[i].name);
    r->line.at = 0;
    return nh_reader_fail(r, "there is no statement '%.40s'%s", name,
                          nh_suggest_end(&suggest).text);
}

nh_status nh_read_statement(nh_reader *r)
{
    static const char *const sections[] = {"at the beginning", "in a case", "in a method",
                                           "in a panel", "in a table"};
    const char *name = r->line.word[r->line.at++].text;
    if (!r->figure->name && strcmp(name, "figure") != 0) {
        r->line.at = 0;
        return nh_reader_fail(r, "a figure file begins with 'figure NAME'");
    }
    for (int i = 0; i < STATEMENTS; i++) {
        if (strcmp(statements[i].name, name) != 0)
            continue;
        if (!(statements[i].sections >> r->section & 1)) {
            r->line.at = 0;
            return nh_reader_fail(r, "'%s' is not allowed %s", name, sections[r->section]);
        }
        nh_status status = statements[i].read(r);
        if (status == NH_OK && !nh_at_end(r))
            return nh_reader_fail(r, "expected the end of the line");
        return status;
    }
    return unknown_statement(r, name);
}
