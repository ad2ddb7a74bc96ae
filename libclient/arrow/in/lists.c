/* Lists of any of Arrow's layouts: their items are a column by itself, of which each list is looked for and copied. */
#include "arrow/in/in.h"
#include "base/error.h"
#include "data/arrow/read.h"
#include "data/caller.h"

granary_err
in_list_dtype(const char *name, const struct ArrowSchema *schema, granary_dtype *ret_dtype)
{
    granary_column items;
    granary_err err;

    if (schema->n_children != 1 || schema->children == NULL || schema->children[0] == NULL) {
        return in_fail(name, "its schema has lists, and not one field that tells of their items");
    }
    err = in_column_empty(NULL, name, schema->children[0], &items);
    if (err == GRANARY_OK && gr_dtype_is_list(items.dtype)) {
        return gr_fail(GRANARY_EUNSUPPORTED, "column '%s' has lists of lists: granary has one level; flatten it", name);
    }
    /* lists of nothing are lists of strings */
    *ret_dtype = err == GRANARY_OK ? GRANARY_LIST(items.dtype == GRANARY_NULLTYPE ? GRANARY_STRING : items.dtype)
                                   : GRANARY_NULLTYPE;
    return err;
}

/* The items that the rows may be of. */
static granary_err
items_of(struct in_kept **kept, const struct in_rows *rows, const struct ArrowSchema *schema, granary_column *ret_items)
{
    const struct ArrowArray *array = rows->array;
    const struct ArrowArray *child = array->n_children == 1 && array->children != NULL ? array->children[0] : NULL;
    int64_t from = 0;
    int64_t count;
    struct gr_column plain;
    granary_err err;

    if (child == NULL) {
        return in_fail(rows->name, "its array has lists, and not one child that has their items");
    }
    count = child->length;
    if (rows->type.layout == IN_FIXED_LIST) {
        if (__builtin_mul_overflow(rows->at, rows->type.times, &from) ||
            __builtin_mul_overflow(rows->rows, rows->type.times, &count)) {
            return in_fail(rows->name, "its lists have more items than there can be");
        }
    }
    err = in_column(kept, rows->name, schema->children[0], child, from, count, ret_items);
    err = err == GRANARY_OK ? gr_caller_check_values(ret_items, ret_items->rows) : err;
    if (err == GRANARY_OK && ret_items->dictionary != NULL) {
        err = gr_column_decode(ret_items, &plain);
        if (err == GRANARY_OK && in_keep(kept, &plain) == NULL) {
            return GRANARY_ENOMEM;
        }
        *ret_items = err == GRANARY_OK ? plain.view : *ret_items;
    }
    return err;
}

granary_err
in_lists(struct in_kept **kept, const struct in_rows *rows, const struct ArrowSchema *schema,
         struct gr_column *ret_column)
{
    static const enum arrow_layout layouts[] = {
        [IN_LIST] = LAYOUT_LIST,
        [IN_LARGE_LIST] = LAYOUT_LARGE_LIST,
        [IN_LIST_VIEW] = LAYOUT_LIST_VIEW,
        [IN_LARGE_LIST_VIEW] = LAYOUT_LARGE_LIST_VIEW,
        [IN_FIXED_LIST] = LAYOUT_FIXED_LIST,
    };
    enum in_layout layout = rows->type.layout;
    bool is_view = layout == IN_LIST_VIEW || layout == IN_LARGE_LIST_VIEW;
    size_t width = layout == IN_LARGE_LIST || layout == IN_LARGE_LIST_VIEW ? sizeof(int64_t) : sizeof(int32_t);
    struct arrow_field field = {.name = rows->name, .layout = layouts[layout], .list_size = rows->type.times};
    struct arrow_piece piece = {.rows = rows->rows};
    granary_column items;
    granary_err err = in_list_dtype(rows->name, schema, &field.dtype);

    err = err == GRANARY_OK ? items_of(kept, rows, schema, &items) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    if (layout != IN_FIXED_LIST) {
        if (rows->array->buffers[1] == NULL || (is_view && rows->array->buffers[2] == NULL)) {
            return in_fail(rows->name, "the offsets or sizes of its lists are missing");
        }
        piece.offsets = (const uint8_t *)rows->array->buffers[1] + (size_t)rows->at * width;
        piece.offsets_size = ((uint64_t)rows->rows + !is_view) * width;
        piece.values = is_view ? (const uint8_t *)rows->array->buffers[2] + (size_t)rows->at * width : NULL;
        piece.values_size = is_view ? (uint64_t)rows->rows * width : 0;
    }
    err = arrow_gather_lists(&field, &piece, rows->validity, &items, ret_column);
    return err == GRANARY_ECORRUPT ? GRANARY_EINVAL : err; /* with its message */
}
