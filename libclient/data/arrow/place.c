/* Arrow files completed around columns that were made in them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow/layout.h"
#include "data/place.h"

/* A schema's field, a batch's node and buffers, and a name, with much to spare: one that does not fit is written anew.
 */
#define HEAD_FIXED     1024u
#define HEAD_OF_COLUMN 512u

uint64_t
gr_arrow_place_head(size_t columns)
{
    return arrow_aligned(HEAD_FIXED + columns * HEAD_OF_COLUMN);
}

/* The footer has the schema once more. */
uint64_t
gr_arrow_place_tail(size_t columns)
{
    return gr_arrow_place_head(columns) + columns * 3 * 64;
}

static bool
lies_in(const struct gr_place *place, const void *bytes)
{
    uintptr_t at = (uintptr_t)bytes - (uintptr_t)place->file;

    return (uintptr_t)bytes >= (uintptr_t)place->file && at < place->used && at % 64 == 0;
}

/* Where everything is to be: columns that lie in the place there, the rest behind, then dictionaries. */
static struct arrow_plan
plan_around(const granary_frame *frame, const struct gr_place *place, struct gr_directory_column *places)
{
    struct arrow_plan around = arrow_plan_file(frame);
    struct arrow_plan plan = {.schema = around.schema, .batch = around.dictionaries};
    uint64_t head = around.body - around.batch; /* the batch's message */
    uint64_t at = place->used;

    plan.body = gr_arrow_place_head(frame->count);
    for (size_t i = 0; i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        uint64_t behind = at;

        places[i] = arrow_place_column(column, &behind);
        if (places[i].values_size > 0 && lies_in(place, column->values)) {
            places[i].values_offset = (uint64_t)((const char *)column->values - place->file);
            at += arrow_aligned(places[i].validity_size) + arrow_aligned(places[i].offsets_size);
        } else {
            at = behind;
        }
    }
    plan.body_size = at - plan.body;
    plan.dictionaries = at;
    for (size_t i = 0; i < frame->count; i++) {
        if (frame->columns[i].view.dictionary != NULL) {
            struct arrow_block block = arrow_dictionary_block(frame, i, at);

            at = arrow_block_end(&block);
        }
    }
    plan.end = at;
    plan.footer = plan.end + ARROW_PREFIX;
    plan.footer_size = around.footer_size;
    plan.size = plan.footer + plan.footer_size + sizeof(uint32_t) + ARROW_MAGIC_SIZE;
    if (plan.batch + head > plan.body) {
        plan.size = UINT64_MAX;
    }
    return plan;
}

granary_err
gr_arrow_place_write(const granary_frame *frame, const struct gr_place *place, struct gr_directory_column **ret_places,
                     uint64_t *ret_data_size)
{
    struct gr_directory_column *places = calloc(frame->count + 1, sizeof *places);
    uint8_t *bytes = (uint8_t *)place->file;
    struct arrow_plan plan;
    uint64_t dictionary;

    if (places == NULL) {
        return gr_fail(GRANARY_ENOMEM, "frame: out of memory");
    }
    plan = plan_around(frame, place, places);
    if (plan.size > place->size) {
        free(places);
        return gr_fail(GRANARY_EFULL, "frame: it is larger than was told");
    }
    memcpy(bytes, ARROW_MAGIC "\0\0", 8);
    arrow_write_message(frame, HEADER_SCHEMA, 0, 0, NULL, bytes + plan.schema, bytes + plan.batch);
    arrow_write_batch(frame, &plan, places, bytes);
    dictionary = plan.dictionaries;
    for (size_t i = 0; i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;

        if (column->dictionary != NULL) {
            arrow_write_entries(bytes, frame, i, &dictionary, &places[i]);
        }
        if (places[i].values_size > 0 && lies_in(place, column->values)) {
            struct gr_directory_column rest = places[i];

            rest.values_size = 0;
            arrow_write_column(bytes, column, &rest, false);
        } else {
            arrow_write_column(bytes, column, &places[i], true);
        }
    }
    arrow_write_end(frame, &plan, bytes);
    *ret_places = places;
    *ret_data_size = plan.size;
    return GRANARY_OK;
}

void
gr_arrow_place_directory(const granary_frame *frame, const struct gr_directory_column *places, uint64_t data_size,
                         void *meta)
{
    gr_directory_begin(frame, data_size, meta);
    for (size_t i = 0; i < frame->count; i++) {
        gr_directory_put(frame, i, &places[i], true, meta);
    }
}
