/* Factorizations and solutions of complex matrices, and the eigenvalues of any square one, by LAPACK. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/tensor/complex_map.h"
#include "kernel/tensor/linalg/lapack.h"
#include "kernel/tensor/linalg/linalg.h"

typedef double number[2];

/* A call at work: matrices column after column, as LAPACK has them. */
struct work {
    struct gr_kernel_call *call;
    const struct gr_chunk_linalg *params;
    int n;
    int columns; /* of the right side */
    number *a;   /* scratch */
    number *b;
};

static granary_err
no_memory(void)
{
    return gr_no_memory("a factorization");
}

static number *
numbers(int64_t count)
{
    return scratch_alloc(((size_t)count + 1) * sizeof(number));
}

/* An input as complex numbers, column after column. A vector is a column. */
static granary_err
read_numbers(const struct gr_kernel_call *call, size_t input, number **ret_values, int64_t *ret_rows,
             int64_t *ret_columns)
{
    const granary_tensor *tensor = &call->inputs[input].tensor.view;
    int64_t rows = tensor->dims > 0 ? tensor->shape[0] : 0, columns = tensor->dims == 2 ? tensor->shape[1] : 1;
    size_t element = gr_tensor_element(tensor->dtype);
    _Alignas(16) char loaded[16];
    number *values;

    if (tensor->dims < 1 || tensor->dims > 2 || rows > INT_MAX / 2 || columns > INT_MAX / 2) {
        return gr_fail(GRANARY_EINVAL, "input %zu is no matrix that LAPACK takes", input);
    }
    values = numbers(rows * columns);
    if (values == NULL) {
        return no_memory();
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            const char *stored = (const char *)tensor->values + (size_t)(r * columns + c) * element;

            SIMD_CALL(tensor_lane_load)(tensor->dtype, loaded, stored, 1);
            complex_lane_convert(gr_lane_of(tensor->dtype), GR_LANE_Z, values[c * rows + r], loaded, 1);
        }
    }
    *ret_values = values;
    *ret_rows = rows;
    *ret_columns = columns;
    return GRANARY_OK;
}

/* The output, row after row, of a matrix in LAPACK's order; NULL: zeros. */
static granary_err
give(struct gr_kernel_call *call, granary_dtype dtype, int dims, int64_t rows, int64_t columns, number *values)
{
    const int64_t shape[2] = {rows, columns};
    granary_err err = gr_tensor_alloc(dtype, dims, shape, &call->outputs[0].tensor);
    number *out;

    if (err != GRANARY_OK) {
        return err;
    }
    call->outputs[0].kind = GR_VALUE_TENSOR;
    out = call->outputs[0].tensor.owned;
    columns = dims == 2 ? columns : 1;
    for (int64_t r = 0; values != NULL && r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            memcpy(out[r * columns + c], values[c * rows + r], sizeof(number));
        }
    }
    return GRANARY_OK;
}

static granary_err
check_finite(const struct work *w)
{
    for (int64_t i = 0; i < (int64_t)w->n * w->n; i++) {
        if (!isfinite(w->a[i][0]) || !isfinite(w->a[i][1])) {
            return gr_fail(GRANARY_EFAILED, "the matrix has NaN or infinities");
        }
    }
    return GRANARY_OK;
}

/* ---- eigenvalues ---- */

static granary_err
converged(int info)
{
    return info == 0 ? GRANARY_OK : gr_fail(GRANARY_EFAILED, "the eigenvalues do not converge");
}

/* Of a real matrix LAPACK gives pairs of conjugates, and the vector of the first by its parts. */
static granary_err
eig_real(struct work *w, bool vectors, number *values, number *ret_vectors)
{
    int n = w->n, info = 0, one = 1, size = -1;
    int64_t count = (int64_t)n * n;
    double wanted = 0;
    double *a = scratch_alloc(((size_t)(2 * count) + 2 * (size_t)n + 1) * sizeof *a);
    double *v = a + count, *re = v + count, *im = re + n;
    double *work = NULL;
    granary_err err = GRANARY_OK;

    if (a == NULL) {
        return no_memory();
    }
    for (int64_t i = 0; i < count; i++) {
        a[i] = w->a[i][0];
    }
    dgeev_("N", vectors ? "V" : "N", &n, a, &n, re, im, NULL, &one, v, &n, &wanted, &size, &info);
    size = (int)wanted + 1;
    work = scratch_alloc((size_t)size * sizeof *work);
    if (work == NULL) {
        err = no_memory();
    } else {
        dgeev_("N", vectors ? "V" : "N", &n, a, &n, re, im, NULL, &one, v, &n, work, &size, &info);
        err = converged(info);
    }
    for (int k = 0; k < n && err == GRANARY_OK; k++) {
        bool second = im[k] < 0; /* of a pair, which stands behind the first */
        bool first = im[k] > 0;

        values[k][0] = re[k];
        values[k][1] = im[k];
        for (int i = 0; i < n && vectors; i++) {
            ret_vectors[(int64_t)k * n + i][0] = v[(int64_t)(second ? k - 1 : k) * n + i];
            ret_vectors[(int64_t)k * n + i][1] = first    ? v[(int64_t)(k + 1) * n + i]
                                                 : second ? -v[(int64_t)k * n + i]
                                                          : 0;
        }
    }
    scratch_free(work);
    scratch_free(a);
    return err;
}

static granary_err
eig_complex(struct work *w, bool vectors, number *values, number *ret_vectors)
{
    int n = w->n, info = 0, one = 1, size = -1;
    number wanted = {0, 0};
    double *more = scratch_alloc((2 * (size_t)n + 1) * sizeof *more);
    number *work = NULL;
    granary_err err = more == NULL ? no_memory() : GRANARY_OK;

    if (err == GRANARY_OK) {
        zgeev_("N", vectors ? "V" : "N", &n, *w->a, &n, *values, NULL, &one, *ret_vectors, &n, wanted, &size, more,
               &info);
        size = (int)wanted[0] + 1;
        work = numbers(size);
        err = work == NULL ? no_memory() : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        zgeev_("N", vectors ? "V" : "N", &n, *w->a, &n, *values, NULL, &one, *ret_vectors, &n, *work, &size, more,
               &info);
        err = converged(info);
    }
    scratch_free(work);
    scratch_free(more);
    return err;
}

static granary_err
eig(struct work *w)
{
    bool vectors = strcmp(w->params->part, "v") == 0;
    bool real = !gr_dtype_is_complex(w->call->inputs[0].tensor.view.dtype);
    number *values = numbers(w->n), *columns = numbers(vectors ? (int64_t)w->n * w->n : 1);
    granary_err err = values == NULL || columns == NULL ? no_memory() : check_finite(w);

    if (err == GRANARY_OK && w->n > 0) {
        err = real ? eig_real(w, vectors, values, columns) : eig_complex(w, vectors, values, columns);
    }
    if (err == GRANARY_OK) {
        err = vectors ? give(w->call, GRANARY_COMPLEX128, 2, w->n, w->n, columns)
                      : give(w->call, GRANARY_COMPLEX128, 1, w->n, 1, values);
    }
    scratch_free(values);
    scratch_free(columns);
    return err;
}

/* Of a Hermitian matrix; its lower part counts. */
static granary_err
eigh(struct work *w)
{
    bool vectors = strcmp(w->params->part, "v") == 0;
    int n = w->n, info = 0, size = -1, real_size = -1, integer_size = -1, integers_wanted = 0;
    number wanted = {0, 0};
    double reals_wanted = 0;
    double *values = scratch_alloc(((size_t)n + 1) * sizeof *values);
    number *work = NULL;
    double *reals = NULL;
    int *integers = NULL;
    granary_err err = values == NULL ? no_memory() : GRANARY_OK;

    if (err == GRANARY_OK && n > 0) {
        zheevd_(vectors ? "V" : "N", "L", &n, *w->a, &n, values, wanted, &size, &reals_wanted, &real_size,
                &integers_wanted, &integer_size, &info);
        size = (int)wanted[0] + 1;
        real_size = (int)reals_wanted + 1;
        integer_size = integers_wanted + 1;
        work = numbers(size);
        reals = scratch_alloc((size_t)real_size * sizeof *reals);
        integers = scratch_alloc((size_t)integer_size * sizeof *integers);
        err = work == NULL || reals == NULL || integers == NULL ? no_memory() : GRANARY_OK;
    }
    if (err == GRANARY_OK && n > 0) {
        zheevd_(vectors ? "V" : "N", "L", &n, *w->a, &n, values, *work, &size, reals, &real_size, integers,
                &integer_size, &info);
        err = converged(info);
    }
    if (err == GRANARY_OK && vectors) {
        err = give(w->call, GRANARY_COMPLEX128, 2, n, n, w->a);
    } else if (err == GRANARY_OK && (err = give(w->call, GRANARY_FLOAT64, 1, n, 1, NULL)) == GRANARY_OK && n > 0) {
        memcpy(w->call->outputs[0].tensor.owned, values, (size_t)n * sizeof *values);
    }
    scratch_free(values);
    scratch_free(work);
    scratch_free(reals);
    scratch_free(integers);
    return err;
}

/* ---- by triangles ---- */

static granary_err
cholesky(struct work *w)
{
    int n = w->n, info = 0;

    if (n > 0) {
        zpotrf_("L", &n, *w->a, &n, &info);
    }
    if (info > 0) {
        return gr_fail(GRANARY_EFAILED, "the matrix is not positive definite: its leading part of %d rows is not",
                       info);
    }
    for (int64_t c = 1; c < n; c++) {
        memset(w->a[c * n], 0, (size_t)c * sizeof(number)); /* above the diagonal */
    }
    return give(w->call, GRANARY_COMPLEX128, 2, n, n, w->a);
}

/* a becomes its factors. Errors: EFAILED it is singular, unless that is no error · ENOMEM */
static granary_err
factor(struct work *w, bool may_be_singular, int **ret_pivots)
{
    int n = w->n, info = 0;

    *ret_pivots = scratch_alloc(((size_t)n + 1) * sizeof **ret_pivots);
    if (*ret_pivots == NULL) {
        return no_memory();
    }
    if (n > 0) {
        zgetrf_(&n, &n, *w->a, &n, *ret_pivots, &info);
    }
    return info > 0 && !may_be_singular ? gr_fail(GRANARY_EFAILED, "the matrix is singular: pivot %d is 0", info)
                                        : GRANARY_OK;
}

static granary_err
determinant(struct work *w)
{
    int *pivots = NULL;
    number product = {1, 0};
    granary_err err = factor(w, true, &pivots);

    for (int64_t i = 0; i < w->n && err == GRANARY_OK; i++) {
        double sign = pivots[i] == i + 1 ? 1 : -1;
        const double *d = w->a[i * w->n + i];
        double re = sign * (product[0] * d[0] - product[1] * d[1]);

        product[1] = sign * (product[0] * d[1] + product[1] * d[0]);
        product[0] = re;
    }
    if (err == GRANARY_OK) {
        err = give(w->call, GRANARY_COMPLEX128, 0, 1, 1, &product);
    }
    scratch_free(pivots);
    return err;
}

static granary_err
inverse(struct work *w)
{
    int n = w->n, info = 0, size = 64 * (n > 0 ? n : 1);
    int *pivots = NULL;
    number *work = numbers(size);
    granary_err err = work == NULL ? no_memory() : factor(w, false, &pivots);

    if (err == GRANARY_OK && n > 0) {
        zgetri_(&n, *w->a, &n, pivots, *work, &size, &info);
    }
    if (err == GRANARY_OK) {
        err = give(w->call, GRANARY_COMPLEX128, 2, n, n, w->a);
    }
    scratch_free(work);
    scratch_free(pivots);
    return err;
}

static granary_err
solve(struct work *w)
{
    int n = w->n, columns = w->columns, info = 0;
    int *pivots = NULL;
    granary_err err = factor(w, false, &pivots);

    if (err == GRANARY_OK && n > 0 && columns > 0) {
        zgetrs_("N", &n, &columns, *w->a, &n, pivots, *w->b, &n, &info);
    }
    if (err == GRANARY_OK) {
        err = give(w->call, GRANARY_COMPLEX128, w->call->inputs[1].tensor.view.dims, n, columns, w->b);
    }
    scratch_free(pivots);
    return err;
}

/* ---- the call ---- */

granary_err
linalg_complex(struct gr_kernel_call *call, const struct gr_chunk_linalg *params)
{
    static const struct {
        const char *name;
        granary_err (*run)(struct work *w);
    } functions[] = {{"eig", eig},         {"eigh", eigh},   {"cholesky", cholesky},
                     {"det", determinant}, {"inv", inverse}, {"solve", solve}};
    enum { FUNCTIONS = sizeof functions / sizeof functions[0] };
    struct work w = {.call = call, .params = params};
    bool solves = strcmp(params->function, "solve") == 0;
    int64_t rows = 0, columns = 0;
    size_t f = 0;
    granary_err err = tensor_call_check_any(call, solves ? 2 : 1, solves ? 2 : 1);

    while (f < FUNCTIONS && strcmp(functions[f].name, params->function) != 0) {
        f++;
    }
    if (err == GRANARY_OK && f == FUNCTIONS) {
        err = gr_complex_refuse(params->function, call->inputs[0].tensor.view.dtype);
    }
    if (err == GRANARY_OK && (err = read_numbers(call, 0, &w.a, &rows, &columns)) == GRANARY_OK && rows != columns) {
        err = gr_fail(GRANARY_EINVAL, "it needs a square matrix, not one of %lld x %lld", (long long)rows,
                      (long long)columns);
    }
    w.n = (int)columns;
    if (err == GRANARY_OK && solves && (err = read_numbers(call, 1, &w.b, &rows, &columns)) == GRANARY_OK) {
        w.columns = (int)columns;
        err = rows == w.n ? GRANARY_OK
                          : gr_fail(GRANARY_EINVAL, "a right side of %lld rows does not fit a matrix of %d",
                                    (long long)rows, w.n);
    }
    if (err == GRANARY_OK) {
        err = functions[f].run(&w);
    }
    scratch_free(w.a);
    scratch_free(w.b);
    return err;
}
