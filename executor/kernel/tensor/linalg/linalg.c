/*
 * Factorizations and solutions, by LAPACK. A tall matrix is cut into blocks of rows. Each is factored, then what is
 * left of all of them, and the same within a chunk, by blocks that stay in the cache. The method is TSQR (Demmel,
 * Grigori, Hoemmen, Langou: "Communication-optimal parallel and sequential QR and LU factorizations", 2012).
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/simd/tensor/tensor_move.h"
#include "kernel/tensor/call.h"
#include "kernel/tensor/linalg/lapack.h"
#include "kernel/tensor/linalg/linalg.h"

#define CACHE_DOUBLES 32768 /* of a block of rows */

/* ---- matrices ---- */

/* rows x columns, row after row. */
struct matrix {
    int64_t rows;
    int64_t columns;
    double *values; /* scratch */
};

static void
matrix_fini(struct matrix *m)
{
    scratch_free(m->values);
    m->values = NULL;
}

static granary_err
matrix_init(struct matrix *m, int64_t rows, int64_t columns)
{
    int64_t elements;

    *m = (struct matrix){.rows = rows, .columns = columns};
    if (rows > INT_MAX / 2 || columns > INT_MAX / 2 || __builtin_mul_overflow(rows, columns, &elements)) {
        return gr_fail(GRANARY_EINVAL, "a matrix of %lld x %lld is larger than LAPACK takes", (long long)rows,
                       (long long)columns);
    }
    m->values = scratch_alloc(((size_t)elements + 1) * sizeof *m->values);
    return m->values == NULL ? gr_no_memory("a factorization") : GRANARY_OK;
}

/* Copy rows into columns: out is LAPACK's order of the same matrix. */
static void
matrix_turn(double *out, const double *in, int64_t rows, int64_t columns)
{
    if (rows > 0 && columns > 0) {
        SIMD_CALL(tensor_transpose)
        ((uint64_t *)(void *)out, rows, (const uint64_t *)(const void *)in, columns, columns, rows);
    }
}

/* Inputs [first, first + count) below one another, as float64. A vector is a column. */
static granary_err
read_matrix(const struct gr_kernel_call *call, size_t first, size_t count, struct matrix *ret_matrix)
{
    int64_t rows = 0;
    int64_t columns = -1;
    double *at;
    granary_err err;

    for (size_t i = first; i < first + count; i++) {
        const granary_tensor *tensor = &call->inputs[i].tensor.view;
        int64_t width = tensor->dims == 2 ? tensor->shape[1] : 1;

        if (tensor->dims < 1 || tensor->dims > 2 || (columns >= 0 && width != columns) || tensor->shape[0] > INT_MAX) {
            return gr_fail(GRANARY_EINVAL, "input %zu is no matrix of %lld columns", i, (long long)columns);
        }
        columns = width;
        rows += tensor->shape[0];
    }
    err = matrix_init(ret_matrix, rows, columns);
    at = ret_matrix->values;
    for (size_t i = first; i < first + count && err == GRANARY_OK; i++) {
        const granary_tensor *tensor = &call->inputs[i].tensor.view;
        int64_t elements = gr_tensor_elements(tensor);
        const double *values = tensor_doubles(tensor, elements, at);

        if (values != at && elements > 0) {
            memcpy(at, values, (size_t)elements * sizeof *at);
        }
        at += elements;
    }
    return err;
}

static granary_err
matrix_give(struct gr_kernel_call *call, size_t output, int dims, int64_t rows, int64_t columns, double **ret_values)
{
    const int64_t shape[2] = {rows, columns};
    granary_err err = gr_tensor_alloc(GRANARY_FLOAT64, dims, shape, &call->outputs[output].tensor);

    if (err == GRANARY_OK) {
        call->outputs[output].kind = GR_VALUE_TENSOR;
        *ret_values = call->outputs[output].tensor.owned;
    }
    return err;
}

/* ---- QR ---- */

/* Of a block in LAPACK's order: q (rows x k, in LAPACK's order, in place) and r (k x columns, row after row), k the
 * smaller of rows and columns. */
static granary_err
qr_block(double *a, int64_t rows, int64_t columns, double *r)
{
    int m = (int)rows, n = (int)columns, k = m < n ? m : n;
    int info = 0;
    int size = 64 * (n > 0 ? n : 1);
    double *work = scratch_alloc(((size_t)size + (size_t)k + 1) * sizeof *work);
    double *tau;

    if (work == NULL) {
        return gr_no_memory("a factorization");
    }
    tau = work + size;
    if (k > 0) {
        dgeqrf_(&m, &n, a, &m, tau, work, &size, &info);
        for (int i = 0; i < k; i++) {
            for (int j = 0; j < n; j++) {
                r[(size_t)i * (size_t)n + (size_t)j] = j < i ? 0 : a[(size_t)j * (size_t)m + (size_t)i];
            }
        }
        dorgqr_(&m, &k, &k, a, &m, tau, work, &size, &info);
    }
    scratch_free(work);
    return info == 0 ? GRANARY_OK : gr_fail(GRANARY_EFAILED, "LAPACK refuses the matrix (%d)", info);
}

/* Rows of a block within a chunk. */
static int64_t
block_rows(const struct matrix *a)
{
    int64_t rows = CACHE_DOUBLES / (a->columns > 0 ? a->columns : 1);

    rows = rows < 4 * a->columns ? 4 * a->columns : rows;
    return a->rows < 2 * rows ? (a->rows > 0 ? a->rows : 1) : rows;
}

/*
 * q (rows x k) and r (k x columns) of a, row after row. a->values is used up.
 */
static granary_err
matrix_qr(struct matrix *a, double *q, double *r)
{
    int64_t n = a->columns;
    int64_t height = block_rows(a);
    int64_t blocks = a->rows == 0 ? 1 : a->rows / height; /* the last one takes what is left */
    struct matrix turned = {0};
    struct matrix stack = {0};
    double *inner = NULL; /* q of the stack */
    granary_err err = matrix_init(&turned, a->rows, n);

    if (err == GRANARY_OK && blocks > 1) {
        err = matrix_init(&stack, blocks * n, n);
        inner = scratch_alloc((size_t)(blocks * n * n + 1) * sizeof *inner);
        err = err == GRANARY_OK && inner == NULL ? gr_no_memory("a factorization") : err;
    }
    for (int64_t b = 0; b < blocks && err == GRANARY_OK; b++) {
        int64_t rows = b + 1 < blocks ? height : a->rows - b * height;
        double *block = turned.values + b * height * n;

        matrix_turn(block, a->values + b * height * n, rows, n);
        err = qr_block(block, rows, n, blocks == 1 ? r : stack.values + b * n * n);
    }
    if (err == GRANARY_OK && blocks == 1) {
        int64_t k = a->rows < n ? a->rows : n;

        matrix_turn(q, turned.values, k, a->rows); /* back */
    } else if (err == GRANARY_OK) {
        err = matrix_qr(&stack, inner, r);
        for (int64_t b = 0; b < blocks && err == GRANARY_OK && n > 0; b++) {
            int64_t rows = b + 1 < blocks ? height : a->rows - b * height;

            cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)rows, (int)n, (int)n, 1.0,
                        turned.values + b * height * n, (int)rows, inner + b * n * n, (int)n, 0.0, q + b * height * n,
                        (int)n);
        }
    }
    scratch_free(inner);
    matrix_fini(&stack);
    matrix_fini(&turned);
    return err;
}

granary_err
kernel_qr(struct gr_kernel_call *call, const struct gr_chunk_qr *params)
{
    struct matrix a = {0};
    double *q, *r;
    int64_t k;
    granary_err err;

    (void)params;
    if (call->output_count != 2 || call->input_count == 0) {
        return gr_fail(GRANARY_EINVAL, "%zu inputs and %zu outputs do not fit the operator", call->input_count,
                       call->output_count);
    }
    openblas_set_num_threads(1); /* executors are the parallelism */
    err = tensor_inputs_check(call, 1, SIZE_MAX);
    if (err == GRANARY_OK) {
        err = read_matrix(call, 0, call->input_count, &a);
    }
    if (err == GRANARY_OK) {
        k = a.rows < a.columns ? a.rows : a.columns;
        err = matrix_give(call, 0, 2, a.rows, k, &q);
    }
    if (err == GRANARY_OK && (err = matrix_give(call, 1, 2, k, a.columns, &r)) == GRANARY_OK) {
        err = matrix_qr(&a, q, r);
    }
    matrix_fini(&a);
    return err;
}

/* ---- singular values ---- */

granary_err
kernel_svd(struct gr_kernel_call *call, const struct gr_chunk_svd *params)
{
    struct matrix a = {0};
    double *u, *s, *vt;
    int m, n, k, info = 0, size = -1;
    double wanted = 0;
    double *work = NULL;
    int *integers = NULL;
    granary_err err;

    (void)params;
    if (call->output_count != 3 || call->input_count == 0) {
        return gr_fail(GRANARY_EINVAL, "%zu inputs and %zu outputs do not fit the operator", call->input_count,
                       call->output_count);
    }
    openblas_set_num_threads(1);
    err = tensor_inputs_check(call, 1, SIZE_MAX);
    if (err == GRANARY_OK) {
        err = read_matrix(call, 0, call->input_count, &a);
    }
    if (err != GRANARY_OK) {
        matrix_fini(&a);
        return err;
    }
    /* A matrix row after row is its transpose in LAPACK's order: there u and v change places. */
    m = (int)a.columns;
    n = (int)a.rows;
    k = m < n ? m : n;
    for (int64_t i = 0; i < a.rows * a.columns && err == GRANARY_OK; i++) {
        err = isfinite(a.values[i]) ? GRANARY_OK : gr_fail(GRANARY_EFAILED, "the matrix has NaN or infinities");
    }
    if (err == GRANARY_OK && (err = matrix_give(call, 0, 2, n, k, &u)) == GRANARY_OK &&
        (err = matrix_give(call, 1, 1, k, 0, &s)) == GRANARY_OK &&
        (err = matrix_give(call, 2, 2, k, m, &vt)) == GRANARY_OK && k > 0) {
        integers = scratch_alloc(8 * (size_t)k * sizeof *integers);
        dgesdd_("S", &m, &n, a.values, &m, s, vt, &m, u, &k, &wanted, &size, integers, &info);
        size = (int)wanted + 1;
        work = scratch_alloc((size_t)size * sizeof *work);
        if (work == NULL || integers == NULL) {
            err = gr_no_memory("a factorization");
        } else {
            dgesdd_("S", &m, &n, a.values, &m, s, vt, &m, u, &k, work, &size, integers, &info);
        }
    }
    if (err == GRANARY_OK && info != 0) {
        err = gr_fail(GRANARY_EFAILED, "the singular values do not converge");
    }
    scratch_free(work);
    scratch_free(integers);
    matrix_fini(&a);
    return err;
}

/* ---- square matrices ---- */

static granary_err
need_square(const struct matrix *a)
{
    return a->rows == a->columns ? GRANARY_OK
                                 : gr_fail(GRANARY_EINVAL, "it needs a square matrix, not one of %lld x %lld",
                                           (long long)a->rows, (long long)a->columns);
}

static granary_err
fail_singular(int pivot)
{
    return gr_fail(GRANARY_EFAILED, "the matrix is singular: pivot %d is 0", pivot);
}

/* A call at work: a, maybe b, and the result. */
struct linalg {
    struct gr_kernel_call *call;
    const struct gr_chunk_linalg *params;
    struct matrix a;
    struct matrix b;
    bool vector; /* b is one */
    double *out;
};

static granary_err
linalg_cholesky(struct linalg *l)
{
    int n = (int)l->a.rows, info = 0;
    granary_err err = need_square(&l->a);

    if (err == GRANARY_OK && (err = matrix_give(l->call, 0, 2, n, n, &l->out)) == GRANARY_OK && n > 0) {
        dpotrf_("U", &n, l->a.values, &n, &info); /* the lower one, row after row */
        if (info > 0) {
            return gr_fail(GRANARY_EFAILED, "the matrix is not positive definite: its leading part of %d rows is not",
                           info);
        }
        for (int i = 0; i < n; i++) {
            memcpy(l->out + (size_t)i * (size_t)n, l->a.values + (size_t)i * (size_t)n,
                   ((size_t)i + 1) * sizeof *l->out);
        }
    }
    return err;
}

/* a becomes its factors, in LAPACK's order of the transpose. */
static granary_err
matrix_factor(struct linalg *l, int **ret_pivots, int *ret_info)
{
    int m = (int)l->a.columns, n = (int)l->a.rows;

    *ret_pivots = scratch_alloc(((size_t)(m < n ? m : n) + 1) * sizeof **ret_pivots);
    if (*ret_pivots == NULL) {
        return gr_no_memory("a factorization");
    }
    *ret_info = 0;
    if (m > 0 && n > 0) {
        dgetrf_(&m, &n, l->a.values, &m, *ret_pivots, ret_info);
    }
    return GRANARY_OK;
}

static granary_err
linalg_determinant(struct linalg *l)
{
    int *pivots = NULL;
    int info = 0;
    double product = 1;
    granary_err err = need_square(&l->a);

    if (err == GRANARY_OK && (err = matrix_give(l->call, 0, 0, 0, 0, &l->out)) == GRANARY_OK) {
        err = matrix_factor(l, &pivots, &info);
    }
    for (int64_t i = 0; i < l->a.rows && err == GRANARY_OK; i++) {
        product *= l->a.values[i * l->a.rows + i] * (pivots[i] == i + 1 ? 1 : -1);
    }
    if (err == GRANARY_OK) {
        l->out[0] = product;
    }
    scratch_free(pivots);
    return err;
}

static granary_err
linalg_inverse(struct linalg *l)
{
    int n = (int)l->a.rows, info = 0, size = 64 * (n > 0 ? n : 1);
    int *pivots = NULL;
    double *work = scratch_alloc((size_t)size * sizeof *work);
    granary_err err = work == NULL ? gr_no_memory("a factorization") : need_square(&l->a);

    if (err == GRANARY_OK && (err = matrix_give(l->call, 0, 2, n, n, &l->out)) == GRANARY_OK) {
        err = matrix_factor(l, &pivots, &info);
    }
    if (err == GRANARY_OK && info > 0) {
        err = fail_singular(info);
    }
    if (err == GRANARY_OK && n > 0) {
        dgetri_(&n, l->a.values, &n, pivots, work, &size, &info);
        memcpy(l->out, l->a.values, (size_t)n * (size_t)n * sizeof *l->out);
    }
    scratch_free(work);
    scratch_free(pivots);
    return err;
}

static granary_err
check_right_side(const struct linalg *l)
{
    return l->b.rows == l->a.rows ? GRANARY_OK
                                  : gr_fail(GRANARY_EINVAL, "a right side of %lld rows does not fit a matrix of %lld",
                                            (long long)l->b.rows, (long long)l->a.rows);
}

/* The right side in LAPACK's order; to be given to scratch_free(). */
static double *
turned_right_side(const struct linalg *l, int64_t room_rows)
{
    double *b = scratch_alloc((size_t)(room_rows * l->b.columns + 1) * sizeof *b);

    for (int64_t c = 0; b != NULL && c < l->b.columns; c++) {
        for (int64_t r = 0; r < room_rows; r++) {
            b[c * room_rows + r] = r < l->b.rows ? l->b.values[r * l->b.columns + c] : 0;
        }
    }
    return b;
}

static granary_err
give_solution(struct linalg *l, const double *b, int64_t rows, int64_t room_rows)
{
    granary_err err = matrix_give(l->call, 0, l->vector ? 1 : 2, rows, l->b.columns, &l->out);

    for (int64_t r = 0; r < rows && err == GRANARY_OK; r++) {
        for (int64_t c = 0; c < l->b.columns; c++) {
            l->out[r * l->b.columns + c] = b[c * room_rows + r];
        }
    }
    return err;
}

static granary_err
linalg_solve(struct linalg *l)
{
    int n = (int)l->a.rows, columns = (int)l->b.columns, info = 0;
    int *pivots = NULL;
    double *b = NULL;
    granary_err err = need_square(&l->a);

    if (err == GRANARY_OK && (err = check_right_side(l)) == GRANARY_OK) {
        err = matrix_factor(l, &pivots, &info);
    }
    if (err == GRANARY_OK && info > 0) {
        err = fail_singular(info);
    }
    if (err == GRANARY_OK && (b = turned_right_side(l, n)) == NULL) {
        err = gr_no_memory("a factorization");
    }
    if (err == GRANARY_OK && n > 0 && columns > 0) {
        dgetrs_("T", &n, &columns, l->a.values, &n, pivots, b, &n, &info);
    }
    if (err == GRANARY_OK) {
        err = give_solution(l, b, n, n);
    }
    scratch_free(b);
    scratch_free(pivots);
    return err;
}

static granary_err
solve_triangular(struct linalg *l)
{
    int n = (int)l->a.rows, columns = (int)l->b.columns, info = 0;
    double *b = NULL;
    granary_err err = need_square(&l->a);

    if (err == GRANARY_OK && (err = check_right_side(l)) == GRANARY_OK && (b = turned_right_side(l, n)) == NULL) {
        err = gr_no_memory("a factorization");
    }
    if (err == GRANARY_OK && n > 0 && columns > 0) {
        dtrtrs_(l->params->lower ? "U" : "L", "T", "N", &n, &columns, l->a.values, &n, b, &n, &info);
        err = info > 0 ? fail_singular(info) : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = give_solution(l, b, n, n);
    }
    scratch_free(b);
    return err;
}

/* The shortest of those that fit best, by singular values; those below rcond of the largest count as 0. */
static granary_err
least_squares(struct linalg *l)
{
    int m = (int)l->a.rows, n = (int)l->a.columns, columns = (int)l->b.columns;
    int room = m > n ? m : n, k = m < n ? m : n, rank = 0, info = 0, size = -1, whole = 0;
    double rcond = l->params->rcond == NULL ? 0x1p-52 * (double)room : gr_attr_number(l->params->rcond);
    double wanted = 0;
    double *a = scratch_alloc(((size_t)m * (size_t)n + 1) * sizeof *a);
    double *b = NULL, *work = NULL;
    double *s = scratch_alloc(((size_t)k + 1) * sizeof *s);
    int *integers = NULL;
    granary_err err = check_right_side(l);

    if (err == GRANARY_OK && (a == NULL || s == NULL || (b = turned_right_side(l, room)) == NULL)) {
        err = gr_no_memory("a factorization");
    }
    if (err == GRANARY_OK && k > 0 && columns > 0) {
        matrix_turn(a, l->a.values, m, n);
        dgelsd_(&m, &n, &columns, a, &m, b, &room, s, &rcond, &rank, &wanted, &size, &whole, &info);
        size = (int)wanted + 1;
        work = scratch_alloc((size_t)size * sizeof *work);
        integers = scratch_alloc(((size_t)whole + 1) * sizeof *integers);
        if (work == NULL || integers == NULL) {
            err = gr_no_memory("a factorization");
        } else {
            dgelsd_(&m, &n, &columns, a, &m, b, &room, s, &rcond, &rank, work, &size, integers, &info);
            err = info > 0 ? gr_fail(GRANARY_EFAILED, "the singular values do not converge") : GRANARY_OK;
        }
    }
    if (err == GRANARY_OK) {
        err = give_solution(l, b, n, room);
    }
    scratch_free(a);
    scratch_free(b);
    scratch_free(s);
    scratch_free(work);
    scratch_free(integers);
    return err;
}

/* p, l or u of a = p l u: LAPACK's order is that of the transpose, so a turned copy is factored. */
static granary_err
lu(struct linalg *l)
{
    const char *part = l->params->part;
    int m = (int)l->a.rows, n = (int)l->a.columns, k = m < n ? m : n, info = 0;
    double *a = scratch_alloc(((size_t)m * (size_t)n + 1) * sizeof *a);
    int *pivots = scratch_alloc(((size_t)k + (size_t)m + 1) * sizeof *pivots);
    int *order = pivots + k;
    granary_err err = a == NULL || pivots == NULL ? gr_no_memory("a factorization") : GRANARY_OK;

    if (err == GRANARY_OK && k > 0) {
        matrix_turn(a, l->a.values, m, n);
        dgetrf_(&m, &n, a, &m, pivots, &info);
    }
    if (err == GRANARY_OK && part[0] == 'p' && (err = matrix_give(l->call, 0, 2, m, m, &l->out)) == GRANARY_OK) {
        for (int i = 0; i < m; i++) {
            order[i] = i;
        }
        for (int i = 0; i < k; i++) {
            int other = order[pivots[i] - 1];

            order[pivots[i] - 1] = order[i];
            order[i] = other;
        }
        for (int i = 0; i < m; i++) {
            l->out[(size_t)order[i] * (size_t)m + (size_t)i] = 1;
        }
    } else if (err == GRANARY_OK && part[0] == 'l' && (err = matrix_give(l->call, 0, 2, m, k, &l->out)) == GRANARY_OK) {
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < k && j <= i; j++) {
                l->out[(size_t)i * (size_t)k + (size_t)j] = j == i ? 1 : a[(size_t)j * (size_t)m + (size_t)i];
            }
        }
    } else if (err == GRANARY_OK && part[0] == 'u' && (err = matrix_give(l->call, 0, 2, k, n, &l->out)) == GRANARY_OK) {
        for (int i = 0; i < k; i++) {
            for (int j = i; j < n; j++) {
                l->out[(size_t)i * (size_t)n + (size_t)j] = a[(size_t)j * (size_t)m + (size_t)i];
            }
        }
    }
    scratch_free(a);
    scratch_free(pivots);
    return err;
}

/* Of a symmetric matrix; its lower part counts. */
static granary_err
eigh(struct linalg *l)
{
    bool vectors = strcmp(l->params->part, "v") == 0;
    int n = (int)l->a.rows, info = 0, size = -1, integer_size = -1, whole = 0;
    double wanted = 0;
    double *w = scratch_alloc(((size_t)n + 1) * sizeof *w);
    double *work = NULL;
    int *integers = NULL;
    granary_err err = w == NULL ? gr_no_memory("a factorization") : need_square(&l->a);

    if (err == GRANARY_OK && n > 0) {
        dsyevd_(vectors ? "V" : "N", "U", &n, l->a.values, &n, w, &wanted, &size, &whole, &integer_size, &info);
        size = (int)wanted + 1;
        integer_size = whole + 1;
        work = scratch_alloc((size_t)size * sizeof *work);
        integers = scratch_alloc((size_t)integer_size * sizeof *integers);
        if (work == NULL || integers == NULL) {
            err = gr_no_memory("a factorization");
        } else {
            dsyevd_(vectors ? "V" : "N", "U", &n, l->a.values, &n, w, work, &size, integers, &integer_size, &info);
            err = info > 0 ? gr_fail(GRANARY_EFAILED, "the eigenvalues do not converge") : GRANARY_OK;
        }
    }
    if (err == GRANARY_OK && vectors && (err = matrix_give(l->call, 0, 2, n, n, &l->out)) == GRANARY_OK) {
        matrix_turn(l->out, l->a.values, n, n);
    } else if (err == GRANARY_OK && !vectors && (err = matrix_give(l->call, 0, 1, n, 0, &l->out)) == GRANARY_OK) {
        memcpy(l->out, w, (size_t)n * sizeof *w);
    }
    scratch_free(w);
    scratch_free(work);
    scratch_free(integers);
    return err;
}

granary_err
kernel_linalg(struct gr_kernel_call *call, const struct gr_chunk_linalg *params)
{
    static const struct {
        const char *name;
        granary_err (*run)(struct linalg *l);
        size_t inputs;
    } functions[] = {
        {"cholesky", linalg_cholesky, 1},
        {"det", linalg_determinant, 1},
        {"inv", linalg_inverse, 1},
        {"solve", linalg_solve, 2},
        {"solve_triangular", solve_triangular, 2},
        {"lstsq", least_squares, 2},
        {"lu", lu, 1},
        {"eigh", eigh, 1},
    };
    const char *name = params->function;
    struct linalg l = {.call = call, .params = params};
    bool is_complex = strcmp(name, "eig") == 0;
    size_t f = 0;
    granary_err err;

    for (size_t i = 0; i < call->input_count; i++) {
        is_complex = is_complex || (call->inputs[i].kind == GR_VALUE_TENSOR &&
                                    gr_dtype_is_complex(call->inputs[i].tensor.view.dtype));
    }
    if (is_complex) {
        openblas_set_num_threads(1);
        return linalg_complex(call, params);
    }
    while (f < sizeof functions / sizeof functions[0] && strcmp(functions[f].name, name) != 0) {
        f++;
    }
    if (f == sizeof functions / sizeof functions[0]) {
        return gr_fail(GRANARY_EINVAL, "no function '%s'", name);
    }
    openblas_set_num_threads(1);
    err = tensor_call_check(call, functions[f].inputs, functions[f].inputs);
    if (err == GRANARY_OK) {
        err = read_matrix(call, 0, 1, &l.a);
    }
    if (err == GRANARY_OK && functions[f].inputs == 2) {
        l.vector = call->inputs[1].tensor.view.dims == 1;
        err = read_matrix(call, 1, 1, &l.b);
    }
    if (err == GRANARY_OK) {
        err = functions[f].run(&l);
    }
    matrix_fini(&l.a);
    matrix_fini(&l.b);
    return err;
}
