/* The number of processors available to this process. */
#ifndef NH_BASE_PROCESSORS_H
#define NH_BASE_PROCESSORS_H

int nh_processors(void); /* at least 1; a batch system may allow fewer than the machine has */

#endif
