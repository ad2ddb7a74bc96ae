/* Frames with a mark: a column of nulls in front of the others. */
#include "mutable/marked.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "data/caller.h"
#include "data/layout/directory.h"

granary_err
marked_frame(const char *mark, const granary_column *columns, size_t count, int64_t rows, granary_frame **ret_frame)
{
    granary_column *all = calloc(count + 1, sizeof *all);
    granary_err err;

    if (all == NULL) {
        return gr_fail(GRANARY_ENOMEM, "table: out of memory");
    }
    all[0] = (granary_column){.name = mark, .dtype = GRANARY_NULLTYPE};
    memcpy(all + 1, columns, count * sizeof *columns);
    err = gr_caller_frame(all, count + 1, rows, ret_frame);
    free(all);
    return err;
}

granary_err
frame_store(granary_client *client, granary_id id, const granary_frame *frame, const granary_object_options *options)
{
    uint64_t data_size, meta_size;
    granary_buffer buffer;
    granary_err err = gr_arrow_measure(frame, &data_size, &meta_size);

    err = err == GRANARY_OK ? granary_object_create_with(client, id, data_size, meta_size, options, &buffer) : err;
    if (err == GRANARY_OK) {
        gr_arrow_write(frame, buffer.data, buffer.meta);
        err = granary_object_seal(client, &buffer);
    }
    return err;
}

granary_err
marked_columns(const granary_frame *all, granary_frame **ret_frame)
{
    granary_frame *frame = all->count < 2 ? NULL : gr_frame_create(all->count - 1, all->rows);
    granary_err err = all->count < 2 ? gr_fail(GRANARY_ECORRUPT, "it has no columns behind its mark") : GRANARY_OK;

    err = err == GRANARY_OK && frame == NULL ? gr_fail(GRANARY_ENOMEM, "table: out of memory") : err;
    for (size_t i = 1; err == GRANARY_OK && i < all->count; i++) {
        err = gr_frame_set_borrowed(frame, i - 1, all->columns[i].view.name, &all->columns[i].view);
    }
    return gr_frame_give(frame, err, ret_frame);
}

/* Whether its columns lie in the object, as those that frame_store() wrote do: of a file of another writer they go with the frame. */
static bool
lies_there(const granary_frame *all)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->columns[i].owned) {
            return false;
        }
    }
    return true;
}

granary_err
marked_get(granary_client *client, granary_id id, const char *mark, granary_view *ret_view, granary_frame **ret_frame)
{
    granary_frame *all = NULL, *frame = NULL;
    granary_view view;
    granary_err err = granary_object_get(client, id, 0, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_frame_open(&view, &all);
    if (err != GRANARY_OK || all->count < 2 || strcmp(all->columns[0].view.name, mark) != 0 || !lies_there(all)) {
        err = gr_fail(GRANARY_ETYPE, "the object is none");
    } else {
        err = marked_columns(all, &frame);
    }
    granary_frame_close(all);
    if (err != GRANARY_OK) {
        granary_object_release(client, &view);
        return err;
    }
    *ret_view = view;
    *ret_frame = frame;
    return GRANARY_OK;
}

bool
marked_is(granary_client *client, granary_id id, const char *mark)
{
    const uint64_t length = strlen(mark) + 1;
    struct gr_directory head;
    granary_view view;
    bool is_marked;

    if (granary_object_get_meta_range(client, id, 0, sizeof head, 0, &view) != GRANARY_OK) {
        return false;
    }
    memcpy(&head, view.data, sizeof head);
    is_marked = gr_directory_is(view.data, view.data_size) && head.columns > 1;
    granary_object_release(client, &view);
    if (!is_marked || granary_object_get_meta_range(
                          client, id, sizeof head + (uint64_t)head.columns * sizeof(struct gr_directory_column), length,
                          0, &view) != GRANARY_OK) {
        return false;
    }
    is_marked = memcmp(view.data, mark, length) == 0;
    granary_object_release(client, &view);
    return is_marked;
}
