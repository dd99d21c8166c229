/* Sines and cosines of a tape; part of lower.c.
 *
 * The sine and cosine of one argument are computed together if both are needed. Those of 2 b, b + c
 * and b - c are computed from those of b and c if these are needed anyway (at least one of each
 * pair): a few multiplications instead of a polynomial. The error is a few units in the last place
 * of 1, about the same as from rounding the sum b + c, which the addition formula avoids. */

/* An argument as a sum of two others, with signs, or of one with itself. */
typedef struct angle_sum {
    size_t b, c; /* places */
    double sign_b, sign_c;
} angle_sum;

static bool has_trig(const lowering *w, size_t at)
{
    return w->sine_of[at] != NONE || w->cosine_of[at] != NONE;
}

/* Whether the argument at a place is such a sum of arguments whose sines or cosines are needed. */
static bool is_angle_sum(const lowering *w, size_t at, angle_sum *out)
{
    const nh_node n = nh_look(w->g, w->node[at]);
    const nh_operand *o = n.operand;
    if (n.kind == NH_PRODUCT && n.count == 1 && n.number == 2 && o[0].number == 1)
        *out = (angle_sum){place_of(w, o[0].expr), place_of(w, o[0].expr), 1, 1};
    else if (n.kind == NH_SUM && n.number == 0 && n.count == 1 && o[0].number == 2)
        *out = (angle_sum){place_of(w, o[0].expr), place_of(w, o[0].expr), 1, 1};
    else if (n.kind == NH_SUM && n.number == 0 && n.count == 2 && fabs(o[0].number) == 1 &&
             fabs(o[1].number) == 1)
        *out =
            (angle_sum){place_of(w, o[0].expr), place_of(w, o[1].expr), o[0].number, o[1].number};
    else
        return false;
    return has_trig(w, out->b) && has_trig(w, out->c);
}

/* Finds the arguments whose sines are computed from others, which therefore are computed in pairs;
 * the cosine of 2 b needs only one of the two. */
static void survey_angles(lowering *w)
{
    for (size_t at = 0; at < w->nodes; at++) {
        angle_sum sum;
        if (!has_trig(w, at) || !is_angle_sum(w, at, &sum))
            continue;
        w->derived[at] = true;
        if (sum.b != sum.c || w->sine_of[at] != NONE)
            w->paired[sum.b] = w->paired[sum.c] = true;
    }
}

/* An argument whose sine and cosine are computed from others need not be computed itself. */
static bool is_spare_angle(const lowering *w, size_t at)
{
    const uint32_t calls = (w->sine_of[at] != NONE) + (w->cosine_of[at] != NONE);
    return w->derived[at] && w->users[at] == calls;
}

/* The sine or cosine of the argument at a place, whose value is known. */
static uint32_t plain_trig(lowering *w, size_t at, nh_function which)
{
    uint32_t *known = which == NH_SIN ? w->sine + at : w->cosine + at;
    if (*known != NONE)
        return *known;
    if (w->paired[at] || (w->sine_of[at] != NONE && w->cosine_of[at] != NONE)) {
        w->sine[at] = append(w, NH_OP_SINCOS, w->value[at], 0, 0);
        w->cosine[at] = w->sine[at] + 1;
    } else
        *known = emit(w, which == NH_SIN ? NH_OP_SIN : NH_OP_COS, w->value[at], 0, 0);
    return *known;
}

static uint32_t twice_trig(lowering *w, size_t b, nh_function which)
{
    if (which == NH_SIN) {
        const uint32_t half =
            emit(w, NH_OP_MUL, plain_trig(w, b, NH_SIN), plain_trig(w, b, NH_COS), 0);
        return emit(w, NH_OP_ADD, half, half, 0);
    }
    const bool by_sine = w->sine_of[b] != NONE || w->paired[b];
    const uint32_t x = plain_trig(w, b, by_sine ? NH_SIN : NH_COS);
    const uint32_t square = emit(w, NH_OP_MUL, x, x, 0), two = constant(w, 2);
    return by_sine ? emit(w, NH_OP_FNMA, two, square, constant(w, 1))
                   : emit(w, NH_OP_FMA, two, square, constant(w, -1));
}

static uint32_t sum_trig(lowering *w, angle_sum a, nh_function which)
{
    if (a.sign_b < 0) /* if one sign is plus, it is that of b */
        a = (angle_sum){a.c, a.b, a.sign_c, a.sign_b};
    const uint32_t sb = plain_trig(w, a.b, NH_SIN), cb = plain_trig(w, a.b, NH_COS),
                   sc = plain_trig(w, a.c, NH_SIN), cc = plain_trig(w, a.c, NH_COS);
    const bool same = a.sign_b == a.sign_c;
    if (which == NH_COS)
        return emit(w, same ? NH_OP_FNMA : NH_OP_FMA, sb, sc, emit(w, NH_OP_MUL, cb, cc, 0));
    const uint32_t sine =
        emit(w, same ? NH_OP_FMA : NH_OP_FNMA, cb, sc, emit(w, NH_OP_MUL, sb, cc, 0));
    return a.sign_b < 0 ? emit(w, NH_OP_NEG, sine, 0, 0) : sine;
}

static uint32_t lower_trig(lowering *w, size_t at, nh_function which)
{
    angle_sum sum;
    if (!w->derived[at] || !is_angle_sum(w, at, &sum))
        return plain_trig(w, at, which);
    return sum.b == sum.c ? twice_trig(w, sum.b, which) : sum_trig(w, sum, which);
}
