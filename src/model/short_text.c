/* Writes the text that a text with short forms stands for: its ordinary statements as they are, and
 * in place of short forms the lines of the tables below.
 *
 * In a line, $ is the name of the short form, $at its property `frame.at`, and {at} what the short
 * form gives after the word `at`. Each line has the parts that it needs and those that exclude it.
 * Definitions stand where the short form stood; energies, constraints and drawings follow at the
 * end, where everything has been defined. */
#include "model/short_forms.h"

#include "base/status.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define HAS(PART) NH_SHORT_BIT(NH_PART_##PART)
#define IS(ANSWER) NH_SHORT_BIT(NH_IS_##ANSWER)

enum {
    GRAVITY = 1 << NH_SHORT_GRAVITY,
    BODY = 1 << NH_SHORT_BODY,
    WHEEL = 1 << NH_SHORT_WHEEL,
    BLADE = 1 << NH_SHORT_BLADE,
    SPRING = 1 << NH_SHORT_SPRING,
    DAMPER = 1 << NH_SHORT_DAMPER
};

typedef struct line {
    int forms;
    uint64_t with, without;
    const char *text;
} line;

#define SPACE_WHEEL HAS(AXIS)
#define PLANE_WHEEL HAS(ALONG)

static const line definitions[] = {
    {GRAVITY, 0, 0, "let $acceleration = {vector}"},
    {SPRING | DAMPER, 0, 0, "let $from = {from}"},
    {SPRING | DAMPER, 0, 0, "let $to = {to}"},
    {SPRING, 0, 0, "let $stiffness = {stiffness}"},
    {SPRING, HAS(LENGTH), 0, "let $rest = {length}"},
    {SPRING | DAMPER, HAS(DAMPING), 0, "let $damping = {damping}"},
    {SPRING | DAMPER, 0, 0, "let $length = norm($from - $to)"},

    {WHEEL, 0, 0, "let $radius = {radius}"},
    {BODY | WHEEL, HAS(MASS), 0, "let $mass = {mass}"},
    {BODY | WHEEL | BLADE, 0, 0, "let $at = {at}"},
    {BODY | WHEEL | BLADE, 0, 0, "let $velocity = $at'"},
    {BODY | WHEEL, HAS(ATTITUDE), 0, "let $attitude = {attitude}"},
    {BODY, HAS(ATTITUDE), 0, "let $rate = body($attitude)"},
    {BODY, HAS(ANGLE), 0, "let $angle = {angle}"},
    {WHEEL | BLADE, HAS(ALONG), IS(DIRECTION) | IS(UNKNOWN), "let $angle = {along}"},
    {BODY | WHEEL | BLADE, HAS(ANGLE), 0, "let $rate = $angle'"},
    {WHEEL | BLADE, HAS(ALONG), IS(DIRECTION) | IS(UNKNOWN), "let $rate = $angle'"},
    {BODY | WHEEL, HAS(INERTIA), IS(DIAGONAL), "let $inertia = {inertia}"},
    {BODY | WHEEL, HAS(INERTIA) | IS(DIAGONAL), 0, "let $moments = {inertia}"},
    {BODY | WHEEL, HAS(INERTIA) | IS(DIAGONAL), 0,
     "let $inertia = (($moments[1], 0, 0), (0, $moments[2], 0), (0, 0, $moments[3]))"},

    /* the heading is a unit vector; `lean` is the sine of the angle by which the axle leans */
    {WHEEL, HAS(SPIN), 0, "let $spin = {spin}"},
    {WHEEL | BLADE, HAS(ALONG), IS(DIRECTION) | IS(UNKNOWN),
     "let $heading = (cos($angle), sin($angle))"},
    {WHEEL | BLADE, IS(UNKNOWN), 0, "let $angle = 0, $rate = 0, $heading = (1, 0)"},
    {WHEEL | BLADE, HAS(ALONG) | IS(DIRECTION), 0, "let $direction = {along}"},
    {WHEEL | BLADE, HAS(ALONG) | IS(DIRECTION), 0, "let $heading = $direction/norm($direction)"},
    {WHEEL | BLADE, HAS(ALONG) | IS(DIRECTION), 0, "let $angle = atan2($heading[2], $heading[1])"},
    {WHEEL | BLADE, HAS(ALONG) | IS(DIRECTION), 0,
     "let $rate = $heading[1]*($heading')[2] - $heading[2]*($heading')[1]"},
    {WHEEL | BLADE, HAS(ALONG), 0, "let $across = (-$heading[2], $heading[1])"},
    {WHEEL, PLANE_WHEEL | HAS(SPIN), 0,
     "let $slip = (dot($velocity, $heading) - $radius*$spin', dot($velocity, $across))"},

    {WHEEL, SPACE_WHEEL, 0, "let $axis = {axis}"},
    {WHEEL, SPACE_WHEEL | HAS(SPIN), 0, "let $rate = body($attitude) + $spin'*$axis"},
    {WHEEL, SPACE_WHEEL, HAS(SPIN), "let $rate = body($attitude)"},
    {WHEEL, SPACE_WHEEL, HAS(PLANE), "let $normal = (0, 0, 1)"},
    {WHEEL, SPACE_WHEEL, HAS(PLANE), "let $height = $at[3]"},
    {WHEEL, SPACE_WHEEL | HAS(PLANE), 0, "let $plane = {plane}"},
    {WHEEL, SPACE_WHEEL | HAS(PLANE), 0, "let $upward = {normal}"},
    {WHEEL, SPACE_WHEEL | HAS(PLANE), 0, "let $normal = $upward/norm($upward)"},
    {WHEEL, SPACE_WHEEL | HAS(PLANE), 0, "let $height = dot($at - $plane, $normal)"},
    {WHEEL, SPACE_WHEEL, 0, "let $axle = $attitude*$axis"},
    {WHEEL, SPACE_WHEEL, 0, "let $above = transpose($attitude)*$normal"},
    {WHEEL, SPACE_WHEEL, 0, "let $lean = dot($axis, $above)"},
    {WHEEL, SPACE_WHEEL, IS(HELD), "let $upright = sqrt(1 - $lean^2)"},
    {WHEEL, SPACE_WHEEL | IS(HELD), 0, "let $upright = $height/$radius"},
    {WHEEL, SPACE_WHEEL, 0, "let $heading = cross($axle, $normal)/$upright"},
    {WHEEL, SPACE_WHEEL, 0, "let $across = ($axle - $lean*$normal)/$upright"},
    {WHEEL, SPACE_WHEEL, 0, "let $contact = $at - $radius/$upright*($normal - $lean*$axle)"},
    {WHEEL, SPACE_WHEEL, IS(CARRIED),
     "let $slip = (dot($velocity, $heading) - $radius*dot($rate, $axis),\n"
     "  dot($velocity, $across) + $radius*dot($rate, cross($axis, $above)))"},
    {WHEEL, SPACE_WHEEL | IS(CARRIED), 0, "let $turning = cross($normal, $normal')"},
    {WHEEL, SPACE_WHEEL | IS(CARRIED), 0,
     "let $passing = $velocity - $plane' - cross($turning, $at - $plane)"},
    {WHEEL, SPACE_WHEEL | IS(CARRIED), 0, "let $twist = $rate - transpose($attitude)*$turning"},
    {WHEEL, SPACE_WHEEL | IS(CARRIED), 0,
     "let $slip = (dot($passing, $heading) - $radius*dot($twist, $axis),\n"
     "  dot($passing, $across) + $radius*dot($twist, cross($axis, $above)))"}};

#define MOVING "let $kinetic = $mass/2*dot($velocity, $velocity)"
#define TURNING " + dot($rate, $inertia*$rate)/2"

static const line energies[] = {
    {WHEEL, HAS(INERTIA), HAS(MASS), "let $mass = 0"},
    {BODY | WHEEL, HAS(MASS), HAS(INERTIA), MOVING},
    {BODY, HAS(INERTIA) | HAS(ATTITUDE), 0, MOVING TURNING},
    {BODY, HAS(INERTIA) | HAS(ANGLE), 0, MOVING " + $inertia/2*$rate^2"},
    {WHEEL, HAS(INERTIA) | SPACE_WHEEL, IS(PAIR), MOVING TURNING},
    {WHEEL, HAS(INERTIA) | SPACE_WHEEL | IS(PAIR), 0,
     MOVING
     " + $inertia[1]/2*dot($rate, $rate) + ($inertia[2] - $inertia[1])/2*dot($rate, $axis)^2"},
    {WHEEL, HAS(INERTIA) | PLANE_WHEEL, IS(PAIR), MOVING " + $inertia/2*$spin'^2"},
    {WHEEL, HAS(INERTIA) | PLANE_WHEEL | IS(PAIR), 0,
     MOVING " + $inertia[1]/2*$rate^2 + $inertia[2]/2*$spin'^2"},
    {BODY | WHEEL, HAS(MASS) | IS(FALLING), 0,
     "let $potential = -$mass*dot(gravity.acceleration, $at)"},
    {SPRING, HAS(LENGTH), 0, "let $potential = $stiffness/2*($length - $rest)^2"},
    {SPRING, 0, HAS(LENGTH), "let $potential = $stiffness/2*dot($from - $to, $from - $to)"}};

/* Terms of the Lagrangian. */
static const line terms[] = {{BODY | WHEEL, HAS(MASS), 0, "+ $kinetic"},
                             {WHEEL, HAS(INERTIA), HAS(MASS), "+ $kinetic"},
                             {BODY | WHEEL, HAS(MASS) | IS(FALLING), 0, "- $potential"},
                             {SPRING, 0, 0, "- $potential"}};

static const line laws[] = {
    {SPRING | DAMPER, HAS(DAMPING), 0, "dissipation $damping/2*$length'^2"},
    {BLADE, 0, IS(GUIDED), "constraint $: dot($velocity, $across) = 0"},
    {WHEEL, PLANE_WHEEL, HAS(FREE) | IS(GUIDED), "constraint $side: dot($velocity, $across) = 0"},
    {WHEEL, PLANE_WHEEL | HAS(SPIN), HAS(FREE) | IS(STEADY),
     "constraint $roll: dot($velocity, $heading) = $radius*$spin'"},
    {WHEEL, SPACE_WHEEL, IS(HELD), "constraint $touch: $height = $radius*$upright"},
    {WHEEL, SPACE_WHEEL, HAS(FREE) | IS(STEADY) | IS(GUIDED), "constraint $roll: $slip = (0, 0)"},
    {WHEEL, SPACE_WHEEL | IS(GUIDED), HAS(FREE) | IS(STEADY),
     "constraint $roll: ($slip[1], 0) = (0, 0)"},
    {WHEEL, SPACE_WHEEL | IS(STEADY), HAS(FREE) | IS(GUIDED),
     "constraint $roll: (0, $slip[2]) = (0, 0)"}};

/* Forces of the constraints, which definitions of the text may use; the survey has none. */
static const line forces[] = {
    {BLADE, 0, IS(GUIDED), "let $side = reaction($)"},
    {WHEEL, PLANE_WHEEL, HAS(FREE) | IS(GUIDED), "let $side = reaction($side)"},
    {WHEEL, PLANE_WHEEL | HAS(SPIN), HAS(FREE) | IS(STEADY), "let $along = reaction($roll)"},
    {WHEEL, SPACE_WHEEL, IS(HELD), "let $load = reaction($touch)"},
    {WHEEL, SPACE_WHEEL, HAS(FREE) | IS(STEADY), "let $along = reaction($roll[1])"},
    {WHEEL, SPACE_WHEEL, HAS(FREE) | IS(GUIDED), "let $side = reaction($roll[2])"}};

static const line no_forces[] = {{BLADE | WHEEL, 0, 0, "let $side = 0"},
                                 {WHEEL, 0, 0, "let $along = 0"},
                                 {WHEEL, 0, 0, "let $load = 0"}};

/* A ball or a box with the moments of inertia of the body. */
#define EXTENT(i, j, k)                                                                            \
    "sqrt(6*max($inertia[" j ", " j "] + $inertia[" k ", " k "] - $inertia[" i ", " i "], "        \
    "$inertia[" i ", " i "]/20)/$mass)"

static const line drawings[] = {
    {BODY, HAS(INERTIA) | HAS(ATTITUDE), IS(MATRIX),
     "draw ball at $at radius sqrt(5/2*$inertia/$mass) attitude $attitude"},
    {BODY, HAS(INERTIA) | HAS(ATTITUDE) | IS(MATRIX), 0,
     "draw box at $at attitude $attitude size (" EXTENT("1", "2", "3") ",\n  " EXTENT(
         "2", "3", "1") ",\n  " EXTENT("3", "1", "2") ")"},
    {BODY, HAS(INERTIA) | HAS(ANGLE), 0,
     "draw box at $at angle $angle size (sqrt(48/5*$inertia/$mass), sqrt(12/5*$inertia/$mass))"},
    {BODY, 0, HAS(INERTIA), "draw point $at width 8"},
    {WHEEL, SPACE_WHEEL | HAS(SPIN), 0,
     "draw wheel at $at radius $radius axis $axis attitude $attitude*turn($axis, $spin)"},
    {WHEEL, SPACE_WHEEL, HAS(SPIN),
     "draw wheel at $at radius $radius axis $axis attitude $attitude"},
    {WHEEL, PLANE_WHEEL, 0, "draw box at $at angle $angle size (2*$radius, $radius/3)"},
    {SPRING, 0, 0, "draw spring $from, $to"},
    {DAMPER, 0, 0, "draw line $from, $to"}};

/* What the survey asks, as observables. */
static const line shapes[] = {{GRAVITY, 0, 0, "observe $asked_vector = $acceleration"},
                              {SPRING | DAMPER, 0, 0, "observe $asked_from = $from"},
                              {SPRING | DAMPER, 0, 0, "observe $asked_to = $to"},
                              {BODY | WHEEL, HAS(MASS), 0, "observe $asked_mass = $mass"},
                              {BODY | WHEEL | BLADE, 0, 0, "observe $asked_at = $at"},
                              {BODY | WHEEL, HAS(INERTIA), 0, "observe $asked_inertia = {inertia}"},
                              {WHEEL | BLADE, HAS(ALONG), 0, "observe $asked_along = {along}"},
                              {WHEEL, HAS(AXIS), 0, "observe $asked_axis = $axis"},
                              {WHEEL, HAS(PLANE), 0, "observe $asked_plane = $plane"},
                              {WHEEL, HAS(PLANE), 0, "observe $asked_normal = $upward"}};

static const line rows[] = {
    {WHEEL, SPACE_WHEEL, 0, "observe $asked_gap = $height^2 - $radius^2*(1 - $lean^2)"},
    {WHEEL, SPACE_WHEEL, 0, "observe $asked_height = $height"},
    {WHEEL, SPACE_WHEEL, HAS(FREE), "observe $asked_slip = $slip"},
    {WHEEL, PLANE_WHEEL | HAS(SPIN), HAS(FREE), "observe $asked_slip = $slip"},
    {WHEEL, PLANE_WHEEL, HAS(FREE) | HAS(SPIN), "observe $asked_across = dot($velocity, $across)"},
    {BLADE, 0, 0, "observe $asked_across = dot($velocity, $across)"}};

/* ---- writing ---- */

typedef struct writer {
    const nh_outline *outline;
    nh_text out;
    nh_origin *origin;
    size_t origins, room;
} writer;

/* From here on, characters come from this place. */
static void mark(writer *w, nh_place place, bool generated)
{
    if (w->origins == w->room) {
        const size_t room = 2 * w->room + 64;
        nh_origin *origin = realloc(w->origin, room * sizeof *origin);
        w->out.failed = w->out.failed || !origin;
        if (!origin)
            return;
        w->origin = origin;
        w->room = room;
    }
    w->origin[w->origins++] = (nh_origin){w->out.length, place, generated};
}

static void put_slice(writer *w, const nh_slice *slice)
{
    mark(w, slice->place, false);
    nh_text_add_bytes(&w->out, w->outline->source->text + slice->from, slice->to - slice->from);
}

static size_t word_length(const char *text)
{
    size_t n = 0;
    while ((text[n] >= 'a' && text[n] <= 'z') || text[n] == '_')
        n++;
    return n;
}

static int part_of(const char *word, size_t length)
{
    int part = 0;
    while (part < NH_SHORT_PARTS && (strncmp(nh_short_part_name(part), word, length) != 0 ||
                                     nh_short_part_name(part)[length]))
        part++;
    return part;
}

/* Mistakes in generated text are reported at the first part that it is made of. */
static nh_place place_of(const nh_short *s, const char *text)
{
    for (; (text = strpbrk(text, "${")); text++) {
        const size_t length = word_length(text + 1);
        const int part = length ? part_of(text + 1, length) : NH_SHORT_PARTS;
        if (part < NH_SHORT_PARTS && s->part[part].to)
            return s->part[part].place;
    }
    return s->place;
}

/* $ and $at, with the index of a family: "trailer.at[i]". reaction() takes indices together. */
static const char *put_property(writer *w, const nh_short *s, const char *text, const char *begin)
{
    const size_t length = word_length(text);
    nh_text_add(&w->out, "%s%s%.*s", s->name, length ? "." : "", (int)length, text);
    text += length;
    if (!s->index)
        return text;
    const bool joined = *text == '[' && (size_t)(text - begin) > length + 9 &&
                        memcmp(text - length - 10, "reaction($", 10) == 0;
    nh_text_add(&w->out, joined ? "[%s, " : "[%s]", s->index);
    return text + joined;
}

static void put_text(writer *w, const nh_short *s, const char *text)
{
    const nh_place place = place_of(s, text);
    const char *begin = text;
    mark(w, place, true);
    while (*text) {
        const size_t plain = strcspn(text, "${");
        nh_text_add_bytes(&w->out, text, plain);
        text += plain;
        if (*text == '$')
            text = put_property(w, s, text + 1, begin);
        else if (*text == '{') {
            const size_t length = word_length(text + 1);
            put_slice(w, &s->part[part_of(text + 1, length)]);
            mark(w, place, true);
            text += length + 2;
        }
    }
}

/* for i in 1..N: */
static void put_range(writer *w, const nh_short *s)
{
    nh_text_add_plain(&w->out, "for ");
    put_slice(w, &s->range);
    mark(w, s->place, true);
    nh_text_add_plain(&w->out, ": ");
}

/* A statement, for all members of a family: "let for i in 1..N: $at[i] = ...", "constraint $touch
 * for i in 1..N: ...". */
static void put_statement(writer *w, const nh_short *s, const char *text)
{
    mark(w, s->place, true);
    if (s->index && strncmp(text, "constraint $", 12) == 0) {
        const size_t length = word_length(text + 12);
        nh_text_add(&w->out, "constraint %s%s%.*s ", s->name, length ? "." : "", (int)length,
                    text + 12);
        put_range(w, s);
        text += 12 + length + strlen(": ");
    } else if (s->index) {
        const size_t word = strcspn(text, " ") + 1;
        nh_text_add_bytes(&w->out, text, word);
        put_range(w, s);
        text += word;
    }
    put_text(w, s, text);
}

static bool applies(const line *l, const nh_short *s)
{
    return (l->forms >> s->kind & 1) && (l->with & ~s->has) == 0 && !(l->without & s->has);
}

#define LINES(table) table, sizeof table / sizeof *table

static void put_lines(writer *w, const nh_short *s, const line *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (applies(&table[i], s)) {
            if (w->out.length && w->out.data[w->out.length - 1] != '\n')
                nh_text_add_plain(&w->out, "\n");
            put_statement(w, s, table[i].text);
        }
}

/* ---- passages ---- */

static bool is_kept(nh_statement_kind kind, nh_short_stage stage)
{
    switch (kind) {
    case STATEMENT_MODEL:
    case STATEMENT_PARAMETER:
    case STATEMENT_COORDINATE:
    case STATEMENT_VELOCITY:
    case STATEMENT_ROTATION:
    case STATEMENT_LET:
    case STATEMENT_TABLE:
    case STATEMENT_INPUT:
        return true;
    case STATEMENT_START:
    case STATEMENT_CONSTRAINT:
        return stage != NH_STAGE_SHAPES;
    default:
        return stage == NH_STAGE_WHOLE;
    }
}

/* As a comment, on one line. */
static void put_original(writer *w, const nh_passage *passage)
{
    mark(w, passage->slice.place, true);
    nh_text_add_plain(&w->out, "# ");
    const char *text = w->outline->source->text;
    for (size_t i = passage->slice.from; i < passage->slice.to; i++)
        nh_text_add_bytes(&w->out, text[i] == '\n' || text[i] == '\r' ? " " : &text[i], 1);
}

/* draw NAME none, draw NAME SHAPE ... */
static void put_drawing(writer *w, const nh_passage *passage)
{
    const nh_short *s = passage->draws;
    const nh_slice shape = passage->drawing;
    const char *word = w->outline->source->text + shape.from;
    nh_slice name = shape, keys = shape;
    name.to = name.from + word_length(word);
    keys.from = name.to;
    keys.place.column += (int)(name.to - name.from);
    put_original(w, passage);
    if (strncmp(word, "none", 4) == 0)
        return;
    nh_text_add_plain(&w->out, "\n");
    const bool points = nh_short_is_point(word);
    put_statement(w, s, "draw ");
    put_slice(w, &name);
    const uint64_t turned = HAS(SPIN) | HAS(AXIS);
    put_text(w, s, points ? " $at" : " at $at");
    if (!points && (s->has & turned) == turned)
        put_text(w, s, " attitude $attitude*turn($axis, $spin)");
    else if (!points && (s->has & HAS(ATTITUDE)))
        put_text(w, s, " attitude $attitude");
    else if (!points && (s->has & (HAS(ANGLE) | HAS(ALONG))))
        put_text(w, s, " angle $angle");
    put_slice(w, &keys);
}

static bool has_terms(const nh_outline *outline)
{
    for (const nh_short *s = outline->first; s; s = s->next)
        for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
            if (applies(&terms[i], s))
                return true;
    return false;
}

/* The Lagrangian of the text becomes one term of the whole. */
static void put_own_lagrangian(writer *w, const nh_passage *passage)
{
    nh_slice rest = passage->slice;
    rest.from += strlen("lagrangian");
    rest.place.column += (int)strlen("lagrangian");
    mark(w, passage->slice.place, true);
    nh_text_add_plain(&w->out, "let lagrangian.own =");
    put_slice(w, &rest);
}

static void put_passage(writer *w, const nh_passage *passage, nh_short_stage stage)
{
    const bool whole = stage == NH_STAGE_WHOLE;
    if (passage->is) {
        if (whole)
            put_original(w, passage);
        else if (w->out.length && w->out.data[w->out.length - 1] != '\n')
            nh_text_add_plain(&w->out, "\n");
        put_lines(w, passage->is, LINES(definitions));
        if (whole)
            put_lines(w, passage->is, LINES(forces));
        else
            put_lines(w, passage->is, LINES(no_forces));
        if (stage == NH_STAGE_SHAPES)
            put_lines(w, passage->is, LINES(shapes));
        if (stage == NH_STAGE_ROWS)
            put_lines(w, passage->is, LINES(rows));
    } else if (passage->draws && whole)
        put_drawing(w, passage);
    else if (passage->kind == STATEMENT_LAGRANGIAN && whole && has_terms(w->outline))
        put_own_lagrangian(w, passage);
    else if (is_kept(passage->kind, stage) || whole)
        put_slice(w, &passage->slice);
}

/* ---- what follows at the end ---- */

static void put_lagrangian(writer *w)
{
    bool own = false, first = true;
    for (const nh_passage *p = w->outline->passage; p; p = p->next)
        own = own || p->kind == STATEMENT_LAGRANGIAN;
    nh_text_add(&w->out, "\nlagrangian (%s", own ? "lagrangian.own" : "");
    first = !own;
    for (const nh_short *s = w->outline->first; s; s = s->next) {
        for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
            if (!applies(&terms[i], s))
                continue;
            const char sign = *terms[i].text;
            mark(w, s->place, true);
            nh_text_add_plain(&w->out, first         ? sign == '-' ? "-" : ""
                                       : sign == '-' ? " - "
                                                     : " + ");
            first = false;
            if (s->index) {
                nh_text_add_plain(&w->out, "sum(");
                put_slice(w, &s->range);
                mark(w, s->place, true);
                nh_text_add_plain(&w->out, ": ");
            }
            put_text(w, s, terms[i].text + 2);
            nh_text_add_plain(&w->out, s->index ? ")" : "");
        }
    }
    nh_text_add_plain(&w->out, ")");
}

/* The ground under a wheel that is drawn. */
static bool lacks_ground(const nh_outline *outline)
{
    bool wheel = false;
    for (const nh_short *s = outline->first; s; s = s->next)
        wheel = wheel || (s->kind == NH_SHORT_WHEEL && (s->has & SPACE_WHEEL) &&
                          (s->has & IS(DRAWN)) && !(s->has & HAS(PLANE)));
    for (const nh_passage *p = outline->passage; p && wheel; p = p->next) {
        const char *text = outline->source->text + p->slice.from;
        if (p->kind == STATEMENT_DRAW && !p->draws) {
            text += strlen("draw");
            wheel = strncmp(text + strspn(text, " \t"), "ground", 6) != 0;
        }
    }
    return wheel;
}

static void put_end(writer *w)
{
    const nh_outline *outline = w->outline;
    for (const nh_short *s = outline->first; s; s = s->next)
        put_lines(w, s, LINES(energies));
    if (has_terms(outline))
        put_lagrangian(w);
    for (const nh_short *s = outline->first; s; s = s->next)
        put_lines(w, s, LINES(laws));
    if (lacks_ground(outline))
        nh_text_add_plain(&w->out, "\ndraw ground");
    for (const nh_short *s = outline->first; s; s = s->next)
        if (s->has & IS(DRAWN))
            put_lines(w, s, LINES(drawings));
    nh_text_add_plain(&w->out, "\n");
}

/* ---- the whole ---- */

static void write_all(writer *w, nh_short_stage stage)
{
    nh_slice between = {.place = {.line = 1, .column = 1}};
    for (const nh_passage *p = w->outline->passage; p; p = p->next) {
        between.to = p->slice.from;
        put_slice(w, &between);
        put_passage(w, p, stage);
        between = (nh_slice){.from = p->slice.to, .place = p->end};
    }
    between.to = w->outline->source->length;
    put_slice(w, &between);
    if (stage == NH_STAGE_WHOLE) {
        mark(w, between.place, true);
        if (w->out.length && w->out.data[w->out.length - 1] != '\n')
            nh_text_add_plain(&w->out, "\n");
        put_end(w);
    }
}

nh_status nh_outline_write(const nh_outline *outline, nh_short_stage stage, nh_arena *arena,
                           nh_source *expanded, nh_report *report)
{
    writer w = {.outline = outline};
    write_all(&w, stage);
    *expanded = *outline->source;
    nh_origin *origin = nh_arena_array(arena, w.origins, sizeof *origin);
    if (origin && !w.out.failed) {
        memcpy(origin, w.origin, w.origins * sizeof *origin);
        expanded->expanded = nh_arena_text(arena, w.out.data, w.out.length);
        expanded->expanded_length = w.out.length;
        expanded->origin = origin;
        expanded->origins = w.origins;
    }
    const bool failed = !expanded->expanded;
    nh_text_free(&w.out);
    free(w.origin);
    return failed ? nh_fail_memory(report) : NH_OK;
}
