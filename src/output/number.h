/* Numbers as text, for rows of many. */
#ifndef NH_OUTPUT_NUMBER_H
#define NH_OUTPUT_NUMBER_H

enum { NH_NUMBER_TEXT = 32 }; /* bytes that the text of a number may need */

/* As nh_number_text, but returns the end of the text. */
char *nh_number_write(double value, char *text);

#endif
