/* Remarks: doubts about an answer that is given all the same. A list holds one remark of each
 * kind, so that what is seen at every step is said once. */
#ifndef NH_BASE_REMARKS_H
#define NH_BASE_REMARKS_H

#include <stdbool.h>

enum { NH_REMARKS_MAX = 32, NH_REMARK_LENGTH = 512 };

typedef struct nh_remark {
    const char *kind; /* a literal: "condition" */
    char text[NH_REMARK_LENGTH];
} nh_remark;

typedef struct nh_remarks { /* empty when zeroed */
    int count;
    nh_remark *item; /* NULL until the first */
} nh_remarks;

/* Adds a remark (what was seen, where, and what to try) unless there is one of this kind. Returns
 * whether it was added. */
__attribute__((format(printf, 3, 4))) bool nh_remarks_add(nh_remarks *list, const char *kind,
                                                          const char *format, ...);
bool nh_remarks_have(const nh_remarks *list, const char *kind);
const char *nh_remarks_of(const nh_remarks *list, const char *kind); /* NULL: there is none */
const char *nh_remarks_text(const nh_remarks *list, int index);      /* NULL past the end */
void nh_remarks_free(nh_remarks *list);

#endif
