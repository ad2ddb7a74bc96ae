/* to_json(): values and lists of values as JSON. */
#include "kernel/rows/json/json.h"
#include "kernel/rows/lists/lists.h"

static void
add_list(const struct lists_view *view, int64_t i, struct gr_buf *out)
{
    gr_buf_add(out, "[", 1);
    for (int64_t k = 0; k < view->count[i]; k++) {
        gr_buf_add(out, ",", k > 0 ? 1 : 0);
        json_add_cell(view->items, view->from[i] + k, out);
    }
    gr_buf_add(out, "]", 1);
}

granary_err
op_to_json(struct node *node, int64_t n)
{
    struct node *from = node->operands[0];
    bool is_list = gr_dtype_is_list(from->dtype);
    struct rows_text *out = node_room(node, ROWS_TEXT);
    struct lists_view *view = NULL;
    struct gr_column column = {.owned = false};
    granary_err err = is_list ? lists_open(from, n, &view) : lists_node_column(from, n, &column);

    if (err != GRANARY_OK) {
        return err;
    }
    node_strict(node, n);
    node->text.size = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t before = node->text.size;

        if (node_counts(node, i) && is_list) {
            add_list(view, i, &node->text);
        } else if (node_counts(node, i)) {
            json_add_cell(&column.view, i, &node->text);
        }
        out[i].size = node->text.size - before;
    }
    lists_close(view);
    gr_column_free(&column);
    return node_place_texts(node, out, n);
}
