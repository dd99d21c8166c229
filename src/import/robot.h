/* A robot as its URDF file describes it: links that joints connect into a tree.
 *
 * The file format is that of https://wiki.ros.org/urdf/XML. urdf.c reads it, tree.c finds out how
 * the links hang together, and model_text.c writes the model. */
#ifndef NH_IMPORT_ROBOT_H
#define NH_IMPORT_ROBOT_H

#include <nonholo_analysis.h>

#include "base/arena.h"
#include "base/text.h"

typedef struct nh_robot_pose { /* of a frame in another one: R = Rz(yaw) Ry(pitch) Rx(roll) */
    double xyz[3], rpy[3];
} nh_robot_pose;

typedef enum nh_robot_form { NH_FORM_BOX, NH_FORM_CYLINDER, NH_FORM_SPHERE } nh_robot_form;

typedef struct nh_robot_shape { /* a box: lengths; a cylinder: radius, length; a sphere: radius */
    nh_robot_form form;
    double size[3];
    nh_robot_pose pose;
    bool visual; /* not only for collisions */
    struct nh_robot_shape *next;
} nh_robot_shape;

typedef enum nh_robot_joint_kind {
    NH_JOINT_FIXED,
    NH_JOINT_REVOLUTE,
    NH_JOINT_CONTINUOUS,
    NH_JOINT_PRISMATIC,
    NH_JOINT_PLANAR,
    NH_JOINT_FLOATING,
    NH_JOINT_KINDS
} nh_robot_joint_kind;

typedef struct nh_robot_joint {
    const char *name, *parent, *child; /* as in the file */
    long line;
    nh_robot_joint_kind kind;
    nh_robot_pose origin;
    double axis[3]; /* of length 1 after nh_robot_connect */
    bool limited;
    double lower, upper, effort, velocity;
    double damping, friction;
    const char *mimics; /* the name of another joint; NULL: none */
    double multiplier, offset;
    struct nh_robot_joint *next;

    /* tree.c */
    struct nh_robot_joint *follows; /* the independent joint that it mimics */
    bool held;      /* is fixed, or neither it nor what follows it moves anything that has mass */
    bool counted;   /* what follows it tells its revolutions apart */
    const char *id; /* in the model */
} nh_robot_joint;

typedef struct nh_robot_link {
    const char *name;
    long line;
    bool massive;            /* has a mass or a moment of inertia */
    double mass, inertia[6]; /* xx, xy, xz, yy, yz, zz */
    nh_robot_pose inertial;
    nh_robot_shape *shape;
    struct nh_robot_link *next;

    /* tree.c */
    nh_robot_joint *joint;        /* that it hangs on; NULL: the root */
    struct nh_robot_link *parent; /* NULL: the root */
    struct nh_robot_link *after;  /* parents come before children */
    bool moves;
    const char *id;
    double wheel;              /* its radius, if it is a wheel */
    double origin[3], axes[9]; /* where it is if all joints are at 0 */
} nh_robot_link;

typedef struct nh_robot {
    const char *path, *name;
    nh_arena arena;
    nh_robot_link *link, *root; /* in the order of the file; `root` is linked by `after` */
    nh_robot_joint *joint;
    const char *base; /* "fixed", "planar" or "floating" */
    double height;    /* of the root's origin, so that wheels touch z = 0 */
    bool wheeled;
    nh_report *report;
} nh_robot;

/* urdf.c. Call nh_arena_free(&robot->arena) in either case. */
nh_status nh_robot_read(nh_robot *robot, const char *path, nh_report *report);
/* tree.c: order, wheels, names. `wheels`: names of links or joints, NAME=RADIUS, or NULL. */
nh_status nh_robot_connect(nh_robot *robot, const nh_import_options *options, nh_report *report);

/* R = Rz(yaw) Ry(pitch) Rx(roll), row by row. */
void nh_robot_turn(const double rpy[3], double R[9]);
/* Whether a link can be a wheel by itself: its mass is balanced about its axis. */
bool nh_robot_is_balanced(const nh_robot_link *link);
/* The inertia in the axes of the link. */
void nh_robot_inertia(const nh_robot_link *link, double I[9]);

#endif
