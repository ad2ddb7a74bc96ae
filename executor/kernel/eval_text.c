#include "kernel/eval_text.h"

#include <locale.h>
#include <pthread.h>
#include <wctype.h>

#include "base/error.h"

static locale_t unicode;
static pthread_once_t unicode_once = PTHREAD_ONCE_INIT;

/* Kept for the life of the process: the same letters whatever the user's locale. */
static void
unicode_load(void)
{
    unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* The character at *at and its length; a byte that is no UTF-8 stands for itself (length 1, -1). */
static int32_t
utf8_decode(const unsigned char *at, size_t left, size_t *ret_size)
{
    static const int32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = at[0] < 0x80 ? 1 : at[0] >> 5 == 6 ? 2 : at[0] >> 4 == 14 ? 3 : at[0] >> 3 == 30 ? 4 : 0;
    int32_t point = size == 1 ? at[0] : at[0] & (0x7f >> size);

    *ret_size = 1;
    if (size == 0 || size > left) {
        return -1;
    }
    for (size_t i = 1; i < size; i++) {
        if (at[i] >> 6 != 2) {
            return -1;
        }
        point = point << 6 | (at[i] & 0x3f);
    }
    if (size > 1 && point < least[size]) {
        return -1;
    }
    *ret_size = size;
    return point;
}

static void
utf8_add(struct gr_buf *out, uint32_t point)
{
    char bytes[4];
    size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

    for (size_t i = size; i-- > 1; point >>= 6) {
        bytes[i] = (char)(0x80 | (point & 0x3f));
    }
    bytes[0] = (char)(size == 1 ? point : (0xf00u >> size & 0xff) | point);
    gr_buf_add(out, bytes, size);
}

static bool
is_ascii(const struct eval_text *text)
{
    unsigned char all = 0;

    for (size_t i = 0; i < text->size; i++) {
        all |= (unsigned char)text->bytes[i];
    }
    return all < 0x80;
}

static granary_err
lower_one(const struct eval_text *text, struct gr_buf *out)
{
    if (is_ascii(text)) {
        char *to = gr_buf_grow(out, text->size);

        for (size_t i = 0; to != NULL && i < text->size; i++) {
            char c = text->bytes[i];

            to[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
        }
        return GRANARY_OK;
    }
    pthread_once(&unicode_once, unicode_load);
    if (unicode == (locale_t)0) {
        return gr_fail(GRANARY_EUNSUPPORTED, "lower: the locale C.UTF-8 is missing; install the C library's locales");
    }
    for (size_t i = 0, size; i < text->size; i += size) {
        int32_t point = utf8_decode((const unsigned char *)text->bytes + i, text->size - i, &size);

        if (point < 0) {
            gr_buf_add(out, text->bytes + i, 1);
        } else {
            utf8_add(out, (uint32_t)towlower_l((wint_t)point, unicode));
        }
    }
    return GRANARY_OK;
}

granary_err
eval_text_lower(struct eval_node *node, int64_t n)
{
    const struct eval_text *in = node->operands[0]->values;
    struct eval_text *out = node->buffer;
    size_t at = 0;

    node->text.size = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t before = node->text.size;
        struct eval_text none = {0};
        bool there = node->valid == NULL || node->valid[i];
        granary_err err = lower_one(there ? &in[i] : &none, &node->text);

        if (err != GRANARY_OK) {
            return err;
        }
        out[i].size = node->text.size - before;
    }
    if (!gr_buf_ok(&node->text)) {
        return gr_fail(GRANARY_ENOMEM, "lower: out of memory");
    }
    for (int64_t i = 0; i < n; i++) { /* the bytes no longer move */
        out[i].bytes = out[i].size > 0 ? node->text.bytes + at : NULL;
        at += out[i].size;
    }
    return GRANARY_OK;
}

void
eval_text_length(struct eval_node *node, int64_t n)
{
    const struct eval_text *in = node->operands[0]->values;
    int64_t *out = node->buffer;

    for (int64_t i = 0; i < n; i++) {
        int64_t count = 0;

        for (size_t at = 0; at < in[i].size; at++) {
            count += ((unsigned char)in[i].bytes[at] & 0xc0) != 0x80;
        }
        out[i] = count;
    }
}
