/*
 * Nodes `table` and `array`: the name of a kept graph's target becomes its chunks when a graph is submitted, and the
 * graph it reads stays until it has ended. What a graph has learnt of a table the next one is told.
 */

#include "sched/graphs/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/log.h"
#include "contract/mutable.h"
#include "graph/graph.h"
#include "sched/core/pack.h"
#include "sched/executors/frees.h"
#include "sched/graphs/again/restore.h"
#include "sched/graphs/graphs.h"

#define FACTS_MAX 1024 /* tables whose facts are remembered */

/* ---- facts: what is known of tables ---- */

/* Of one table: FrameInfos of its chunks, which were sealed and so do not change. */
struct facts {
    uint64_t made_by; /* serial of the graph that made it */
    uint64_t chunks;  /* hash of their ids */
    uint8_t *infos;
    size_t size;
};

struct table_facts {
    struct facts all[FACTS_MAX];
    size_t count; /* ever: a ring */
};

static uint64_t
chunks_hash(const Granary__StoredTable *table)
{
    uint64_t hash = table->n_ids;

    for (size_t i = 0; i < table->n_ids; i++) {
        hash = gr_hash64_seeded(table->ids[i].data, table->ids[i].len, hash);
    }
    return hash;
}

static struct facts *
facts_find(const struct manager *manager, uint64_t made_by, uint64_t chunks)
{
    struct table_facts *facts = manager->table_facts;

    for (size_t i = 0; facts != NULL && i < FACTS_MAX && i < facts->count; i++) {
        if (facts->all[i].infos != NULL && facts->all[i].made_by == made_by && facts->all[i].chunks == chunks) {
            return &facts->all[i];
        }
    }
    return NULL;
}

void
table_facts_destroy(struct table_facts *facts)
{
    for (size_t i = 0; facts != NULL && i < FACTS_MAX; i++) {
        free(facts->all[i].infos);
    }
    free(facts);
}

void
tables_forget(struct manager *manager, const struct task_graph *graph)
{
    for (size_t i = 0; manager->table_facts != NULL && i < FACTS_MAX; i++) {
        if (manager->table_facts->all[i].made_by == graph->serial) {
            free(manager->table_facts->all[i].infos);
            manager->table_facts->all[i] = (struct facts){0};
        }
    }
}

/* A graph has planned: what its tables are is known by now. What is not remembered is asked for again. */
void
tables_learn(struct manager *manager, struct task_graph *graph)
{
    for (size_t i = 0; i < graph->tables.count; i++) {
        struct table_read *read = &graph->tables.reads[i];
        struct gr_buf infos = {0};
        struct facts *facts;

        if (read->learnt || read->from == NULL || gr_plan_table_infos(graph->plan, read->node, &infos) != GRANARY_OK) {
            gr_buf_free(&infos);
            continue;
        }
        read->learnt = true;
        if (manager->table_facts == NULL) {
            manager->table_facts = calloc(1, sizeof *manager->table_facts);
        }
        if (manager->table_facts == NULL || !gr_buf_ok(&infos) ||
            facts_find(manager, read->from->serial, read->chunks) != NULL) {
            gr_buf_free(&infos);
            continue;
        }
        facts = &manager->table_facts->all[manager->table_facts->count++ % FACTS_MAX];
        free(facts->infos);
        *facts = (struct facts){.made_by = read->from->serial, .chunks = read->chunks, .size = infos.size};
        facts->infos = (uint8_t *)gr_buf_take(&infos);
    }
}

/* ---- names ---- */

static const struct target *
only_target(const struct task_graph *graph)
{
    return graph->results.count == 1 ? &graph->results.targets[0] : NULL;
}

/* KEY, or KEY/TARGET: a key may have slashes of its own. */
static granary_err
table_find(struct manager *manager, const char *name, struct task_graph **ret_graph, const struct target **ret_target)
{
    struct task_graph *graph = graph_find(manager, name);
    const struct target *target = graph == NULL ? NULL : only_target(graph);
    const char *slash = strrchr(name, '/');
    char key[GRANARY_KEY_MAX];

    if (target == NULL && slash != NULL && (size_t)(slash - name) < sizeof key) {
        memcpy(key, name, (size_t)(slash - name));
        key[slash - name] = '\0';
        if (graph_find(manager, key) != NULL) {
            graph = graph_find(manager, key);
            target = target_find(graph, slash + 1);
        }
    }
    if (graph == NULL) {
        return gr_fail(GRANARY_ENOENT,
                       "there is no table or graph '%.80s': `granary graphs` and `granary table list` list those there "
                       "are. A program's text names the time, too, of a table that changes",
                       name);
    }
    if (graph->state != GRANARY_GRAPH_SUCCEEDED || graph->deleting) {
        return gr_fail(GRANARY_ESTATE, "graph '%s' %s", graph->key,
                       graph->deleting                         ? "is being deleted"
                       : graph->state == GRANARY_GRAPH_RUNNING ? "has not ended yet: wait for it first"
                                                               : "has not succeeded");
    }
    if (target == NULL) {
        return graph->results.count > 1 && slash == NULL
                   ? gr_fail(GRANARY_EINVAL, "graph '%s' has %zu targets: name one, as in '%s/%s'", graph->key,
                             graph->results.count, graph->key, graph->results.targets[0].name)
                   : gr_fail(GRANARY_ENOENT, "'%.80s': graph '%s' has no such target", name, graph->key);
    }
    *ret_graph = graph;
    *ret_target = target;
    return GRANARY_OK;
}

/* ---- binding ---- */

static granary_err
no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
}

/* The chunks' ids are moved out of the result. */
static granary_err
take_chunks(const struct target *target, Granary__StoredTable *table)
{
    Granary__Result *result = target_unpack(target);
    granary_err err = GRANARY_OK;

    if (result == NULL || result->n_chunks == 0) {
        err = gr_fail(GRANARY_ETYPE, "target '%s' yields nothing", target->name);
    } else if (result->is_tensor || result->is_objects) {
        err = gr_fail(GRANARY_ETYPE, "target '%s' is no frame", target->name);
    } else if ((table->ids = calloc(result->n_chunks, sizeof *table->ids)) == NULL) {
        err = no_memory();
    }
    for (size_t i = 0; err == GRANARY_OK && i < result->n_chunks; i++) {
        table->ids[table->n_ids++] = result->chunks[i]->id;
        result->chunks[i]->id = (ProtobufCBinaryData){0};
    }
    granary__result__free_unpacked(result, NULL);
    return err;
}

static granary_err
set_infos(const struct manager *manager, const struct task_graph *from, Granary__StoredTable *table)
{
    const struct facts *facts = facts_find(manager, from->serial, chunks_hash(table));

    if (facts == NULL) {
        return GRANARY_OK;
    }
    table->infos.data = malloc(facts->size);
    if (table->infos.data == NULL) {
        return no_memory();
    }
    memcpy(table->infos.data, facts->infos, facts->size);
    table->infos.len = facts->size;
    return GRANARY_OK;
}

static granary_err
bind_name(struct manager *manager, const struct task_graph *graph, Granary__Node *node, const char *name,
          Granary__StoredTable *table)
{
    struct task_graph *from;
    const struct target *target;
    granary_err err = table_find(manager, name, &from, &target);

    if (err == GRANARY_OK && from->session != graph->session) {
        err = gr_fail(GRANARY_EPERM, "graph '%s' is of session '%s'", from->key, from->session->name);
    }
    if (err == GRANARY_OK) {
        err = strcmp(node->op, "array") == 0 ? array_bind(target, node) : take_chunks(target, table);
    }
    if (err == GRANARY_OK) {
        table->node = strdup(node->name);
        table->graph = strdup(from->key);
        table->made_by = from->serial;
        err = table->node == NULL || table->graph == NULL ? no_memory() : set_infos(manager, from, table);
    }
    return err;
}

/* A client tells of tables only which snapshots it has made. */
static granary_err
check_told(const Granary__Submit *submit)
{
    for (size_t i = 0; i < submit->n_tables; i++) {
        const Granary__StoredTable *told = submit->tables[i];

        if (told->snapshot.len != GRANARY_ID_BYTES || told->n_ids > 0 || told->infos.len > 0 ||
            told->graph[0] != '\0' || told->made_by != 0) {
            return gr_fail(GRANARY_EPROTO, "submission: node '%.100s': a snapshot that is none", told->node);
        }
    }
    return GRANARY_OK;
}

/* What tells the rows that a node appends from all other writes, whoever runs it in the end, and however often. */
static granary_err
give_token(Granary__Node *node)
{
    uint64_t words[2];

    bool appends = strcmp(node->op, "append_to") == 0 ||
                   strcmp(gr_attr_string(node->attrs, node->n_attrs, "existing", ""), "append") == 0; /* files */

    if (!appends || gr_attr_find(node->attrs, node->n_attrs, "token") != NULL) {
        return GRANARY_OK;
    }
    gr_id_words(granary_id_random(), words);
    return gr_node_give(node, gr_attr_new_int("token", (int64_t)GR_MUTABLE_WHAT_TOKEN(words[0] | 1)));
}

granary_err
tables_bind(struct manager *manager, const struct task_graph *graph, Granary__Submit *submit)
{
    const Granary__Graph *body = submit->graph;
    granary_err told = check_told(submit);

    for (size_t i = 0; i < body->n_nodes && told == GRANARY_OK; i++) {
        told = give_token(body->nodes[i]);
    }
    if (told != GRANARY_OK) {
        return told;
    }
    for (size_t i = 0; i < body->n_nodes; i++) {
        Granary__Node *node = body->nodes[i];
        bool names = strcmp(node->op, "table") == 0 || strcmp(node->op, "array") == 0;
        const char *name = names && body->level == GRANARY__GRAPH__LEVEL__TILEABLE
                               ? gr_attr_string(node->attrs, node->n_attrs, "name", NULL)
                               : NULL;
        Granary__StoredTable *table = NULL;
        Granary__StoredTable **more;
        granary_err err;

        if (name == NULL || gr_attr_find(node->attrs, node->n_attrs, "time") != NULL) {
            continue; /* a table that changes: an executor tells what its snapshot has */
        }
        more = reallocarray(submit->tables, submit->n_tables + 1, sizeof(Granary__StoredTable *));
        if (more != NULL) {
            submit->tables = more;
            table = malloc(sizeof *table);
        }
        if (table == NULL) {
            return no_memory();
        }
        granary__stored_table__init(table);
        submit->tables[submit->n_tables++] = table;
        err = bind_name(manager, graph, node, name, table);
        if (err != GRANARY_OK) {
            return gr_fail_in(err, "node '%.100s' (%s)", node->name, node->op);
        }
    }
    return GRANARY_OK;
}

/* ---- what is read stays ---- */

static void
note_snapshot(struct graph_tables *tables, const Granary__StoredTable *told)
{
    memcpy(tables->snapshots[tables->snapshot_count++].bytes, told->snapshot.data, GRANARY_ID_BYTES);
}

granary_err
tables_hold(struct manager *manager, struct task_graph *graph, const Granary__Submit *submit)
{
    if (submit->n_tables == 0) {
        return GRANARY_OK;
    }
    graph->tables.reads = calloc(submit->n_tables, sizeof *graph->tables.reads);
    graph->tables.snapshots = calloc(submit->n_tables, sizeof *graph->tables.snapshots);
    if (graph->tables.reads == NULL || graph->tables.snapshots == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < submit->n_tables; i++) {
        const Granary__StoredTable *table = submit->tables[i];
        struct table_read *read = &graph->tables.reads[graph->tables.count];

        if (table->snapshot.len == GRANARY_ID_BYTES) {
            note_snapshot(&graph->tables, table);
            continue;
        }
        *read =
            (struct table_read){.node = strdup(table->node),
                                .from = table->made_by == 0 ? graph_find(manager, table->graph)
                                                            : graph_of_number(manager, (uint64_t)table->made_by << 32),
                                .chunks = chunks_hash(table),
                                .learnt = table->infos.len > 0 || table->n_ids == 0};
        if (read->node == NULL) {
            return no_memory();
        }
        graph->tables.count++;
        if (read->from != NULL) {
            read->from->tables.readers++;
        }
    }
    return GRANARY_OK;
}

void
tables_free_snapshots(struct task_graph *graph)
{
    granary_id made;

    for (size_t i = 0; i < graph->tables.snapshot_count; i++) {
        pack_end_snapshot(&graph->session->frees, graph->tables.snapshots[i]);
    }
    for (size_t node = 0; graph->plan != NULL && gr_plan_snapshot(graph->plan, &node, &made);) {
        pack_end_snapshot(&graph->session->frees, made);
    }
}

void
tables_release(struct manager *manager, struct task_graph *graph)
{
    struct table_read *reads = graph->tables.reads;
    size_t count = graph->tables.count;

    graph->tables.reads = NULL;
    graph->tables.count = 0;
    free(graph->tables.snapshots);
    graph->tables.snapshots = NULL;
    graph->tables.snapshot_count = 0;
    for (size_t i = 0; i < count; i++) {
        free(reads[i].node);
        if (manager != NULL && reads[i].from != NULL && --reads[i].from->tables.readers == 0) {
            graph_release(manager, reads[i].from);
        }
    }
    free(reads);
}

/* ---- ... also across a scheduler's death ---- */

void
tables_keep_held(struct manager *manager, struct task_graph *graph)
{
    struct action *action = graph->tables.readers == 0 ? NULL
                                                       : entry_add_number(manager, ACTION_KEEP, MANAGER_HELD,
                                                                          graph->serial, sizeof graph->serial);

    if (action != NULL) {
        graph->tables.held = true;
        gr_buf_add(&action->bytes, graph->session->name, strlen(graph->session->name) + 1);
        gr_buf_add(&action->bytes, graph->key, strlen(graph->key) + 1);
        gr_buf_add(&action->bytes, graph->results.kept, graph->results.kept_count * sizeof *graph->results.kept);
    }
}

void
tables_forget_held(struct manager *manager, const struct task_graph *graph)
{
    if (graph->tables.held) {
        (void)entry_add_number(manager, ACTION_FORGET, MANAGER_HELD, graph->serial, sizeof graph->serial);
    }
}

void
manager_restore_held(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size)
{
    const char *text = value;
    size_t name = strnlen(text, size) + 1;
    size_t ids = name < size ? name + strnlen(text + name, size - name) + 1 : size + 1;
    granary_id *kept = ids <= size ? malloc(size - ids + 1) : NULL;
    struct task_graph *graph = NULL;
    uint32_t serial = key_size == sizeof serial ? (uint32_t)number_of_key(key, key_size) : 0;

    if (kept != NULL && key_size == sizeof serial && session_check(text) == GRANARY_OK &&
        key_check(text + name) == GRANARY_OK) {
        graph = graph_create(manager, text + name, text, serial);
    }
    if (graph == NULL) {
        gr_log_warn("STATE-ENTRY", "a deleted graph that was read cannot be restored, and was passed over");
        free(kept);
        return;
    }
    memcpy(kept, text + ids, size - ids);
    graph->results.kept = kept;
    graph->results.kept_count = (size - ids) / sizeof *kept;
    graph->state = GRANARY_GRAPH_SUCCEEDED;
    graph->restored = graph->deleting = graph->tables.held = true;
    graph_rekey(manager, graph, NULL);
    manager->frees->restored = true; /* its objects are there: nobody else gets their ids */
}

void
tables_release_held(struct manager *manager)
{
    struct task_graph *graph;

    FOREACH_GRAPH(graph, manager)
    {

        if (graph->tables.held && graph->tables.readers == 0) {
            graph_release(manager, graph);
        }
    }
}
