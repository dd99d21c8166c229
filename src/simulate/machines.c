/* What differs between the members of an ensemble: values of sweeps, and variations, whose values
 * are listed or drawn. A drawn value depends on the seed, the number of the member's start and the
 * name of what varies; so it is the same whatever else varies, and however the work is shared. */
#include "simulate/machines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/status.h"
#include "model/suggest.h"
#include "system/system.h"

enum { NAME_MOST = 200, VALUE_MOST = 32, TEXT_MOST = NAME_MOST + VALUE_MOST };

static const struct {
    const char *name, *arguments;
} distributions[] = {
    [NH_LISTED] = {"", ""},
    [NH_NORMAL] = {"normal", "mean, deviation"},
    [NH_UNIFORM] = {"uniform", "from, to"},
    [NH_LOGUNIFORM] = {"loguniform", "from, to"},
};
enum { DISTRIBUTIONS = sizeof distributions / sizeof *distributions };

/* ---- reading "NAME=normal(1, 0.1)" ---- */

static nh_status refuse_form(const char *text, nh_report *report)
{
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "a distribution is written NAME=normal(mean, deviation), NAME=uniform(from, to) "
                   "or NAME=loguniform(from, to), not '%.200s'",
                   text);
}

/* The value of an expression of numbers, which is one in the model language. */
static nh_status evaluate(const char *expression, size_t length, double *value, nh_report *report)
{
    char text[512];
    nh_model *model;
    nh_system *system = NULL;
    if (length > 300 || memchr(expression, '\n', length))
        return nh_fail(report, NH_BAD_ARGUMENT, "'%.40s...' is too long for a number", expression);
    const int size = snprintf(text, sizeof text,
                              "model value\ncoordinate x\nlagrangian x'^2/2\nparameter p = %.*s\n",
                              (int)length, expression);
    nh_report why;
    nh_status status = nh_model_parse(&model, "value", text, (size_t)size, &why);
    if (status == NH_OK)
        status = nh_system_build(&system, model, NULL, 0, &why);
    if (status == NH_OK)
        *value = nh_system_parameter_value(system, 0);
    nh_system_free(system);
    nh_model_free(model);
    if (status == NH_NO_MEMORY)
        return nh_fail_memory(report);
    return status == NH_OK ? NH_OK
                           : nh_fail(report, NH_BAD_ARGUMENT, "'%.*s' is not a number", (int)length,
                                     expression);
}

/* The comma between the two arguments, outside of parentheses; NULL: there is not exactly one. */
static const char *find_comma(const char *from, const char *end)
{
    const char *comma = NULL;
    int depth = 0;
    for (const char *c = from; c < end; c++) {
        depth += (*c == '(') - (*c == ')');
        if (*c == ',' && depth == 0 && comma)
            return NULL;
        if (*c == ',' && depth == 0)
            comma = c;
    }
    return comma;
}

nh_status nh_variation_read(nh_variation *out, char *name, size_t room, const char *text,
                            nh_report *report)
{
    const char *equals = strchr(text, '=');
    const size_t length = equals ? (size_t)(equals - text) : 0;
    if (length == 0 || length >= room)
        return refuse_form(text, report);
    snprintf(name, room, "%.*s", (int)length, text);
    name[strcspn(name, " ")] = '\0';
    const char *word = equals + 1 + strspn(equals + 1, " "), *open = strchr(word, '('),
               *end = strrchr(word, ')');
    if (!open || !end || end[1 + strspn(end + 1, " ")] != '\0')
        return refuse_form(text, report);
    size_t letters = (size_t)(open - word);
    while (letters > 0 && word[letters - 1] == ' ')
        letters--;
    unsigned kind = NH_LISTED + 1;
    while (kind < DISTRIBUTIONS && !(strlen(distributions[kind].name) == letters &&
                                     strncmp(distributions[kind].name, word, letters) == 0))
        kind++;
    const char *comma = find_comma(open + 1, end);
    if (kind == DISTRIBUTIONS || !comma)
        return refuse_form(text, report);
    *out = (nh_variation){.name = name, .distribution = (nh_distribution)kind};
    nh_status status = evaluate(open + 1, (size_t)(comma - open - 1), &out->first, report);
    return status == NH_OK ? evaluate(comma + 1, (size_t)(end - comma - 1), &out->second, report)
                           : status;
}

/* ---- what varies ---- */

static int count(const nh_simulation *s)
{
    return s->options.sweeps + s->options.variations;
}

static const char *name_of(const nh_simulation *s, int index)
{
    const nh_simulation_options *o = &s->options;
    return index < o->sweeps ? o->sweep[index].parameter : o->variation[index - o->sweeps].name;
}

static bool is_parameter(const nh_system *system, const char *name)
{
    for (int i = 0; i < nh_system_parameters(system); i++)
        if (strcmp(nh_system_parameter_name(system, i), name) == 0)
            return true;
    return false;
}

static bool is_coordinate(const nh_system *system, const char *name)
{
    for (int i = 0; i < nh_system_coordinates(system); i++)
        if (strcmp(nh_system_coordinate_name(system, i), name) == 0)
            return true;
    return false;
}

static bool is_velocity(const nh_system *system, const char *name)
{
    for (int i = 0; i < nh_system_velocities(system); i++)
        if (strcmp(nh_system_velocity_name(system, i), name) == 0)
            return true;
    return false;
}

static nh_status refuse_name(const nh_system *system, const char *name, nh_report *report)
{
    nh_suggest suggest = nh_suggest_begin(name);
    for (int i = 0; i < nh_system_parameters(system); i++)
        nh_suggest_offer(&suggest, nh_system_parameter_name(system, i));
    for (int i = 0; i < nh_system_coordinates(system); i++)
        nh_suggest_offer(&suggest, nh_system_coordinate_name(system, i));
    for (int i = 0; i < nh_system_velocities(system); i++)
        nh_suggest_offer(&suggest, nh_system_velocity_name(system, i));
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "'%.200s' is neither a parameter nor a start value of %s%s", name,
                   nh_system_name(system), nh_suggest_end(&suggest).text);
}

static nh_status check_distribution(const nh_variation *v, int64_t members, nh_report *report)
{
    const bool positive = v->distribution == NH_LOGUNIFORM;
    bool good = isfinite(v->first) && isfinite(v->second);
    if (v->distribution == NH_NORMAL)
        good = good && v->second >= 0;
    else
        good = good && v->first <= v->second && (!positive || v->first > 0);
    if (v->distribution == NH_LISTED)
        good = v->values != NULL;
    for (int64_t i = 0; v->distribution == NH_LISTED && good && i < members; i++)
        if (!isfinite(v->values[i]))
            return nh_fail(report, NH_BAD_ARGUMENT, "value %lld of %.200s is not a finite number",
                           (long long)i, v->name);
    if (good)
        return NH_OK;
    if ((unsigned)v->distribution >= DISTRIBUTIONS || v->distribution == NH_LISTED)
        return nh_fail(report, NH_BAD_ARGUMENT, "the variation of %.200s has no values", v->name);
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "%.200s: %s(%s) needs finite numbers with %s, not %.10g and %.10g", v->name,
                   distributions[v->distribution].name, distributions[v->distribution].arguments,
                   v->distribution == NH_NORMAL ? "deviation >= 0"
                   : positive                   ? "0 < from <= to"
                                                : "from <= to",
                   v->first, v->second);
}

nh_status nh_check_variations(nh_simulation *s, const nh_system *system, nh_report *report)
{
    const nh_simulation_options *o = &s->options;
    const int64_t members = o->members > 0 ? o->members : 1;
    s->sets_parameter = calloc((size_t)count(s) + 1, sizeof *s->sets_parameter);
    nh_status status = s->sets_parameter ? NH_OK : nh_fail_memory(report);
    for (int i = 0; i < count(s) && status == NH_OK; i++) {
        const char *name = name_of(s, i);
        const bool parameter = is_parameter(system, name);
        s->sets_parameter[i] = parameter;
        if (!parameter && !is_coordinate(system, name) && !is_velocity(system, name))
            return refuse_name(system, name, report);
        if (!parameter && o->starts != NH_STARTS_MODEL)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "the start value %.200s can only vary if the other start values are "
                           "those of the model",
                           name);
        for (int j = 0; j < i; j++)
            if (strcmp(name_of(s, j), name) == 0)
                return nh_fail(report, NH_BAD_ARGUMENT, "%.200s varies twice", name);
        if (i >= o->sweeps)
            status = check_distribution(o->variation + (i - o->sweeps), members, report);
    }
    return status;
}

bool nh_varies_machines(const nh_simulation *s)
{
    const nh_simulation_options *o = &s->options;
    for (int i = 0; i < o->variations; i++)
        if (s->sets_parameter[o->sweeps + i])
            return true;
    return false;
}

bool nh_varies_starts(const nh_simulation *s)
{
    for (int i = 0; i < count(s); i++)
        if (!s->sets_parameter[i])
            return true;
    return false;
}

/* ---- values ---- */

static double draw(const nh_variation *v, uint64_t seed, int64_t start)
{
    /* random starts take the small numbers of attempts */
    const uint64_t name = nh_hash(NH_HASH_START, v->name, strlen(v->name));
    nh_stream stream = {.seed = seed,
                        .item = (uint64_t)start,
                        .attempt = UINT32_C(1) << 31 | (uint32_t)(name ^ name >> 32)};
    if (v->distribution == NH_NORMAL)
        return v->first + v->second * nh_stream_normal(&stream);
    const double u = nh_stream_uniform(&stream);
    return v->distribution == NH_UNIFORM ? v->first + u * (v->second - v->first)
                                         : v->first * pow(v->second / v->first, u);
}

double nh_simulation_swept_value(const nh_simulation *simulation, int64_t combination, int sweep)
{
    const nh_simulation_options *o = &simulation->options;
    if (sweep < 0 || sweep >= o->sweeps || combination < 0)
        return NAN;
    for (int i = o->sweeps - 1; i > sweep; i--)
        combination /= o->sweep[i].count;
    const nh_sweep *s = o->sweep + sweep;
    int64_t index = combination % s->count;
    if (s->count == 1 || index == 0)
        return s->from;
    double share = (double)index / (double)(s->count - 1);
    return index == s->count - 1 ? s->to : s->from + share * (s->to - s->from);
}

double nh_value_of(const nh_simulation *s, int64_t combination, int64_t start, int index)
{
    const nh_simulation_options *o = &s->options;
    if (index < o->sweeps)
        return nh_simulation_swept_value(s, combination, index);
    const nh_variation *v = o->variation + (index - o->sweeps);
    return v->distribution == NH_LISTED ? v->values[start] : draw(v, o->seed, start);
}

void nh_value_bounds(const nh_simulation *s, int index, double *low, double *high)
{
    const nh_simulation_options *o = &s->options;
    const nh_variation *v = index < o->sweeps ? NULL : o->variation + (index - o->sweeps);
    const int64_t members = o->members > 0 ? o->members : 1;
    *low = v ? v->first : o->sweep[index].from;
    *high = v ? v->second : o->sweep[index].count > 1 ? o->sweep[index].to : *low;
    if (v && v->distribution == NH_NORMAL) {
        *low = v->first - v->second;
        *high = v->first + v->second;
    }
    for (int64_t i = 0; v && v->distribution == NH_LISTED && i < members; i++) {
        *low = i == 0 ? v->values[i] : fmin(*low, v->values[i]);
        *high = i == 0 ? v->values[i] : fmax(*high, v->values[i]);
    }
}

int nh_simulation_values(const nh_simulation *s)
{
    return s->ensemble ? count(s) : 0;
}

const char *nh_simulation_value_name(const nh_simulation *s, int index)
{
    return index >= 0 && index < nh_simulation_values(s) ? name_of(s, index) : NULL;
}

double nh_simulation_value(const nh_simulation *s, int64_t member, int index)
{
    const nh_members members = nh_simulation_members(s);
    const int64_t each = members.all / members.combinations;
    return member >= 0 && member < members.all && index >= 0 && index < nh_simulation_values(s)
               ? nh_value_of(s, member / each, member % each, index)
               : NAN;
}

/* ---- as texts ---- */

const char **nh_settings_of(const nh_simulation *s, int64_t combination, int64_t start,
                            size_t *given)
{
    const nh_simulation_options *o = &s->options;
    const size_t pointers = o->setting_count + (size_t)count(s) + 1;
    const char **setting = malloc(pointers * sizeof *setting + (size_t)count(s) * TEXT_MOST);
    char *text = (char *)(setting + pointers);
    *given = 0;
    for (size_t i = 0; setting && i < o->setting_count; i++)
        setting[(*given)++] = o->settings[i];
    for (int i = 0; setting && i < (start < 0 ? o->sweeps : count(s)); i++) {
        if (!s->sets_parameter[i])
            continue;
        nh_print(text, TEXT_MOST, "%s=%.17g", name_of(s, i), nh_value_of(s, combination, start, i));
        setting[(*given)++] = text;
        text += TEXT_MOST;
    }
    return setting;
}

char *nh_assignments_of(const nh_simulation *s, int64_t combination, int64_t start)
{
    const char *before = s->options.start ? s->options.start : "";
    const size_t room = strlen(before) + (size_t)count(s) * (TEXT_MOST + 1) + 1;
    char *text = malloc(room);
    size_t used = text ? (size_t)snprintf(text, room, "%s", before) : 0;
    for (int i = 0; text && i < count(s); i++)
        if (!s->sets_parameter[i])
            used += (size_t)nh_print(text + used, room - used, "%s%s=%.17g", used ? "," : "",
                                     name_of(s, i), nh_value_of(s, combination, start, i));
    return text;
}

char *nh_varied_starts(const nh_simulation *s, const nh_system *system)
{
    const size_t room = (size_t)count(s) * (NAME_MOST + 1) + 1;
    const bool moves = system->shape.positions > 0; /* otherwise positions stay in any case */
    char *text = calloc(room, 1);
    size_t used = 0;
    for (int i = 0; text && i < count(s); i++)
        if (!s->sets_parameter[i] && (moves || !is_coordinate(system, name_of(s, i))))
            used +=
                (size_t)snprintf(text + used, room - used, "%s%s", used ? "," : "", name_of(s, i));
    return text;
}

void nh_same_variations(nh_identity *id, const nh_simulation *s, int64_t members)
{
    const nh_simulation_options *o = &s->options;
    for (int i = 0; i < o->sweeps; i++) {
        const nh_sweep *w = o->sweep + i;
        nh_same_text(id, "swept parameter", w->parameter);
        nh_same_real(id, "sweep's first value", w->from);
        nh_same_real(id, "sweep's last value", w->to);
        nh_same_integer(id, "sweep's number of values", w->count);
    }
    for (int i = 0; i < o->variations; i++) {
        const nh_variation *v = o->variation + i;
        char digest[NH_DIGEST_TEXT];
        const bool listed = v->distribution == NH_LISTED;
        nh_sha256_text(listed ? (const void *)v->values : "",
                       listed ? (size_t)members * sizeof *v->values : 0, digest);
        nh_same_text(id, "varied value", v->name);
        nh_same_integer(id, "distribution", v->distribution);
        nh_same_real(id, "distribution's first number", v->first);
        nh_same_real(id, "distribution's second number", v->second);
        nh_same_text(id, "digest of the listed values", digest);
    }
}
