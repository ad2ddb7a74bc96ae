/*
 * Fourier transforms of all lines along an axis, in double precision. Lines that lie side by side are brought and written
 * back together. Real lines of an even length are transformed as complex ones of half of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/simd/tensor/tensor_map.h"
#include "kernel/tensor/call.h"
#include "kernel/tensor/complex_map.h"
#include "kernel/tensor/linalg/fft_plan.h"

#define TOGETHER 8 /* lines */

enum function { FFT, IFFT, RFFT, IRFFT, FUNCTIONS };

static const char *const names[FUNCTIONS] = {"fft", "ifft", "rfft", "irfft"};

/* A call at work. */
struct transform {
    enum function function;
    const granary_tensor *input;
    granary_dtype gives;
    int64_t n;
    int64_t length;     /* of a line of the input */
    int64_t out_length; /* and of the result */
    int64_t stride;     /* elements from one of a line to the next */
    double scale;
    bool halves; /* real lines by half their length */
    struct fft_plan *plan;
    struct fft_number *lines; /* TOGETHER of room each */
    int64_t room;
    struct fft_number *turns; /* of halves: e^(-2 pi i k / n) */
};

/* ---- lines in and out ---- */

static struct fft_number
element_at(const granary_tensor *tensor, int64_t i)
{
    _Alignas(16) char loaded[16], converted[16];
    size_t element = gr_tensor_element(tensor->dtype);
    const char *stored = (const char *)tensor->values + (size_t)i * element;
    struct fft_number x;

    switch (tensor->dtype) {
    case GRANARY_COMPLEX128:
        memcpy(&x, stored, sizeof x);
        return x;
    case GRANARY_FLOAT64:
        x.im = 0;
        memcpy(&x.re, stored, sizeof x.re);
        return x;
    default:
        SIMD_CALL(tensor_lane_load)(tensor->dtype, loaded, stored, 1);
        complex_lane_convert(gr_lane_of(tensor->dtype), GR_LANE_Z, converted, loaded, 1);
        memcpy(&x, converted, sizeof x);
        return x;
    }
}

static void
element_put(const struct transform *t, char *values, int64_t i, struct fft_number x)
{
    switch (t->gives) {
    case GRANARY_COMPLEX128:
        ((struct fft_number *)(void *)values)[i] = x;
        break;
    case GRANARY_FLOAT64:
        ((double *)(void *)values)[i] = x.re;
        break;
    case GRANARY_FLOAT32:
        ((float *)(void *)values)[i] = (float)x.re;
        break;
    default:
        ((float *)(void *)values)[2 * i] = (float)x.re;
        ((float *)(void *)values)[2 * i + 1] = (float)x.im;
    }
}

/* Elements that lie side by side. */
static void
run_load(const granary_tensor *tensor, int64_t from, int64_t count, struct fft_number *line)
{
    enum { AT_ONCE = 256 };
    _Alignas(64) char loaded[AT_ONCE * 16];
    size_t element = gr_tensor_element(tensor->dtype);

    for (int64_t k = 0; k < count; k += AT_ONCE) {
        int64_t n = count - k < AT_ONCE ? count - k : AT_ONCE;

        SIMD_CALL(tensor_lane_load)
        (tensor->dtype, loaded, (const char *)tensor->values + (size_t)(from + k) * element, n);
        complex_lane_convert(gr_lane_of(tensor->dtype), GR_LANE_Z, line + k, loaded, n);
    }
}

/* So many lines from an element on; what is missing of one is 0, and what is too much is left out. */
static void
lines_load(const struct transform *t, int64_t from, int64_t count)
{
    int64_t wanted = t->function == IRFFT ? t->n / 2 + 1 : t->n;
    int64_t there = t->length < wanted ? t->length : wanted;

    if (t->stride == 1) {
        run_load(t->input, from, there, t->lines);
    }
    for (int64_t k = 0; k < there && t->stride > 1; k++) {
        for (int64_t l = 0; l < count; l++) {
            t->lines[l * t->room + k] = element_at(t->input, from + k * t->stride + l);
        }
    }
    for (int64_t l = 0; l < count; l++) {
        memset(t->lines + l * t->room + there, 0, (size_t)(t->room - there) * sizeof *t->lines);
    }
}

static void
lines_store(const struct transform *t, char *values, int64_t from, int64_t count)
{
    for (int64_t k = 0; k < t->out_length; k++) {
        for (int64_t l = 0; l < count; l++) {
            struct fft_number x = t->lines[l * t->room + k];

            element_put(t, values, from + k * t->stride + l, (struct fft_number){x.re * t->scale, x.im * t->scale});
        }
    }
}

/* ---- real lines ---- */

static struct fft_number
times(struct fft_number a, struct fft_number b)
{
    return (struct fft_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Of an even length: two neighbours are one number, whose transform is taken apart. */
static void
run_real(const struct transform *t, struct fft_number *line)
{
    int64_t half = t->n / 2;

    if (!t->halves) {
        fft_plan_run(t->plan, line, false);
        return;
    }
    for (int64_t k = 0; k < half; k++) {
        line[k] = (struct fft_number){line[2 * k].re, line[2 * k + 1].re};
    }
    fft_plan_run(t->plan, line, false);
    line[half] = line[0];
    for (int64_t k = 0; 2 * k <= half; k++) {
        struct fft_number x = line[k], y = line[half - k];
        struct fft_number even = {(x.re + y.re) / 2, (x.im - y.im) / 2};
        struct fft_number odd = {(x.im + y.im) / 2, (y.re - x.re) / 2};
        struct fft_number turned = times(odd, t->turns[k]);

        line[k] = (struct fft_number){even.re + turned.re, even.im + turned.im};
        line[half - k] = (struct fft_number){even.re - turned.re, turned.im - even.im};
    }
}

/* The other way: the second half of the spectrum is the first one's conjugate. */
static void
run_real_back(const struct transform *t, struct fft_number *line)
{
    int64_t half = t->n / 2;

    line[0].im = 0;
    if (t->n % 2 == 0) {
        line[half].im = 0;
    }
    if (!t->halves) {
        for (int64_t k = half + 1; k < t->n; k++) {
            line[k] = (struct fft_number){line[t->n - k].re, -line[t->n - k].im};
        }
        fft_plan_run(t->plan, line, true);
        return;
    }
    for (int64_t k = 0; 2 * k <= half; k++) {
        struct fft_number x = line[k], y = line[half - k];
        struct fft_number even = {x.re + y.re, x.im - y.im};
        struct fft_number odd =
            times((struct fft_number){x.re - y.re, x.im + y.im}, (struct fft_number){t->turns[k].re, -t->turns[k].im});

        line[k] = (struct fft_number){even.re - odd.im, even.im + odd.re};
        line[half - k] = (struct fft_number){even.re + odd.im, odd.re - even.im};
    }
    fft_plan_run(t->plan, line, true);
    for (int64_t k = half - 1; k >= 0; k--) {
        struct fft_number x = line[k];

        line[2 * k] = (struct fft_number){x.re, 0};
        line[2 * k + 1] = (struct fft_number){x.im, 0};
    }
}

static void
run_line(const struct transform *t, struct fft_number *line)
{
    switch (t->function) {
    case RFFT:
        run_real(t, line);
        break;
    case IRFFT:
        run_real_back(t, line);
        break;
    default:
        fft_plan_run(t->plan, line, t->function == IFFT);
    }
}

/* ---- the call ---- */

static granary_err
transform_init(struct transform *t, const struct gr_chunk_fft *params, int64_t axis)
{
    bool real = t->function == RFFT || t->function == IRFFT;
    bool back = t->function == IFFT || t->function == IRFFT;
    bool divides = strcmp(params->norm, back ? "backward" : "forward") == 0;
    granary_dtype part = gr_dtype_part(t->input->dtype);
    bool single = part == GRANARY_FLOAT32;

    t->n = params->n;
    t->length = t->input->shape[axis];
    t->out_length = t->function == RFFT ? t->n / 2 + 1 : t->n;
    t->stride = 1;
    for (int d = (int)axis + 1; d < t->input->dims; d++) {
        t->stride *= t->input->shape[d];
    }
    t->scale = strcmp(params->norm, "ortho") == 0 ? 1 / sqrt((double)t->n) : divides ? 1 / (double)t->n : 1;
    t->gives = t->function == IRFFT ? (single ? GRANARY_FLOAT32 : GRANARY_FLOAT64)
                                    : (single ? GRANARY_COMPLEX64 : GRANARY_COMPLEX128);
    t->halves = real && t->n % 2 == 0;
    t->room = t->n + 1;
    t->lines = malloc((size_t)(TOGETHER * t->room) * sizeof *t->lines);
    t->turns = t->halves ? malloc((size_t)(t->n / 2 + 1) * sizeof *t->turns) : NULL;
    if (t->lines == NULL || (t->halves && t->turns == NULL)) {
        return gr_no_memory("a transform");
    }
    for (int64_t k = 0; t->halves && k <= t->n / 2; k++) {
        struct fft_number root = fft_root(k, t->n);

        t->turns[k] = (struct fft_number){root.re, -root.im};
    }
    return fft_plan_create(t->halves ? t->n / 2 : t->n, &t->plan);
}

static void
transform_fini(struct transform *t)
{
    fft_plan_destroy(t->plan);
    free(t->lines);
    free(t->turns);
}

static void
transform_all(const struct transform *t, int64_t outer, char *values)
{
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t inner = 0; inner < t->stride; inner += TOGETHER) {
            int64_t count = t->stride - inner < TOGETHER ? t->stride - inner : TOGETHER;

            lines_load(t, o * t->length * t->stride + inner, count);
            for (int64_t l = 0; l < count; l++) {
                run_line(t, t->lines + l * t->room);
            }
            lines_store(t, values, o * t->out_length * t->stride + inner, count);
        }
    }
}

granary_err
kernel_fft(struct gr_kernel_call *call, const struct gr_chunk_fft *params)
{
    struct transform t = {.function = FFT};
    int64_t shape[TENSOR_DIMS_MAX];
    int64_t outer = 1, axis = params->axis;
    void *values = NULL;
    granary_err err = tensor_call_check_any(call, 1, 1);

    while (t.function < FUNCTIONS && strcmp(names[t.function], params->function) != 0) {
        t.function++;
    }
    if (err != GRANARY_OK) {
        return err;
    }
    t.input = &call->inputs[0].tensor.view;
    if (t.function == FUNCTIONS || axis < 0 || axis >= t.input->dims || params->n < 1 || params->n > 1 << 28 ||
        (t.function == RFFT && gr_dtype_is_complex(t.input->dtype))) {
        return gr_fail(GRANARY_EINVAL, "fft: function, axis, n or dtype do not fit");
    }
    err = transform_init(&t, params, axis);
    if (err == GRANARY_OK) {
        memcpy(shape, t.input->shape, sizeof shape);
        shape[axis] = t.out_length;
        err = tensor_output(call, t.gives, t.input->dims, shape, &values);
    }
    for (int d = 0; d < axis; d++) {
        outer *= t.input->shape[d];
    }
    if (err == GRANARY_OK) {
        transform_all(&t, outer, values);
    }
    transform_fini(&t);
    return err;
}
