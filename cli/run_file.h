/* What of a run goes to disk: the recorded points, and checkpoints. */
#ifndef CLI_RUN_FILE_H
#define CLI_RUN_FILE_H

#include "run_report.h"

/* Restores --resume, and opens -o, anew or where the checkpoint left it. Returns 0, or the exit
 * code after having complained. */
int open_files(journey *trip, const options *given);

/* The last recorded point goes to the file. */
nh_status write_point(journey *trip, nh_report *report);

nh_status write_checkpoint(journey *trip, nh_report *report);

#endif
