/* The number of processors available to this process. */
#ifndef NH_BASE_PROCESSORS_H
#define NH_BASE_PROCESSORS_H

int nh_processors(void); /* at least 1; a batch system may have given us fewer than there are */

#endif
