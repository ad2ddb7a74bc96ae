/*
 * Lists as keys: bytes that are equal where the lists are, and in their order. Groups, sorts and joins then need to know
 * of texts alone (graph/rewrite/keys.c).
 *
 *   list  := (1 value | 2)* 0      2: a null, which is larger than all values
 *   value := a number, most significant byte first, its sign turned; a text, whose zeros are followed by 255, and a zero
 *            and a zero behind it; a list
 *
 * Of floats the order of bits is turned into that of the numbers; a nan is above them, and -0.0 is 0.0, unless the key
 * only carries a list.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/value/bits.h"
#include "data/value/utf8.h"
#include "kernel/core/scratch.h"
#include "kernel/core/select.h"
#include "kernel/rows/lists/lists.h"

enum { KEY_END = 0, KEY_VALUE = 1, KEY_NULL = 2, KEY_ZERO = 255 };

#define SIGN_BIT ((uint64_t)1 << 63)

/* ---- keys of lists ---- */

static void
put_bytes(uint64_t bits, size_t size, struct gr_buf *out)
{
    unsigned char bytes[sizeof bits];

    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(bits >> 8 * (size - 1 - i));
    }
    gr_buf_add(out, bytes, size);
}

static void
put_real(double x, bool exact, struct gr_buf *out)
{
    uint64_t bits;

    x = isnan(x) ? (double)NAN : exact ? x : x + 0.0;
    memcpy(&bits, &x, sizeof bits);
    bits = isnan(x) ? bits & ~SIGN_BIT : bits;
    put_bytes((bits & SIGN_BIT) != 0 ? ~bits : bits | SIGN_BIT, sizeof bits, out);
}

static void
put_text(const granary_column *column, int64_t row, struct gr_buf *out)
{
    static const char stop[] = {0, 0};
    static const unsigned char zero[] = {0, KEY_ZERO};
    size_t size;
    const char *text = gr_text_at(column, row, &size);

    while (size > 0) {
        const char *found = memchr(text, 0, size);
        size_t part = found == NULL ? size : (size_t)(found - text);

        gr_buf_add(out, text, part);
        if (found != NULL) {
            gr_buf_add(out, zero, sizeof zero);
            part++;
        }
        text += part;
        size -= part;
    }
    gr_buf_add(out, stop, sizeof stop);
}

static void put_items(const granary_column *items, int64_t from, int64_t count, bool exact, struct gr_buf *out);

static void
put_value(const granary_column *column, int64_t row, bool exact, struct gr_buf *out)
{
    gr_int128 number;

    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_STRING:
    case GRANARY_BINARY:
        put_text(column, row, out);
        return;
    case GRANARY_LIST:
        put_items(gr_list_items(column), column->offsets[row], column->offsets[row + 1] - column->offsets[row], exact,
                  out);
        return;
    case GRANARY_FLOAT32:
    case GRANARY_FLOAT64:
        put_real(select_real(column, row, 1), exact, out);
        return;
    case GRANARY_UINT64:
        put_bytes((uint64_t)select_int(column, row), sizeof(uint64_t), out);
        return;
    case GRANARY_DECIMAL:
        number = select_int(column, row);
        put_bytes((uint64_t)(number >> 64) ^ SIGN_BIT, sizeof(uint64_t), out);
        put_bytes((uint64_t)number, sizeof(uint64_t), out);
        return;
    default:
        put_bytes((uint64_t)(int64_t)select_int(column, row) ^ SIGN_BIT, sizeof(uint64_t), out);
        return;
    }
}

static void
put_items(const granary_column *items, int64_t from, int64_t count, bool exact, struct gr_buf *out)
{
    for (int64_t k = from; k < from + count; k++) {
        bool null = items->dtype == GRANARY_NULLTYPE || gr_is_null(items, k);

        put_bytes(null ? KEY_NULL : KEY_VALUE, 1, out);
        if (!null) {
            put_value(items, k, exact, out);
        }
    }
    put_bytes(KEY_END, 1, out);
}

granary_err
op_list_key(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    const struct rows_list *lists = a->values;
    struct rows_text *out = node_room(node, ROWS_TEXT);
    bool exact = node->op == GR_OP_LIST_BYTES;

    node_strict(node, n);
    node->text.size = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t before = node->text.size;

        if (a->class == ROWS_LIST && node_counts(a, i) && (a->bad == NULL || a->bad[i] == 0)) {
            put_items(lists[i].items, lists[i].from, lists[i].count, exact, &node->text);
        }
        out[i].size = node->text.size - before;
    }
    return node_place_texts(node, out, n);
}

/* ---- lists of keys ---- */

/* Values of one dtype while they are read. */
struct reader {
    granary_dtype dtype;
    int64_t count;
    bool nulls;
    struct gr_buf there; /* a byte each */
    struct gr_buf values;
    struct gr_buf ends;   /* int32_t each: of texts and lists */
    struct reader *items; /* of lists */
    struct {
        int64_t count;
        size_t there, values, ends;
    } kept;
};

static void
reader_close(struct reader *reader)
{
    if (reader == NULL) {
        return;
    }
    gr_buf_free(&reader->there);
    gr_buf_free(&reader->values);
    gr_buf_free(&reader->ends);
    reader_close(reader->items);
    free(reader);
}

/* NULL: out of memory */
static struct reader *
reader_open(granary_dtype dtype)
{
    struct reader *reader = calloc(1, sizeof *reader);

    if (reader == NULL) {
        return NULL;
    }
    reader->dtype = dtype;
    reader->items = gr_dtype_is_list(dtype) ? reader_open(GRANARY_LIST_ITEM(dtype)) : NULL;
    if (gr_dtype_is_list(dtype) && reader->items == NULL) {
        reader_close(reader);
        return NULL;
    }
    return reader;
}

/* What is read from now on may be dropped: reader_cut(). */
static void
reader_keep(struct reader *reader)
{
    for (; reader != NULL; reader = reader->items) {
        reader->kept.count = reader->count;
        reader->kept.there = reader->there.size;
        reader->kept.values = reader->values.size;
        reader->kept.ends = reader->ends.size;
    }
}

static void
reader_cut(struct reader *reader)
{
    for (; reader != NULL; reader = reader->items) {
        reader->count = reader->kept.count;
        reader->there.size = reader->kept.there;
        reader->values.size = reader->kept.values;
        reader->ends.size = reader->kept.ends;
    }
}

/* What is left of a key. */
struct key {
    const unsigned char *at;
    size_t left;
};

/* false: it ends too early. */
static bool
take_bytes(struct key *key, size_t size, uint64_t *ret_bits)
{
    uint64_t bits = 0;

    if (key->left < size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        bits = bits << 8 | key->at[i];
    }
    key->at += size;
    key->left -= size;
    *ret_bits = bits;
    return true;
}

static bool
take_text(struct key *key, bool utf8, struct gr_buf *out)
{
    size_t begin = out->size;

    for (;;) {
        const unsigned char *zero = key->left > 0 ? memchr(key->at, 0, key->left) : NULL;
        size_t part = zero == NULL ? 0 : (size_t)(zero - key->at);

        if (zero == NULL || key->left < part + 2) {
            return false;
        }
        gr_buf_add(out, key->at, part + (zero[1] == KEY_ZERO));
        key->at += part + 2;
        key->left -= part + 2;
        if (zero[1] == 0) {
            return gr_buf_ok(out) && (!utf8 || utf8_first_invalid(out->bytes + begin, out->size - begin) == NULL);
        }
        if (zero[1] != KEY_ZERO) {
            return false;
        }
    }
}

/* A number that fits to the dtype. */
static bool
take_number(struct key *key, struct reader *reader)
{
    uint64_t high = 0;
    uint64_t low = 0;
    gr_int128 number;
    double real;

    if (!take_bytes(key, sizeof high, &high)) {
        return false;
    }
    switch (gr_dtype_kind(reader->dtype)) {
    case GRANARY_DECIMAL:
        number = 0;
        if (!take_bytes(key, sizeof low, &low)) {
            return false;
        }
        number = (gr_int128)((gr_uint128)(high ^ SIGN_BIT) << 64 | low);
        gr_buf_add(&reader->values, &number, sizeof number);
        return number < gr_power_of_ten(GRANARY_DECIMAL_DIGITS) && number > -gr_power_of_ten(GRANARY_DECIMAL_DIGITS);
    case GRANARY_FLOAT32:
    case GRANARY_FLOAT64:
        high = (high & SIGN_BIT) != 0 ? high & ~SIGN_BIT : ~high;
        memcpy(&real, &high, sizeof real);
        if (reader->dtype == GRANARY_FLOAT32) {
            float narrow = (float)real;

            gr_buf_add(&reader->values, &narrow, sizeof narrow);
        } else {
            gr_buf_add(&reader->values, &real, sizeof real);
        }
        return true;
    case GRANARY_BOOL:
        low = high ^ SIGN_BIT;
        gr_buf_add(&reader->values, low == 1 ? "\1" : "\0", 1);
        return low <= 1;
#define WORD(name, type, ...)                                                                                          \
    case GRANARY_##name: {                                                                                             \
        type value;                                                                                                    \
                                                                                                                       \
        number = GRANARY_##name == GRANARY_UINT64 ? (gr_int128)high : (gr_int128)(int64_t)(high ^ SIGN_BIT);           \
        value = (type)number;                                                                                          \
        gr_buf_add(&reader->values, &value, sizeof value);                                                             \
        return number >= GR_TYPE_LEAST(type) && number <= GR_TYPE_MOST(type) &&                                        \
               (GRANARY_##name != GRANARY_TIME || (number >= 0 && number < DAY_US));                                   \
    }
        GR_WORD_DTYPES(WORD)
#undef WORD
    default:
        return false;
    }
}

static bool take_items(struct key *key, struct reader *reader);

static bool
take_value(struct key *key, struct reader *reader, bool null)
{
    bool taken = true;

    put_bytes(!null, 1, &reader->there);
    reader->nulls = reader->nulls || null;
    reader->count++;
    if (gr_dtype_is_text(reader->dtype) || gr_dtype_is_list(reader->dtype)) {
        int32_t end;

        taken = null ||
                (gr_dtype_is_list(reader->dtype) ? take_items(key, reader->items)
                                                 : take_text(key, reader->dtype == GRANARY_STRING, &reader->values));
        taken = taken && reader->values.size <= INT32_MAX;
        end = (int32_t)(gr_dtype_is_list(reader->dtype) ? (size_t)reader->items->count : reader->values.size);
        gr_buf_add(&reader->ends, &end, sizeof end);
    } else if (null) {
        gr_int128 nothing = 0;
        size_t size = gr_dtype_size(reader->dtype);

        gr_buf_add(&reader->values, &nothing, size > 0 ? size : 1);
    } else {
        taken = take_number(key, reader);
    }
    return taken;
}

/* Items up to the end of their list. */
static bool
take_items(struct key *key, struct reader *reader)
{
    uint64_t mark = KEY_NULL;

    while (take_bytes(key, 1, &mark) && (mark == KEY_VALUE || mark == KEY_NULL)) {
        if (!take_value(key, reader, mark == KEY_NULL)) {
            return false;
        }
    }
    return mark == KEY_END;
}

/* ---- values as columns ---- */

static granary_err reader_give(const struct reader *reader, struct gr_column *ret_column);

/* The column without its values. */
static granary_err
make_column(const struct reader *reader, struct gr_column *ret_column)
{
    struct gr_column items;
    granary_err err;

    if (!gr_dtype_is_list(reader->dtype)) {
        return gr_column_alloc(reader->dtype, reader->count, (int64_t)reader->values.size, reader->nulls, ret_column);
    }
    err = reader_give(reader->items, &items);
    return err == GRANARY_OK ? gr_list_create(&items, reader->count, reader->nulls, ret_column) : err;
}

static granary_err
reader_give(const struct reader *reader, struct gr_column *ret_column)
{
    struct gr_column column;
    granary_err err = make_column(reader, &column);
    bool ends = gr_dtype_is_text(reader->dtype) || gr_dtype_is_list(reader->dtype);

    if (err != GRANARY_OK) {
        return err;
    }
    if (ends && reader->count > 0) {
        memcpy((int32_t *)(uintptr_t)column.view.offsets + 1, reader->ends.bytes, reader->ends.size);
    }
    if (reader->dtype == GRANARY_BOOL) {
        bits_pack((const uint8_t *)reader->values.bytes, reader->count, (uint8_t *)(uintptr_t)column.view.values, 0);
    } else if (reader->values.size > 0) {
        memcpy((char *)(uintptr_t)column.view.values, reader->values.bytes, reader->values.size);
    }
    if (reader->nulls) {
        bits_pack((const uint8_t *)reader->there.bytes, reader->count, (uint8_t *)(uintptr_t)column.view.validity, 0);
    }
    gr_column_settle(&column);
    *ret_column = column;
    return GRANARY_OK;
}

static bool
reader_ok(const struct reader *reader)
{
    bool ok = true;

    for (; reader != NULL; reader = reader->items) {
        ok = ok && gr_buf_ok(&reader->there) && gr_buf_ok(&reader->values) && gr_buf_ok(&reader->ends);
    }
    return ok;
}

/* A key each row, whose items are the row's; or a list of keys, each of which is an item. */
static bool
take_row(const struct rows_text *text, struct reader *reader)
{
    struct key key = {(const unsigned char *)text->bytes, text->size};
    bool taken;

    reader_keep(reader);
    taken = take_items(&key, reader) && key.left == 0;
    if (!taken) {
        reader_cut(reader);
    }
    return taken;
}

static bool
take_list(const struct lists_view *view, int64_t i, struct reader *reader)
{
    bool taken = true;

    reader_keep(reader);
    for (int64_t k = 0; k < view->count[i] && taken; k++) {
        struct key key = {NULL, 0};
        bool there = lists_item_counts(view, i, k);

        if (there) {
            key.at = (const unsigned char *)gr_text_at(view->items, view->from[i] + k, &key.left);
        }
        taken = take_value(&key, reader, !there) && key.left == 0;
    }
    if (!taken) {
        reader_cut(reader);
    }
    return taken;
}

granary_err
op_list_from_key(struct node *node, int64_t n)
{
    struct node *a = node->operands[0];
    bool lists = gr_dtype_is_list(a->dtype);
    const struct rows_text *texts = lists ? NULL : node_texts(a, n);
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    struct reader *reader = reader_open(GRANARY_LIST_ITEM(node->dtype));
    struct lists_view *view = NULL;
    struct gr_column items;
    granary_err err = ends == NULL || reader == NULL ? node_no_memory() : GRANARY_OK;

    err = err == GRANARY_OK && lists ? lists_open(a, n, &view) : err;
    node->valid = a->valid;
    node_bad_of_operands(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        bool counts = node_counts(node, i) && (node->bad == NULL || node->bad[i] == 0);

        if (counts && !(lists ? take_list(view, i, reader) : take_row(&texts[i], reader))) {
            node_mark_bad(node, i, n);
        }
        ends[i] = (int32_t)reader->count;
    }
    err = err == GRANARY_OK && !reader_ok(reader) ? node_no_memory() : err;
    err = err == GRANARY_OK ? reader_give(reader, &items) : err;
    if (err == GRANARY_OK) {
        lists_give(node, &items, ends, n);
    }
    reader_close(reader);
    lists_close(view);
    scratch_free(ends);
    return err;
}
