/* Suggestions for misspelt names: "did you mean ...?" */
#ifndef NH_MODEL_SUGGEST_H
#define NH_MODEL_SUGGEST_H

#include <stddef.h>

/* The nearest of several names to a misspelt one. Begin with nh_suggest_begin, then offer every
 * candidate; `best` is "" if none is near enough. Ties go to the candidate offered first. */
typedef struct nh_suggest {
    const char *wanted;
    char best[65];
    size_t distance;
} nh_suggest;

nh_suggest nh_suggest_begin(const char *wanted);
void nh_suggest_offer(nh_suggest *s, const char *candidate);

/* "; did you mean 'theta'?" or "", for the end of a message. */
typedef struct nh_suggest_text {
    char text[128];
} nh_suggest_text;
nh_suggest_text nh_suggest_end(const nh_suggest *s);

#endif
