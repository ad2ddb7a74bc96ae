/* Functions of strings: row by row. Over a dictionary column they run once an entry (lookup.c). */
#include <string.h>
#include <wctype.h>

#include "base/error.h"
#include "data/value/bytes.h"
#include "data/value/utf8.h"
#include "kernel/rows/text/text.h"
#include "kernel/rows/text/utf8.h"

/* ---- letters ---- */

enum letter_case { AS_LOWER, AS_UPPER, AS_TITLE };

/* Four letters of two parts have a case between the others, and Georgian's has none at the beginning of words. */
static uint32_t
title_of(int32_t point)
{
    return point >= 0x1c4 && point <= 0x1cc     ? (uint32_t)((point - 0x1c4) / 3 * 3 + 0x1c5)
           : point >= 0x1f1 && point <= 0x1f3   ? 0x1f2
           : point >= 0x10d0 && point <= 0x10ff ? (uint32_t)point
                                                : (uint32_t)towupper_l((wint_t)point, rows_unicode());
}

static void
add_letter(struct gr_buf *out, const char *at, size_t size, int32_t point, enum letter_case to)
{
    if (point < 0) {
        gr_buf_add(out, at, size);
    } else {
        rows_utf8_add(out, to == AS_TITLE   ? title_of(point)
                           : to == AS_UPPER ? (uint32_t)towupper_l((wint_t)point, rows_unicode())
                                            : (uint32_t)towlower_l((wint_t)point, rows_unicode()));
    }
}

void
text_add_word(struct text_call *call, size_t from, size_t to)
{
    const char *bytes = call->texts[0].bytes;

    for (size_t i = from, size; i < to; i += size) {
        int32_t point = rows_utf8_decode(bytes + i, to - i, &size);

        add_letter(call->out, bytes + i, size, point, i == from ? AS_TITLE : AS_LOWER);
    }
}

bool
text_change_case(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    enum gr_expr_op op = call->node->op;
    bool in_word = false;

    if (rows_is_ascii(text) && (op == GR_OP_LOWER || op == GR_OP_UPPER)) {
        char first = op == GR_OP_LOWER ? 'A' : 'a';
        char *to = gr_buf_grow(call->out, text->size);

        for (size_t i = 0; to != NULL && i < text->size; i++) {
            char c = text->bytes[i];

            to[i] = c >= first && c <= first + 25 ? (char)(c ^ 0x20) : c;
        }
        return true;
    }
    for (size_t i = 0, size; i < text->size; i += size) {
        int32_t point = rows_utf8_decode(text->bytes + i, text->size - i, &size);
        bool of_word = point >= 0 && iswalnum_l((wint_t)point, rows_unicode());
        bool upper = op == GR_OP_UPPER || (op == GR_OP_INITCAP && !in_word);
        enum letter_case to = op == GR_OP_CAPITALIZE && i == 0 ? AS_TITLE : upper ? AS_UPPER : AS_LOWER;

        add_letter(call->out, text->bytes + i, size, point, to);
        in_word = of_word;
    }
    return true;
}

/* ---- parts ---- */

/* Whether characters are counted as they are drawn. */
static bool
is_drawn(const struct text_call *call)
{
    return call->node->op >= GR_OP_LENGTH_DRAWN && call->node->op <= GR_OP_RIGHT_DRAWN;
}

static int64_t
count_of(const struct text_call *call, const struct rows_text *text)
{
    return is_drawn(call) ? rows_drawn_count(text) : rows_utf8_count(text);
}

static size_t
offset_of(const struct text_call *call, const struct rows_text *text, int64_t n)
{
    return is_drawn(call) ? rows_drawn_offset(text, n) : rows_utf8_offset(text, n);
}

bool
text_length(struct text_call *call)
{
    bool bits = call->node->op == GR_OP_BIT_LENGTH;
    bool bytes = bits || call->node->op == GR_OP_OCTET_LENGTH || call->node->operands[0]->dtype == GRANARY_BINARY;

    call->value = bytes ? (int64_t)call->texts[0].size * (bits ? 8 : 1) : count_of(call, &call->texts[0]);
    return true;
}

/* Bytes as text. */
bool
text_digits(struct text_call *call)
{
    const struct rows_text *bytes = &call->texts[0];
    const char *at = bytes->size > 0 ? bytes->bytes : "";

    switch (call->node->op) {
    case GR_OP_HEX:
        gr_hex_format(at, bytes->size, true, call->out);
        return bytes->size <= TEXT_VALUE_MOST;
    case GR_OP_BASE64:
        gr_base64_format(at, bytes->size, call->out);
        return bytes->size <= TEXT_VALUE_MOST;
    default: /* DECODE */
        return utf8_first_invalid(at, bytes->size) == NULL && text_give(call, *bytes);
    }
}

/* Two digits a byte; the first may have one. */
static bool
give_pairs(struct text_call *call, const char *at, size_t size)
{
    int first = size % 2 == 1 ? gr_hex_digit(at[0]) : -1;

    if (first >= 0) {
        gr_buf_add(call->out, &(char){(char)first}, 1);
    }
    return (size % 2 == 0 || first >= 0) && gr_hex_parse(at + size % 2, size - size % 2, call->out);
}

/* Digits of 8 bits each, of which the first byte may have fewer. */
static bool
give_bits(struct text_call *call, const char *at, size_t size)
{
    int byte = 0;

    for (size_t i = 0; i < size; i++) {
        if (at[i] != '0' && at[i] != '1') {
            return false;
        }
        byte = 2 * byte + (at[i] - '0');
        if ((size - i) % 8 == 1) {
            gr_buf_add(call->out, &(char){(char)byte}, 1);
            byte = 0;
        }
    }
    return true;
}

/* Text as bytes. */
bool
text_bytes(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    const char *at = text->size > 0 ? text->bytes : "";

    switch (call->node->op) {
    case GR_OP_UNHEX:
        return give_pairs(call, at, text->size);
    case GR_OP_UNBIN:
        return give_bits(call, at, text->size);
    case GR_OP_FROM_BASE64:
        return gr_base64_parse(at, text->size, call->out);
    default: /* ENCODE */
        return text_give(call, *text);
    }
}

/* from counts from 1; what lies before the text counts as well: substring('abc', 0, 2) is 'a'. */
bool
text_substring(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    int64_t from = call->ints[1];
    int64_t end = INT64_MAX;

    if (call->node->count > 2 && (call->ints[2] < 0 || __builtin_add_overflow(from, call->ints[2], &end))) {
        end = call->ints[2] < 0 ? from : INT64_MAX;
    }
    from = from < 1 ? 1 : from;
    if (end <= from) {
        return true;
    }
    return text_give(call, text_between(text, rows_utf8_offset(text, from - 1), rows_utf8_offset(text, end - 1)));
}

/* DuckDB's: a negative `from` counts from the end. With a negative count it is the characters before that place. */
bool
text_part(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    int64_t characters = count_of(call, text);
    int64_t from = call->ints[1];
    int64_t count = call->node->count > 2 ? call->ints[2] : INT64_MAX;
    int64_t end;

    from = from >= 0                       ? from - 1
           : from < INT64_MIN + characters ? INT64_MIN
                                           : characters + from; /* may lie before the text */
    if (__builtin_add_overflow(from, count, &end)) {
        end = count < 0 ? INT64_MIN : INT64_MAX;
    }
    if (end < from) {
        int64_t other = end;

        end = from;
        from = other;
    }
    from = from < 0 ? 0 : from;
    if (end <= from) {
        return true;
    }
    return text_give(call, text_between(text, offset_of(call, text, from), offset_of(call, text, end)));
}

bool
text_side(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    int64_t characters = count_of(call, text);
    int64_t n = call->ints[1];

    n = n < -characters ? 0 : n < 0 ? characters + n : n > characters ? characters : n;
    if (call->node->op == GR_OP_LEFT || call->node->op == GR_OP_LEFT_DRAWN) {
        return text_give(call, text_between(text, 0, offset_of(call, text, n)));
    }
    return text_give(call, text_between(text, n == 0 ? text->size : offset_of(call, text, characters - n), text->size));
}

/* Whether a character is one that is trimmed. */
static bool
is_trimmed(const struct text_call *call, const char *at, size_t size)
{
    const struct rows_text *set = &call->texts[1];

    if (call->node->count == 1) {
        return size == 1 && memchr(" \t\n\r\v\f", *at, 6) != NULL;
    }
    for (size_t i = 0, step; i < set->size; i += step) {
        (void)rows_utf8_decode(set->bytes + i, set->size - i, &step);
        if (step == size && memcmp(set->bytes + i, at, size) == 0) {
            return true;
        }
    }
    return false;
}

bool
text_trim(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    size_t from = 0;
    size_t to = text->size;
    size_t size;

    while (call->node->op != GR_OP_RTRIM && from < to) {
        (void)rows_utf8_decode(text->bytes + from, to - from, &size);
        if (!is_trimmed(call, text->bytes + from, size)) {
            break;
        }
        from += size;
    }
    while (call->node->op != GR_OP_LTRIM && from < to) {
        for (size = 1; size < 4 && size < to - from && ((unsigned char)text->bytes[to - size] & 0xc0) == 0x80; size++) {
        }
        if (!is_trimmed(call, text->bytes + to - size, size)) {
            break;
        }
        to -= size;
    }
    return text_give(call, text_between(text, from, to));
}

/* part is not empty; NULL: it is not there from that byte on. */
static const char *
text_find(const struct rows_text *text, size_t from, const struct rows_text *part)
{
    return text->size - from < part->size ? NULL
                                          : memmem(text->bytes + from, text->size - from, part->bytes, part->size);
}

bool
text_replace(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    size_t at = 0;
    const char *found;

    while (call->texts[1].size > 0 && at < text->size && (found = text_find(text, at, &call->texts[1])) != NULL) {
        text_give(call, text_between(text, at, (size_t)(found - text->bytes)));
        text_give(call, call->texts[2]);
        at = (size_t)(found - text->bytes) + call->texts[1].size;
        if (call->out->size > TEXT_BLOCK_MOST) {
            return false;
        }
    }
    return text_give(call, text_between(text, at, text->size));
}

bool
text_ask_part(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    const struct rows_text *part = &call->texts[1];
    bool fits = part->size <= text->size;

    switch (call->node->op) {
    case GR_OP_STARTSWITH:
        call->value = fits && (part->size == 0 || memcmp(text->bytes, part->bytes, part->size) == 0);
        break;
    case GR_OP_ENDSWITH:
        call->value =
            fits && (part->size == 0 || memcmp(text->bytes + text->size - part->size, part->bytes, part->size) == 0);
        break;
    default: /* CONTAINS */
        call->value = fits && (part->size == 0 || text_find(text, 0, part) != NULL);
        break;
    }
    return true;
}

bool
text_position(struct text_call *call)
{
    const struct rows_text *text = &call->texts[1];
    const char *found = call->texts[0].size == 0 ? NULL : text_find(text, 0, &call->texts[0]);
    struct rows_text before;

    if (call->texts[0].size == 0 || text->size == 0 || found == NULL) {
        call->value = call->texts[0].size == 0;
        return true;
    }
    before = text_between(text, 0, (size_t)(found - text->bytes));
    call->value = rows_utf8_count(&before) + 1;
    return true;
}

/* Character n of a text, as parts between separators are counted. */
static bool
give_character(struct text_call *call, const struct rows_text *text, int64_t n)
{
    int64_t characters = rows_utf8_count(text);

    n = n < 0 ? characters + 1 + n : n;
    return n < 1 || n > characters ||
           text_give(call, text_between(text, rows_utf8_offset(text, n - 1), rows_utf8_offset(text, n)));
}

/* s[n], where it is a text. */
bool
text_character(struct text_call *call)
{
    return give_character(call, &call->texts[0], call->ints[1]);
}

/* s[from:to], counted from 1, negative from the end; what lies beyond an end is cut. Of a binary its bytes. */
bool
text_slice(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    bool bytes = call->node->dtype == GRANARY_BINARY;
    int64_t characters = bytes ? (int64_t)text->size : rows_utf8_count(text);
    int64_t from = call->ints[1];
    int64_t to = call->ints[2];

    from = from < -characters ? 1 : from < 0 ? characters + 1 + from : from < 1 ? 1 : from;
    to = to < -characters ? 0 : to < 0 ? characters + 1 + to : to > characters ? characters : to;
    if (to < from) {
        return true;
    }
    return text_give(call, bytes ? text_between(text, (size_t)from - 1, (size_t)to)
                                 : text_between(text, rows_utf8_offset(text, from - 1), rows_utf8_offset(text, to)));
}

/* Part n between separators, from 1; negative: from the end. '' when there is none. */
bool
text_split_part(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    const struct rows_text *separator = &call->texts[1];
    int64_t n = call->ints[2];
    int64_t parts = 1;
    size_t at = 0;
    const char *found;

    if (separator->size == 0) {
        return give_character(call, text, n);
    }
    while (separator->size > 0 && at < text->size && (found = text_find(text, at, separator)) != NULL) {
        at = (size_t)(found - text->bytes) + separator->size;
        parts++;
    }
    n = n < 0 ? parts + 1 + n : n;
    if (n < 1 || n > parts) {
        return true;
    }
    for (at = 0; n > 1; n--) {
        at = (size_t)(text_find(text, at, separator) - text->bytes) + separator->size;
    }
    found = separator->size > 0 && at < text->size ? text_find(text, at, separator) : NULL;
    return text_give(call, text_between(text, at, found != NULL ? (size_t)(found - text->bytes) : text->size));
}

/* ---- longer ones ---- */

bool
text_concat(struct text_call *call)
{
    (void)call; /* op_text() joins the operands itself: there may be many */
    return true;
}

/* count times text, cut to characters when that is not negative */
static bool
repeat_text(struct text_call *call, const struct rows_text *text, int64_t count)
{
    if (text->size > 0 && count > (int64_t)(TEXT_VALUE_MOST / text->size)) {
        return false;
    }
    for (int64_t i = 0; i < count && text->size > 0; i++) {
        text_give(call, *text);
    }
    return true;
}

bool
text_repeat(struct text_call *call)
{
    return repeat_text(call, &call->texts[0], call->ints[1]);
}

/* So many characters of the fill, over and over. */
static bool
give_fill(struct text_call *call, const struct rows_text *fill, int64_t characters)
{
    int64_t whole = rows_utf8_count(fill);

    return repeat_text(call, fill, characters / whole) &&
           text_give(call, text_between(fill, 0, rows_utf8_offset(fill, characters % whole)));
}

bool
text_pad(struct text_call *call)
{
    const struct rows_text blank = {" ", 1};
    const struct rows_text *text = &call->texts[0];
    const struct rows_text *fill = call->node->count > 2 ? &call->texts[2] : &blank;
    int64_t characters = rows_utf8_count(text);
    int64_t n = call->ints[1] < 0 ? 0 : call->ints[1];

    if (n <= characters || fill->size == 0 || rows_utf8_count(fill) == 0) {
        return text_give(call, text_between(text, 0, rows_utf8_offset(text, n)));
    }
    return (call->node->op == GR_OP_RPAD || give_fill(call, fill, n - characters)) && text_give(call, *text) &&
           (call->node->op == GR_OP_LPAD || give_fill(call, fill, n - characters));
}

bool
text_zfill(struct text_call *call)
{
    const struct rows_text zero = {"0", 1};
    const struct rows_text *text = &call->texts[0];
    size_t sign = text->size > 0 && (text->bytes[0] == '-' || text->bytes[0] == '+');
    int64_t missing = (call->ints[1] < 0 ? 0 : call->ints[1]) - rows_utf8_count(text);

    text_give(call, text_between(text, 0, sign));
    return (missing <= 0 || repeat_text(call, &zero, missing)) && text_give(call, text_between(text, sign, text->size));
}

bool
text_reverse(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];

    for (size_t to = text->size; to > 0;) {
        size_t from = to - 1;

        while (from > 0 && ((unsigned char)text->bytes[from] & 0xc0) == 0x80) {
            from--;
        }
        text_give(call, text_between(text, from, to));
        to = from;
    }
    return true;
}

/* One row. false: it is too long */
static bool
row_run(const struct node *node, struct text_call *call, text_function *function, int64_t i)
{
    for (size_t k = 0; k < node->count; k++) {
        const struct node *operand = node->operands[k];

        if (operand->base == ROWS_INT) {
            call->ints[k] = node_int_at(operand, i);
        } else if (operand->base == ROWS_DOUBLE) {
            call->reals[k] = ((const double *)operand->values)[i];
        } else if (node->op == GR_OP_CONCAT) {
            text_give(call,
                      ((const struct rows_text *)(operand->class == ROWS_TEXT ? operand->values : operand->texts))[i]);
        } else {
            call->texts[k] =
                ((const struct rows_text *)(operand->class == ROWS_TEXT ? operand->values : operand->texts))[i];
        }
    }
    return function(call) && call->out->size <= TEXT_BLOCK_MOST;
}

/* Row i has no value. */
static void
make_null(struct node *node, int64_t i, int64_t n)
{
    const uint8_t *before = node->valid;
    uint8_t *valid = node_valid_room(node);

    if (before != valid) {
        for (int64_t k = 0; k < n; k++) {
            valid[k] = before == NULL || before[k] != 0;
        }
    }
    valid[i] = 0;
}

granary_err
text_compute(struct node *node, text_function *function, int64_t n)
{
    bool text = rows_class_of_dtype(node->dtype) == ROWS_TEXT;
    struct text_call call = {.node = node, .out = &node->text};
    void *room = node_room(node, rows_class_of_dtype(node->dtype));
    granary_err err = GRANARY_OK;

    node_strict(node, n);
    node->text.size = 0;
    for (size_t k = 0; k < node->count; k++) {
        if (node->operands[k]->base == ROWS_TEXT || node->operands[k]->base == ROWS_CODE) {
            (void)node_texts(node->operands[k], n);
        }
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        size_t before = node->text.size;

        call.value = 0;
        call.real = 0.0;
        call.null = false;
        if (node_counts(node, i) && !row_run(node, &call, function, i)) {
            node->text.size = before;
            node_mark_bad(node, i, n);
            err = call.no_memory ? node_no_memory() : GRANARY_OK;
        }
        if (call.null) {
            make_null(node, i, n);
        }
        if (text) {
            ((struct rows_text *)room)[i].size = node->text.size - before;
        } else if (node->dtype == GRANARY_BOOL) {
            ((uint8_t *)room)[i] = call.value != 0;
        } else if (node->dtype == GRANARY_FLOAT64) {
            ((double *)room)[i] = call.real;
        } else {
            ((int64_t *)room)[i] = call.value;
        }
    }
    return err == GRANARY_OK ? node_place_texts(node, text ? room : NULL, text ? n : 0) : err;
}
