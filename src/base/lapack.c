/* Dense matrices by LAPACK: see lapack.h. LAPACK stores columns, so it is given the transposed
 * matrices. */
#include "base/lapack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef NH_HAVE_LAPACK
#include <dlfcn.h>
#include <pthread.h>

typedef void dgesvd_function(const char *jobu, const char *jobvt, const int *m, const int *n,
                             double *a, const int *lda, double *s, double *u, const int *ldu,
                             double *vt, const int *ldvt, double *work, const int *lwork,
                             int *info);
typedef void dgeevx_function(const char *balance, const char *jobvl, const char *jobvr,
                             const char *sense, const int *n, double *a, const int *lda, double *wr,
                             double *wi, double *vl, const int *ldvl, double *vr, const int *ldvr,
                             int *ilo, int *ihi, double *scale, double *norm, double *rconde,
                             double *rcondv, double *work, const int *lwork, int *iwork, int *info);
typedef void dgges_function(const char *jobvsl, const char *jobvsr, const char *sort,
                            int (*select)(const double *, const double *, const double *),
                            const int *n, double *a, const int *lda, double *b, const int *ldb,
                            int *sdim, double *alphar, double *alphai, double *beta, double *vsl,
                            const int *ldvsl, double *vsr, const int *ldvsr, double *work,
                            const int *lwork, int *bwork, int *info);
static dgesvd_function *dgesvd;
static dgeevx_function *dgeevx;
static dgges_function *dgges;

static void load(void)
{
    void *lapack = dlopen(NH_LAPACK_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!lapack)
        return;
    *(void **)&dgesvd = dlsym(lapack, "dgesvd_");
    *(void **)&dgeevx = dlsym(lapack, "dgeevx_");
    *(void **)&dgges = dlsym(lapack, "dgges_");
}

bool nh_have_lapack(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return dgesvd && dgeevx && dgges;
}

/* The singular values of the transposed matrix, columns x rows; a is destroyed. */
static bool call_svd(nh_svd *out, double *a)
{
    const int rows = out->rows > 0 ? out->rows : 1, columns = out->columns > 0 ? out->columns : 1;
    const int values = out->values > 0 ? out->values : 1;
    int query = -1, info;
    double size;
    dgesvd("A", "S", &out->columns, &out->rows, a, &columns, out->value, out->right, &columns,
           out->left, &values, &size, &query, &info);
    const int length = (int)size;
    double *work = malloc(((size_t)length + 1) * sizeof *work);
    /* LAPACK returns the left vectors as columns of a values x rows matrix */
    double *left = calloc((size_t)values * (size_t)rows, sizeof *left);
    if (work && left) {
        dgesvd("A", "S", &out->columns, &out->rows, a, &columns, out->value, out->right, &columns,
               left, &values, work, &length, &info);
        for (int i = 0; i < out->values; i++)
            for (int j = 0; j < out->rows; j++)
                out->left[i * out->rows + j] = left[j * values + i];
    }
    const bool ok = work && left && info == 0;
    free(work);
    free(left);
    return ok;
}

/* CMPLX of C11, which clang does not have with the headers of glibc. */
static double complex complex_of(double re, double im)
{
    const double part[2] = {re, im};
    double complex z;
    memcpy(&z, part, sizeof z);
    return z;
}

static void take_eigenvectors(int n, const double *wi, const double *columns,
                              double complex *vectors)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double *re = columns + (size_t)i * (size_t)n;
            vectors[i * n + j] = wi[i] == 0  ? re[j]
                                 : wi[i] > 0 ? complex_of(re[j], re[n + j])
                                             : complex_of(re[j - n], -re[j]);
        }
}

/* `space` has room for n (3 n + 6) numbers; a is destroyed. */
static bool call_eigen(nh_eigen *out, double *a, double *space)
{
    const int n = out->n;
    const size_t N = (size_t)n;
    double *wr = space, *wi = wr + N, *scale = wi + N, *conde = scale + N, *condv = conde + N;
    double *vl = condv + N, *vr = vl + N * N, norm, size;
    int *iwork = malloc((2 * N + 1) * sizeof *iwork), low, high, info = 1, query = -1;
    dgeevx("B", "V", "V", "E", &n, a, &n, wr, wi, vl, &n, vr, &n, &low, &high, scale, &norm, conde,
           condv, &size, &query, iwork, &info);
    const int length = (int)size;
    double *work = malloc(((size_t)length + 1) * sizeof *work);
    if (work && iwork)
        dgeevx("B", "V", "V", "E", &n, a, &n, wr, wi, vl, &n, vr, &n, &low, &high, scale, &norm,
               conde, condv, work, &length, iwork, &info);
    const bool ok = work && iwork && info == 0;
    for (int i = 0; ok && i < n; i++) {
        out->value[i] = complex_of(wr[i], wi[i]);
        out->condition[i] = 1 / conde[i];
    }
    if (ok) {
        take_eigenvectors(n, wi, vr, out->right);
        take_eigenvectors(n, wi, vl, out->left);
    }
    free(work);
    free(iwork);
    return ok;
}

static int is_inside(const double *re, const double *im, const double *beta)
{
    return hypot(*re, *im) < fabs(*beta);
}

/* Columns of the pencil in `a` and `b`, which are destroyed; `space` has room for 3 n numbers. */
static bool call_qz(int n, double *a, double *b, double *space, int *count, double *basis)
{
    const int one = 1;
    int *bwork = malloc(((size_t)n + 1) * sizeof *bwork), info = 1, query = -1;
    double size, *re = space, *im = re + n, *beta = im + n;
    dgges("N", "V", "S", is_inside, &n, a, &n, b, &n, count, re, im, beta, NULL, &one, basis, &n,
          &size, &query, bwork, &info);
    const int length = (int)size;
    double *work = malloc(((size_t)length + 1) * sizeof *work);
    if (work && bwork)
        dgges("N", "V", "S", is_inside, &n, a, &n, b, &n, count, re, im, beta, NULL, &one, basis,
              &n, work, &length, bwork, &info);
    const bool ok = work && bwork && (info == 0 || info == n + 2); /* rounding after sorting */
    free(work);
    free(bwork);
    return ok;
}
#else
bool nh_have_lapack(void)
{
    return false;
}

static bool call_qz(int n, double *a, double *b, double *space, int *count, double *basis)
{
    (void)n;
    (void)a;
    (void)b;
    (void)space;
    (void)count;
    (void)basis;
    return false;
}

static bool call_svd(nh_svd *out, double *a)
{
    (void)out;
    (void)a;
    return false;
}

static bool call_eigen(nh_eigen *out, double *a, double *space)
{
    (void)out;
    (void)a;
    (void)space;
    return false;
}
#endif

/* ---- singular values ---- */

bool nh_svd_find(nh_svd *out, int rows, int columns, const double *a)
{
    const size_t R = (size_t)rows, C = (size_t)columns, least = R < C ? R : C;
    *out = (nh_svd){.rows = rows, .columns = columns, .values = (int)least};
    double *memory = calloc(least * (1 + R) + C * C + R * C + 2, sizeof *memory);
    if (!memory)
        return false;
    out->value = memory;
    out->left = memory + least + 1;
    out->right = out->left + least * R;
    double *copy = out->right + C * C;
    memcpy(copy, a, R * C * sizeof *a);
    if (least > 0)
        return nh_have_lapack() && call_svd(out, copy);
    for (size_t i = 0; i < C; i++)
        out->right[i * C + i] = 1;
    return true;
}

void nh_svd_free(nh_svd *svd)
{
    free(svd->value);
    *svd = (nh_svd){0};
}

int nh_svd_rank(const nh_svd *svd, double tolerance)
{
    int rank = 0;
    while (rank < svd->values && svd->value[rank] > tolerance * svd->value[0])
        rank++;
    return rank;
}

void nh_svd_solve(const nh_svd *svd, int rank, const double *b, double *x)
{
    memset(x, 0, (size_t)svd->columns * sizeof *x);
    for (int i = 0; i < rank; i++) {
        double along = 0;
        for (int j = 0; j < svd->rows; j++)
            along += svd->left[i * svd->rows + j] * b[j];
        for (int j = 0; j < svd->columns; j++)
            x[j] += along / svd->value[i] * svd->right[i * svd->columns + j];
    }
}

/* ---- eigenvalues ---- */

bool nh_eigen_find(nh_eigen *out, int n, const double *a)
{
    const size_t N = (size_t)n;
    *out = (nh_eigen){.n = n};
    out->value = calloc(N + 2 * N * N + 1, sizeof *out->value);
    out->condition = calloc(N + 1, sizeof *out->condition);
    double *copy = malloc((N * N + N * (3 * N + 6) + 1) * sizeof *copy);
    bool ok = nh_have_lapack() && out->value && out->condition && copy;
    if (ok) {
        out->right = out->value + N;
        out->left = out->right + N * N;
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++)
                copy[j * N + i] = a[i * N + j];
        ok = n == 0 || call_eigen(out, copy, copy + N * N);
    }
    free(copy);
    return ok;
}

void nh_eigen_free(nh_eigen *eigen)
{
    free(eigen->value);
    free(eigen->condition);
    *eigen = (nh_eigen){0};
}

/* ---- pencils ---- */

bool nh_stable_subspace(int n, const double *a, const double *b, int *count, double *basis)
{
    const size_t N = (size_t)n;
    double *columns = malloc((2 * N * N + 3 * N + 1) * sizeof *columns);
    for (size_t i = 0; columns && i < N; i++)
        for (size_t j = 0; j < N; j++) {
            columns[j * N + i] = a[i * N + j];
            columns[N * N + j * N + i] = b[i * N + j];
        }
    const bool ok = nh_have_lapack() && columns &&
                    call_qz(n, columns, columns + N * N, columns + 2 * N * N, count, basis);
    free(columns);
    return ok;
}
