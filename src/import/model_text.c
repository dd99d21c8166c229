/* Writes a robot as a model in the model language: for each link its axes and its origin, which
 * follow from those of its parent, and a body, a wheel and drawings. */
#include "import/robot.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/option_struct.h"
#include "base/status.h"

typedef struct number { /* the shortest text that reads back as the same number */
    char text[40];
} number;

static number written(double x)
{
    number n;
    const double size = fabs(x);
    const int whole = size >= 1 && size < 1e15 ? 1 + (int)floor(log10(size)) : 1; /* no exponent */
    for (int digits = 1; digits <= 17; digits++) {
        nh_print(n.text, sizeof n.text, "%.*g", digits > whole ? digits : whole, x == 0 ? 0 : x);
        if (nh_decimal(n.text, NULL) == x)
            break;
    }
    return n;
}

static number written_angle(double x)
{
    static const struct {
        double value;
        const char *text;
    } known[] = {{M_PI, "pi"}, {-M_PI, "-pi"}, {M_PI / 2, "pi/2"}, {-M_PI / 2, "-pi/2"}};
    number n = written(x);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (x == known[i].value)
            snprintf(n.text, sizeof n.text, "%s", known[i].text);
    return n;
}

static void put_vector(nh_text *out, const double x[3])
{
    nh_text_add(out, "(%s, %s, %s)", written(x[0]).text, written(x[1]).text, written(x[2]).text);
}

static bool is_zero(const double x[3])
{
    return x[0] == 0 && x[1] == 0 && x[2] == 0;
}

/* "*turn((0, 0, 1), yaw)*turn((0, 1, 0), pitch)*turn((1, 0, 0), roll)", without what is 0. */
static void put_turns(nh_text *out, const double rpy[3])
{
    static const char *const axes[] = {"(1, 0, 0)", "(0, 1, 0)", "(0, 0, 1)"};
    for (int i = 2; i >= 0; i--)
        if (rpy[i] != 0)
            nh_text_add(out, "*turn(%s, %s)", axes[i], written_angle(rpy[i]).text);
}

/* ---- joints ---- */

/* The coordinate of a joint, or what stands in its place. */
static void put_value(nh_text *out, const nh_robot_joint *j)
{
    if (j->held)
        nh_text_add(out, "0");
    else if (!j->follows)
        nh_text_add(out, "%s", j->id);
    else if (j->follows->held)
        nh_text_add(out, "%s", written(j->offset).text);
    else if (j->offset == 0)
        nh_text_add(out, "%s*%s", written(j->multiplier).text, j->follows->id);
    else
        nh_text_add(out, "(%s*%s + %s)", written(j->multiplier).text, j->follows->id,
                    written(j->offset).text);
}

static void put_remark(nh_text *out, const nh_robot_joint *j)
{
    static const char *const kinds[NH_JOINT_KINDS] = {"fixed",     "revolute", "continuous",
                                                      "prismatic", "planar",   "floating"};
    nh_text_add(out, "\n# %s: %s", j->id, kinds[j->kind]);
    if (strcmp(j->id, j->name) != 0)
        nh_text_add(out, ", called '%s' there", j->name);
    if (j->held && j->kind != NH_JOINT_FIXED)
        nh_text_add(out, "; it moves nothing that has mass, so it is held at 0");
    if (j->follows)
        nh_text_add(out, ", mimics %s", j->follows->id);
    if (j->limited)
        nh_text_add(out, ", from %s to %s", written(j->lower).text, written(j->upper).text);
    if (j->effort > 0)
        nh_text_add(out, ", effort up to %s", written(j->effort).text);
    if (j->velocity > 0)
        nh_text_add(out, ", speed up to %s", written(j->velocity).text);
    nh_text_add(out, "\n");
}

static void put_coordinates(nh_text *out, const nh_robot_joint *j)
{
    const char *id = j->id;
    if (j->held || j->follows || j->kind == NH_JOINT_FIXED)
        return;
    if (j->kind == NH_JOINT_FLOATING)
        nh_text_add(out, "coordinate %s_x, %s_y, %s_z\nrotation %s_R\n", id, id, id, id);
    else if (j->kind == NH_JOINT_PLANAR)
        nh_text_add(out, "coordinate %s_x, %s_y\ncoordinate %s_turn angle\n", id, id, id);
    else
        nh_text_add(out, "coordinate %s%s\n", id,
                    j->kind == NH_JOINT_CONTINUOUS && !j->counted ? " angle" : "");
}

/* Two directions across an axis. */
static void across(const double a[3], double u[3], double w[3])
{
    const int i = fabs(a[0]) <= fabs(a[1]) && fabs(a[0]) <= fabs(a[2]) ? 0
                  : fabs(a[1]) <= fabs(a[2])                           ? 1
                                                                       : 2;
    const double length = sqrt(1 - a[i] * a[i]);
    for (int k = 0; k < 3; k++)
        u[k] = ((k == i) - a[i] * a[k]) / length;
    for (int k = 0; k < 3; k++)
        w[k] = a[(k + 1) % 3] * u[(k + 2) % 3] - a[(k + 2) % 3] * u[(k + 1) % 3];
}

/* The axes of a joint before it moves. */
static void put_frame(nh_text *out, const nh_robot_link *l)
{
    nh_text_add(out, "%s_axes", l->parent->id);
    put_turns(out, l->joint->origin.rpy);
}

static void put_axes(nh_text *out, const nh_robot_link *l)
{
    const nh_robot_joint *j = l->joint;
    nh_text_add(out, "let %s_axes = ", l->id);
    put_frame(out, l);
    if (j->held || j->kind == NH_JOINT_PRISMATIC || j->kind == NH_JOINT_FIXED)
        return;
    if (j->kind == NH_JOINT_FLOATING) {
        nh_text_add(out, "*%s_R", j->id);
        return;
    }
    nh_text_add(out, "*turn(");
    put_vector(out, j->axis);
    nh_text_add(out, ", ");
    if (j->kind == NH_JOINT_PLANAR)
        nh_text_add(out, "%s_turn", j->id);
    else
        put_value(out, j);
    nh_text_add(out, ")");
}

static void put_origin(nh_text *out, const nh_robot_link *l)
{
    const nh_robot_joint *j = l->joint;
    nh_text_add(out, "\nlet %s_origin = %s_origin", l->id, l->parent->id);
    if (!is_zero(j->origin.xyz)) {
        nh_text_add(out, " + %s_axes*", l->parent->id);
        put_vector(out, j->origin.xyz);
    }
    if (!j->held && (j->kind == NH_JOINT_PRISMATIC || j->kind == NH_JOINT_PLANAR ||
                     j->kind == NH_JOINT_FLOATING)) {
        nh_text_add(out, " + ");
        if (j->kind == NH_JOINT_PRISMATIC) /* does not turn */
            nh_text_add(out, "%s_axes", l->id);
        else
            put_frame(out, l);
        nh_text_add(out, "*");
    }
    if (j->held)
        ;
    else if (j->kind == NH_JOINT_PRISMATIC) {
        nh_text_add(out, "(");
        put_value(out, j);
        nh_text_add(out, "*");
        put_vector(out, j->axis);
        nh_text_add(out, ")");
    } else if (j->kind == NH_JOINT_PLANAR) {
        double u[3], w[3];
        across(j->axis, u, w);
        nh_text_add(out, "(%s_x*", j->id);
        put_vector(out, u);
        nh_text_add(out, " + %s_y*", j->id);
        put_vector(out, w);
        nh_text_add(out, ")");
    } else if (j->kind == NH_JOINT_FLOATING)
        nh_text_add(out, "(%s_x, %s_y, %s_z)", j->id, j->id, j->id);
    nh_text_add(out, "\n");
}

static void put_base(nh_text *out, const nh_robot *robot)
{
    const char *id = robot->root->id;
    const number z = written(robot->height);
    nh_text_add(out, "\n# %s: the base, %s\n", id, robot->base);
    if (strcmp(robot->base, "fixed") == 0)
        nh_text_add(out, "let %s_axes = turn((0, 0, 1), 0), %s_origin = (0, 0, 0)\n", id, id);
    else if (strcmp(robot->base, "planar") == 0)
        nh_text_add(out,
                    "coordinate x, y\ncoordinate heading angle\n"
                    "let %s_axes = turn((0, 0, 1), heading), %s_origin = (x, y, %s)\n",
                    id, id, z.text);
    else
        nh_text_add(out,
                    "coordinate x, y, z\nrotation R\n"
                    "let %s_axes = R, %s_origin = (x, y, z)\nstart z = %s\n",
                    id, id, z.text);
}

/* ---- links ---- */

static void put_inertia(nh_text *out, const nh_robot_link *l)
{
    double I[9];
    nh_robot_inertia(l, I);
    if (I[1] == 0 && I[2] == 0 && I[5] == 0) {
        nh_text_add(out, "(%s, %s, %s)", written(I[0]).text, written(I[4]).text,
                    written(I[8]).text);
        return;
    }
    for (int i = 0; i < 3; i++) {
        nh_text_add(out, i == 0 ? "(" : "  ");
        put_vector(out, I + 3 * i);
        nh_text_add(out, i < 2 ? ",\n" : ")");
    }
}

/* A point of a link, given in its axes. */
static void put_point(nh_text *out, const nh_robot_link *l, const double x[3])
{
    nh_text_add(out, "%s_origin", l->id);
    if (is_zero(x))
        return;
    nh_text_add(out, " + %s_axes*", l->id);
    put_vector(out, x);
}

static void put_body(nh_text *out, const nh_robot_link *l)
{
    if (!l->massive || !l->moves)
        return;
    nh_text_add(out, "body %s mass %s", l->id, written(l->mass).text);
    bool extended = false;
    for (int i = 0; i < 6; i++)
        extended |= l->inertia[i] != 0;
    if (extended) {
        nh_text_add(out, " inertia ");
        put_inertia(out, l);
    }
    nh_text_add(out, " at ");
    put_point(out, l, l->inertial.xyz);
    nh_text_add(out, extended ? " attitude %s_axes\n" : "\n", l->id);
}

/* Files write -1.57 for a quarter of a turn; the axles of rims that touch a plane are level. */
static bool is_level(const nh_robot_link *l)
{
    double z = 0;
    for (int i = 0; i < 3; i++)
        z += l->axes[6 + i] * l->joint->axis[i];
    return fabs(z) < 1e-9;
}

static void put_level_turns(nh_text *out, const nh_robot_link *l)
{
    double rpy[3];
    for (int i = 0; i < 3; i++) {
        const double quarters = round(l->joint->origin.rpy[i] / (M_PI / 2)) * (M_PI / 2);
        const bool meant = fabs(quarters - l->joint->origin.rpy[i]) < 0.005;
        rpy[i] = meant ? quarters : l->joint->origin.rpy[i];
    }
    nh_text_add(out, "%s_axes", l->parent->id);
    put_turns(out, rpy);
}

/* If the mass of a wheel is not balanced about a level axle, its rim is a wheel without mass. */
static void put_wheel(nh_text *out, const nh_robot_link *l)
{
    const bool level = is_level(l), whole = level && nh_robot_is_balanced(l);
    if (!whole)
        put_body(out, l);
    nh_text_add(out, "wheel %s%s radius %s", l->id, whole ? "" : "_rim", written(l->wheel).text);
    if (whole) {
        nh_text_add(out, " mass %s inertia ", written(l->mass).text);
        put_inertia(out, l);
    }
    nh_text_add(out, " at %s_origin attitude ", l->id);
    if (level)
        put_frame(out, l);
    else
        put_level_turns(out, l);
    nh_text_add(out, " axis ");
    put_vector(out, l->joint->axis);
    nh_text_add(out, " spin %s on ground\n", l->joint->id);
}

static void put_attitude(nh_text *out, const nh_robot_link *l, const nh_robot_shape *s)
{
    nh_text_add(out, " attitude %s_axes", l->id);
    put_turns(out, s->pose.rpy);
    nh_text_add(out, "\n");
}

static void put_cylinder(nh_text *out, const nh_robot_link *l, const nh_robot_shape *s)
{
    double R[9], end[2][3];
    nh_robot_turn(s->pose.rpy, R);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++)
            end[k][i] = s->pose.xyz[i] + (k - 0.5) * s->size[1] * R[3 * i + 2];
    nh_text_add(out, "draw line ");
    put_point(out, l, end[0]);
    nh_text_add(out, ", ");
    put_point(out, l, end[1]);
    nh_text_add(out, "\n");
    for (int k = 0; k < 2; k++) {
        nh_text_add(out, "draw disk at ");
        put_point(out, l, end[k]);
        nh_text_add(out, " radius %s", written(s->size[0]).text);
        put_attitude(out, l, s);
    }
}

static void put_shape(nh_text *out, const nh_robot_link *l, const nh_robot_shape *s)
{
    if (s->form == NH_FORM_CYLINDER) {
        put_cylinder(out, l, s);
        return;
    }
    nh_text_add(out, s->form == NH_FORM_BOX ? "draw box at " : "draw ball at ");
    put_point(out, l, s->pose.xyz);
    if (s->form == NH_FORM_BOX) {
        nh_text_add(out, " size ");
        put_vector(out, s->size);
    } else
        nh_text_add(out, " radius %s", written(s->size[0]).text);
    put_attitude(out, l, s);
}

static void put_drawings(nh_text *out, const nh_robot_link *l)
{
    bool drawn = false;
    for (const nh_robot_shape *s = l->shape; s && !(l->wheel > 0); s = s->next)
        if (s->visual) {
            if (!drawn && l->massive && l->moves)
                nh_text_add(out, "draw %s none\n", l->id);
            drawn = true;
            put_shape(out, l, s);
        }
}

/* ---- forces ---- */

/* How fast a joint moves when its coordinate, or the one that it follows, does. */
static double gear_of(const nh_robot_joint *j)
{
    return j->follows ? j->multiplier : 1;
}

static bool resists(const nh_robot_joint *j)
{
    const nh_robot_joint *own = j->follows ? j->follows : j;
    return !own->held && !j->held &&
           (j->kind == NH_JOINT_REVOLUTE || j->kind == NH_JOINT_CONTINUOUS ||
            j->kind == NH_JOINT_PRISMATIC);
}

static void put_damping(nh_text *out, const nh_robot *robot)
{
    bool any = false;
    for (const nh_robot_joint *j = robot->joint; j; j = j->next) {
        if (!resists(j) || j->damping == 0)
            continue;
        nh_text_add(out, any ? "\n  + " : "\ndissipation (");
        nh_text_add(out, "%s/2*%s'^2", written(j->damping * gear_of(j) * gear_of(j)).text,
                    (j->follows ? j->follows : j)->id);
        any = true;
    }
    nh_text_add(out, any ? ")\n" : "");
}

/* Dry friction falls off below a small speed, so that the forces are smooth. */
static void put_friction(nh_text *out, const nh_robot *robot)
{
    bool any = false;
    for (const nh_robot_joint *own = robot->joint; own; own = own->next) {
        bool begun = false;
        for (const nh_robot_joint *j = robot->joint; j; j = j->next) {
            if (!resists(j) || j->friction == 0 || (j->follows ? j->follows : j) != own)
                continue;
            const double gear = gear_of(j);
            if (!any)
                nh_text_add(out, "\nparameter smoothing = 0.01   # the speed below which dry "
                                 "friction falls off\n");
            if (begun)
                nh_text_add(out, "\n  ");
            else
                nh_text_add(out, "force %s = (", own->id);
            nh_text_add(out, "-%s*tanh(", written(j->friction * fabs(gear)).text);
            if (fabs(gear) != 1)
                nh_text_add(out, "%s*", written(fabs(gear)).text);
            nh_text_add(out, "%s'/smoothing)", own->id);
            any = begun = true;
        }
        nh_text_add(out, begun ? ")\n" : "");
    }
}

/* Joints whose limits exclude 0 start in the middle. */
static void put_starts(nh_text *out, const nh_robot *robot)
{
    for (const nh_robot_joint *j = robot->joint; j; j = j->next) {
        const bool single = j->kind == NH_JOINT_REVOLUTE || j->kind == NH_JOINT_PRISMATIC;
        if (!single || j->held || j->follows || !j->limited || (j->lower <= 0 && j->upper >= 0) ||
            !(j->lower <= j->upper))
            continue;
        nh_text_add(out, "start %s = %s   # 0 is beyond its limits\n", j->id,
                    written((j->lower + j->upper) / 2).text);
    }
}

/* ---- the whole ---- */

static void put_head(nh_text *out, const nh_robot *robot)
{
    const char *file = strrchr(robot->path, '/');
    char name[128];
    int links = 0;
    for (const nh_robot_link *l = robot->link; l; l = l->next)
        links++;
    snprintf(name, sizeof name, "%s%.100s", isalpha((unsigned char)*robot->name) ? "" : "robot-",
             robot->name);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) || (unsigned char)*c > 127)
            *c = *c == '_' ? '_' : '-';
    while (strlen(name) > 1 && name[strlen(name) - 1] == '-')
        name[strlen(name) - 1] = '\0';
    nh_text_add(out, "# %s: %d link%s, imported from %s with a %s base.\n", name, links,
                links == 1 ? "" : "s", file ? file + 1 : robot->path, robot->base);
    nh_text_add(out,
                "#\n# NAME_axes and NAME_origin are the frame of a link; the z axis points "
                "up.\nmodel %s\nparameter g = 9.81\ngravity (0, 0, -g)\n",
                name);
}

static void put_robot(const nh_robot *robot, nh_text *out)
{
    put_head(out, robot);
    for (const nh_robot_link *l = robot->root; l; l = l->after) {
        if (!l->joint)
            put_base(out, robot);
        else {
            put_remark(out, l->joint);
            put_coordinates(out, l->joint);
            put_axes(out, l);
            put_origin(out, l);
        }
        if (l->wheel > 0)
            put_wheel(out, l);
        else
            put_body(out, l);
        put_drawings(out, l);
    }
    put_damping(out, robot);
    put_friction(out, robot);
    put_starts(out, robot);
    nh_text_add(out, robot->wheeled || strcmp(robot->base, "planar") == 0 ? "draw ground\n" : "");
}

nh_status nh_import_urdf(char **text, const char *path, const nh_import_options *options,
                         nh_report *report)
{
    nh_import_options none = nh_import_options_default();
    nh_robot robot;
    nh_text out = {0};
    *text = NULL;
    nh_status status = nh_robot_read(&robot, path, report);
    if (status == NH_OK)
        status = nh_robot_connect(&robot, options ? options : &none, report);
    if (status == NH_OK)
        put_robot(&robot, &out);
    nh_arena_free(&robot.arena);
    if (status == NH_OK && out.failed) {
        nh_text_free(&out);
        status = NH_NO_MEMORY;
    }
    *text = out.data;
    return status == NH_NO_MEMORY ? nh_fail_memory(report) : status;
}
