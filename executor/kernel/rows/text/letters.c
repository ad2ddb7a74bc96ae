/* Characters by their numbers, numbers in other bases, and texts as parts of addresses. */
#include <string.h>

#include "data/value/bytes.h"
#include "data/value/utf8.h"
#include "kernel/rows/text/text.h"
#include "kernel/rows/text/utf8.h"

/* ---- characters ---- */

bool
text_letter(struct text_call *call)
{
    int64_t point = call->ints[0];

    if (point < 0 || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
        return false;
    }
    rows_utf8_add(call->out, (uint32_t)point);
    return true;
}

/* The number of the first character. Of an empty text unicode() is -1, and ascii() 0. */
bool
text_point(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    size_t size;

    call->value = call->node->op == GR_OP_ASCII ? 0 : -1;
    if (text->size > 0) {
        int32_t point = rows_utf8_decode(text->bytes, text->size, &size);

        call->value = point < 0 ? (unsigned char)text->bytes[0] : point;
    }
    return true;
}

/* `with` in the place of so many characters of the text from one on; as many as it has itself. */
bool
text_overlay(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    int64_t from = call->ints[2];
    int64_t count = call->node->count > 3 ? call->ints[3] : rows_utf8_count(&call->texts[1]);
    int64_t behind;

    if (from < 1 || __builtin_add_overflow(from, count, &behind)) {
        return false;
    }
    behind = behind < 1 ? 1 : behind;
    return text_give(call, text_between(text, 0, rows_utf8_offset(text, from - 1))) &&
           text_give(call, call->texts[1]) &&
           text_give(call, text_between(text, rows_utf8_offset(text, behind - 1), text->size));
}

/* ---- bases ---- */

static void
give_digits(struct text_call *call, uint64_t value, unsigned base, int64_t least)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char text[64];
    size_t at = sizeof text;

    for (; value > 0 || at == sizeof text; value /= base) {
        text[--at] = digits[value % base];
    }
    for (int64_t missing = least - (int64_t)(sizeof text - at); missing > 0; missing--) {
        gr_buf_add(call->out, "0", 1);
    }
    gr_buf_add(call->out, text + at, sizeof text - at);
}

/* Of a negative number the bits of an int64. */
bool
text_based(struct text_call *call)
{
    enum gr_expr_op op = call->node->op;
    int64_t base = op == GR_OP_TO_BASE ? call->ints[1] : op == GR_OP_BIN_INTEGER ? 2 : 16;
    int64_t least = op == GR_OP_TO_BASE && call->node->count > 2 ? call->ints[2] : 1;

    if (op == GR_OP_TO_BASE && (call->ints[0] < 0 || base < 2 || base > 36 || least < 0 || least > 64)) {
        return false;
    }
    give_digits(call, (uint64_t)call->ints[0], (unsigned)base, least);
    return true;
}

bool
text_bits(struct text_call *call)
{
    for (size_t i = 0; i < call->texts[0].size; i++) {
        give_digits(call, (unsigned char)call->texts[0].bytes[i], 2, 8);
    }
    return true;
}

/* ---- addresses ---- */

static bool
is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("-_.~", c) != NULL);
}

bool
text_url_encode(struct text_call *call)
{
    for (size_t i = 0; i < call->texts[0].size; i++) {
        char c = call->texts[0].bytes[i];

        if (is_plain(c)) {
            gr_buf_add(call->out, &c, 1);
        } else {
            gr_buf_addf(call->out, "%%%02X", (unsigned char)c);
        }
    }
    return true;
}

/* What is no pair of digits behind a % stays. */
bool
text_url_decode(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    size_t before = call->out->size;

    for (size_t i = 0; i < text->size; i++) {
        int byte = text->bytes[i] == '%' && i + 2 < text->size ? gr_hex_byte(text->bytes + i + 1) : -1;
        char c = byte >= 0 ? (char)byte : text->bytes[i];

        gr_buf_add(call->out, &c, 1);
        i += byte >= 0 ? 2 : 0;
    }
    return gr_buf_ok(call->out) && (call->out->size == before ||
                                    utf8_first_invalid(call->out->bytes + before, call->out->size - before) == NULL);
}

/* A pattern that finds the text itself. */
bool
text_regexp_escape(struct text_call *call)
{
    for (size_t i = 0; i < call->texts[0].size; i++) {
        char c = call->texts[0].bytes[i];
        bool is_word =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;

        gr_buf_add(call->out, "\\", !is_word);
        gr_buf_add(call->out, &c, 1);
    }
    return true;
}
