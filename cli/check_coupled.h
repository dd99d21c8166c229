/* What nonholo check says of coupled systems, of maps that reverse the motion, and of volumes. */
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

typedef struct coupled_facts {
    nh_reversal *reversal;
    int reversals; /* -1: not known */
    bool periodic; /* the driver; otherwise there are no frequencies */
    nh_frequencies frequencies;
} coupled_facts;

/* Fails without memory only; freed with free_coupled. */
nh_status find_coupled(coupled_facts *out, const subject *s, nh_report *report);
void free_coupled(coupled_facts *c);

/* Lines of the text, and entries of the JSON object. */
void print_fibration(const subject *s);
void print_reversals(const subject *s, const coupled_facts *c);
void print_frequencies(const coupled_facts *c);
void print_volume(const nh_volume *volume);
void put_fibration(json *j, const subject *s);
void put_reversals(json *j, const subject *s, const coupled_facts *c);
void put_frequencies(json *j, const coupled_facts *c);

#endif
