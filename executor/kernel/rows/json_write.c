/*
 * JSON written in one form: without blanks, strings with nothing marked that need not be, and numbers with as few digits as
 * tell a float64. ECMAScript says where their point is.
 */
#include <math.h>
#include <string.h>

#include "data/format.h"
#include "data/value/number.h"
#include "kernel/rows/json.h"

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
