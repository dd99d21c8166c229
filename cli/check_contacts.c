/* nonholo check: which contacts and grips there are, and what holds at the start. */
#include "check_contacts.h"
#include "check_coupled.h"

nh_status start_contacts(nh_run **run, const subject *s, nh_report *report)
{
    const char *reason;
    nh_run_options how = nh_run_options_default();
    *run = NULL;
    how.method = nh_advise(s->system, &reason);
    how.step = 1e-3; /* no step is taken */
    if (nh_system_items(s->system) == 0 || !how.method)
        return NH_OK;
    nh_status status = nh_run_create(run, s->system, &how, report);
    if (status == NH_OK)
        status = nh_run_start(*run, 0, s->t, s->q, s->v, report);
    if (status != NH_OK) {
        nh_run_free(*run);
        *run = NULL;
    }
    return status;
}

static const char *mode_at_start(const subject *s, const nh_run *run, int item)
{
    return run ? nh_system_mode_name(s->system, item, nh_run_mode(run, 0, item)) : NULL;
}

void print_contacts(const subject *s, const nh_run *run)
{
    for (int contacts = 1; contacts >= 0; contacts--)
        for (int i = 0, shown = 0; i < nh_system_items(s->system); i++) {
            const char *mode = mode_at_start(s, run, i);
            if (nh_system_item_is_contact(s->system, i) != contacts)
                continue;
            put_label(shown++ ? "" : contacts ? "contacts" : "grips");
            printf("%s%s%s%s\n", nh_system_item_name(s->system, i), mode ? ": " : "",
                   mode ? mode : "", mode ? " at the start" : "");
        }
}

void put_contacts(json *j, const subject *s, const nh_run *run)
{
    json_array(j, "contacts_and_grips");
    for (int i = 0; i < nh_system_items(s->system); i++) {
        json_object(j, NULL);
        json_text(j, "name", nh_system_item_name(s->system, i));
        json_text(j, "kind", nh_system_item_is_contact(s->system, i) ? "contact" : "grip");
        json_text(j, "at_start", mode_at_start(s, run, i));
        json_close_object(j);
    }
    json_close_array(j);
}
