/* See told.h. */
#include "sched/graphs/told.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "sched/core/actions.h"
#include "sched/core/pack.h"

/* ---- noting ---- */

static Granary__RecallTold *
told_of(struct task_graph *graph)
{
    Granary__Submit *submit = graph->recall.submit;

    if (submit != NULL && submit->told == NULL && (submit->told = malloc(sizeof *submit->told)) != NULL) {
        granary__recall_told__init(submit->told);
    }
    return submit == NULL ? NULL : submit->told;
}

static Granary__RecallAnswer *
answer_of(const Granary__RecallTold *told, granary_id key)
{
    for (size_t i = 0; told != NULL && i < told->n_answers; i++) {
        if (memcmp(told->answers[i]->key.data, key.bytes, sizeof key.bytes) == 0) {
            return told->answers[i];
        }
    }
    return NULL;
}

static bool
set_bytes(ProtobufCBinaryData *field, const void *bytes, size_t size)
{
    field->data = malloc(size + 1);
    if (field->data != NULL) {
        memcpy(field->data, bytes, size);
        field->len = size;
    }
    return field->data != NULL;
}

/* Copies of names; false: out of memory. Some may be there then. */
static bool
set_names(char ***names, size_t *count, const char *const *from, size_t from_count)
{
    *names = calloc(from_count + 1, sizeof(char *));
    while (*names != NULL && *count < from_count && ((*names)[*count] = strdup(from[*count])) != NULL) {
        (*count)++;
    }
    return *names != NULL && *count == from_count;
}

/* An empty one of that key. NULL: out of memory */
static Granary__RecallAnswer *
add_answer(struct task_graph *graph, granary_id key)
{
    Granary__RecallTold *told = told_of(graph);
    Granary__RecallAnswer **grown =
        told == NULL ? NULL : reallocarray(told->answers, told->n_answers + 1, sizeof(Granary__RecallAnswer *));
    Granary__RecallAnswer *answer = grown == NULL ? NULL : malloc(sizeof *answer);

    told = grown == NULL ? NULL : told;
    if (told != NULL) {
        told->answers = grown;
    }
    if (answer == NULL) {
        return NULL;
    }
    granary__recall_answer__init(answer);
    if (!set_bytes(&answer->key, key.bytes, sizeof key.bytes)) {
        free(answer);
        return NULL;
    }
    told->answers[told->n_answers++] = answer;
    graph->recall.told_more = true;
    return answer;
}

bool
told_note_found(struct task_graph *graph, granary_id key, const struct gr_recalled *found)
{
    Granary__RecallAnswer *answer = answer_of(told_of(graph), key);

    if (answer != NULL && answer->ids.len > 0) {
        return true;
    }
    answer = answer == NULL ? add_answer(graph, key) : answer;
    graph->recall.told_more = true;
    return answer != NULL && set_names(&answer->columns, &answer->n_columns, found->columns, found->column_count) &&
           set_bytes(&answer->ids, found->ids, found->id_count * sizeof *found->ids) &&
           (answer->by = strdup(found->by)) != NULL;
}

bool
told_note_missed(struct task_graph *graph, granary_id key)
{
    Granary__RecallAnswer *answer = answer_of(told_of(graph), key);

    answer = answer == NULL ? add_answer(graph, key) : answer;
    if (answer != NULL) {
        answer->missed = true;
        graph->recall.told_more = true;
    }
    return answer != NULL;
}

void
told_forget(struct task_graph *graph, granary_id key)
{
    Granary__RecallAnswer *answer = answer_of(told_of(graph), key);

    if (answer != NULL) { /* it tells nothing any more */
        free(answer->ids.data);
        answer->ids = (ProtobufCBinaryData){0};
        graph->recall.told_more = true;
    }
}

bool
told_note_schema(struct task_graph *graph, const char *node, const struct gr_schema *schema)
{
    Granary__RecallTold *told = told_of(graph);
    Granary__RecallSchema **grown =
        told == NULL ? NULL : reallocarray(told->schemas, told->n_schemas + 1, sizeof(Granary__RecallSchema *));
    Granary__RecallSchema *noted = grown == NULL ? NULL : malloc(sizeof *noted);

    if (grown != NULL) {
        told->schemas = grown;
    }
    if (noted == NULL) {
        return false;
    }
    granary__recall_schema__init(noted);
    grown[told->n_schemas++] = noted;
    noted->node = strdup(node);
    noted->names = calloc(schema->count + 1, sizeof(char *));
    noted->dtypes = calloc(schema->count + 1, sizeof *noted->dtypes);
    for (size_t c = 0; noted->names != NULL && noted->dtypes != NULL && c < schema->count; c++) {
        noted->dtypes[noted->n_dtypes++] = schema->fields[c].dtype;
        noted->names[c] = strdup(schema->fields[c].name);
        noted->n_names += noted->names[c] != NULL;
    }
    graph->recall.told_more = true;
    return noted->node != NULL && noted->n_names == schema->count && noted->n_dtypes == schema->count;
}

void
told_keep(struct manager *manager, struct task_graph *graph)
{
    Granary__Submit *submit = graph->recall.submit;
    char *key = submit == NULL ? NULL : submit->key;

    if (key != NULL && graph->recall.told_more && !graph->journal.replays) {
        submit->key = graph->id_key;
        keep_message(manager, MANAGER_GRAPHS, graph->key, strlen(graph->key), &submit->base);
        submit->key = key;
        graph->recall.told_more = false;
    }
}

/* ---- telling it again ---- */

const struct gr_recalled *
told_find(struct task_graph *graph, granary_id key)
{
    const Granary__RecallAnswer *answer = answer_of(told_of(graph), key);
    struct gr_recalled *view = &graph->recall.index->again;

    if (answer == NULL || answer->ids.len == 0 || answer->ids.len % sizeof *view->ids != 0) {
        return NULL;
    }
    *view = (struct gr_recalled){.by = answer->by,
                                 .columns = (const char *const *)answer->columns,
                                 .column_count = answer->n_columns,
                                 .ids = (const granary_id *)(const void *)answer->ids.data,
                                 .id_count = answer->ids.len / sizeof *view->ids};
    return view;
}

bool
told_missed(struct task_graph *graph, granary_id key)
{
    const Granary__RecallAnswer *answer = answer_of(told_of(graph), key);

    return answer != NULL && answer->missed;
}

const struct gr_schema *
told_schema(struct task_graph *graph, const char *node)
{
    const Granary__RecallTold *told = told_of(graph);
    struct gr_schema *schema = &graph->recall.index->schema_again;

    gr_schema_free(schema);
    *schema = (struct gr_schema){0};
    for (size_t i = 0; told != NULL && i < told->n_schemas; i++) {
        const Granary__RecallSchema *noted = told->schemas[i];

        if (strcmp(noted->node, node) != 0 || noted->n_names != noted->n_dtypes) {
            continue;
        }
        for (size_t c = 0; c < noted->n_names; c++) {
            if (gr_schema_add(schema, noted->names[c], (granary_dtype)noted->dtypes[c]) != GRANARY_OK) {
                return NULL;
            }
        }
        return schema;
    }
    return NULL;
}
