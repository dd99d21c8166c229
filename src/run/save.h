/* Shared by the checkpoints of runs and ensembles: writing their identification, and checking it on
 * restore. */
#ifndef NH_RUN_SAVE_H
#define NH_RUN_SAVE_H

#include "base/pack.h"
#include "base/sha256.h"
#include "run/run.h"

/* Two systems with the same digest compute the same numbers with this method. False without memory.
 */
bool nh_system_digest(const nh_system *system, const nh_choice *choice,
                      char digest[NH_DIGEST_TEXT]);
void nh_pack_parameters(nh_pack *p, const nh_system *system);

/* Reads something that must equal what is here; NH_BAD_ARGUMENT names what differs. A pack that
 * ends too early is left to the caller: p->failed. */
nh_status nh_expect_text(nh_pack *p, const char *what, const char *here, nh_report *report);
nh_status nh_expect_real(nh_pack *p, const char *what, double here, nh_report *report);
nh_status nh_expect_integer(nh_pack *p, const char *what, int64_t here, nh_report *report);
nh_status nh_expect_parameters(nh_pack *p, const nh_system *system, nh_report *report);

#endif
