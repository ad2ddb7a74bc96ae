/*
 * Values kept one by one in an array that grows, and made a column at the end. Strings are numbers in a set of texts
 * (data/texts.h), so that equal ones are kept once.
 */
#include "kernel/aggregate/lists.h"
#include "contract/int128.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void
values_init(struct values *values, granary_dtype dtype)
{
    *values = (struct values){.dtype = dtype, .width = group_is_wide(dtype) ? 16 : 8};
}

void
values_fini(struct values *values)
{
    free(values->bytes);
    free(values->there);
    free(values->seen);
    gr_texts_free(&values->texts);
    values->bytes = NULL;
    values->there = NULL;
    values->seen = NULL;
    values->different = 0;
    values->count = 0;
    values->room = 0;
}

granary_err
values_reserve(struct values *values, size_t more)
{
    size_t room = values->room * 2 + more + 256;
    char *bytes;

    if (values->count + more <= values->room) {
        return GRANARY_OK;
    }
    bytes = realloc(values->bytes, room * values->width);
    if (bytes == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %zu values", room);
    }
    values->bytes = bytes;
    if (values->keeps_nulls) {
        uint8_t *there = realloc(values->there, room);

        if (there == NULL) {
            return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %zu values", room);
        }
        values->there = there;
    }
    values->room = room;
    return GRANARY_OK;
}

/* all_near: so are all integers. to has room for all; how many there are in it then */
static inline size_t
add_new(uint64_t *seen, uint64_t from, const int64_t *integers, int64_t n, bool all_near, int64_t *to, size_t count)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t distance = (uint64_t)integers[i] - from;
        bool near = all_near || distance < GROUP_NEAR;

        to[count] = integers[i];
        if (near) {
            uint64_t word = seen[distance / 64];

            count += !(word >> distance % 64 & 1);
            seen[distance / 64] = word | (uint64_t)1 << distance % 64;
        } else {
            count++;
        }
    }
    return count;
}

granary_err
values_add_new(struct values *values, const int64_t *integers, int64_t n, uint32_t *owners)
{
    int64_t *to = (int64_t *)(void *)values->bytes;
    size_t count;
    uint64_t all = 0;
    uint64_t from;

    if (values->seen == NULL && n > 0) {
        values->seen = calloc(GROUP_NEAR / 64, sizeof *values->seen);
        values->seen_from = (int64_t)((uint64_t)integers[0] - GROUP_NEAR / 2);
        if (values->seen == NULL) {
            return gr_no_memory("groupby");
        }
    }
    from = (uint64_t)values->seen_from;
    for (int64_t i = 0; i < n; i++) {
        all |= (uint64_t)integers[i] - from;
    }
    count = all < GROUP_NEAR ? add_new(values->seen, from, integers, n, true, to, values->count)
                             : add_new(values->seen, from, integers, n, false, to, values->count);
    for (size_t i = values->count; i < count; i++) {
        owners[i] = 1;
    }
    values->different += all < GROUP_NEAR ? count - values->count : 0;
    values->count = count;
    return GRANARY_OK;
}

granary_err
values_bits(struct values *values, const struct rows_vector *vector, int64_t i, gr_int128 *ret_bits)
{
    int64_t bits = 0;
    uint32_t code;
    struct rows_text text;
    granary_err err;

    switch (vector->class) {
    case ROWS_NULL:
    case ROWS_LIST: /* no graph collects them */
        break;
    case ROWS_BOOL:
        bits = ((const uint8_t *)vector->values)[i];
        break;
    case ROWS_INT:
        bits = ((const int64_t *)vector->values)[i];
        break;
    case ROWS_WIDE:
        *ret_bits = ((const gr_int128 *)vector->values)[i];
        return GRANARY_OK;
    case ROWS_DOUBLE:
        memcpy(&bits, (const double *)vector->values + i, sizeof bits);
        break;
    case ROWS_CODE:
    case ROWS_TEXT:
        text = rows_text_at(vector, i);
        err = gr_texts_add(&values->texts, text.bytes, text.size, &code);
        *ret_bits = code;
        return err;
    }
    *ret_bits = bits;
    return GRANARY_OK;
}

static granary_err
text_column(const struct values *values, const uint32_t *pick, const uint8_t *there, size_t count,
            struct gr_column *ret_column)
{
    uint64_t total = 0;
    granary_err err;

    for (size_t i = 0; i < count; i++) {
        size_t size = 0;

        if (there == NULL || there[i]) {
            (void)gr_texts_at(&values->texts, (uint32_t)values_get(values, pick != NULL ? pick[i] : i), &size);
        }
        total += size;
    }
    if (total > INT32_MAX) {
        return gr_fail(GRANARY_EFULL, "groupby: more than 2 GiB of text in a column: use smaller chunks");
    }
    err = gr_column_alloc(values->dtype, (int64_t)count, (int64_t)total, true, ret_column);
    if (err != GRANARY_OK) {
        return err;
    }
    total = 0;
    for (size_t i = 0; i < count; i++) {
        if (there == NULL || there[i]) {
            size_t size;
            const char *text =
                gr_texts_at(&values->texts, (uint32_t)values_get(values, pick != NULL ? pick[i] : i), &size);

            if (size > 0) {
                memcpy((char *)(uintptr_t)ret_column->view.values + total, text, size);
            }
            total += size;
            gr_bit_set((uint8_t *)(uintptr_t)ret_column->view.validity, (int64_t)i);
        }
        ((int32_t *)(uintptr_t)ret_column->view.offsets)[i + 1] = (int32_t)total;
    }
    gr_column_finish(ret_column);
    return GRANARY_OK;
}

granary_err
values_column(const struct values *values, const uint32_t *pick, const uint8_t *there, size_t count,
              struct gr_column *ret_column)
{
    size_t size = gr_dtype_size(values->dtype);
    granary_err err;

    if (gr_dtype_is_text(values->dtype)) {
        return text_column(values, pick, there, count, ret_column);
    }
    if (pick == NULL && there == NULL && size == values->width && count > 0) {
        err = gr_column_alloc_unset(values->dtype, (int64_t)count, 0, false, ret_column);
        if (err == GRANARY_OK) {
            memcpy((void *)(uintptr_t)ret_column->view.values, values->bytes, count * size);
            gr_column_finish(ret_column);
        }
        return err;
    }
    err = gr_column_alloc(values->dtype, (int64_t)count, 0, true, ret_column);
    if (err != GRANARY_OK || values->dtype == GRANARY_NULLTYPE) {
        return err;
    }
    for (size_t i = 0; i < count; i++) {
        char *at = (char *)(uintptr_t)ret_column->view.values + i * size;
        gr_int128 bits;

        if (there != NULL && !there[i]) {
            continue;
        }
        bits = values_get(values, pick != NULL ? pick[i] : i);
        gr_bit_set((uint8_t *)(uintptr_t)ret_column->view.validity, (int64_t)i);
        if (values->dtype == GRANARY_BOOL) {
            if (bits != 0) {
                gr_bit_set((uint8_t *)(uintptr_t)ret_column->view.values, (int64_t)i);
            }
        } else if (values->dtype == GRANARY_FLOAT32) {
            int64_t half = (int64_t)bits;
            double real;
            float value;

            memcpy(&real, &half, sizeof real);
            value = (float)real;
            memcpy(at, &value, sizeof value);
        } else {
            memcpy(at, &bits, size);
        }
    }
    gr_column_finish(ret_column);
    return GRANARY_OK;
}
