/* What nonholo check says of coupled systems and of maps that reverse the motion. */
#ifndef CLI_CHECK_COUPLED_H
#define CLI_CHECK_COUPLED_H

#include <nonholo_analysis.h>

#include <stdio.h>

#include "json.h"
#include "subject.h"

static inline void put_label(const char *label)
{
    printf("  %-13s ", label);
}

/* Lines of the text, and entries of the JSON object. */
void print_fibration(const subject *s);
void print_reversals(const subject *s);
void print_frequencies(const subject *s);
void put_fibration(json *j, const subject *s);
void put_reversals(json *j, const subject *s);
void put_frequencies(json *j, const subject *s);

#endif
