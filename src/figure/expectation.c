/* Parses findings, measures and chains, such as
 *
 *     finding slope error passenger_energy of dla01 in rotating = 4.90e-5 within 1%
 *     finding max log energy of newmark-pair < max log energy of rk4
 *     finding verdict error energy of avf-p in every case is "round-off" */
#include "figure/words.h"
#include "model/suggest.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"

static const char *const operations[NH_OPERATIONS] = {
    "error", "relative", "log", "abs", "mean", "per", "variance", "mean-square", "each"};
static const char *const measures[NH_MEASURES] = {"max",  "last",     "slope", "drift",  "line",
                                                  "rate", "exponent", "order", "growth", "verdict"};

static int index_of(const char *word, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0)
            return i;
    return -1;
}

/* per h^4, per QUANTITY */
static nh_status read_divisor(nh_reader *r, nh_chain *chain)
{
    const char *word = nh_next_word(r);
    char *end;
    if (strncmp(word, "h^", 2) != 0)
        return nh_take_word(r, "a power of the step, like h^4, or a quantity",
                            &chain->by[chain->ops]);
    const double power = nh_decimal(word + 2, &end);
    if (!isfinite(power) || *end)
        return nh_reader_fail(r, "expected a power of the step, like h^4");
    chain->value[chain->ops] = power;
    r->line.at++;
    return NH_OK;
}

/* After 'per QUANTITY', a running mean would have other points than the quantity. */
static nh_status read_window(nh_reader *r, nh_chain *chain)
{
    for (int i = 0; i < chain->ops; i++)
        if (chain->by[i])
            return nh_reader_fail(r, "'mean' must precede 'per %.40s'", chain->by[i]);
    return nh_take_positive(r, "the window of the mean", &chain->value[chain->ops]);
}

/* The operation that the next word names; -1 if it is a quantity, which the last word of a chain
 * always is. */
static int next_operation(const nh_reader *r)
{
    const nh_word *word = &r->line.word[r->line.at], *behind = word + 1;
    bool last = r->line.at + 1 >= r->line.count || strcmp(behind->text, "of") == 0;
    return nh_at_end(r) || word->quoted || last ? -1
                                                : index_of(word->text, operations, NH_OPERATIONS);
}

nh_status nh_read_chain(nh_reader *r, nh_chain *chain)
{
    *chain = (nh_chain){.place = r->line.word[r->line.at].place};
    for (;;) {
        int op = next_operation(r);
        if (op < 0)
            break;
        if (chain->ops == NH_FIGURE_OPERATIONS)
            return nh_reader_fail(r, "a series goes through at most %d operations",
                                  NH_FIGURE_OPERATIONS);
        r->line.at++;
        nh_status status = NH_OK;
        if (op == NH_SERIES_MEAN)
            status = read_window(r, chain);
        else if (op == NH_SERIES_PER)
            status = read_divisor(r, chain);
        if (status)
            return status;
        chain->op[chain->ops++] = (nh_series_op)op;
    }
    return nh_take_word(r, "a quantity, like energy", &chain->quantity);
}

nh_status nh_read_measure(nh_reader *r, nh_finding_kind *measure)
{
    int found = index_of(nh_next_word(r), measures, NH_MEASURES);
    if (found < 0) {
        nh_suggest suggest = nh_suggest_begin(nh_next_word(r));
        for (int i = 0; i < NH_MEASURES; i++)
            nh_suggest_offer(&suggest, measures[i]);
        return nh_reader_fail(r,
                              "expected a measure: max, last, slope, drift, line, rate, exponent, "
                              "order, growth or verdict%s",
                              nh_suggest_end(&suggest).text);
    }
    r->line.at++;
    *measure = (nh_finding_kind)found;
    return NH_OK;
}

static nh_status read_which_method(nh_reader *r, int *out)
{
    const char *name;
    if (!nh_take_if(r, "of"))
        return nh_reader_fail(r, "expected 'of' and a method");
    nh_status status = nh_take_word(r, "a method's label", &name);
    for (int i = 0; i < r->figure->method_count && status == NH_OK; i++)
        if (strcmp(r->figure->methods[i].label, name) == 0) {
            *out = i;
            return NH_OK;
        }
    if (status)
        return status;
    r->line.at--;
    return nh_reader_fail(r, "there is no method labelled '%.40s' above", name);
}

/* in CASE, in every case; nothing when there is only one */
static nh_status read_which_case(nh_reader *r, int *out)
{
    const char *name;
    *out = 0;
    if (!nh_take_if(r, "in")) {
        if (r->figure->case_count > 1)
            return nh_reader_fail(r, "expected 'in' and a case, or 'in every case'");
        return NH_OK;
    }
    nh_status status = nh_take_word(r, "a case", &name);
    if (status == NH_OK && strcmp(name, "every") == 0 && nh_take_if(r, "case")) {
        *out = -1;
        return NH_OK;
    }
    for (int i = 0; i < r->figure->case_count && status == NH_OK; i++)
        if (strcmp(r->figure->cases[i].name, name) == 0) {
            *out = i;
            return NH_OK;
        }
    if (status)
        return status;
    r->line.at--;
    return nh_reader_fail(r, "there is no case '%.40s' above", name);
}

static nh_status read_measurement(nh_reader *r, nh_measurement *m)
{
    nh_status status = nh_read_measure(r, &m->measure);
    if (status == NH_OK && m->measure == NH_MEASURE_ORDER)
        m->chain = (nh_chain){.quantity = "error", .place = r->line.word[r->line.at].place};
    else if (status == NH_OK)
        status = nh_read_chain(r, &m->chain);
    if (status == NH_OK)
        status = read_which_method(r, &m->by_method);
    return status ? status : read_which_case(r, &m->by_case);
}

/* from 5e-5 to 2e-4, after 'from' */
static nh_status read_band(nh_reader *r, nh_expectation *e)
{
    e->tolerance = NH_WITHIN_BAND;
    nh_status status = nh_take_number(r, "the least value", &e->band[0]);
    if (status == NH_OK && !nh_take_if(r, "to"))
        return nh_reader_fail(r, "expected 'to' and the greatest value");
    if (status == NH_OK)
        status = nh_take_number(r, "the greatest value", &e->band[1]);
    if (status == NH_OK && !(e->band[0] <= e->value && e->value <= e->band[1]))
        return nh_reader_fail(r, "the value must lie between the two");
    return status;
}

/* within 1%, within factor 2, within 0.01, from 1 to 2 */
static nh_status read_tolerance(nh_reader *r, nh_expectation *e)
{
    if (!e->compared && nh_take_if(r, "from"))
        return read_band(r, e);
    if (!nh_take_if(r, "within"))
        return nh_reader_fail(
            r,
            "expected 'within' and a tolerance (1%%, factor 2, or a number), or 'from' and 'to'");
    if (nh_take_if(r, "factor")) {
        e->tolerance = NH_WITHIN_FACTOR;
        return nh_take_number(r, "a factor", &e->allowed);
    }
    const char *word = nh_next_word(r);
    char *end;
    double value = nh_decimal(word, &end);
    if (end != word && strcmp(end, "%") == 0) {
        e->tolerance = NH_WITHIN_SHARE;
        e->allowed = value / 100;
        r->line.at++;
        return NH_OK;
    }
    e->tolerance = NH_WITHIN_SIZE;
    return nh_take_number(r, "the tolerance", &e->allowed);
}

static nh_status read_relation(nh_reader *r, nh_expectation *e)
{
    if (nh_take_if(r, "is")) {
        e->relation = 'i';
        return nh_take_word(r, "a verdict", &e->verdict);
    }
    if (!nh_take_if(r, "=") && !nh_take_if(r, "<") && !nh_take_if(r, ">"))
        return nh_reader_fail(r, "expected '=', '<', '>' or 'is'");
    e->relation = r->line.word[r->line.at - 1].text[0];
    e->compared = index_of(nh_next_word(r), measures, NH_MEASURES) >= 0;
    nh_status status =
        e->compared ? read_measurement(r, &e->right) : nh_take_number(r, "a value", &e->value);
    return status == NH_OK && e->relation == '=' ? read_tolerance(r, e) : status;
}

nh_status nh_read_finding(nh_reader *r, nh_finding_role role)
{
    nh_figure *f = r->figure;
    if (f->finding_count == NH_FINDINGS_MOST)
        return nh_reader_fail(r, "a figure has at most %d findings", NH_FINDINGS_MOST);
    nh_expectation *e = &f->findings[f->finding_count++];
    *e = (nh_expectation){
        .text = r->line.word[r->line.at].rest, .place = r->line.word[0].place, .role = role};
    nh_status status = read_measurement(r, &e->left);
    if (status == NH_OK)
        status = read_relation(r, e);
    bool is_word = e->left.measure == NH_MEASURE_VERDICT;
    if (status == NH_OK && is_word != (e->relation == 'i'))
        return nh_reader_fail(r, "a verdict is compared with 'is', a number with '=', '<' or '>'");
    return status;
}
