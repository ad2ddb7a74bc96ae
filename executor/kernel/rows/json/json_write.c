/*
 * JSON written in one form: without blanks, strings with nothing marked that need not be, and numbers with as few digits as
 * tell a float64. ECMAScript says where their point is.
 */
#include <math.h>
#include <string.h>

#include "data/format.h"
#include "data/value/number.h"
#include "kernel/core/select.h"
#include "kernel/rows/json/json.h"

static void
add_string(const char *text, size_t size, struct gr_buf *out)
{
    static const char plain[] = "\b\f\n\r\t\"\\";
    static const char names[] = "bfnrt\"\\";
    const char *end = text + size;

    gr_buf_add(out, "\"", 1);
    for (const char *from = text; from <= end;) {
        const char *at = from;
        const char *name;

        while (at < end && (unsigned char)*at >= 0x20 && *at != '"' && *at != '\\') {
            at++;
        }
        gr_buf_add(out, from, (size_t)(at - from));
        if (at < end) {
            name = *at == '\0' ? NULL : strchr(plain, *at);
            if (name != NULL) {
                gr_buf_addf(out, "\\%c", names[name - plain]);
            } else {
                gr_buf_addf(out, "\\u%04X", (unsigned char)*at);
            }
        }
        from = at + 1;
    }
    gr_buf_add(out, "\"", 1);
}

static void
add_real(double value, struct gr_buf *out)
{
    static const char zeros[] = "0000000000000000000000";
    char digits[FORMAT_DIGITS_MAX + 1];
    int exponent;
    int count = format_digits_of(value, digits, &exponent);
    int whole = exponent + 1; /* digits before the point */

    gr_buf_add(out, "-", signbit(value) ? 1 : 0);
    if (whole > 21 || whole < -5) {
        gr_buf_add(out, digits, 1);
        gr_buf_addf(out, count > 1 ? ".%.*se%d" : "%.*se%d", count - 1, digits + 1, exponent);
    } else if (whole <= 0) {
        gr_buf_addf(out, "0.%.*s%.*s", -whole, zeros, count, digits);
    } else if (count <= whole) {
        gr_buf_addf(out, "%.*s%.*s.0", count, digits, whole - count, zeros);
    } else {
        gr_buf_addf(out, "%.*s.%.*s", whole, digits, count - whole, digits + whole);
    }
}

/* A decimal has no zeros at its end, but a digit behind the point. */
static void
trim_zeros(struct gr_buf *out, size_t from)
{
    if (!gr_buf_ok(out) || memchr(out->bytes + from, '.', out->size - from) == NULL) {
        gr_buf_add(out, ".0", 2);
        return;
    }
    while (out->bytes[out->size - 1] == '0' && out->bytes[out->size - 2] != '.') {
        out->size--;
    }
}

void
json_add_cell(const granary_column *column, int64_t i, struct gr_buf *out)
{
    granary_dtype kind = gr_dtype_kind(column->dtype);
    size_t before = out->size;
    double value;

    if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, i)) {
        gr_buf_add(out, "null", 4);
    } else if (kind == GRANARY_STRING) {
        const char *bytes = (const char *)column->values + column->offsets[i];

        add_string(bytes, (size_t)(column->offsets[i + 1] - column->offsets[i]), out);
    } else if (kind == GRANARY_FLOAT64 || kind == GRANARY_FLOAT32) {
        value = select_real(column, i, 1.0);
        if (isfinite(value)) {
            add_real(value, out);
        } else {
            gr_buf_addf(out, "%s", isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
        }
    } else {
        gr_value_format(column, i, out);
        if (kind == GRANARY_DECIMAL) {
            trim_zeros(out, before);
        }
    }
}

static bool
is_number(const char *text)
{
    return *text == '-' || (*text >= '0' && *text <= '9');
}

static void
add_scalar(const char *text, size_t size, struct gr_buf *out)
{
    bool real = is_number(text) &&
                (memchr(text, '.', size) != NULL || memchr(text, 'e', size) != NULL || memchr(text, 'E', size) != NULL);
    double value;

    if (real && gr_real_parse(text, size, &value) && isfinite(value)) {
        add_real(value, out);
    } else if (size == 2 && memcmp(text, "-0", 2) == 0) {
        gr_buf_add(out, "0", 1);
    } else {
        gr_buf_add(out, text, size);
    }
}

/* A string in quotes, as it is written when nothing is marked that need not be. */
static void
add_again(const char *string, size_t size, struct gr_buf *out)
{
    struct gr_buf said = {0};

    if (memchr(string, '\\', size) == NULL) {
        gr_buf_add(out, string, size);
        return;
    }
    json_add_said(string, size, &said);
    add_string(said.bytes != NULL ? said.bytes : "", said.size, out);
    out->failed = out->failed || !gr_buf_ok(&said);
    gr_buf_free(&said);
}

void
json_add_value(const char *value, size_t size, struct gr_buf *out)
{
    const char *end = value + size;
    size_t part;

    for (const char *at = value; at < end; at += part) {
        part = 1;
        if (*at == '"') {
            while (at[part] != '"') {
                part += at[part] == '\\' ? 2 : 1;
            }
            part++;
            add_again(at, part, out);
        } else if (strchr("{}[]:,", *at) != NULL) {
            if ((*at == '}' || *at == ']') && out->size > 0 && out->bytes[out->size - 1] == ',') {
                out->size--; /* the comma before the end */
            }
            gr_buf_add(out, at, 1);
        } else if (strchr(" \t\n\r", *at) == NULL) {
            while (at + part < end && strchr(",]} \t\n\r", at[part]) == NULL) {
                part++;
            }
            add_scalar(at, part, out);
        }
    }
}
