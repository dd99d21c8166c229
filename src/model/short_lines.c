/* What short forms stand for: the lines from which short_text.c writes, which of them a short form
 * needs, and the properties that they define.
 *
 * In a line, $ is the name of the short form, $at its property `frame.at`, and {at} what the short
 * form gives after the word `at`. Each line has the parts that it needs and those that exclude it.
 * Definitions stand where the short form stood; energies, constraints and drawings follow at the
 * end, where everything has been defined. */
#include "model/short_lines.h"

#include "base/status.h"

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

#define SPACE_WHEEL HAS(AXIS)
#define PLANE_WHEEL HAS(ALONG)

static const nh_short_line definitions[] = {
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
    {WHEEL, HAS(GRIP), 0, "let $grip = {grip}"},
    {WHEEL | BLADE, HAS(ALONG), IS(DIRECTION) | IS(UNKNOWN),
     "let $heading = (cos($angle), sin($angle))"},
    {WHEEL | BLADE, IS(UNKNOWN), 0, "let $angle = 0"},
    {WHEEL | BLADE, IS(UNKNOWN), 0, "let $rate = 0"},
    {WHEEL | BLADE, IS(UNKNOWN), 0, "let $heading = (1, 0)"},
    {WHEEL | BLADE, HAS(ALONG) | IS(DIRECTION), 0, "let $direction = {along}"},
    {WHEEL | BLADE, HAS(ALONG) | IS(DIRECTION), 0, "let $heading = $direction/norm($direction)"},
    {WHEEL | BLADE, HAS(ALONG) | IS(DIRECTION), 0, "let $angle = atan2($heading[2], $heading[1])"},
    {WHEEL | BLADE, HAS(ALONG) | IS(DIRECTION), 0,
     "let $rate = $heading[1]*($heading')[2] - $heading[2]*($heading')[1]"},
    {WHEEL | BLADE, HAS(ALONG), 0, "let $across = (-$heading[2], $heading[1])"},
    {WHEEL, PLANE_WHEEL | HAS(SPIN), 0,
     "let $slip = (dot($at', $heading) - $radius*$spin', dot($at', $across))"},

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
     "let $slip = (dot($at', $heading) - $radius*dot($rate, $axis),\n"
     "  dot($at', $across) + $radius*dot($rate, cross($axis, $above)))"},
    {WHEEL, SPACE_WHEEL | IS(CARRIED), 0, "let $turning = cross($normal, $normal')"},
    {WHEEL, SPACE_WHEEL | IS(CARRIED), 0,
     "let $passing = $at' - $plane' - cross($turning, $at - $plane)"},
    {WHEEL, SPACE_WHEEL | IS(CARRIED), 0, "let $twist = $rate - transpose($attitude)*$turning"},
    {WHEEL, SPACE_WHEEL | IS(CARRIED), 0,
     "let $slip = (dot($passing, $heading) - $radius*dot($twist, $axis),\n"
     "  dot($passing, $across) + $radius*dot($twist, cross($axis, $above)))"}};

#define MOVING "let $kinetic = $mass/2*dot($at', $at')"

static const nh_short_line energies[] = {
    {WHEEL, HAS(INERTIA), HAS(MASS), "let $mass = 0"},
    {BODY | WHEEL, HAS(MASS), HAS(INERTIA), MOVING},
    {BODY, HAS(INERTIA) | HAS(ATTITUDE), 0,
     MOVING " + dot(body($attitude), $inertia*body($attitude))/2"},
    {BODY, HAS(INERTIA) | HAS(ANGLE), 0, MOVING " + $inertia/2*$angle'^2"},
    {WHEEL, HAS(INERTIA) | SPACE_WHEEL, IS(PAIR), MOVING " + dot($rate, $inertia*$rate)/2"},
    {WHEEL, HAS(INERTIA) | SPACE_WHEEL | IS(PAIR), 0,
     MOVING
     " + $inertia[1]/2*dot($rate, $rate) + ($inertia[2] - $inertia[1])/2*dot($rate, $axis)^2"},
    {WHEEL, HAS(INERTIA) | PLANE_WHEEL, IS(PAIR), MOVING " + $inertia/2*$spin'^2"},
    {WHEEL, HAS(INERTIA) | PLANE_WHEEL | IS(PAIR), 0,
     MOVING " + $inertia[1]/2*$rate^2 + $inertia[2]/2*$spin'^2"},
    {BODY | WHEEL, HAS(MASS) | IS(FALLING), 0,
     "let $potential = dot(-$mass*gravity.acceleration, $at)"},
    {SPRING, HAS(LENGTH), 0, "let $potential = $stiffness/2*($length - $rest)^2"},
    {SPRING, 0, HAS(LENGTH), "let $potential = $stiffness/2*dot($from - $to, $from - $to)"}};

/* Terms of the Lagrangian. */
static const nh_short_line terms[] = {{BODY | WHEEL, HAS(MASS), 0, "+ $kinetic"},
                                      {WHEEL, HAS(INERTIA), HAS(MASS), "+ $kinetic"},
                                      {BODY | WHEEL, HAS(MASS) | IS(FALLING), 0, "- $potential"},
                                      {SPRING, 0, 0, "- $potential"}};

static const nh_short_line laws[] = {
    {SPRING | DAMPER, HAS(DAMPING), 0, "dissipation $damping/2*$length'^2"},
    {BLADE, 0, IS(GUIDED) | HAS(GRIP), "constraint $: dot($at', $across) = 0"},
    {BLADE, HAS(GRIP), 0, "constraint $: dot($at', $across) = 0 grip {grip}"},

    {WHEEL, PLANE_WHEEL, HAS(FREE) | HAS(GRIP) | IS(GUIDED),
     "constraint $side: dot($at', $across) = 0"},
    {WHEEL, PLANE_WHEEL | HAS(GRIP), 0, "constraint $side: dot($at', $across) = 0 grip $grip"},
    {WHEEL, PLANE_WHEEL | HAS(SPIN), HAS(FREE) | HAS(GRIP) | IS(STEADY),
     "constraint $roll: dot($at', $heading) = $radius*$spin'"},
    {WHEEL, PLANE_WHEEL | HAS(SPIN) | HAS(GRIP), 0,
     "constraint $roll: dot($at', $heading) = $radius*$spin' grip $grip"},

    {WHEEL, SPACE_WHEEL, IS(HELD) | HAS(GRIP), "constraint $touch: $height = $radius*$upright"},
    {WHEEL, SPACE_WHEEL | HAS(GRIP), HAS(RESTITUTION),
     "contact $touch: $height - $radius*$upright >= 0"},
    {WHEEL, SPACE_WHEEL | HAS(GRIP) | HAS(RESTITUTION), 0,
     "contact $touch: $height - $radius*$upright >= 0 restitution {restitution}"},
    {WHEEL, SPACE_WHEEL, HAS(FREE) | HAS(GRIP) | IS(STEADY) | IS(GUIDED),
     "constraint $roll: $slip = (0, 0)"},
    {WHEEL, SPACE_WHEEL | IS(GUIDED), HAS(FREE) | IS(STEADY),
     "constraint $roll: ($slip[1], 0) = (0, 0)"},
    {WHEEL, SPACE_WHEEL | IS(STEADY), HAS(FREE) | IS(GUIDED),
     "constraint $roll: (0, $slip[2]) = (0, 0)"},
    {WHEEL, SPACE_WHEEL | HAS(GRIP), 0,
     "constraint $roll: $slip = (0, 0) grip $grip*reaction($touch)"}};

/* Forces of the constraints, which definitions of the text may use; the survey has none. */
static const nh_short_line forces[] = {
    {BLADE, 0, IS(GUIDED), "let $side = reaction($)"},
    {WHEEL, PLANE_WHEEL, HAS(FREE) | IS(GUIDED), "let $side = reaction($side)"},
    {WHEEL, PLANE_WHEEL | HAS(SPIN), HAS(FREE) | IS(STEADY), "let $along = reaction($roll)"},
    {WHEEL, SPACE_WHEEL, IS(HELD), "let $load = reaction($touch)"},
    {WHEEL, SPACE_WHEEL, HAS(FREE) | IS(STEADY), "let $along = reaction($roll[1])"},
    {WHEEL, SPACE_WHEEL, HAS(FREE) | IS(GUIDED), "let $side = reaction($roll[2])"}};

static const nh_short_line no_forces[] = {{BODY | WHEEL | SPRING, 0, 0, "let $kinetic = 0"},
                                          {BODY | WHEEL | SPRING, 0, 0, "let $potential = 0"},
                                          {BLADE | WHEEL, 0, 0, "let $side = 0"},
                                          {WHEEL, 0, 0, "let $along = 0"},
                                          {WHEEL, 0, 0, "let $load = 0"}};

/* A ball or a box with the moments of inertia of the body. */
#define EXTENT(i, j, k)                                                                            \
    "sqrt(6*max($inertia[" j ", " j "] + $inertia[" k ", " k "] - $inertia[" i ", " i "], "        \
    "$inertia[" i ", " i "]/20)/$mass)"

static const nh_short_line drawings[] = {
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

/* Where shapes of `draw NAME SHAPE` are, and how they are turned. */
static const nh_short_line placements[] = {
    {BODY | WHEEL | BLADE, 0, 0, " at $at"},
    {WHEEL, SPACE_WHEEL | HAS(SPIN), 0, " attitude $attitude*turn($axis, $spin)"},
    {WHEEL, SPACE_WHEEL, HAS(SPIN), " attitude $attitude"},
    {BODY, HAS(ATTITUDE), 0, " attitude $attitude"},
    {BODY, HAS(ANGLE), 0, " angle $angle"},
    {WHEEL | BLADE, HAS(ALONG), 0, " angle $angle"}};

/* What the survey asks, as observables. */
static const nh_short_line shapes[] = {
    {GRAVITY, 0, 0, "observe $asked_vector = $acceleration"},
    {SPRING | DAMPER, 0, 0, "observe $asked_from = $from"},
    {SPRING | DAMPER, 0, 0, "observe $asked_to = $to"},
    {SPRING, 0, 0, "observe $asked_stiffness = $stiffness"},
    {SPRING, HAS(LENGTH), 0, "observe $asked_length = $rest"},
    {SPRING | DAMPER, HAS(DAMPING), 0, "observe $asked_damping = $damping"},
    {BODY | WHEEL, HAS(MASS), 0, "observe $asked_mass = $mass"},
    {WHEEL, 0, 0, "observe $asked_radius = $radius"},
    {WHEEL, HAS(SPIN), 0, "observe $asked_spin = $spin"},
    {BODY | WHEEL | BLADE, 0, 0, "observe $asked_at = $at"},
    {BODY | WHEEL | BLADE, 0, 0, "observe $asked_velocity = $at'"},
    {BODY | WHEEL, HAS(ATTITUDE), 0, "observe $asked_rate = body($attitude)"},
    {BODY | WHEEL, HAS(INERTIA), 0, "observe $asked_inertia = {inertia}"},
    {WHEEL | BLADE, HAS(ALONG), 0, "observe $asked_along = {along}"},
    {WHEEL, HAS(AXIS), 0, "observe $asked_axis = $axis"},
    {WHEEL, HAS(PLANE), 0, "observe $asked_plane = $plane"},
    {WHEEL, HAS(PLANE), 0, "observe $asked_normal = $upward"}};

static const nh_short_line rows[] = {
    {WHEEL, SPACE_WHEEL, 0, "observe $asked_gap = $height^2 - $radius^2*(1 - $lean^2)"},
    {WHEEL, SPACE_WHEEL, 0, "observe $asked_height = $height"},
    {WHEEL, SPACE_WHEEL, HAS(FREE) | HAS(GRIP), "observe $asked_slip = $slip"},
    {WHEEL, PLANE_WHEEL | HAS(SPIN), HAS(FREE) | HAS(GRIP), "observe $asked_slip = $slip"},
    {WHEEL, PLANE_WHEEL, HAS(FREE) | HAS(GRIP) | HAS(SPIN),
     "observe $asked_across = dot($at', $across)"},
    {BLADE, 0, HAS(GRIP), "observe $asked_across = dot($at', $across)"}};

#define LINES(table)                                                                               \
    {                                                                                              \
        table, sizeof table / sizeof *table                                                        \
    }

static const struct table {
    const nh_short_line *line;
    size_t count;
} tables[NH_SHORT_TABLES] = {
    [NH_LINES_DEFINITIONS] = LINES(definitions),
    [NH_LINES_ENERGIES] = LINES(energies),
    [NH_LINES_ENERGIES_EARLY] = LINES(energies),
    [NH_LINES_TERMS] = LINES(terms),
    [NH_LINES_LAWS] = LINES(laws),
    [NH_LINES_FORCES] = LINES(forces),
    [NH_LINES_NO_FORCES] = LINES(no_forces),
    [NH_LINES_DRAWINGS] = LINES(drawings),
    [NH_LINES_PLACEMENTS] = LINES(placements),
    [NH_LINES_SHAPES] = LINES(shapes),
    [NH_LINES_ROWS] = LINES(rows),
};

/* ---- which lines apply ---- */

size_t nh_short_word(const char *text)
{
    size_t n = 0;
    while ((text[n] >= 'a' && text[n] <= 'z') || text[n] == '_')
        n++;
    return n;
}

static bool applies(const nh_short_line *l, const nh_short *s)
{
    return (l->forms >> s->kind & 1) && (l->with & ~s->has) == 0 && !(l->without & s->has);
}

/* Whether a line uses a property. A definition does not use what it defines. */
static bool uses(const nh_short_line *l, const char *word, size_t length)
{
    const char *text = strncmp(l->text, "let $", 5) == 0 ? l->text + 5 : l->text;
    for (; (text = strchr(text, '$')); text++)
        if (nh_short_word(text + 1) == length && memcmp(text + 1, word, length) == 0)
            return true;
    return false;
}

static bool any_uses(const nh_short *s, nh_short_table table, const char *word, size_t length)
{
    for (size_t i = 0; i < tables[table].count; i++)
        if (applies(&tables[table].line[i], s) && uses(&tables[table].line[i], word, length))
            return true;
    return false;
}

/* Whether the text uses a property. */
static bool is_mentioned(const nh_short *s, const char *word, size_t length)
{
    for (const nh_use *use = s->use; use; use = use->next)
        if (strlen(use->word) == length && memcmp(use->word, word, length) == 0)
            return true;
    return false;
}

/* Definitions that nothing uses are left out. */
static bool is_used(nh_short_stage stage, const nh_short *s, const char *word, size_t length)
{
    if (is_mentioned(s, word, length) || s->kind == NH_SHORT_GRAVITY)
        return true;
    if (stage == NH_STAGE_SHAPES)
        return any_uses(s, NH_LINES_SHAPES, word, length);
    if (stage == NH_STAGE_ROWS)
        return any_uses(s, NH_LINES_ROWS, word, length);
    return any_uses(s, NH_LINES_ENERGIES, word, length) ||
           any_uses(s, NH_LINES_LAWS, word, length) ||
           ((s->has & IS(DRAWN)) && any_uses(s, NH_LINES_DRAWINGS, word, length)) ||
           ((s->has & IS(REDRAWN)) && any_uses(s, NH_LINES_PLACEMENTS, word, length));
}

enum { DEFINITIONS = sizeof definitions / sizeof *definitions };

/* From the last to the first, since definitions use earlier ones only. */
static void find_used(nh_short_stage stage, const nh_short *s, bool *used)
{
    for (size_t i = DEFINITIONS; i-- > 0;) {
        const char *word = definitions[i].text + strlen("let $");
        const size_t length = nh_short_word(word);
        used[i] = applies(&definitions[i], s) && is_used(stage, s, word, length);
        for (size_t j = i + 1; j < DEFINITIONS && applies(&definitions[i], s); j++)
            used[i] = used[i] || (used[j] && uses(&definitions[j], word, length));
    }
}

size_t nh_short_lines(const nh_short *s, nh_short_table table, nh_short_stage stage,
                      const nh_short_line *out[NH_SHORT_LINES_MOST])
{
    bool used[DEFINITIONS];
    const bool definitions_asked = table == NH_LINES_DEFINITIONS;
    const bool mentioned =
        table == NH_LINES_FORCES || table == NH_LINES_NO_FORCES || table == NH_LINES_ENERGIES_EARLY;
    size_t count = 0;
    if (definitions_asked)
        find_used(stage, s, used);
    for (size_t i = 0; i < tables[table].count; i++) {
        const nh_short_line *l = &tables[table].line[i];
        const char *word = l->text + strlen("let $");
        const bool wanted = definitions_asked ? used[i]
                            : mentioned       ? is_mentioned(s, word, nh_short_word(word))
                            : table == NH_LINES_ENERGIES
                                ? !is_mentioned(s, word, nh_short_word(word))
                                : true;
        if (applies(l, s) && wanted)
            out[count++] = l;
    }
    return count;
}

/* ---- properties ---- */

static const nh_short_table defining[] = {NH_LINES_DEFINITIONS, NH_LINES_ENERGIES, NH_LINES_FORCES};
enum { DEFINING = sizeof defining / sizeof *defining };

static bool is_defined(const nh_short *s, const char *word, bool surveyed)
{
    const size_t length = strlen(word);
    for (size_t i = 0; i < DEFINING; i++)
        for (size_t k = 0; k < tables[defining[i]].count; k++) {
            const nh_short_line *l = &tables[defining[i]].line[k];
            const char *defined = l->text + strlen("let $");
            if ((surveyed ? applies(l, s) : l->forms >> s->kind & 1) &&
                nh_short_word(defined) == length && memcmp(defined, word, length) == 0)
                return true;
        }
    return false;
}

static const char *reason_of(const nh_short *s, const char *word)
{
    if (strcmp(word, "load") == 0 && (s->has & IS(HELD)))
        return "its coordinates keep it on the plane, so no force of a constraint does; expected a "
               "height with a coordinate of its own, as in at (x, y, z)";
    if ((strcmp(word, "side") == 0 || strcmp(word, "along") == 0) && (s->has & HAS(FREE)))
        return "it is free, so nothing acts on it along the plane";
    if (strcmp(word, "side") == 0 && (s->has & IS(GUIDED)))
        return "earlier constraints already keep it from sliding sideways, so how this force is "
               "shared is not determined";
    if (strcmp(word, "along") == 0 && (s->has & IS(STEADY)))
        return "earlier constraints already make it roll, so how this force is shared is not "
               "determined";
    return "it does not have the parts that this needs";
}

static void offer_properties(nh_suggest *suggest, const nh_short *s, nh_arena *arena)
{
    for (size_t i = 0; i < DEFINING; i++)
        for (size_t k = 0; k < tables[defining[i]].count; k++) {
            const nh_short_line *l = &tables[defining[i]].line[k];
            const char *defined = l->text + strlen("let $");
            const char *word = l->forms >> s->kind & 1
                                   ? nh_arena_text(arena, defined, nh_short_word(defined))
                                   : NULL;
            if (word)
                nh_suggest_offer(suggest, word);
        }
}

nh_status nh_outline_check(const nh_outline *outline, bool surveyed, nh_report *report)
{
    const uint64_t stuck = HAS(GRIP) | IS(HELD);
    for (const nh_short *s = outline->first; s; s = s->next) {
        if ((s->has & stuck) == stuck)
            return nh_fail_at(report, outline->source, s->part[NH_PART_GRIP].place,
                              "the grip of '%s' depends on its load: %s", s->name,
                              reason_of(s, "load"));
        for (const nh_use *use = s->use; use; use = use->next) {
            if (is_defined(s, use->word, surveyed))
                continue;
            if (surveyed)
                return nh_fail_at(report, outline->source, use->place, "'%s' has no '%s': %s",
                                  s->name, use->word, reason_of(s, use->word));
            nh_arena arena = {0};
            nh_suggest suggest = nh_suggest_begin(use->word);
            offer_properties(&suggest, s, &arena);
            const nh_status status =
                nh_fail_at(report, outline->source, use->place, "'%s' has no property '%s'%s",
                           s->name, use->word, nh_suggest_end(&suggest).text);
            nh_arena_free(&arena);
            return status;
        }
    }
    return NH_OK;
}
