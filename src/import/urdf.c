/* Reads a URDF file with Expat. Elements that do not concern the motion (materials, transmissions,
 * extensions) are passed over. */
#include "import/robot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"

#ifdef NH_HAVE_EXPAT
#include <expat.h>

enum { DEPTH_MOST = 64, CHUNK = 1 << 16 };
static const long bytes_most = 64l << 20;

typedef struct property { /* of xacro: a name for a text */
    const char *name, *value;
    struct property *next;
} property;

typedef struct reader {
    nh_robot *robot;
    property *property;
    XML_Parser parser;
    nh_report *report;
    nh_status status;
    int depth;
    const char *element[DEPTH_MOST]; /* names of the open elements */
    nh_robot_link **link_end, *link;
    nh_robot_joint **joint_end, *joint;
    nh_robot_shape
        *shape; /* of the open visual or collision element; takes effect if it has a form */
    bool formed;
} reader;

__attribute__((format(printf, 2, 3))) static void fail(reader *r, const char *format, ...)
{
    char text[1024];
    va_list list;
    if (r->status != NH_OK)
        return;
    va_start(list, format);
    nh_print_list(text, sizeof text, format, list);
    va_end(list);
    r->status = nh_fail(r->report, NH_BAD_MODEL, "%s:%lld:%lld: %s", r->robot->path,
                        (long long)XML_GetCurrentLineNumber(r->parser),
                        (long long)XML_GetCurrentColumnNumber(r->parser) + 1, text);
    XML_StopParser(r->parser, XML_FALSE);
}

static void *take(reader *r, size_t size)
{
    void *memory = nh_arena_take(&r->robot->arena, size);
    if (!memory && r->status == NH_OK) {
        r->status = nh_fail_memory(r->report);
        XML_StopParser(r->parser, XML_FALSE);
    }
    return memory;
}

/* ---- attributes ---- */

static const char *value_of(reader *r, const char *name, size_t length)
{
    for (const property *p = r->property; p; p = p->next)
        if (strlen(p->name) == length && strncmp(p->name, name, length) == 0)
            return p->value;
    fail(r, "'%.*s' is computed by xacro; expand the file first, with xacro FILE > robot.urdf",
         (int)length, name);
    return "";
}

/* ${NAME} and $(arg NAME) stand for the values of properties and arguments of xacro. */
static const char *substitute(reader *r, const char *value)
{
    nh_text text = {0};
    if (!strchr(value, '$'))
        return value;
    while (*value && r->status == NH_OK) {
        const bool argument = strncmp(value, "$(arg ", 6) == 0;
        const size_t head = argument ? 6 : strncmp(value, "${", 2) == 0 ? 2 : 0;
        const char *end = head ? strchr(value, argument ? ')' : '}') : NULL;
        if (end) {
            nh_text_add_plain(&text, value_of(r, value + head, (size_t)(end - value) - head));
            value = end + 1;
        } else
            nh_text_add_bytes(&text, value++, 1);
    }
    nh_text_add_plain(&text, "");
    const char *kept = text.failed ? NULL : nh_arena_text(&r->robot->arena, text.data, text.length);
    nh_text_free(&text);
    return kept ? kept : "";
}

static const char *find(reader *r, const char **attribute, const char *name)
{
    for (; attribute && *attribute; attribute += 2)
        if (strcmp(attribute[0], name) == 0)
            return substitute(r, attribute[1]);
    return NULL;
}

static const char *text_of(reader *r, const char **attribute, const char *name)
{
    const char *value = find(r, attribute, name);
    if (!value || !*value)
        fail(r, "<%s> needs %s=\"...\"", r->element[r->depth - 1], name);
    return value && r->status == NH_OK ? nh_arena_text(&r->robot->arena, value, strlen(value))
                                       : NULL;
}

/* `count` numbers, separated by spaces. False, and nothing changes, if the attribute is not there.
 */
static bool numbers(reader *r, const char **attribute, const char *name, int count, double *out)
{
    const char *value = find(r, attribute, name), *at = value;
    char *end;
    if (!value)
        return false;
    for (int i = 0; i < count; i++) {
        const double x = nh_decimal(at, &end);
        if (end == at || !isfinite(x)) {
            fail(r, "%s=\"%.100s\": expected %d number%s", name, value, count, nh_plural(count));
            return false;
        }
        out[i] = x;
        at = end;
    }
    if (at[strspn(at, " \t\r\n")])
        fail(r, "%s=\"%.100s\": expected %d number%s", name, value, count, nh_plural(count));
    return r->status == NH_OK;
}

static void needed(reader *r, const char **attribute, const char *name, double *out)
{
    if (!find(r, attribute, name))
        fail(r, "<%s> needs %s=\"...\"", r->element[r->depth - 1], name);
    else
        numbers(r, attribute, name, 1, out);
}

static void read_pose(reader *r, const char **attribute, nh_robot_pose *pose)
{
    numbers(r, attribute, "xyz", 3, pose->xyz);
    numbers(r, attribute, "rpy", 3, pose->rpy);
}

/* ---- elements ---- */

static bool inside(const reader *r, const char *outer)
{
    return r->depth >= 2 && strcmp(r->element[r->depth - 2], outer) == 0;
}

static void begin_link(reader *r, const char **attribute)
{
    nh_robot_link *link = take(r, sizeof *link);
    if (!link)
        return;
    link->name = text_of(r, attribute, "name");
    link->line = (long)XML_GetCurrentLineNumber(r->parser);
    for (const nh_robot_link *l = r->robot->link; l && link->name; l = l->next)
        if (strcmp(l->name, link->name) == 0)
            fail(r, "link '%.100s' occurs twice (line %ld)", link->name, l->line);
    *r->link_end = r->link = link;
    r->link_end = &link->next;
}

static void begin_joint(reader *r, const char **attribute)
{
    static const char *const kinds[NH_JOINT_KINDS] = {
        [NH_JOINT_FIXED] = "fixed",           [NH_JOINT_REVOLUTE] = "revolute",
        [NH_JOINT_CONTINUOUS] = "continuous", [NH_JOINT_PRISMATIC] = "prismatic",
        [NH_JOINT_PLANAR] = "planar",         [NH_JOINT_FLOATING] = "floating"};
    nh_robot_joint *joint = take(r, sizeof *joint);
    if (!joint)
        return;
    joint->name = text_of(r, attribute, "name");
    joint->line = (long)XML_GetCurrentLineNumber(r->parser);
    joint->axis[0] = joint->multiplier = 1;
    const char *kind = text_of(r, attribute, "type");
    int found = 0;
    while (kind && found < NH_JOINT_KINDS && strcmp(kinds[found], kind) != 0)
        found++;
    if (kind && found == NH_JOINT_KINDS)
        fail(r,
             "joint type '%.100s' is unknown; expected revolute, continuous, prismatic, fixed, "
             "floating or planar",
             kind);
    joint->kind = (nh_robot_joint_kind)found;
    for (const nh_robot_joint *j = r->robot->joint; j && joint->name; j = j->next)
        if (strcmp(j->name, joint->name) == 0)
            fail(r, "joint '%.100s' occurs twice (line %ld)", joint->name, j->line);
    *r->joint_end = r->joint = joint;
    r->joint_end = &joint->next;
}

static void read_in_joint(reader *r, const char *name, const char **attribute)
{
    nh_robot_joint *j = r->joint;
    if (strcmp(name, "origin") == 0)
        read_pose(r, attribute, &j->origin);
    else if (strcmp(name, "parent") == 0)
        j->parent = text_of(r, attribute, "link");
    else if (strcmp(name, "child") == 0)
        j->child = text_of(r, attribute, "link");
    else if (strcmp(name, "axis") == 0)
        numbers(r, attribute, "xyz", 3, j->axis);
    else if (strcmp(name, "limit") == 0) {
        j->limited = find(r, attribute, "lower") || find(r, attribute, "upper");
        numbers(r, attribute, "lower", 1, &j->lower);
        numbers(r, attribute, "upper", 1, &j->upper);
        numbers(r, attribute, "effort", 1, &j->effort);
        numbers(r, attribute, "velocity", 1, &j->velocity);
    } else if (strcmp(name, "dynamics") == 0) {
        numbers(r, attribute, "damping", 1, &j->damping);
        numbers(r, attribute, "friction", 1, &j->friction);
    } else if (strcmp(name, "mimic") == 0) {
        j->mimics = text_of(r, attribute, "joint");
        numbers(r, attribute, "multiplier", 1, &j->multiplier);
        numbers(r, attribute, "offset", 1, &j->offset);
    }
}

static void read_in_inertial(reader *r, const char *name, const char **attribute)
{
    static const char *const entries[] = {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"};
    nh_robot_link *link = r->link;
    if (strcmp(name, "origin") == 0)
        read_pose(r, attribute, &link->inertial);
    else if (strcmp(name, "mass") == 0) {
        needed(r, attribute, "value", &link->mass);
        if (link->mass < 0)
            fail(r, "the mass of link '%.100s' is negative", link->name);
    }
    for (int i = 0; strcmp(name, "inertia") == 0 && i < 6; i++) {
        if (i == 0 || i == 3 || i == 5)
            needed(r, attribute, entries[i], link->inertia + i);
        else
            numbers(r, attribute, entries[i], 1, link->inertia + i);
        link->massive = link->massive || link->inertia[i] != 0;
    }
    link->massive = link->massive || link->mass > 0;
}

static void read_form(reader *r, const char *name, const char **attribute)
{
    nh_robot_shape *shape = r->shape;
    r->formed = true;
    if (strcmp(name, "box") == 0) {
        shape->form = NH_FORM_BOX;
        if (!numbers(r, attribute, "size", 3, shape->size))
            fail(r, "<box> needs size=\"...\"");
    } else if (strcmp(name, "cylinder") == 0) {
        shape->form = NH_FORM_CYLINDER;
        needed(r, attribute, "radius", shape->size);
        needed(r, attribute, "length", shape->size + 1);
    } else if (strcmp(name, "sphere") == 0) {
        shape->form = NH_FORM_SPHERE;
        needed(r, attribute, "radius", shape->size);
    } else
        r->formed = false; /* a mesh */
}

static void begin_property(reader *r, const char **attribute)
{
    property *p = take(r, sizeof *p);
    const char *value = find(r, attribute, "value"), *standard = find(r, attribute, "default");
    value = value ? value : standard ? standard : "";
    if (!p || !(p->name = text_of(r, attribute, "name")))
        return;
    p->value = nh_arena_text(&r->robot->arena, value, strlen(value));
    p->next = r->property;
    r->property = p;
}

static void begin_element(void *user, const char *name, const char **attribute)
{
    reader *r = user;
    if (r->status != NH_OK)
        return;
    if (r->depth == DEPTH_MOST) {
        fail(r, "elements are nested more than %d deep", DEPTH_MOST);
        return;
    }
    r->element[r->depth++] = nh_arena_text(&r->robot->arena, name, strlen(name));
    if (strcmp(name, "xacro:property") == 0 || strcmp(name, "xacro:arg") == 0)
        begin_property(r, attribute);
    else if (strncmp(name, "xacro:", 6) == 0)
        fail(r, "<%.60s>: this is a xacro file; expand it first, with xacro FILE > robot.urdf",
             name);
    else if (r->depth == 1 && strcmp(name, "robot") != 0)
        fail(r, "expected <robot>, found <%.60s>; this is not a URDF file", name);
    else if (r->depth == 1)
        r->robot->name = find(r, attribute, "name") ? text_of(r, attribute, "name") : "robot";
    else if (r->depth == 2 && strcmp(name, "link") == 0)
        begin_link(r, attribute);
    else if (r->depth == 2 && strcmp(name, "joint") == 0)
        begin_joint(r, attribute);
    else if (r->depth == 3 && r->joint)
        read_in_joint(r, name, attribute);
    else if (r->depth == 3 && r->link &&
             (strcmp(name, "visual") == 0 || strcmp(name, "collision") == 0)) {
        r->formed = false;
        if ((r->shape = take(r, sizeof *r->shape)))
            r->shape->visual = *name == 'v';
    } else if (r->depth == 4 && r->link && inside(r, "inertial"))
        read_in_inertial(r, name, attribute);
    else if (r->depth == 4 && r->shape && strcmp(name, "origin") == 0)
        read_pose(r, attribute, &r->shape->pose);
    else if (r->depth == 5 && r->shape && inside(r, "geometry"))
        read_form(r, name, attribute);
}

static void end_element(void *user, const char *name)
{
    reader *r = user;
    (void)name;
    if (r->status != NH_OK)
        return;
    if (r->depth == 3 && r->shape) {
        nh_robot_shape **end = &r->link->shape;
        while (*end)
            end = &(*end)->next;
        if (r->formed)
            *end = r->shape;
        r->shape = NULL;
    }
    if (r->depth == 2) {
        r->link = NULL;
        r->joint = NULL;
    }
    r->depth--;
}

/* ---- the file ---- */

static void parse(reader *r, FILE *file)
{
    char *chunk = malloc(CHUNK);
    long total = 0;
    bool more = chunk != NULL;
    if (!chunk)
        r->status = nh_fail_memory(r->report);
    while (more && r->status == NH_OK) {
        const size_t size = fread(chunk, 1, CHUNK, file);
        more = size == CHUNK;
        total += (long)size;
        if (ferror(file))
            r->status = nh_fail(r->report, NH_FILE_FAILED, "cannot read %s: %s", r->robot->path,
                                strerror(errno));
        else if (total > bytes_most)
            fail(r, "the file is longer than %ld megabytes", bytes_most >> 20);
        else if (XML_Parse(r->parser, chunk, (int)size, !more) == XML_STATUS_ERROR &&
                 XML_GetErrorCode(r->parser) == XML_ERROR_NO_MEMORY)
            r->status = nh_fail_memory(r->report);
        else if (XML_GetErrorCode(r->parser) != XML_ERROR_NONE)
            fail(r, "%s", XML_ErrorString(XML_GetErrorCode(r->parser)));
    }
    free(chunk);
}

nh_status nh_robot_read(nh_robot *robot, const char *path, nh_report *report)
{
    *robot = (nh_robot){.path = path, .report = report};
    FILE *file = fopen(path, "re");
    if (!file)
        return nh_fail(report, NH_FILE_FAILED, "cannot open %s: %s", path, strerror(errno));
    reader r = {.robot = robot,
                .report = report,
                .parser = XML_ParserCreate(NULL),
                .link_end = &robot->link,
                .joint_end = &robot->joint};
    if (r.parser) {
        XML_SetUserData(r.parser, &r);
        XML_SetElementHandler(r.parser, begin_element, end_element);
        parse(&r, file);
        XML_ParserFree(r.parser);
    } else
        r.status = nh_fail_memory(report);
    fclose(file);
    if (r.status == NH_OK && robot->arena.failed)
        r.status = nh_fail_memory(report);
    if (r.status == NH_OK && !robot->link)
        r.status = nh_fail(report, NH_BAD_MODEL, "%s: the robot has no links", path);
    return r.status;
}

#else

nh_status nh_robot_read(nh_robot *robot, const char *path, nh_report *report)
{
    *robot = (nh_robot){.path = path, .report = report};
    return nh_fail(report, NH_NOT_APPLICABLE,
                   "%s: this nonholo was built without Expat, which reads XML; install "
                   "libexpat1-dev and build again",
                   path);
}

#endif
