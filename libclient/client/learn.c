/*
 * Types of sources. Frames are asked of the instance: the first 0 rows of each, in one graph. Equal sources are asked once.
 * Tensors of files are looked at here, as their headers tell all there is.
 */
#include "client/learn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "client/submit.h"
#include "data/file/format.h"
#include "data/tensor.h"
#include "granary/read.h"
#include "graph/tensor/types.h"

enum {
    NPY_HEAD = 64 << 10, /* of a file, in which its header ends */
    MESSAGE_MAX = 1024
};

/* A node whose type nobody knows yet, and who tells it. */
struct source {
    struct gr_node *node;
    const struct source *same; /* the same of an equal node; or NULL */
    char *target;              /* of the question; NULL: nothing is asked */
};

struct learning {
    granary_client *client;
    struct gr_graph *graph;
    struct source *sources;
    size_t count;
    Granary__Graph question;
};

static granary_err
learn_no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "learning what a graph's sources have: out of memory");
}

/* ---- tensors ---- */

static void
set_tensor(struct gr_node *node, const granary_tensor *tensor)
{
    node->type.known = node->type.is_tensor = true;
    node->type.dtype = tensor->dtype;
    node->type.dims = tensor->dims;
    memcpy(node->type.shape, tensor->shape, sizeof node->type.shape);
}

static granary_err
look_at_npy(struct gr_node *node)
{
    const char *path = GR_NODE_PARAMS(read_npy, node->node)->path;
    granary_tensor tensor = {0};
    char *head = NULL;
    uint64_t file_size, at;
    size_t size;
    bool is_half;
    granary_err err = gr_format_begin(path, NPY_HEAD, &head, &size, &file_size);

    if (err == GRANARY_OK) {
        err = gr_npy_head(head, size, file_size, &tensor, &at, &is_half);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "%s", path);
    }
    if (err == GRANARY_OK) {
        set_tensor(node, &tensor);
    }
    free(head);
    return err;
}

static granary_err
look_at_raw(struct gr_node *node)
{
    const struct gr_params_read_raw *params = GR_NODE_PARAMS(read_raw, node->node);
    granary_tensor tensor = {0};
    granary_err err =
        gr_npy_plan(gr_tensor_dtype_parse(params->dtype), (int)params->shape->n_ints, params->shape->ints, &tensor);

    if (err == GRANARY_OK) {
        set_tensor(node, &tensor);
    }
    return err;
}

static granary_err
look_at_tensor(struct gr_node *node)
{
    granary_err err = node->op == GR_TILE_read_npy ? look_at_npy(node)
                      : node->op == GR_TILE_read_raw
                          ? look_at_raw(node)
                          : gr_fail(GRANARY_EUNSUPPORTED, "its shape turns out when it runs");

    return err == GRANARY_OK ? err : gr_fail_in(err, "node '%.100s' (%.40s)", node->node->name, node->node->op);
}

/* ---- the question ---- */

static Granary__Node *
copy_node(const Granary__Node *node)
{
    size_t size = granary__node__get_packed_size(node);
    uint8_t *bytes = malloc(size + 1);
    Granary__Node *copy = NULL;

    if (bytes != NULL) {
        (void)granary__node__pack(node, bytes);
        copy = granary__node__unpack(NULL, size, bytes);
    }
    free(bytes);
    return copy;
}

/* The first rows of that node: none. NULL: no memory */
static Granary__Node *
make_head(const Granary__Node *of, const char *name)
{
    char *input = of->name;
    char op[] = "head";
    int64_t rows = 0;
    char rows_name[] = "rows";
    Granary__Attr attr = GRANARY__ATTR__INIT;
    Granary__Attr *attrs[] = {&attr};
    Granary__Node head = GRANARY__NODE__INIT;

    attr.name = rows_name;
    attr.kind = GRANARY__ATTR__KIND__INT;
    attr.n_ints = 1;
    attr.ints = &rows;
    head.name = (char *)(uintptr_t)name;
    head.op = op;
    head.n_inputs = 1;
    head.inputs = &input;
    head.n_attrs = 1;
    head.attrs = attrs;
    return copy_node(&head);
}

static bool
reads_the_same(const Granary__Node *a, const Granary__Node *b)
{
    bool same = strcmp(a->op, b->op) == 0 && a->n_attrs == b->n_attrs;

    for (size_t i = 0; i < a->n_attrs && same; i++) {
        size_t size = granary__attr__get_packed_size(a->attrs[i]);
        uint8_t *bytes = malloc(2 * size + 1);

        same = bytes != NULL && size == granary__attr__get_packed_size(b->attrs[i]);
        if (same) {
            (void)granary__attr__pack(a->attrs[i], bytes);
            (void)granary__attr__pack(b->attrs[i], bytes + size);
            same = memcmp(bytes, bytes + size, size) == 0;
        }
        free(bytes);
    }
    return same;
}

/* Ask for a source's columns; the question has room for it. */
static granary_err
ask(struct learning *l, struct source *source)
{
    const Granary__Node *node = source->node->node;
    size_t size = strlen(node->name) + sizeof "columns of ";
    Granary__Node *copy, *head;

    for (const struct source *other = l->sources; other < source && source->same == NULL; other++) {
        source->same = other->target != NULL && reads_the_same(other->node->node, node) ? other : NULL;
    }
    if (source->same != NULL) {
        return GRANARY_OK;
    }
    source->target = malloc(size);
    if (source->target == NULL) {
        return learn_no_memory();
    }
    (void)stpcpy(stpcpy(source->target, "columns of "), node->name);
    copy = copy_node(node);
    head = copy == NULL ? NULL : make_head(node, source->target);
    if (copy != NULL) {
        l->question.nodes[l->question.n_nodes++] = copy;
    }
    if (head != NULL) {
        l->question.nodes[l->question.n_nodes++] = head;
        l->question.targets[l->question.n_targets++] = source->target; /* which stays the source's */
    }
    return head == NULL ? learn_no_memory() : GRANARY_OK;
}

/* ---- the answer ---- */

static granary_err
read_columns(struct learning *l, const char *key, const struct source *source)
{
    granary_chunk_request request = {.graph = key, .target = source->target};
    granary_chunk chunk = {.err = GRANARY_OK};
    struct gr_node_type *type = &source->node->type;
    granary_err err = granary_chunk_read_many(l->client, &request, 1, NULL, &chunk);

    err = err == GRANARY_OK && chunk.err != GRANARY_OK ? gr_fail(chunk.err, "%s", chunk.message) : err;
    if (err == GRANARY_OK && chunk.kind != GRANARY_CHUNK_FRAME) {
        err = gr_fail(GRANARY_ETYPE, "node '%.100s': it yields no frame", source->node->node->name);
    }
    for (size_t c = 0; err == GRANARY_OK && c < granary_frame_columns(chunk.frame); c++) {
        const granary_column *column = granary_frame_column(chunk.frame, c);

        err = gr_schema_add(&type->schema, column->name, column->dtype);
    }
    type->known = err == GRANARY_OK;
    granary_chunk_release(l->client, &chunk, 1);
    return err;
}

static granary_err
read_answer(struct learning *l, const char *key)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < l->count && err == GRANARY_OK; i++) {
        const struct source *source = &l->sources[i];

        if (source->target != NULL) {
            err = read_columns(l, key, source);
        } else if (source->same != NULL) {
            err = gr_schema_copy(&source->same->node->type.schema, &source->node->type.schema);
            source->node->type.known = err == GRANARY_OK;
        }
    }
    return err;
}

static granary_err
run_question(struct learning *l)
{
    char fresh[GRANARY_ID_TEXT + 1];
    char key[GRANARY_KEY_MAX];
    char message[MESSAGE_MAX];
    granary_graph_options options = {.key = fresh, .flags = GRANARY_GRAPH_OWNED | GRANARY_GRAPH_PASSING};
    granary_err err;

    if (l->question.n_targets == 0) {
        return GRANARY_OK;
    }
    granary_id_format(granary_id_random(), fresh);
    err = gr_submit(l->client, &l->question, &options, true, key);
    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_graph_wait(l->client, key, GRANARY_FOREVER, NULL);
    if (err == GRANARY_OK) {
        err = read_answer(l, key);
    }
    (void)snprintf(message, sizeof message, "%s", granary_error_message());
    (void)granary_graph_delete(l->client, key); /* it goes with the process, if not now */
    return err == GRANARY_OK ? err : gr_fail(err, "%s", message);
}

/* ---- all of them ---- */

static granary_err
list_sources(struct learning *l)
{
    bool *needed = gr_graph_needed(l->graph);
    size_t room = 2 * l->graph->count + 1;
    granary_err err = GRANARY_OK;

    l->sources = calloc(l->graph->count + 1, sizeof *l->sources);
    l->question.nodes = calloc(room, sizeof(Granary__Node *));
    l->question.targets = calloc(room, sizeof(char *));
    if (needed == NULL || l->sources == NULL || l->question.nodes == NULL || l->question.targets == NULL) {
        err = learn_no_memory();
    }
    for (size_t i = 0; i < l->graph->count && err == GRANARY_OK; i++) {
        struct gr_node *node = l->graph->nodes[i];

        if (!needed[i] || node->type.known || node->input_count > 0) {
            continue;
        }
        if (node->yields == GR_YIELDS_TENSOR) {
            err = look_at_tensor(node);
        } else if (node->yields == GR_YIELDS_FRAME) {
            l->sources[l->count] = (struct source){.node = node};
            err = ask(l, &l->sources[l->count++]);
        }
    }
    free(needed);
    return err;
}

static void
learning_free(struct learning *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->sources[i].target);
    }
    for (size_t i = 0; i < l->question.n_nodes; i++) {
        granary__node__free_unpacked(l->question.nodes[i], NULL);
    }
    free(l->question.nodes);
    free(l->question.targets);
    free(l->sources);
}

/* The graph of a copy. */
static granary_err
create_copy(const Granary__Graph *message, struct gr_graph **ret_graph)
{
    size_t size = granary__graph__get_packed_size(message);
    uint8_t *bytes = malloc(size + 1);
    Granary__Graph *copy = NULL;
    granary_err err;

    if (bytes != NULL) {
        (void)granary__graph__pack(message, bytes);
        copy = granary__graph__unpack(NULL, size, bytes);
    }
    err = copy == NULL ? learn_no_memory() : gr_graph_create(copy, ret_graph);
    if (err != GRANARY_OK && copy != NULL) {
        granary__graph__free_unpacked(copy, NULL);
    }
    free(bytes);
    return err;
}

granary_err
gr_learn(granary_client *client, const Granary__Graph *message, struct gr_graph **ret_graph)
{
    struct learning l = {.client = client, .question = GRANARY__GRAPH__INIT};
    granary_err err = create_copy(message, &l.graph);

    if (err == GRANARY_OK) {
        err = gr_graph_infer(l.graph); /* what needs no source is told now, and no longer asked for */
    }
    if (err == GRANARY_OK) {
        err = list_sources(&l);
    }
    if (err == GRANARY_OK) {
        err = run_question(&l);
    }
    if (err == GRANARY_OK) {
        err = gr_graph_infer(l.graph);
    }
    learning_free(&l);
    if (err != GRANARY_OK) {
        gr_graph_destroy(l.graph);
        return err;
    }
    *ret_graph = l.graph;
    return GRANARY_OK;
}
