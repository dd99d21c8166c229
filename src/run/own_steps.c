/* The column own_steps: how many steps a method that chooses them has taken so far, which shows
 * where the motion is hard to follow. The method's memory counts them. */
#include "base/status.h"
#include "run/attach.h"

static nh_status ask(nh_run *run, nh_report *report)
{
    return nh_run_adapts(run)
               ? NH_OK
               : nh_fail(report, NH_BAD_ARGUMENT,
                         "own_steps counts the steps that a method chooses; %s takes those of the "
                         "run (give a tolerance, without --step)",
                         nh_method_name(run->choice.method));
}

static double value(const nh_run *run, int member)
{
    int64_t accepted, rejected;
    nh_run_own_steps(run, member, &accepted, &rejected);
    return (double)accepted;
}

const nh_attachment nh_attachment_own_steps = {.column = "own_steps", .ask = ask, .value = value};
