/* Numbers as people read them, and messages of queries. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "data/format.h"
#include "data/value/number.h"
#include "data/value/spec.h"
#include "kernel/rows/text/text.h"
#include "kernel/rows/text/utf8.h"

/* 1.4 KiB: one digit behind the point, cut off. */
bool
text_size(struct text_call *call)
{
    static const char *const units[][6] = {
        {"", "KiB", "MiB", "GiB", "TiB", "PiB"},
        {"", "kB", "MB", "GB", "TB", "PB"},
    };
    bool decimal = call->node->op == GR_OP_FORMAT_DECIMAL_SIZE;
    const char *sign = call->ints[0] < 0 ? "-" : "";
    uint64_t step = decimal ? 1000 : 1024;
    uint64_t whole = call->ints[0] < 0 ? 0 - (uint64_t)call->ints[0] : (uint64_t)call->ints[0];
    uint64_t rest = 0;
    char text[48];
    int unit = 0;
    int size;

    for (; unit < 5 && whole >= step; unit++) {
        rest = whole % step;
        whole /= step;
    }
    size = unit == 0
               ? snprintf(text, sizeof text, "%s%llu byte%s", sign, (unsigned long long)whole, whole == 1 ? "" : "s")
               : snprintf(text, sizeof text, "%s%llu.%llu %s", sign, (unsigned long long)whole,
                          (unsigned long long)(rest * 10 / step), units[decimal][unit]);
    return text_give(call, (struct rows_text){text, (size_t)size});
}

/* "1.5 KiB", " 2 mb": a number and a unit; what is less than a byte is cut off. */
bool
text_read_size(struct text_call *call)
{
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {{"b", 1},
                 {"byte", 1},
                 {"bytes", 1},
                 {"kb", 1e3},
                 {"mb", 1e6},
                 {"gb", 1e9},
                 {"tb", 1e12},
                 {"kib", 1024.0},
                 {"mib", 1048576.0},
                 {"gib", 1073741824.0},
                 {"tib", 1099511627776.0}};
    const struct rows_text *text = &call->texts[0];
    char copy[64];
    char *unit;
    double number;

    if (text->size == 0 || text->size >= sizeof copy) {
        return false;
    }
    memcpy(copy, text->bytes, text->size);
    copy[text->size] = '\0';
    unit = copy + strspn(copy, " ");
    unit += strspn(unit, "0123456789.");
    if ((*unit == 'e' || *unit == 'E') && strspn(unit + 1, "0123456789+-") > 0) {
        unit += 1 + strspn(unit + 1, "0123456789+-");
    }
    if (!gr_real_parse(copy + strspn(copy, " "), (size_t)(unit - copy) - strspn(copy, " "), &number)) {
        return false;
    }
    unit += strspn(unit, " ");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t size = strlen(units[i].unit);

        if (strncasecmp(unit, units[i].unit, size) == 0 && unit[size + strspn(unit + size, " ")] == '\0' &&
            number * units[i].bytes < 9.2e18) {
            call->value = (int64_t)(number * units[i].bytes);
            return strlen(copy) == text->size;
        }
    }
    return false;
}

/* Eighths of a block, and blanks up to the width. */
bool
text_bar(struct text_call *call)
{
    static const char *const parts[] = {"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
    double x = call->reals[0];
    double least = call->reals[1];
    double most = call->reals[2];
    double width = call->node->count > 3 ? call->reals[3] : 80.0;
    double filled = 0.0;
    int eighths, written;

    if (!(width >= 1.0 && width <= 1000.0)) {
        return false;
    }
    if (x >= most && x > least) {
        filled = width;
    } else if (x > least && !isnan(most)) {
        filled = width * (x - least) / (most - least);
    }
    if (!isfinite(filled)) {
        return false;
    }
    eighths = (int)(filled * 8.0);
    for (int i = 0; i < eighths / 8; i++) {
        gr_buf_add(call->out, "\u2588", 3);
    }
    gr_buf_addf(call->out, "%s", parts[eighths % 8]);
    written = eighths / 8 + (eighths % 8 > 0);
    for (int i = written; i < (int)width; i++) {
        gr_buf_add(call->out, " ", 1);
    }
    return true;
}

/* ---- values as formats say ---- */

enum { WRITTEN_MOST = 512 }; /* bytes of a number, without what fills it up */

static void
give_many(struct text_call *call, char c, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        gr_buf_add(call->out, &c, 1);
    }
}

/* A text of so many characters within the width. */
static bool
give_filled(struct text_call *call, const struct gr_spec *spec, struct rows_text text, char align, char fill)
{
    int64_t missing = spec->width - rows_utf8_count(&text);
    int64_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;

    missing = missing < 0 ? 0 : missing;
    before = before < 0 ? 0 : before;
    give_many(call, fill, before);
    text_give(call, text);
    give_many(call, fill, missing - before);
    return true;
}

static bool
give_aligned(struct text_call *call, const struct gr_spec *spec, struct rows_text text, char align)
{
    return give_filled(call, spec, text, align, ' ');
}

/* Digits with a mark between thousands of those before the point. */
static bool
give_grouped(struct text_call *call, const char *digits, char mark)
{
    size_t whole = strspn(digits, "0123456789");

    for (size_t i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0) {
            gr_buf_add(call->out, &mark, 1);
        }
        gr_buf_add(call->out, digits + i, 1);
    }
    return text_give(call, (struct rows_text){digits + whole, strlen(digits + whole)});
}

/* A number's digits, and what stands before them. */
static bool
give_number(struct text_call *call, const struct gr_spec *spec, bool negative, const char *digits)
{
    const char sign[2] = {negative ? '-' : spec->sign, '\0'};
    char text[WRITTEN_MOST + 2];

    if (spec->group != '\0' || spec->zeros) {
        text_give(call, (struct rows_text){sign, strlen(sign)});
        give_many(call, '0', spec->width - (int64_t)strlen(sign) - (int64_t)strlen(digits));
        return spec->group != '\0' ? give_grouped(call, digits, spec->group)
                                   : text_give(call, (struct rows_text){digits, strlen(digits)});
    }
    (void)snprintf(text, sizeof text, "%s%s", sign, digits);
    return give_aligned(call, spec, (struct rows_text){text, strlen(text)}, spec->align != '\0' ? spec->align : '>');
}

static bool
give_integer(struct text_call *call, const struct gr_spec *spec, int64_t value)
{
    bool bits = spec->type == 'h' || spec->type == 'H';
    bool negative = value < 0 && !bits;
    uint64_t size = negative ? 0 - (uint64_t)value : (uint64_t)value;
    unsigned base = spec->type == 'b'                                          ? 2
                    : spec->type == 'o'                                        ? 8
                    : spec->type != '\0' && strchr("xXhH", spec->type) != NULL ? 16
                                                                               : 10;
    const char *set = spec->type == 'X' || spec->type == 'H' ? "0123456789ABCDEF" : "0123456789abcdef";
    char digits[72];
    size_t at = sizeof digits - 1;

    digits[at] = '\0';
    do {
        digits[--at] = set[size % base];
        size /= base;
    } while (size > 0);
    return give_number(call, spec, negative, digits + at);
}

/* The fewest digits that read as this number, as fmt writes them: 100.0, 1e+16, 1e-05. */
static void
write_shortest(double value, char *digits)
{
    char fewest[FORMAT_DIGITS_MAX + 1];
    int exponent;
    int behind = format_digits_of(value, fewest, &exponent) - 1;

    if (exponent >= -4 && exponent < 16) {
        (void)snprintf(digits, WRITTEN_MOST, "%.*f", behind > exponent ? behind - exponent : 1, value);
    } else {
        (void)snprintf(digits, WRITTEN_MOST, "%.*e", behind, value);
    }
}

/* nan and infinite values are words, as in fmt: zeros stand behind them. A nan has no sign of its own. */
static bool
give_no_number(struct text_call *call, const struct gr_spec *spec, double value)
{
    bool upper = isupper((unsigned char)spec->type) != 0;
    const char sign[2] = {value < 0 ? '-' : spec->sign, '\0'};
    char text[8];
    int size = snprintf(text, sizeof text, "%s%s", sign, isnan(value) ? upper ? "NAN" : "nan" : upper ? "INF" : "inf");
    char align = spec->zeros || spec->align == '\0' ? '<' : spec->align;

    return give_filled(call, spec, (struct rows_text){text, (size_t)size}, align, spec->zeros ? '0' : ' ');
}

static bool
give_real(struct text_call *call, const struct gr_spec *spec, double value)
{
    char form[8] = {'%', '.', '*', spec->type, '\0'};
    bool general = spec->type == '\0' && spec->precision > 0; /* so many digits, zeros too */
    char digits[WRITTEN_MOST];
    double size = fabs(value);

    if (!isfinite(value)) {
        return give_no_number(call, spec, value);
    }
    if (general) {
        (void)snprintf(digits, sizeof digits, "%#.*g", spec->precision, size);
    } else if (spec->type == '\0') {
        write_shortest(size, digits);
    } else {
        (void)snprintf(digits, sizeof digits, form, spec->precision < 0 ? 6 : spec->precision, size);
    }
    format_point(digits);
    return give_number(call, spec, signbit(value) != 0, digits);
}

bool
text_formatted(struct text_call *call)
{
    const struct node *value = call->node->operands[0];
    struct gr_spec spec;

    if (!gr_spec_parse(call->texts[1].size > 0 ? call->texts[1].bytes : "", call->texts[1].size, &spec)) {
        return false;
    }
    if (value->base == ROWS_INT) {
        return give_integer(call, &spec, call->ints[0]);
    }
    if (value->base == ROWS_DOUBLE) {
        return give_real(call, &spec, value->dtype == GRANARY_FLOAT32 ? (double)(float)call->reals[0] : call->reals[0]);
    }
    return give_aligned(call, &spec,
                        spec.precision < 0
                            ? call->texts[0]
                            : text_between(&call->texts[0], 0, rows_utf8_offset(&call->texts[0], spec.precision)),
                        spec.align != '\0' ? spec.align : '<');
}

/* ---- messages ---- */

/* A row that comes here is an error, and its text the message. */
bool
text_error(struct text_call *call)
{
    (void)call;
    return false;
}
