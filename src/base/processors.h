/* The processors of this machine. */
#ifndef NH_BASE_PROCESSORS_H
#define NH_BASE_PROCESSORS_H

int nh_processors(void); /* at least 1; a batch system may allow fewer than the machine has */

/* Of which kind they are: the same text for those that can run the same code. */
enum { NH_PROCESSOR_TEXT = 96 };
void nh_processor_kind(char text[NH_PROCESSOR_TEXT]);

#endif
