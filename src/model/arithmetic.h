/* Arithmetic of the model language, shared by expand.c, arithmetic.c and vector.c. Every function
 * returns 0 after a failure, which is in x->status. */
#ifndef NH_MODEL_ARITHMETIC_H
#define NH_MODEL_ARITHMETIC_H

#include "model/expand.h"

static inline nh_value nh_number_value(double number)
{
    return (nh_value){.number = number};
}

/* Each expands one kind of expression. */
nh_value nh_expand_sum(nh_expander *x, const nh_ast *ast);
nh_value nh_expand_product(nh_expander *x, const nh_ast *ast);
nh_value nh_expand_power(nh_expander *x, const nh_ast *ast);
nh_value nh_expand_loop(nh_expander *x, const nh_ast *ast);
nh_value nh_expand_builtin(nh_expander *x, const nh_ast *ast);

/* Converts an expression of the graph to a value (a number if it is one), and back. */
nh_value nh_as_value(nh_expander *x, const nh_ast *ast, nh_expr expr);
nh_expr nh_value_expr(nh_expander *x, nh_value value);

/* a1 b1 + a2 b2 + ... of single values, `stride` apart in b. */
nh_value nh_sum_of_products(nh_expander *x, const nh_ast *ast, const nh_value *a, const nh_value *b,
                            int64_t stride, int64_t count);
/* A function of one or two single values. */
nh_value nh_function_of(nh_expander *x, const nh_ast *ast, nh_function f, nh_value a, nh_value b);
nh_value nh_square_root(nh_expander *x, const nh_ast *ast, nh_value value);

#endif
