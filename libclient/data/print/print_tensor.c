/* Tensors as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contract/dtypes.h"
#include "data/format.h"
#include "data/print/print.h"

#define EDGE 3 /* elements shown at either end of a dimension that is shortened */

static void
add_real(double real, bool single, bool json, struct gr_buf *out)
{
    if (!json) {
        format_real_short(real, out);
    } else if (isnan(real)) {
        gr_buf_addf(out, "\"NaN\"");
    } else if (isinf(real)) {
        gr_buf_addf(out, "\"%sInfinity\"", real < 0 ? "-" : "");
    } else {
        format_real(real, single, out);
    }
}

/* 1.0+2.0j, as Python has it; in JSON the two parts as a list. */
static void
add_complex(double real, double imaginary, bool single, bool json, struct gr_buf *out)
{
    gr_buf_add(out, "[", json);
    add_real(real, single, json, out);
    if (json) {
        gr_buf_add(out, ",", 1);
    } else {
        gr_buf_add(out, "+", !signbit(imaginary) || isnan(imaginary));
    }
    add_real(isnan(imaginary) ? (double)NAN : imaginary, single, json, out);
    gr_buf_add(out, json ? "]" : "j", 1);
}

static void
add_element(const granary_tensor *tensor, int64_t i, bool json, struct gr_buf *out)
{
    double real;

    switch (tensor->dtype) {
    case GRANARY_BOOL:
        gr_buf_addf(out, "%s", ((const uint8_t *)tensor->values)[i] != 0 ? "true" : "false");
        return;
#define INTEGER(name, ...)                                                                                             \
    case GRANARY_##name:                                                                                               \
        gr_value_format(&(granary_column){.dtype = tensor->dtype, .values = tensor->values}, i, out);                  \
        return;
        GR_INTEGER_DTYPES(INTEGER)
#undef INTEGER
    case GRANARY_FLOAT32:
        real = (double)((const float *)tensor->values)[i];
        break;
    case GRANARY_COMPLEX64:
        add_complex((double)((const float *)tensor->values)[2 * i], (double)((const float *)tensor->values)[2 * i + 1],
                    true, json, out);
        return;
    case GRANARY_COMPLEX128:
        add_complex(((const double *)tensor->values)[2 * i], ((const double *)tensor->values)[2 * i + 1], false, json,
                    out);
        return;
    default:
        real = ((const double *)tensor->values)[i];
        break;
    }
    add_real(real, tensor->dtype == GRANARY_FLOAT32, json, out);
}

/* A walk over the elements to be shown, done twice: first it only finds the widest. */
struct walk {
    const granary_tensor *tensor;
    bool shortened;
    size_t width;
    struct gr_buf text; /* of one element */
    struct gr_buf *out; /* NULL: only look at widths */
};

static void
walk_element(struct walk *walk, int64_t i)
{
    walk->text.size = 0;
    add_element(walk->tensor, i, false, &walk->text);
    if (walk->out == NULL) {
        walk->width = walk->text.size > walk->width ? walk->text.size : walk->width;
    } else if (gr_buf_ok(&walk->text)) {
        gr_buf_addf(walk->out, "%*s%s", (int)(walk->width - walk->text.size), "", walk->text.bytes);
    }
}

/* What stands between two neighbours: a blank within the last dimension, else line ends and the indent. */
static void
walk_gap(struct walk *walk, int dim)
{
    int below = walk->tensor->dims - 1 - dim;

    if (walk->out == NULL) {
        return;
    }
    for (int i = 0; i < below; i++) {
        gr_buf_add(walk->out, "\n", 1);
    }
    gr_buf_addf(walk->out, "%*s", below == 0 ? 1 : dim + 1, "");
}

static void
walk_dim(struct walk *walk, int dim, int64_t at)
{
    const granary_tensor *tensor = walk->tensor;
    int64_t count = tensor->dims > 0 ? tensor->shape[dim] : 0;
    int64_t stride = 1;

    if (tensor->dims == 0) {
        walk_element(walk, 0);
        return;
    }
    for (int i = dim + 1; i < tensor->dims; i++) {
        stride *= tensor->shape[i];
    }
    if (walk->out != NULL) {
        gr_buf_add(walk->out, "[", 1);
    }
    for (int64_t i = 0; i < count; i++) {
        if (i > 0) {
            walk_gap(walk, dim);
        }
        if (walk->shortened && count > 2 * EDGE && i == EDGE) {
            if (walk->out != NULL) {
                gr_buf_add(walk->out, "...", 3);
            }
            walk_gap(walk, dim);
            i = count - EDGE;
        }
        if (dim + 1 < tensor->dims) {
            walk_dim(walk, dim + 1, at + i * stride);
        } else {
            walk_element(walk, at + i);
        }
    }
    if (walk->out != NULL) {
        gr_buf_add(walk->out, "]", 1);
    }
}

void
gr_print_tensor(const granary_tensor *tensor, int64_t max_elements, struct gr_buf *out)
{
    struct walk walk = {.tensor = tensor};

    if (gr_tensor_elements(tensor) == 0) {
        gr_buf_add(out, "[]", 2);
    } else {
        walk.shortened = max_elements > 0 && gr_tensor_elements(tensor) > max_elements;
        walk_dim(&walk, 0, 0);
        walk.out = out;
        walk_dim(&walk, 0, 0);
    }
    out->failed = out->failed || walk.text.failed;
    gr_buf_free(&walk.text);
    gr_buf_add(out, "\n", 1);
}

static void
add_json_dim(const granary_tensor *tensor, int dim, int64_t *at, struct gr_buf *out)
{
    if (dim == tensor->dims) {
        add_element(tensor, (*at)++, true, out);
        return;
    }
    gr_buf_add(out, "[", 1);
    for (int64_t i = 0; i < tensor->shape[dim]; i++) {
        gr_buf_add(out, ",", i > 0);
        add_json_dim(tensor, dim + 1, at, out);
    }
    gr_buf_add(out, "]", 1);
}

granary_err
gr_print_tensor_json(const granary_tensor *tensor, struct gr_buf *out)
{
    int64_t at = 0;

    gr_buf_addf(out, "{\"dtype\":\"%s\",\"shape\":[", granary_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->dims; i++) {
        gr_buf_addf(out, "%s%lld", i > 0 ? "," : "", (long long)tensor->shape[i]);
    }
    gr_buf_addf(out, "],\"values\":");
    if (gr_tensor_elements(tensor) > 0) {
        add_json_dim(tensor, 0, &at, out);
    } else {
        gr_buf_add(out, "[]", 2); /* the shape tells the rest */
    }
    gr_buf_addf(out, "}\n");
    return gr_print_end(out);
}
