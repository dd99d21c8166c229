/* What nonholo check says of contacts and grips. */
#ifndef CLI_CHECK_CONTACTS_H
#define CLI_CHECK_CONTACTS_H

#include <nonholo.h>

#include "json.h"
#include "subject.h"

/* A run that has been started, whose modes are those of the start; NULL without contacts and grips,
 * and where no motion is possible from the start, for which *report has the reason. */
nh_status start_contacts(nh_run **run, const subject *s, nh_report *report);

/* Lines of the text, and an entry of the JSON object. `run` is that of start_contacts. */
void print_contacts(const subject *s, const nh_run *run);
void put_contacts(json *j, const subject *s, const nh_run *run);

#endif
