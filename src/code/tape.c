/* What a tape reads, and the memory it needs. */
#include "code/tape.h"

bool nh_tape_reads(const nh_tape *t, nh_input kind)
{
    for (size_t i = 0; i < t->inputs; i++)
        if (t->input[i].kind == (uint32_t)kind)
            return true;
    return false;
}

size_t nh_tape_given(const nh_tape *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->inputs; i++)
        if (t->input[i].kind == NH_U && t->input[i].index >= count)
            count = (size_t)t->input[i].index + 1;
    return count;
}

size_t nh_tape_room(const nh_tape *t)
{
    return t->slots + 1 + nh_tape_given(t);
}

bool nh_tape_has_loops(const nh_tape *t)
{
    for (size_t i = 0; i < t->stretches; i++)
        if (t->stretch[i].iterations > 1)
            return true;
    return false;
}
