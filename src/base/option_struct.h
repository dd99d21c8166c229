/* Option structs as callers pass them: the first member is the size of the struct. */
#ifndef NH_BASE_OPTION_STRUCT_H
#define NH_BASE_OPTION_STRUCT_H

#include <nonholo.h>

/* Copies the caller's options into `own`, of `own_size` bytes. If they are NULL, and beyond the
 * caller's size, members are zero, which means "as advised". Size 0 stands for the `first_size`
 * bytes of the struct's first version. Fails if options are set that only a newer library knows. */
nh_status nh_options_take(void *own, size_t own_size, const void *given, size_t first_size,
                          nh_report *report);

/* NH_FIRST_SIZE names the last member of the first version. */
#define NH_FIRST_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#define NH_OPTIONS_TAKE(own, given, type, last, report)                                            \
    nh_options_take(own, sizeof(type), given, NH_FIRST_SIZE(type, last), report)

#endif
