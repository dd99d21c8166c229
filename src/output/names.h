/* Typeset names of quantities, alone or within a text: theta as a Greek letter, a proper prime, and
 * digits after a letter as subscripts. */
#ifndef NH_OUTPUT_NAMES_H
#define NH_OUTPUT_NAMES_H

enum { NH_PRINTED_NAME = 1024 };

/* UTF-8, truncated if it is too long; "" if there is no name. */
const char *nh_print_name(const char *name, char printed[NH_PRINTED_NAME]);

#endif
