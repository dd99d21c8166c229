/* Elimination inside the graph: solutions are solutions, the order keeps the fill low, zeros of the
 * right-hand side are used, and a matrix without a pivot is refused by its row. */
#include "check.h"

#include <stdlib.h>

#include "mechanics/sparse.h"

enum { SIZE = 200 };

/* Each entry is a separate input, so that nothing is folded. */
static uint32_t inputs;
static double input_value[SIZE * SIZE];

static nh_expr entry(nh_graph *g, int row, int column)
{
    input_value[inputs] = row == column ? 4 + 0.1 * (row % 7) : 0.3 + 0.2 * sin(inputs);
    if (row == column && row == 0)
        input_value[inputs] = SIZE; /* definite: the corner of an arrow outweighs the rest */
    return nh_variable(g, NH_X, inputs++);
}

typedef bool pattern(int row, int column);

static bool band(int row, int column)
{
    return abs(row - column) <= 2;
}

/* In its own order elimination fills an arrow that points to the first row. */
static bool arrow(int row, int column)
{
    return row == column || row == 0 || column == 0;
}

static bool full(int row, int column)
{
    (void)row, (void)column;
    return true;
}

static void fill(nh_graph *g, nh_matrix *a, int n, pattern *there)
{
    inputs = 0;
    CHECK(nh_matrix_init(a, n, n));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (there(i, j))
                CHECK(nh_row_append(a->row + i, (uint32_t)j, entry(g, i, j)));
}

static double at(const nh_graph *g, nh_expr e)
{
    double value = NAN;
    CHECK(nh_evaluate(g, &e, 1, 0, NULL, NULL, input_value, &value));
    return value;
}

/* The largest entry of a x - b. */
static double residual(nh_graph *g, const nh_matrix *a, const nh_expr *x, const double *b)
{
    double worst = 0, value[SIZE];
    CHECK(nh_evaluate(g, x, (size_t)a->rows, 0, NULL, NULL, input_value, value));
    for (int i = 0; i < a->rows; i++) {
        double sum = -b[i];
        for (size_t e = 0; e < a->row[i].count; e++)
            sum += at(g, a->row[i].entry[e].value) * value[a->row[i].entry[e].index];
        worst = fmax(worst, fabs(sum));
    }
    return worst;
}

/* `nodes`: how many the factors and a solution may need for each row. */
static void check_solution(int n, pattern *there, double nodes)
{
    nh_graph *g = nh_graph_create(NULL);
    nh_matrix a;
    nh_expr x[SIZE];
    double b[SIZE];
    int singular;
    fill(g, &a, n, there);
    for (int i = 0; i < n; i++) {
        b[i] = cos(i);
        x[i] = nh_number(g, b[i]);
    }
    size_t before = nh_graph_size(g);
    nh_elimination *lu = nh_eliminate(g, &a, NULL, &singular);
    CHECK(lu != NULL && nh_elimination_solve(g, lu, x));
    double each = (double)(nh_graph_size(g) - before) / n;
    double off = residual(g, &a, x, b);
    printf("%d rows, %zu entries: %.1f nodes a row, residual %.1e\n", n, nh_matrix_entries(&a),
           each, off);
    CHECK(each <= nodes);
    CHECK(off < 1e-14); /* measured: 5.1e-16 at most */
    nh_elimination_free(lu);
    nh_matrix_free(&a);
    nh_graph_free(g);
}

/* Rows of a^-1 K^T, where a falls apart into two blocks: what belongs to one does not appear in the
 * other. */
static bool blocks(int row, int column)
{
    return row / 3 == column / 3;
}

static void check_rows(void)
{
    nh_graph *g = nh_graph_create(NULL);
    nh_matrix a, given, out;
    int singular;
    fill(g, &a, 6, blocks);
    nh_elimination *lu = nh_eliminate(g, &a, NULL, &singular);
    CHECK(lu && nh_matrix_init(&given, 2, 6) && nh_matrix_init(&out, 2, 6));
    CHECK(nh_row_append(given.row, 1, nh_number(g, 2)));
    CHECK(nh_row_append(given.row + 1, 4, NH_ONE) && nh_row_append(given.row + 1, 5, NH_ONE));
    CHECK(nh_elimination_solve_rows(g, lu, &given, &out));
    for (int j = 0; j < 2; j++) {
        nh_expr x[SIZE];
        double b[SIZE];
        for (int i = 0; i < 6; i++) {
            x[i] = nh_matrix_at(&out, j, i);
            b[i] = at(g, nh_matrix_at(&given, j, i));
            CHECK((x[i] != NH_ZERO) == (i / 3 == j));
        }
        CHECK(residual(g, &a, x, b) < 1e-14);
    }
    nh_elimination_free(lu);
    nh_matrix_free(&a);
    nh_matrix_free(&given);
    nh_matrix_free(&out);
    nh_graph_free(g);
}

static bool without_row_4(int row, int column)
{
    return band(row, column) && row != 4 && column != 4;
}

static void check_singular(void)
{
    nh_graph *g = nh_graph_create(NULL);
    nh_matrix a;
    int singular = 99;
    fill(g, &a, 9, without_row_4);
    CHECK(nh_eliminate(g, &a, NULL, &singular) == NULL && singular == 4);
    nh_matrix_free(&a);
    nh_graph_free(g);
}

static void check_rows_of_entries(void)
{
    nh_graph *g = nh_graph_create(NULL);
    nh_matrix a;
    nh_expr x = nh_variable(g, NH_Q, 0), y = nh_variable(g, NH_Q, 1), vector[] = {x, y, NH_ONE};
    CHECK(nh_matrix_init(&a, 2, 3));
    CHECK(nh_row_append(a.row, 0, y) && nh_row_append(a.row, 2, x));
    CHECK(nh_row_append(a.row + 1, 1, y) && nh_row_append(a.row + 1, 2, y));
    CHECK(nh_matrix_entries(&a) == 4 && nh_matrix_at(&a, 0, 1) == NH_ZERO);
    CHECK(nh_row_dot(g, a.row, a.row + 1) == nh_multiply(g, x, y));
    CHECK(nh_row_apply(g, a.row, vector) == nh_add(g, nh_multiply(g, x, y), x));
    nh_matrix_free(&a);
    nh_graph_free(g);
}

int main(void)
{
    check_rows_of_entries();
    check_solution(12, full, 200);
    check_solution(SIZE, band, 40);
    check_solution(SIZE, arrow, 20); /* in its own order: hundreds */
    check_rows();
    check_singular();
    return check_end();
}
