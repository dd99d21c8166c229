/* Names of quantities, alone or within a text, as in print: theta as a Greek letter, a prime as a
 * real one, digits behind a letter below the line. */
#ifndef NH_OUTPUT_NAMES_H
#define NH_OUTPUT_NAMES_H

enum { NH_PRINTED_NAME = 1024 };

/* UTF-8, cut when it is too long; "" of no name. */
const char *nh_print_name(const char *name, char printed[NH_PRINTED_NAME]);

#endif
