/* Suggestions for misspelt names ("did you mean ...?"). The distance of two names counts letters
 * inserted, omitted, replaced, or swapped with the next one (Damerau); a difference in case counts
 * as half an error. Where nothing is near, the beginning of a name counts: J for Jay. */
#include "model/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 64, STEP = 2 }; /* STEP: one error, in halves */

static size_t replace_cost(char a, char b)
{
    if (a == b)
        return 0;
    return tolower((unsigned char)a) == tolower((unsigned char)b) ? STEP / 2 : STEP;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    size_t table[3][LONGEST + 1]; /* rows i-2, i-1, i of the usual table, reused cyclically */
    for (size_t j = 0; j <= m; j++)
        table[0][j] = j * STEP;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = table[i % 3], *above = table[(i + 2) % 3], *above2 = table[(i + 1) % 3];
        row[0] = i * STEP;
        for (size_t j = 1; j <= m; j++) {
            row[j] = least(least(row[j - 1], above[j]) + STEP,
                           above[j - 1] + replace_cost(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], above2[j - 2] + STEP);
        }
    }
    return table[n % 3][m];
}

/* One error in three letters, but at least one, still counts as a misspelling. */
static size_t most_errors(const char *wanted)
{
    const size_t letters = strlen(wanted);
    return (letters < 3 ? 1 : letters / 3) * STEP;
}

/* Whether the shorter one is at least a third of the other, and its beginning. */
static bool begins(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b), shorter = least(n, m);
    return shorter > 0 && 3 * shorter >= (n > m ? n : m) && strncmp(a, b, shorter) == 0;
}

nh_suggest nh_suggest_begin(const char *wanted)
{
    return (nh_suggest){.wanted = wanted, .distance = most_errors(wanted) + 2};
}

void nh_suggest_offer(nh_suggest *s, const char *candidate)
{
    if (strlen(s->wanted) > LONGEST || strlen(candidate) > LONGEST)
        return;
    size_t d = distance(s->wanted, candidate);
    /* Names with nothing in common are not misspellings, however short they are. */
    size_t longest = strlen(s->wanted) > strlen(candidate) ? strlen(s->wanted) : strlen(candidate);
    const size_t most = most_errors(s->wanted);
    if (d > most && !begins(s->wanted, candidate))
        return;
    d = least(d, most + 1);
    if (d < s->distance && d < longest * STEP) {
        snprintf(s->best, sizeof s->best, "%s", candidate);
        s->distance = d;
    }
}

nh_suggest_text nh_suggest_end(const nh_suggest *s)
{
    nh_suggest_text out = {""};
    if (*s->best)
        snprintf(out.text, sizeof out.text, "; did you mean '%s'?", s->best);
    return out;
}
