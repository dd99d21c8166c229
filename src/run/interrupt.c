/* A call of a kernel may take long if the method chooses its own steps: as long as there are steps
 * to take within one step of the run. So the kernel is told to return whenever it has noted the
 * ends of some of them, and the caller is asked whether to go on. */
#include "run/interrupt.h"

#include "base/clock.h"
#include "base/status.h"

enum { NODES = 256 };
static const double apart = 0.05; /* seconds between two questions */

nh_status nh_ask_to_go_on(const nh_run_options *options, nh_report *report)
{
    return options->stop && options->stop(options->user) != 0
               ? nh_fail(report, NH_CALLBACK_STOPPED, "the caller asked to stop")
               : NH_OK;
}

bool nh_run_is_interrupted(nh_run *run)
{
    const nh_patience *p = &run->patience;
    const double now = p->stop && !run->interrupted ? nh_clock_seconds() : run->asked;
    if (now - run->asked < apart)
        return run->interrupted;
    run->asked = now;
    return run->interrupted = p->stop(p->user) != 0;
}

nh_status nh_interrupt_prepare(nh_run *run, nh_report *report)
{
    const nh_shape *s = &run->system->shape;
    if (!run->patience.stop || !nh_choice_adapts(&run->choice) ||
        !run->choice.method->keeps_nodes || run->group[0].lanes > 1)
        return NH_OK;
    run->own_nodes = nh_aligned_doubles(NODES * (size_t)NH_NODE_SIZE(s->n, s->angles));
    return run->own_nodes ? NH_OK : nh_fail_memory(report);
}

double *nh_interrupt_nodes(const nh_run *run, int64_t *most)
{
    *most = NODES;
    return run->own_nodes;
}
