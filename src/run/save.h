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
/* The identification of what was saved, described once for writing and for reading: it is written,
 * or must equal what is here; NH_BAD_ARGUMENT names what differs. A pack that ends too early is
 * left to the caller: pack->failed. */
typedef struct nh_identity {
    nh_pack *pack;
    bool writes;
    nh_status status; /* of the comparisons so far; after a failure nothing more is read */
    nh_report *report;
} nh_identity;

/* What the bytes are a checkpoint of: its kind and version. */
void nh_same_magic(nh_identity *id, const char *magic, const char *contents);
void nh_same_text(nh_identity *id, const char *what, const char *here);
void nh_same_real(nh_identity *id, const char *what, double here);
void nh_same_integer(nh_identity *id, const char *what, int64_t here);
void nh_same_parameters(nh_identity *id, const char *what, const nh_system *system);
/* The digest of a system with this name. */
void nh_same_digest(nh_identity *id, const char *name, const char *digest);

/* The states of a run without its identification, for checkpoints that stay with it. */
void nh_run_pack(nh_pack *pack, const nh_run *run);
nh_status nh_run_unpack(nh_pack *pack, nh_run *run, nh_report *report);

#endif
