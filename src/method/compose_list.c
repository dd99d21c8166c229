/* Compositions of different methods, which the user writes as a list:
 *
 *     METHOD:FRACTION, METHOD:FRACTION, ...        dla:1/4, gauss:stages=1:1/2, dla:1/4
 *
 * Each part is one step of its method over that fraction of the step. A list of symmetric methods
 * that reads the same backwards is symmetric. The order is that of the worst part, one more if the
 * leading errors of all methods of that order cancel (the sum of g^(p+1) over the parts of each
 * vanishes), and even if the list is symmetric. */
#include "method/compose.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "method/method.h"

enum { TEXT_MAX = 256 };

/* Sums of fractions and of their powers are rounded. */
static const double round_off = 1e-14;

/* ---- reading ---- */

static const char *skip_spaces(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

/* Reads NUMBER or NUMBER/NUMBER up to the end of a part; NULL if this is something else. */
static const char *read_fraction(const char *text, double *value)
{
    char *end;
    text = skip_spaces(text);
    if (!isdigit((unsigned char)*text) && !strchr("+-.", *text))
        return NULL;
    *value = nh_decimal(text, &end);
    if (end == text)
        return NULL;
    text = end;
    if (*text == '/') {
        const double by = nh_decimal(text + 1, &end);
        if (end == text + 1)
            return NULL;
        *value /= by;
        text = end;
    }
    text = skip_spaces(text);
    return *text == 0 || *text == ',' ? text : NULL;
}

/* The end of the part that begins here, and the ':' before its fraction; NULL if it has none. */
static const char *find_fraction(const char *text, const char **colon, double *value)
{
    for (const char *c = strchr(text, ':'); c; c = strchr(c + 1, ':')) {
        const char *end = read_fraction(c + 1, value);
        if (end) {
            *colon = c;
            return end;
        }
    }
    return NULL;
}

bool nh_composition_is_list(const char *text)
{
    const char *colon;
    double value;
    return text && find_fraction(text, &colon, &value);
}

/* Why a method cannot be a part, or NULL. */
static const char *not_a_part(const nh_choice *choice)
{
    const nh_method *method = choice->method;
    if (nh_choice_adapts(choice) || nh_choice_pace(choice) > 0)
        return "it chooses its own steps, and a part of a composition is one step of a given "
               "length";
    return method->carries ? method->carries : method->without_composition;
}

static nh_status read_part(nh_composed *c, const char **text, nh_report *report)
{
    char method[TEXT_MAX];
    const char *begin = skip_spaces(*text), *colon;
    double fraction;
    const char *end = find_fraction(begin, &colon, &fraction);
    if (!end)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "a part of a composition of different methods is METHOD:FRACTION, as in "
                       "dla:1/2, gauss:stages=1:1/2; '%.60s' has no fraction",
                       begin);
    if (c->parts == NH_PARTS_MAX)
        return nh_fail(report, NH_BAD_ARGUMENT, "a composition has at most %d parts", NH_PARTS_MAX);
    const int length = (int)(colon - begin);
    if (snprintf(method, sizeof method, "%.*s", length, begin) >= (int)sizeof method)
        return nh_fail(report, NH_BAD_ARGUMENT, "'%.60s...' is too long for a method", begin);
    for (int i = length; i > 0 && isspace((unsigned char)method[i - 1]); i--)
        method[i - 1] = 0;
    if (!isfinite(fraction) || fraction == 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the fraction of a step that '%s' takes must be a number other than 0",
                       method);
    nh_choice *choice = &c->choice[c->parts];
    nh_status status = nh_choice_parse(choice, method, report);
    if (status != NH_OK)
        return status;
    const char *reason = not_a_part(choice);
    if (reason)
        return nh_fail(report, NH_NOT_APPLICABLE, "%s cannot be a part of a composition: %s",
                       nh_method_name(choice->method), reason);
    c->part[c->parts++] = fraction;
    *text = end;
    return NH_OK;
}

static nh_status check_sum(const nh_composed *c, nh_report *report)
{
    double sum = 0, size = 0;
    for (int i = 0; i < c->parts; i++) {
        sum += c->part[i];
        size += fabs(c->part[i]);
    }
    return fabs(sum - 1) <= round_off * size
               ? NH_OK
               : nh_fail(report, NH_BAD_ARGUMENT,
                         "the fractions of a composition must sum to 1, not to %.15g; fractions "
                         "such as 1/3 may be written like this",
                         sum);
}

/* ---- what is known of it ---- */

static bool same_choice(const nh_choice *a, const nh_choice *b)
{
    bool same = a->method == b->method;
    for (int i = 0; same && i < NH_OPTIONS_MAX; i++)
        same = a->option[i] == b->option[i];
    return same;
}

/* The first part with the same method as this one. */
static int first_of_kind(const nh_composed *c, int part)
{
    int first = 0;
    while (!same_choice(&c->choice[first], &c->choice[part]))
        first++;
    return first;
}

static bool is_palindrome(const nh_composed *c)
{
    for (int i = 0, j = c->parts - 1; i <= j; i++, j--)
        if (c->part[i] != c->part[j] || !same_choice(&c->choice[i], &c->choice[j]) ||
            !(nh_choice_keeps(&c->choice[i]) & NH_KEEPS_SYMMETRY))
            return false;
    return true;
}

/* Whether the errors of size h^(order+1) of every method of this order cancel. */
static bool leading_errors_cancel(const nh_composed *c, int order)
{
    for (int kind = 0; kind < c->parts; kind++) {
        double sum = 0, size = 0;
        for (int i = 0; i < c->parts; i++)
            if (first_of_kind(c, i) == kind && nh_choice_order(&c->choice[i]) == order) {
                const double power = pow(c->part[i], order + 1);
                sum += power;
                size += fabs(power);
            }
        if (fabs(sum) > round_off * size)
            return false;
    }
    return true;
}

static void find_facts(nh_composed *c)
{
    double begin = 0;
    c->keeps = ~0u;
    c->order = nh_choice_order(&c->choice[0]);
    for (int i = 0; i < c->parts; i++) {
        c->part[c->parts + i] = begin;
        begin += c->part[i];
        c->kind[i] = first_of_kind(c, i);
        c->keeps &= nh_choice_keeps(&c->choice[i]);
        const int order = nh_choice_order(&c->choice[i]);
        c->order = order < c->order ? order : c->order;
    }
    const bool symmetric = is_palindrome(c);
    c->keeps = (c->keeps & ~(unsigned)NH_KEEPS_SYMMETRY) | (symmetric ? NH_KEEPS_SYMMETRY : 0);
    c->order += leading_errors_cancel(c, c->order);
    c->order += symmetric && c->order % 2 == 1;
}

nh_status nh_composition_read(nh_composed *out, const char *text, nh_report *report)
{
    *out = (nh_composed){0};
    for (;; text++) {
        nh_status status = read_part(out, &text, report);
        if (status != NH_OK)
            return status;
        if (!*text)
            break;
    }
    nh_status status = check_sum(out, report);
    if (status == NH_OK)
        find_facts(out);
    return status;
}

/* ---- in place of a method ---- */

nh_status nh_composition_take(const char **list, const char *method, const char *compose,
                              nh_report *report)
{
    const bool open = !method || strcmp(method, "auto") == 0;
    const bool named = compose && !strpbrk(compose, ":,");
    *list = compose && !named ? compose : nh_composition_is_list(method) ? method : NULL;
    if (*list == compose && compose && !open && strcmp(method, compose) != 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "'%.80s' is a composition of different methods, which takes the place of "
                       "the method; leave out the method '%.60s'",
                       compose, method);
    if (*list && *list != compose && compose)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "'%.80s' is a composition of different methods and cannot be composed by "
                       "'%s' again",
                       method, compose);
    nh_composed composed;
    return *list ? nh_composition_read(&composed, *list, report) : NH_OK;
}

nh_status nh_choice_or_first(nh_choice *out, const char *text, nh_report *report)
{
    nh_composed composed;
    if (!nh_composition_is_list(text))
        return nh_choice_parse(out, text, report);
    const nh_status status = nh_composition_read(&composed, text, report);
    *out = composed.choice[0];
    return status;
}
