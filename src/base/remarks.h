/* Remarks: warnings about a result that is returned nevertheless. A list holds at most one remark
 * of each kind, so that what occurs at every step is reported once. */
#ifndef NH_BASE_REMARKS_H
#define NH_BASE_REMARKS_H

#include <stdbool.h>

enum { NH_REMARKS_MAX = 32, NH_REMARK_LENGTH = 512 };

typedef struct nh_remark {
    const char *kind; /* a literal, such as "condition" */
    char text[NH_REMARK_LENGTH];
} nh_remark;

typedef struct nh_remarks { /* empty when zeroed */
    int count;
    nh_remark *item; /* NULL while the list is empty */
} nh_remarks;

/* Adds a remark (what was observed, where, and what to try) unless the list has one of this kind.
 * Returns whether it was added. */
__attribute__((format(printf, 3, 4))) bool nh_remarks_add(nh_remarks *list, const char *kind,
                                                          const char *format, ...);
/* Adds another case to the remark of a kind, after a comma, unless it names it already or is full.
 */
void nh_remarks_extend(nh_remarks *list, const char *kind, const char *text);
const char *nh_remarks_of(const nh_remarks *list, const char *kind); /* NULL: there is none */
const char *nh_remarks_text(const nh_remarks *list, int index);      /* NULL past the end */
void nh_remarks_free(nh_remarks *list);

#endif
