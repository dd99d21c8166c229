/* Vectors and matrices of a model. They exist only while it is expanded; the results are single
 * values. Every function returns 0 after a failure, which is in x->status. */
#ifndef NH_MODEL_VECTOR_H
#define NH_MODEL_VECTOR_H

#include "model/expand.h"

static inline bool nh_is_single(nh_value value)
{
    return value.rows == 0;
}

static inline int64_t nh_value_entries(nh_value value)
{
    return value.columns ? value.rows * value.columns : value.rows;
}

bool nh_same_shape(nh_value a, nh_value b);

/* "a single value", "a vector of length 3", "a 2 by 3 matrix", for messages. */
typedef struct nh_shape_text {
    char text[64];
} nh_shape_text;
nh_shape_text nh_value_shape(nh_value value);

/* A vector (columns 0) or matrix with the given entries, which are copied. */
nh_value nh_vector(nh_expander *x, int64_t rows, int64_t columns, const nh_value *entry);

/* The value for member `i` of `count` in a family: the single value for all of them, or entry i of
 * a vector. Fails for other shapes; `whole`: a vector is allowed here. */
nh_value nh_member_value(nh_expander *x, const nh_ast *ast, nh_value value, bool whole, int64_t i,
                         int64_t count);

/* (a, b, ...); a matrix if the elements are vectors. */
nh_value nh_expand_list(nh_expander *x, const nh_ast *list);
/* v[2], M[1, 3]; the value itself without indices. `of` is its position in the text. */
nh_value nh_component(nh_expander *x, const nh_ast *of, nh_value value, const nh_ast *indices);
/* The time derivative of a value that depends on time and positions only. */
nh_value nh_time_derivative(nh_expander *x, const nh_ast *of, nh_value value);

/* piecewise.c and spline_table.c; records a kink in the text where the condition changes its sign
 */
void nh_note_kink(nh_expander *x, const nh_ast *ast, nh_value condition);
nh_value nh_expand_if(nh_expander *x, const nh_ast *ast);
nh_value nh_expand_table(nh_expander *x, const nh_ast *call);
/* Fails if the points do not make a table, whether it is used or not. */
void nh_check_table(nh_expander *x, const nh_symbol *symbol);

/* rotation.c: R, and the quaternions of products and transposes, which go to `out`. */
nh_value nh_expand_rotation(nh_expander *x, const nh_ast *ast);
nh_value nh_rotation_value(nh_expander *x, const nh_ast *ast, int64_t first); /* its coordinates */
void nh_product_quaternion(nh_expander *x, const nh_ast *ast, nh_value a, nh_value b,
                           nh_value *out);
void nh_transpose_quaternion(nh_expander *x, const nh_ast *ast, nh_value a, nh_value *out);
/* Twice the sine of the angle from one rotation to another, along the axis of that turn. */
nh_value nh_turn_between(nh_expander *x, const nh_ast *ast, nh_value a, nh_value b);
/* Start values: the quaternion of a value, and its rate at quaternion p for an angular velocity w
 * in body or space axes. False after a failure. */
bool nh_start_quaternion(nh_expander *x, const nh_ast *ast, nh_value value, nh_value *p);
bool nh_start_rate(nh_expander *x, const nh_ast *ast, nh_value w, bool space, const nh_value *p,
                   nh_value *rate);

/* scalar times a vector or matrix; matrix times vector or matrix. */
nh_value nh_scaled(nh_expander *x, const nh_ast *ast, nh_value scalar, nh_value value);
nh_value nh_matrix_product(nh_expander *x, const nh_ast *ast, nh_value a, nh_value b);

/* The functions of vectors that models know; `argument` has as many as they take. */
nh_vector_function nh_dot, nh_cross, nh_norm, nh_transpose;
nh_vector_function nh_absolute, nh_sign, nh_smallest, nh_largest; /* piecewise.c */
nh_vector_function nh_turn, nh_body_rate, nh_space_rate, nh_yaw, nh_pitch, nh_roll; /* rotation.c */

#endif
