/* Operators in growing arrays; attributes that many of them share are kept once. */
#include "tile/core/chunk.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "graph/graph.h"

void
gr_chunks_free(struct gr_chunks *chunks)
{
    for (uint32_t s = 0; s < chunks->set_count; s++) {
        for (size_t i = 0; i < chunks->sets[s].count; i++) {
            granary__attr__free_unpacked(chunks->sets[s].attrs[i], NULL);
        }
        free(chunks->sets[s].attrs);
    }
    for (size_t b = 0; b < chunks->body_count; b++) {
        gr_chunks_free(&chunks->bodies[b]->chunks);
        free(chunks->bodies[b]);
    }
    free(chunks->bodies);
    free(chunks->sets);
    free(chunks->chunks);
    free(chunks->inputs);
    *chunks = (struct gr_chunks){0};
}

granary_err
gr_chunks_error(const struct gr_chunks *chunks)
{
    switch (chunks->failed) {
    case GRANARY_OK:
        return GRANARY_OK;
    case GRANARY_EINVAL:
        return gr_fail(GRANARY_EINVAL, "more than %u chunk operators: give larger chunks", (unsigned)GR_CHUNKS_MAX);
    default:
        return gr_fail(chunks->failed, "a graph of %u chunk operators: out of memory", chunks->count);
    }
}

gr_attrs
gr_chunks_attrs(struct gr_chunks *chunks)
{
    /* The first one takes the empty set's place, too: an array that was made has room for both. */
    if (!gr_grow(&chunks->sets, &chunks->set_room, chunks->set_count, sizeof *chunks->sets)) {
        chunks->failed = GRANARY_ENOMEM;
        return 0;
    }
    if (chunks->set_count == 0) {
        chunks->sets[chunks->set_count++] = (struct gr_attr_set){0};
    }
    chunks->sets[chunks->set_count] = (struct gr_attr_set){0};
    return chunks->set_count++;
}

void
gr_attrs_add(struct gr_chunks *chunks, gr_attrs set, Granary__Attr *attr)
{
    struct gr_attr_set *to = chunks->sets + set;
    Granary__Attr **attrs = NULL;

    if (attr != NULL && chunks->failed == GRANARY_OK) {
        attrs = realloc(to->attrs, (to->count + 1) * sizeof *attrs);
    }
    if (attrs == NULL) {
        chunks->failed = chunks->failed == GRANARY_OK ? GRANARY_ENOMEM : chunks->failed;
        granary__attr__free_unpacked(attr, NULL);
        return;
    }
    to->attrs = attrs;
    to->attrs[to->count++] = attr;
}

static granary_err
make_room(struct gr_chunks *chunks, size_t inputs)
{
    bool made = gr_grow(&chunks->chunks, &chunks->room, chunks->count, sizeof *chunks->chunks);

    while (made && chunks->input_room - chunks->input_count <= inputs) {
        made = gr_grow(&chunks->inputs, &chunks->input_room, chunks->input_room, sizeof *chunks->inputs);
    }
    return chunks->count >= GR_CHUNKS_MAX ? GRANARY_EINVAL : made ? GRANARY_OK : GRANARY_ENOMEM;
}

struct gr_piece
gr_chunks_add(struct gr_chunks *chunks, const struct gr_chunk_spec *spec)
{
    if (chunks->failed == GRANARY_OK) {
        chunks->failed = make_room(chunks, spec->input_count);
    }
    if (chunks->failed != GRANARY_OK) {
        return (struct gr_piece){0};
    }
    if (spec->input_count > 0) {
        memcpy(chunks->inputs + chunks->input_count, spec->inputs, spec->input_count * sizeof *spec->inputs);
    }
    chunks->chunks[chunks->count] = (struct gr_chunk){.op = (uint8_t)spec->op,
                                                      .joins = spec->joins,
                                                      .step = spec->step,
                                                      .outputs = spec->outputs,
                                                      .attrs = {spec->shared, spec->own},
                                                      .input_count = (uint32_t)spec->input_count,
                                                      .first_input = chunks->input_count,
                                                      .bytes = spec->bytes};
    chunks->input_count += spec->input_count;
    return (struct gr_piece){.op = chunks->count++, .output = 0};
}

granary_id
gr_chunk_object(const struct gr_chunks *chunks, struct gr_piece piece)
{
    const char *text = chunks->sets[chunks->chunks[piece.op].attrs[0]].attrs[0]->strings[piece.output];
    granary_id id = {{0}};

    (void)granary_id_parse(text, strlen(text), &id); /* who added it has looked */
    return id;
}

granary_err
gr_chunks_add_body(struct gr_chunks *chunks, struct gr_chunks_body **ret_body, size_t *ret_number)
{
    struct gr_chunks_body *body =
        gr_grow(&chunks->bodies, &chunks->body_room, chunks->body_count, sizeof(struct gr_chunks_body *))
            ? calloc(1, sizeof *body)
            : NULL;

    if (body == NULL) {
        return tile_no_memory();
    }
    chunks->bodies[chunks->body_count] = body;
    *ret_number = chunks->body_count++;
    *ret_body = body;
    return GRANARY_OK;
}

const struct gr_chunks_body *
gr_chunk_body(const struct gr_chunks *chunks, const struct gr_chunk *chunk)
{
    const struct gr_attr_set *set = &chunks->sets[chunk->attrs[0]];

    return chunks->bodies[gr_attr_int(set->attrs, set->count, "body", 0)];
}
