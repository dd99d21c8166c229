/* A list of remarks, one of each kind. */
#include "base/remarks.h"

#include <nonholo.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

const char *nh_remarks_of(const nh_remarks *list, const char *kind)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->item[i].kind, kind) == 0)
            return list->item[i].text;
    return NULL;
}

bool nh_remarks_add(nh_remarks *list, const char *kind, const char *format, ...)
{
    if (list->count == NH_REMARKS_MAX || nh_remarks_of(list, kind))
        return false;
    if (!list->item)
        list->item = calloc(NH_REMARKS_MAX, sizeof *list->item);
    if (!list->item)
        return false;
    nh_remark *remark = list->item + list->count++;
    remark->kind = kind;
    va_list args;
    va_start(args, format);
    nh_print_list(remark->text, sizeof remark->text, format, args);
    va_end(args);
    nh_make_printable(remark->text);
    return true;
}

void nh_remarks_extend(nh_remarks *list, const char *kind, const char *text)
{
    static const char more[] = ", ...";
    char *old = (char *)nh_remarks_of(list, kind);
    const size_t used = old ? strlen(old) : 0, room = NH_REMARK_LENGTH - sizeof more;
    if (!old || strstr(old, text) || strstr(old, more))
        return;
    if (used + 2 + strlen(text) < room)
        snprintf(old + used, NH_REMARK_LENGTH - used, ", %s", text);
    else
        snprintf(old + used, NH_REMARK_LENGTH - used, "%s", more);
}

const char *nh_remarks_text(const nh_remarks *list, int index)
{
    return index >= 0 && index < list->count ? list->item[index].text : NULL;
}

void nh_remarks_free(nh_remarks *list)
{
    free(list->item);
    *list = (nh_remarks){0};
}
