/* Copies an option struct that may have been compiled for another version of this library. */
#include "base/option_struct.h"

#include <string.h>

#include "base/status.h"

nh_status nh_options_take(void *own, size_t own_size, const void *given, size_t first_size,
                          nh_report *report)
{
    memset(own, 0, own_size);
    if (!given)
        return NH_OK;
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size == 0)
        size = first_size;
    if (size < sizeof size || size > 1 << 16)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "an option struct has size %zu; initialise it with zeros or with its "
                       "_default() function",
                       size);
    const char *bytes = given;
    for (size_t i = own_size; i < size; i++)
        if (bytes[i])
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "an option is set that this version (%s) does not support",
                           nh_version());
    memcpy(own, given, size < own_size ? size : own_size);
    return NH_OK;
}
