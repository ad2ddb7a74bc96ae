/*
 * Types of sources. Frames are asked of the instance: the first 0 rows of each, in one graph. Equal sources are asked once.
 * Where a file has columns that cannot be read, only the others are asked for.
 */
#include "client/learn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/text/buf.h"
#include "client/learn_file.h"
#include "client/submit.h"
#include "granary/read.h"
#include "graph/copy.h"

#define MESSAGE_MAX 1024

/* A node whose type nobody knows yet, and who tells it. */
struct source {
    struct gr_node *node;
    const struct source *same; /* the same of an equal node; or NULL */
    uint64_t hash;             /* of what it says */
    char *target;              /* of the question; NULL: nothing is asked */
};

struct learning {
    granary_client *client;
    struct gr_graph *graph;
    struct source *sources;
    size_t count;
    Granary__Graph question;
    char *mark;   /* with which no name of the graph begins: what the question's own names begin with */
    bool careful; /* asked for are only columns that can be read */
};

static granary_err
learn_no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "learning what a graph's sources have: out of memory");
}

/* ---- the question ---- */

/* The question's next node. false: no memory, also of a NULL for the parameter */
static bool
add_node(struct learning *l, const char *name, const char *op, const char *input, Granary__Attr *attr)
{
    char *inputs[] = {(char *)(uintptr_t)input};
    Granary__Node node = GRANARY__NODE__INIT;
    Granary__Node *copy = NULL;

    node.name = (char *)(uintptr_t)name;
    node.op = (char *)(uintptr_t)op;
    node.n_inputs = 1;
    node.inputs = inputs;
    node.n_attrs = 1;
    node.attrs = &attr;
    if (attr != NULL && (copy = gr_message_copy(&node.base)) != NULL) {
        l->question.nodes[l->question.n_nodes++] = copy;
    }
    granary__attr__free_unpacked(attr, NULL);
    return copy != NULL;
}

/* What of the source can be read. */
static bool
add_readable(struct learning *l, const char *name, const char *input)
{
    static const char *const words[] = {"number", "bool", "string", "binary", "temporal", "list"};

    return add_node(l, name, "select_dtypes", input,
                    gr_attr_new_strings("include", (char *const *)(uintptr_t)words, sizeof words / sizeof words[0]));
}

/* All that a source says but its name, as bytes. Errors: ENOMEM */
static granary_err
say(const Granary__Node *node, struct gr_buf *out)
{
    Granary__Node nameless = *node;
    uint8_t *bytes;

    nameless.name = (char *)(uintptr_t) "";
    bytes = gr_buf_grow(out, granary__node__get_packed_size(&nameless) + 1);
    if (bytes != NULL) {
        out->size = granary__node__pack(&nameless, bytes);
    }
    return gr_buf_ok(out) ? GRANARY_OK : learn_no_memory();
}

/* An earlier source that reads the same. */
static granary_err
find_same(const struct learning *l, struct source *source)
{
    struct gr_buf said = {0};
    granary_err err = say(source->node->node, &said);

    source->hash = gr_hash64(said.bytes, said.size);
    for (const struct source *other = l->sources; err == GRANARY_OK && other < source && source->same == NULL;
         other++) {
        struct gr_buf theirs = {0};

        if (other->target != NULL && other->hash == source->hash) {
            err = say(other->node->node, &theirs);
            source->same =
                err == GRANARY_OK && theirs.size == said.size && memcmp(theirs.bytes, said.bytes, said.size) == 0
                    ? other
                    : NULL;
        }
        gr_buf_free(&theirs);
    }
    gr_buf_free(&said);
    return err;
}

/* Ask for a source's columns; the question has room for it. */
static granary_err
ask(struct learning *l, struct source *source)
{
    const Granary__Node *node = source->node->node;
    bool careful = l->careful && learn_may_have_others(node);
    char *below = NULL;
    Granary__Node *copy;
    bool good;
    granary_err err = find_same(l, source);

    if (err != GRANARY_OK || source->same != NULL) {
        return err;
    }
    if (asprintf(&source->target, "%s%zu", l->mark, l->question.n_targets) < 0) {
        source->target = NULL;
        return learn_no_memory();
    }
    if (asprintf(&below, "%s readable", source->target) < 0) {
        return learn_no_memory();
    }
    copy = gr_message_copy(&node->base);
    if (copy != NULL) {
        l->question.nodes[l->question.n_nodes++] = copy;
        l->question.targets[l->question.n_targets++] = source->target; /* which stays the source's */
    }
    good = copy != NULL && (!careful || add_readable(l, below, node->name)) &&
           add_node(l, source->target, "head", careful ? below : node->name, gr_attr_new_int("rows", 0));
    free(below);
    return good ? GRANARY_OK : learn_no_memory();
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
    granary_chunk_release(l->client, &chunk, 1);
    err = err == GRANARY_OK && l->careful && learn_may_have_others(source->node->node)
              ? learn_add_unreadable(source->node)
              : err;
    type->known = err == GRANARY_OK;
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

/* Question marks, more than any name begins with. NULL: no memory */
static char *
make_mark(const struct gr_graph *graph)
{
    size_t most = 0;
    char *mark;

    for (size_t i = 0; i < graph->count; i++) {
        size_t marks = strspn(graph->nodes[i]->node->name, "?");

        most = marks > most ? marks : most;
    }
    mark = malloc(most + 2);
    if (mark != NULL) {
        memset(mark, '?', most + 1);
        mark[most + 1] = '\0';
    }
    return mark;
}

static granary_err
list_sources(struct learning *l)
{
    bool *needed = gr_graph_needed(l->graph);
    size_t room = 3 * l->graph->count + 1;
    granary_err err = GRANARY_OK;

    l->sources = calloc(l->graph->count + 1, sizeof *l->sources);
    l->question.nodes = calloc(room, sizeof(Granary__Node *));
    l->question.targets = calloc(room, sizeof(char *));
    l->mark = make_mark(l->graph);
    if (needed == NULL || l->mark == NULL || l->sources == NULL || l->question.nodes == NULL ||
        l->question.targets == NULL) {
        err = learn_no_memory();
    }
    for (size_t i = 0; i < l->graph->count && err == GRANARY_OK; i++) {
        struct gr_node *node = l->graph->nodes[i];

        if (!needed[i] || node->type.known || node->input_count > 0) {
            continue;
        }
        if (node->yields == GR_YIELDS_TENSOR) {
            err = learn_tensor(node);
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
    free(l->mark);
    free(l->question.nodes);
    free(l->question.targets);
    free(l->sources);
}

/* The graph of a copy. */
static granary_err
create_copy(const Granary__Graph *message, struct gr_graph **ret_graph)
{
    Granary__Graph *copy = gr_message_copy(&message->base);
    granary_err err = copy == NULL ? learn_no_memory() : gr_graph_create(copy, ret_graph);

    if (err != GRANARY_OK && copy != NULL) {
        granary__graph__free_unpacked(copy, NULL);
    }
    return err;
}

/* All sources at once; careful: of files, what can be read of them. */
static granary_err
learn_sources(granary_client *client, struct gr_graph *graph, bool careful)
{
    struct learning l = {.client = client, .graph = graph, .question = GRANARY__GRAPH__INIT, .careful = careful};
    granary_err err = list_sources(&l);

    if (err == GRANARY_OK) {
        err = run_question(&l);
    }
    learning_free(&l);
    return err;
}

granary_err
gr_learn(granary_client *client, const Granary__Graph *message, struct gr_graph **ret_graph)
{
    struct gr_graph *graph = NULL;
    granary_err err = create_copy(message, &graph);

    if (err == GRANARY_OK) {
        err = gr_graph_infer(graph); /* what needs no source is told now, and no longer asked for */
    }
    if (err == GRANARY_OK) {
        err = learn_sources(client, graph, false);
        err = err == GRANARY_EUNSUPPORTED ? learn_sources(client, graph, true) : err;
    }
    if (err == GRANARY_OK) {
        err = gr_graph_infer(graph);
    }
    if (err != GRANARY_OK) {
        gr_graph_destroy(graph);
        return err;
    }
    *ret_graph = graph;
    return GRANARY_OK;
}
