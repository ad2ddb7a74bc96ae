#include "rows_tools.h"

#include <stdlib.h>
#include <string.h>

/* An expression's column over a frame, owned by *ret_frame. */
granary_err
computed(const char *text, const granary_frame *frame, granary_frame **ret_frame)
{
    const char *const texts[] = {text};
    const struct rows_spec spec = {.wanted = texts, .wanted_count = 1};

    return rows_frame(frame, &spec, texts, ret_frame);
}

/* The expression's column over a frame, as text: cells between spaces, nulls as "-". */
void
assert_cells(const granary_frame *frame, const char *text, const char *dtype, const char *cells)
{
    granary_frame *made = NULL;
    struct gr_column column;
    struct gr_buf out = {0};
    granary_err err = computed(text, frame, &made);

    if (err != GRANARY_OK) {
        fail_msg("%s: %s", text, granary_error_message());
    }
    column = made->columns[0];
    assert_int_equal(column.view.rows, frame->rows);
    assert_string_equal(granary_dtype_name(column.view.dtype), dtype);
    for (int64_t i = 0; i < frame->rows; i++) {
        gr_buf_add(&out, " ", i > 0);
        if (column.view.dtype == GRANARY_NULLTYPE || gr_is_null(&column.view, i)) {
            gr_buf_add(&out, "-", 1);
        } else {
            gr_value_format(&column.view, i, &out);
        }
    }
    if (strcmp(out.bytes != NULL ? out.bytes : "", cells) != 0) {
        fail_msg("%s: '%s' is not '%s'", text, out.bytes, cells);
    }
    gr_buf_free(&out);
    gr_frame_destroy(made);
}

void
assert_error(const granary_frame *frame, const char *text, granary_err want, const char *message)
{
    granary_frame *made = NULL;

    if (computed(text, frame, &made) != want) {
        fail_msg("%s: wants %s, got '%s'", text, message, granary_error_message());
    }
    if (strstr(granary_error_message(), message) == NULL) {
        fail_msg("%s: '%s' is not in '%s'", text, message, granary_error_message());
    }
}

void
assert_all(const granary_frame *frame, const struct expectation *want, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_cells(frame, want[i].text, want[i].dtype, want[i].cells);
    }
}

granary_frame *
encoded(const granary_frame *frame)
{
    granary_frame *made = gr_frame_create(frame->count, frame->rows);

    assert_non_null(made);
    for (size_t i = 0; i < frame->count; i++) {
        const granary_column *from = &frame->columns[i].view;
        struct gr_dictionary *dictionary = NULL;
        struct gr_column entries;
        struct gr_column codes;
        int64_t *firsts = calloc((size_t)frame->rows + 1, sizeof *firsts);
        int64_t count = 0;

        if (from->dtype != GRANARY_STRING) {
            assert_int_equal(gr_frame_set_borrowed(made, i, from->name, from), GRANARY_OK);
            free(firsts);
            continue;
        }
        assert_int_equal(gr_column_alloc(GRANARY_INT32, frame->rows, 0, true, &codes), GRANARY_OK);
        for (int64_t row = 0; row < frame->rows; row++) {
            size_t size;
            const char *text = gr_text_at(from, row, &size);
            int64_t code = 0;

            if (gr_is_null(from, row)) {
                continue;
            }
            for (; code < count; code++) {
                size_t other_size;
                const char *other = gr_text_at(from, firsts[code], &other_size);

                if (size == other_size && memcmp(text, other, size) == 0) {
                    break;
                }
            }
            if (code == count) {
                firsts[count++] = row;
            }
            gr_bit_set((uint8_t *)(uintptr_t)codes.view.validity, row);
            ((int32_t *)(uintptr_t)codes.view.values)[row] = (int32_t)code;
        }
        gr_column_finish(&codes);
        assert_int_equal(gr_column_take(from, firsts, count, &entries), GRANARY_OK);
        assert_int_equal(gr_dictionary_create(&entries, &dictionary), GRANARY_OK);
        gr_column_set_dictionary(&codes, dictionary);
        assert_int_equal(gr_frame_set(made, i, from->name, &codes), GRANARY_OK);
        free(firsts);
    }
    return made;
}
