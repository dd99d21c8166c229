/* How the links of a robot hang together: their order, where they are if all joints are at 0, which
 * of them are wheels, and their names in the model. */
#include "import/robot.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "model/ast.h"

enum { CHAIN_LONGEST = 64 };     /* of joints that follow each other */
static const double near = 1e-6; /* of lengths that are meant to be equal, relative to a wheel */

__attribute__((format(printf, 3, 4))) static nh_status refuse(const nh_robot *robot, long line,
                                                              const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    nh_print_list(text, sizeof text, format, list);
    va_end(list);
    return line > 0 ? nh_fail(robot->report, NH_BAD_MODEL, "%s:%ld: %s", robot->path, line, text)
                    : nh_fail(robot->report, NH_BAD_MODEL, "%s: %s", robot->path, text);
}

/* ---- rotations ---- */

void nh_robot_turn(const double rpy[3], double R[9])
{
    const double cr = cos(rpy[0]), sr = sin(rpy[0]), cp = cos(rpy[1]), sp = sin(rpy[1]),
                 cy = cos(rpy[2]), sy = sin(rpy[2]);
    const double entries[9] = {cy * cp,
                               cy * sp * sr - sy * cr,
                               cy * sp * cr + sy * sr,
                               sy * cp,
                               sy * sp * sr + cy * cr,
                               sy * sp * cr - cy * sr,
                               -sp,
                               cp * sr,
                               cp * cr};
    memcpy(R, entries, sizeof entries);
}

static void multiply(const double A[9], const double B[9], double C[9])
{
    double product[9] = {0};
    for (int i = 0; i < 9; i++)
        for (int k = 0; k < 3; k++)
            product[i] += A[i / 3 * 3 + k] * B[k * 3 + i % 3];
    memcpy(C, product, sizeof product);
}

static void apply(const double R[9], const double x[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
}

void nh_robot_inertia(const nh_robot_link *link, double I[9])
{
    static const int place[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    double R[9], back[9];
    for (int i = 0; i < 9; i++)
        I[i] = link->inertia[place[i]];
    if (link->inertial.rpy[0] == 0 && link->inertial.rpy[1] == 0 && link->inertial.rpy[2] == 0)
        return;
    nh_robot_turn(link->inertial.rpy, R);
    for (int i = 0; i < 9; i++)
        back[i] = R[i % 3 * 3 + i / 3];
    multiply(R, I, I);
    multiply(I, back, I);
    for (int i = 0; i < 9; i++) /* symmetric to the last bit */
        if (i / 3 > i % 3)
            I[i] = I[i % 3 * 3 + i / 3];
}

/* ---- the tree ---- */

static nh_robot_link *find_link(const nh_robot *robot, const char *name)
{
    for (nh_robot_link *l = robot->link; l; l = l->next)
        if (strcmp(l->name, name) == 0)
            return l;
    return NULL;
}

static nh_robot_joint *find_joint(const nh_robot *robot, const char *name)
{
    for (nh_robot_joint *j = robot->joint; j; j = j->next)
        if (strcmp(j->name, name) == 0)
            return j;
    return NULL;
}

static nh_status check_axis(const nh_robot *robot, nh_robot_joint *j)
{
    const double length =
        sqrt(j->axis[0] * j->axis[0] + j->axis[1] * j->axis[1] + j->axis[2] * j->axis[2]);
    if (j->kind == NH_JOINT_FIXED || j->kind == NH_JOINT_FLOATING)
        return NH_OK;
    if (!(length > 0))
        return refuse(robot, j->line, "the axis of joint '%.100s' is zero", j->name);
    for (int i = 0; i < 3; i++)
        j->axis[i] = length == 1 ? j->axis[i] : j->axis[i] / length;
    return NH_OK;
}

static nh_status attach(const nh_robot *robot, nh_robot_joint *j)
{
    if (!j->parent || !j->child)
        return refuse(robot, j->line, "joint '%.100s' needs <parent link=\"...\"/> and <child/>",
                      j->name);
    nh_robot_link *parent = find_link(robot, j->parent), *child = find_link(robot, j->child);
    if (!parent || !child)
        return refuse(robot, j->line, "joint '%.100s': there is no link '%.100s'", j->name,
                      parent ? j->child : j->parent);
    if (child->joint)
        return refuse(robot, j->line,
                      "link '%.100s' hangs on two joints, '%.100s' and '%.100s'; a URDF file "
                      "describes a tree. Leave one out, and close the loop with a constraint in "
                      "the model",
                      child->name, child->joint->name, j->name);
    child->joint = j;
    child->parent = parent;
    return check_axis(robot, j);
}

/* The independent joint that a joint follows, perhaps over others. */
static nh_status find_leader(const nh_robot *robot, nh_robot_joint *j, int depth)
{
    if (!j->mimics || j->follows)
        return NH_OK;
    nh_robot_joint *leader = find_joint(robot, j->mimics);
    if (!leader)
        return refuse(robot, j->line, "joint '%.100s' mimics '%.100s', which does not exist",
                      j->name, j->mimics);
    if (leader == j || depth == CHAIN_LONGEST)
        return refuse(robot, j->line, "joint '%.100s' mimics itself", j->name);
    if (leader->kind == NH_JOINT_PLANAR || leader->kind == NH_JOINT_FLOATING)
        return refuse(robot, j->line,
                      "joint '%.100s' mimics '%.100s', which has more than one coordinate", j->name,
                      j->mimics);
    const nh_status status = find_leader(robot, leader, depth + 1);
    if (leader->follows) {
        j->offset += j->multiplier * leader->offset;
        j->multiplier *= leader->multiplier;
        leader = leader->follows;
    }
    j->follows = leader;
    if (j->kind == NH_JOINT_PRISMATIC || j->multiplier != round(j->multiplier))
        leader->counted = true;
    return status;
}

static nh_status find_root(nh_robot *robot)
{
    for (nh_robot_link *l = robot->link; l; l = l->next) {
        if (l->joint)
            continue;
        if (robot->root)
            return refuse(robot, l->line,
                          "'%.100s' and '%.100s' both hang on no joint; a robot has one root link",
                          robot->root->name, l->name);
        robot->root = l;
    }
    return robot->root ? NH_OK : refuse(robot, 0, "the joints form a loop without a root link");
}

/* Links in an order in which parents come before children, branch by branch. */
static nh_status put_in_order(nh_robot *robot)
{
    int count = 1, all = 0;
    for (nh_robot_link *at = robot->root; at; at = at->after) {
        nh_robot_link *last = at;
        for (nh_robot_link *l = robot->link; l; l = l->next)
            if (l->parent == at) {
                l->after = last->after;
                last->after = l;
                last = l;
                count++;
            }
    }
    for (nh_robot_link *l = robot->link; l; l = l->next)
        all++;
    return count == all ? NH_OK : refuse(robot, 0, "some joints form a loop");
}

/* Whether a link or something that hangs on it has mass. */
static bool carries_mass(const nh_robot *robot, const nh_robot_link *link)
{
    for (const nh_robot_link *l = link; l; l = l->after)
        for (const nh_robot_link *on = l; on && l->massive; on = on->parent)
            if (on == link)
                return true;
    (void)robot;
    return false;
}

static void place(nh_robot *robot)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const bool fixed = strcmp(robot->base, "fixed") == 0;
    for (nh_robot_link *l = robot->root; l; l = l->after) {
        nh_robot_joint *j = l->joint;
        memcpy(l->axes, one, sizeof one);
        l->moves = !fixed;
        if (!j)
            continue;
        double turned[9], moved[3];
        nh_robot_turn(j->origin.rpy, turned);
        multiply(l->parent->axes, turned, l->axes);
        apply(l->parent->axes, j->origin.xyz, moved);
        for (int i = 0; i < 3; i++)
            l->origin[i] = l->parent->origin[i] + moved[i];
        j->held = !carries_mass(robot, l);
        const nh_robot_joint *own = j->follows ? j->follows : j;
        l->moves = l->parent->moves ||
                   (j->kind != NH_JOINT_FIXED && own->kind != NH_JOINT_FIXED && !j->held);
    }
    for (nh_robot_joint *j = robot->joint; j; j = j->next)
        if (j->follows && !j->held)
            j->follows->held = j->follows->kind == NH_JOINT_FIXED;
}

/* ---- wheels ---- */

static bool can_spin(const nh_robot_link *l)
{
    return l->joint && !l->joint->mimics && !l->joint->held &&
           (l->joint->kind == NH_JOINT_CONTINUOUS || l->joint->kind == NH_JOINT_REVOLUTE);
}

/* The direction of the third axis of a shape, in the axes of the link. */
static void axle_of(const nh_robot_shape *shape, double out[3])
{
    double R[9];
    nh_robot_turn(shape->pose.rpy, R);
    for (int i = 0; i < 3; i++)
        out[i] = R[3 * i + 2];
}

/* The radius of a cylinder about the joint's axis, or of a sphere; 0: there is none. */
static double radius_of(const nh_robot_link *l, bool cylinder_only)
{
    double sphere = 0;
    for (const nh_robot_shape *s = l->shape; s; s = s->next) {
        double axle[3], along = 0;
        axle_of(s, axle);
        for (int i = 0; i < 3; i++)
            along += axle[i] * l->joint->axis[i];
        if (s->form == NH_FORM_CYLINDER && fabs(along) > 1 - near)
            return s->size[0];
        if (s->form == NH_FORM_SPHERE)
            sphere = s->size[0];
    }
    return cylinder_only ? 0 : sphere;
}

static bool is_upright(const nh_robot_link *l) /* its axis is horizontal if all joints are at 0 */
{
    double axis[3];
    apply(l->axes, l->joint->axis, axis);
    return fabs(axis[2]) < 0.01; /* files write -1.57 for a quarter of a turn */
}

/* The height of the lowest point of a shape. */
static double lowest_of(const nh_robot_link *l, const nh_robot_shape *s)
{
    double R[9], centre[3], reach = s->size[0];
    nh_robot_turn(s->pose.rpy, R);
    multiply(l->axes, R, R);
    apply(l->axes, s->pose.xyz, centre);
    const double *z = R + 6; /* of the shape's axes */
    if (s->form == NH_FORM_BOX)
        reach = (fabs(z[0] * s->size[0]) + fabs(z[1] * s->size[1]) + fabs(z[2] * s->size[2])) / 2;
    else if (s->form == NH_FORM_CYLINDER)
        reach = s->size[0] * sqrt(fmax(0, 1 - z[2] * z[2])) + fabs(z[2]) * s->size[1] / 2;
    return l->origin[2] + centre[2] - reach;
}

/* Cylinders on continuous joints with horizontal axes are wheels if at least two of them, and
 * nothing else, reach lowest. */
static void detect_wheels(nh_robot *robot)
{
    double lowest = INFINITY;
    int found = 0;
    for (const nh_robot_link *l = robot->root; l; l = l->after)
        for (const nh_robot_shape *s = l->shape; s; s = s->next)
            lowest = fmin(lowest, lowest_of(l, s));
    for (int round = 0; round < 2; round++)
        for (nh_robot_link *l = robot->root; l; l = l->after) {
            if (!can_spin(l) || l->joint->kind != NH_JOINT_CONTINUOUS || !is_upright(l))
                continue;
            const double radius = radius_of(l, true);
            const bool touches = radius > 0 && l->origin[2] - radius < lowest + 0.15 * radius;
            found += touches && round == 0;
            if (touches && round == 1 && found > 1)
                l->wheel = radius;
        }
}

/* One of --wheels: a link or a joint, perhaps with its radius. */
static nh_status take_wheel(nh_robot *robot, const char *item, size_t length)
{
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)length, item);
    char *equals = strchr(name, '=');
    double radius = 0;
    if (equals) {
        char *end;
        radius = nh_decimal(equals + 1, &end);
        *equals = '\0';
        if (end == equals + 1 || *end || !(radius > 0))
            return nh_fail(robot->report, NH_BAD_ARGUMENT,
                           "the radius of wheel '%.100s' must be a number greater than 0", name);
    }
    nh_robot_link *l = find_link(robot, name);
    nh_robot_joint *j = find_joint(robot, name);
    if (!l && j)
        l = find_link(robot, j->child);
    if (!l)
        return nh_fail(robot->report, NH_BAD_ARGUMENT, "%s has no link and no joint '%.100s'",
                       robot->path, name);
    if (!can_spin(l))
        return nh_fail(robot->report, NH_BAD_ARGUMENT,
                       "'%.100s' cannot be a wheel: it does not hang on a continuous or revolute "
                       "joint of its own",
                       name);
    l->wheel = radius > 0 ? radius : radius_of(l, false);
    return l->wheel > 0 ? NH_OK
                        : nh_fail(robot->report, NH_BAD_ARGUMENT,
                                  "the radius of wheel '%.100s' is not known: the link has neither "
                                  "a cylinder about its axis nor a sphere; give %.100s=RADIUS",
                                  name, name);
}

static nh_status take_wheels(nh_robot *robot, const char *list)
{
    nh_status status = NH_OK;
    while (*list && status == NH_OK) {
        const size_t length = strcspn(list, ",");
        if (length > 0)
            status = take_wheel(robot, list, length);
        list += length + (list[length] == ',');
    }
    return status;
}

bool nh_robot_is_balanced(const nh_robot_link *l)
{
    double I[9], along[3], parallel = 0, across;
    const double *a = l->joint->axis, small = near * l->wheel;
    if (!l->massive || fabs(l->inertial.xyz[0]) > small || fabs(l->inertial.xyz[1]) > small ||
        fabs(l->inertial.xyz[2]) > small)
        return false;
    nh_robot_inertia(l, I);
    apply(I, a, along);
    for (int i = 0; i < 3; i++)
        parallel += along[i] * a[i];
    across = (I[0] + I[4] + I[8] - parallel) / 2;
    for (int i = 0; i < 9; i++) {
        const double unit = i % 4 == 0, axle = a[i / 3] * a[i % 3];
        if (fabs(I[i] - across * (unit - axle) - parallel * axle) > 1e-9 * (across + parallel))
            return false;
    }
    return true;
}

/* The root is as high as makes the wheels touch the plane z = 0. */
static nh_status find_height(nh_robot *robot)
{
    const nh_robot_link *first = NULL;
    for (nh_robot_link *l = robot->root; l; l = l->after) {
        if (!(l->wheel > 0))
            continue;
        const double height = l->wheel - l->origin[2];
        if (first && fabs(height - robot->height) > 0.02 * l->wheel)
            return refuse(robot, l->joint->line,
                          "the wheels '%.100s' and '%.100s' do not stand on one plane: it would be "
                          "%.4g and %.4g below the root link",
                          first->name, l->name, robot->height, height);
        robot->height = first ? robot->height : height;
        first = first ? first : l;
    }
    robot->wheeled = first != NULL;
    return NH_OK;
}

/* ---- names ---- */

/* Words of the language may be names, but the text is easier to read if they are not; others are
 * columns of the output, or names that the text itself uses. */
static bool is_word(const char *id)
{
    static const char words[] =
        " t pi deg sum x y z heading R g energy smoothing if latitude driver_energy "
        "passenger_energy gravity for in reaction model parameter coordinate let "
        "lagrangian constraint start observe body wheel blade spring damper draw mass "
        "inertia at attitude angle radius axis spin on ground plane normal along free "
        "grip static restitution stiffness length damping contact none ";
    char padded[64];
    return snprintf(padded, sizeof padded, " %s ", id) < (int)sizeof padded &&
           strstr(words, padded);
}

static bool is_taken(const nh_robot *robot, const char *id)
{
    if (is_word(id))
        return true;
    for (int i = 0; i < nh_builtin_total; i++)
        if (strcmp(nh_builtins[i].name, id) == 0)
            return true;
    for (const nh_robot_link *l = robot->link; l; l = l->next)
        if (l->id && strcmp(l->id, id) == 0)
            return true;
    for (const nh_robot_joint *j = robot->joint; j; j = j->next)
        if (j->id && strcmp(j->id, id) == 0)
            return true;
    return false;
}

enum { NAME_MOST = 30 }; /* names of bodies are short, since `NAME.velocity` is a name, too */

/* A name that the language admits and nothing else has. */
static const char *name_for(nh_robot *robot, const char *name, const char *ending)
{
    char base[NAME_MOST + 2], id[192];
    snprintf(base, sizeof base, "%s%s", isalpha((unsigned char)*name) ? "" : "n", name);
    for (char *c = base; *c; c++)
        if (!isalnum((unsigned char)*c) || (unsigned char)*c > 127)
            *c = '_';
    snprintf(id, sizeof id, "%s", base);
    if (is_taken(robot, id))
        snprintf(id, sizeof id, "%s_%s", base, ending);
    for (int i = 2; is_taken(robot, id); i++)
        snprintf(id, sizeof id, "%s_%s%d", base, ending, i);
    return nh_arena_text(&robot->arena, id, strlen(id));
}

static void choose_names(nh_robot *robot)
{
    for (nh_robot_joint *j = robot->joint; j; j = j->next)
        j->id = name_for(robot, j->name, "joint");
    for (nh_robot_link *l = robot->root; l; l = l->after)
        l->id = name_for(robot, l->name, "link");
}

/* ---- the whole ---- */

static nh_status choose_base(nh_robot *robot, const nh_import_options *o)
{
    static const char *const bases[] = {"fixed", "planar", "floating"};
    robot->base = NULL;
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (o->base && strcmp(o->base, bases[i]) == 0)
            robot->base = bases[i];
    if (o->base && !robot->base)
        return nh_fail(robot->report, NH_BAD_ARGUMENT,
                       "the base is fixed, planar or floating, not '%.60s'", o->base);
    if (!robot->base)
        robot->base = robot->wheeled ? "planar" : "fixed";
    return NH_OK;
}

static nh_status check_motion(const nh_robot *robot, nh_report *report)
{
    for (const nh_robot_link *l = robot->root; l; l = l->after)
        if (l->moves && l->massive)
            return NH_OK;
    return nh_fail(
        report, NH_BAD_MODEL,
        "%.1000s: nothing that has mass can move; expected a link with a mass on a joint "
        "that is not fixed, or a base that is planar or floating",
        robot->path);
}

nh_status nh_robot_connect(nh_robot *robot, const nh_import_options *o, nh_report *report)
{
    robot->report = report;
    nh_status status = NH_OK;
    for (nh_robot_joint *j = robot->joint; j && status == NH_OK; j = j->next)
        status = attach(robot, j);
    for (nh_robot_joint *j = robot->joint; j && status == NH_OK; j = j->next)
        status = find_leader(robot, j, 0);
    if (status == NH_OK)
        status = find_root(robot);
    if (status == NH_OK)
        status = put_in_order(robot);
    robot->base = "fixed";
    if (status == NH_OK)
        place(robot);
    if (status == NH_OK && o->wheels)
        status = take_wheels(robot, o->wheels);
    else if (status == NH_OK && (!o->base || strcmp(o->base, "fixed") != 0))
        detect_wheels(robot);
    if (status == NH_OK)
        status = find_height(robot);
    if (status == NH_OK)
        status = choose_base(robot, o);
    if (status == NH_OK && robot->wheeled && strcmp(robot->base, "fixed") == 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "wheels roll, so the base of the robot cannot be fixed; choose planar or "
                       "floating");
    if (status != NH_OK)
        return status;
    place(robot);
    choose_names(robot);
    return robot->arena.failed ? nh_fail_memory(report) : check_motion(robot, report);
}
