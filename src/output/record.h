/* Internals of a record, for the files that write it. */
#ifndef NH_OUTPUT_RECORD_H
#define NH_OUTPUT_RECORD_H

#include <nonholo_analysis.h>

#include "analysis/quantities.h"
#include "base/status.h"
#include "run/measure.h"

struct nh_record {
    const nh_system *system;
    int coordinates, velocities, constraints;
    int observables; /* including the latitude, if there may be one */
    bool may_have_latitude;
    nh_latitude *latitude; /* for the driver's energy in the first row; NULL: its column is NaN */
    nh_watch *watch;       /* for the quantities that were asked for; NULL: none */
    char **watched_name;   /* [watched] */
    int watched;
    const nh_run *run; /* whose attachments have further columns; one of them for each: */
    int attached[NH_ATTACHMENTS], attachments;
    const nh_sensitivity *sensitivity; /* derivatives of the run; NULL: none */
    char **derivative_name;            /* [derivatives] "d(x)/d(J)" */
    int derivatives;
    int columns;   /* t, q, v, energy, observables, what was asked for, derivatives */
    int width;     /* columns plus one: the largest |k| of the row */
    bool section;  /* rows are states at events and follow no path */
    bool keep;     /* false: rows are counted, but the table holds only the last */
    int64_t rows;  /* recorded */
    int64_t room;  /* rows the table has memory for */
    double *table; /* [rows][width] */
    nh_measure measure;
    double *seen;  /* energy, the largest |k|, observables */
    double *inner; /* [velocities of the system] at that state */
    double *u;     /* open inputs there */
    double first_energy, energy_error, constraint_max;
};

/* The latitude stands between the two built-in observables and the model's own. */
enum { NH_RECORD_BUILT_IN = 2 };

/* Of a record: what continues it in another process, apart from its rows. */
typedef struct nh_record_state {
    int64_t rows;
    double first_energy, energy_error, constraint_max;
} nh_record_state;

/* The system must outlive the record. */
nh_status nh_record_create(nh_record **out, const nh_system *system, nh_report *report);
void nh_record_free(nh_record *record);
/* To be called before the first row. With `keep` false rows are measured and counted but only the
 * last one is kept. */
void nh_record_keep_rows(nh_record *record, bool keep);

/* Makes room for this many rows, if they are kept; call before the first one. More may be added. */
nh_status nh_record_reserve(nh_record *record, int64_t rows, nh_report *report);

/* Adds columns for quantities by name, separated by commas; call before the first row. Those that
 * attachments of the run know are asked for there, and are its values when a row is added. */
nh_status nh_record_observe(nh_record *record, nh_run *run, const char *names, double step,
                            const nh_state *start, nh_report *report);
/* Adds columns for the derivatives of the run, which are those of its present state when a row is
 * added; call after nh_record_observe and before the first row. */
nh_status nh_record_differentiate(nh_record *record, nh_run *run, const nh_sensitivity *sensitivity,
                                  nh_report *report);
void nh_record_forget_observed(nh_record *record);

/* Adds a row. `before` is the state one step earlier; NULL: unknown, and quantities that depend on
 * two states are NaN. */
nh_status nh_record_add_step(nh_record *record, const nh_state *now, const nh_state *before,
                             const double *u, nh_report *report);

/* The same for a state; `wrapped_q` may be NULL. `u`: the open inputs of the row; NULL: their
 * defaults. */
nh_status nh_record_add(nh_record *record, double t, const double *q, const double *v,
                        const double *wrapped_q, const double *u, nh_report *report);

nh_record_state nh_record_save(const nh_record *record);
/* For a record that contains only the start state. Earlier rows are counted but not kept; the last
 * row is computed from the given state. NH_BAD_ARGUMENT if the start state differs. */
nh_status nh_record_restore(nh_record *record, const nh_record_state *state, double t,
                            const double *q, const double *v, const double *wrapped_q,
                            const double *u, nh_report *report);

static inline int nh_record_energy_column(const nh_record *record)
{
    return 1 + record->coordinates + record->velocities;
}

/* Whether a change of the energy is an error: contacts and grips dissipate. */
bool nh_record_keeps_energy(const nh_record *record);

#endif
