/* The statement `pace expr`: how fast the motion changes in a state. Symmetric methods use it to
 * take steps as long as the motion allows (run/pace.h). */
#include "base/status.h"
#include "model/build.h"
#include "model/statements.h"

void nh_read_pace(nh_parser *p, nh_statement *s)
{
    nh_item *item = nh_add_item(p, s, s->place);
    if (item)
        item->right = nh_read_expression(p);
}

void nh_build_pace(nh_builder *b, const nh_statement *s, int64_t index)
{
    (void)index;
    nh_problem *p = b->problem;
    if (p->paced)
        b->x.status = nh_fail_at(b->report, &b->model->source, s->place,
                                 "the pace is given twice; a model has only one");
    const nh_expr pace = nh_expand_expr(&b->x, s->item->right);
    if (b->x.status)
        return;
    p->pace = pace;
    p->paced = true;
}
