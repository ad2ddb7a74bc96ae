#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/memory/region.h"
#include "graph/chunk/ops.h"
#include "graph/graph.h"
#include "graph_json/json.h"
#include "reference.h"

void
world_init(struct world *world)
{
    *world = (struct world){.directory = "/tmp/granary-plan-XXXXXX"};
    assert_non_null(mkdtemp(world->directory));
    world->options =
        (struct gr_plan_options){.key = "key", .session = "default", .directory = world->directory, .slots = 2};
}

void
world_reset(struct world *world)
{
    gr_plan_destroy(world->plan);
    world->plan = NULL;
    free(world->objects);
    free(world->table);
    free(world->held);
    world->held = NULL;
    world->held_count = 0;
    world->objects = NULL;
    world->table = NULL;
    world->object_count = world->object_room = world->table_room = 0;
    world->subtasks = world->ops = 0;
    world->batches = world->afters = world->max_ops = 0;
    memset(world->op_counts, 0, sizeof world->op_counts);
}

void
world_fini(struct world *world)
{
    world_reset(world);
    gr_remove_tree(world->directory);
}

void
world_file(const struct world *world, const char *name, const char *text)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", world->directory, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* ---- objects ---- */

static size_t
table_slot(const struct world *world, const void *id)
{
    uint64_t hash;
    size_t at;

    memcpy(&hash, id, sizeof hash);
    at = hash & (world->table_room - 1);
    while (world->table[at] != 0 && memcmp(world->objects[world->table[at] - 1].id.bytes, id, 16) != 0) {
        at = (at + 1) & (world->table_room - 1);
    }
    return at;
}

struct world_object *
world_find(struct world *world, const void *id)
{
    size_t at;

    if (world->table_room == 0) {
        return NULL;
    }
    at = world->table[table_slot(world, id)];
    return at == 0 ? NULL : &world->objects[at - 1];
}

static void
add_object(struct world *world, const void *id, uint64_t maker)
{
    assert_null(world_find(world, id)); /* one maker */
    if (world->object_count == world->object_room) {
        world->object_room = world->object_room == 0 ? 64 : world->object_room * 2;
        world->objects = realloc(world->objects, world->object_room * sizeof *world->objects);
        free(world->table);
        world->table_room = world->object_room * 2;
        world->table = calloc(world->table_room, sizeof *world->table);
        for (size_t i = 0; i < world->object_count; i++) {
            world->table[table_slot(world, world->objects[i].id.bytes)] = i + 1;
        }
    }
    world->objects[world->object_count] = (struct world_object){.maker = maker};
    memcpy(world->objects[world->object_count].id.bytes, id, 16);
    world->object_count++;
    world->table[table_slot(world, id)] = world->object_count;
}

/* ---- the check of a batch ---- */

static void
count_op(struct world *world, const char *name)
{
    size_t i = 0;

    while (world->op_counts[i].name[0] != '\0' && strcmp(world->op_counts[i].name, name) != 0) {
        i++;
    }
    assert_true(i < WORLD_OPS);
    (void)snprintf(world->op_counts[i].name, sizeof world->op_counts[i].name, "%s", name);
    world->op_counts[i].count++;
    world->ops++;
}

uint64_t
world_ops(const struct world *world, const char *op)
{
    for (size_t i = 0; i < WORLD_OPS; i++) {
        if (strcmp(world->op_counts[i].name, op) == 0) {
            return world->op_counts[i].count;
        }
    }
    return 0;
}

/* What the planner gives an operator is what a chunk graph may give it: contract/ops/chunk_ops.def is complete. */
static void
check_params(const Granary__ChunkOp *op)
{
    int number = gr_chunk_op_find(op->op);
    const struct gr_param_info *params = number < 0 ? NULL : gr_chunk_params_of((enum gr_chunk_op)number);
    bool is_call = strcmp(op->op, "call") == 0;

    for (size_t a = 0; number >= 0 && a < op->n_attrs; a++) {
        bool known =
            is_call && (strcmp(op->attrs[a]->name, "library") == 0 || strcmp(op->attrs[a]->name, "version") == 0);

        for (const struct gr_param_info *p = params; p != NULL; p = p->next) {
            known = known || strcmp(p->name, op->attrs[a]->name) == 0;
        }
        if (!known) {
            fail_msg("chunk_ops.def does not tell %s of %s", op->attrs[a]->name, op->op);
        }
    }
    for (const struct gr_param_info *p = params; p != NULL; p = p->next) {
        if (p->required && gr_attr_find(op->attrs, op->n_attrs, p->name) == NULL) {
            fail_msg("chunk_ops.def demands %s of %s", p->name, op->op);
        }
    }
}

static void
check_op(struct world *world, const Granary__Subtask *subtask, size_t at, bool external)
{
    const Granary__ChunkOp *op = subtask->ops[at];

    count_op(world, op->op);
    check_params(op);
    assert_true(op->node[0] != '\0');
    for (size_t k = 0; k < op->n_inputs; k++) {
        const Granary__Operand *operand = op->inputs[k];

        if (operand->object.len == 0) {
            assert_true(operand->op < at);
            assert_true(operand->output < subtask->ops[operand->op]->n_outputs);
        } else {
            struct world_object *object;

            assert_int_equal(operand->object.len, 16);
            object = world_find(world, operand->object.data);
            assert_true(object != NULL || external); /* made before */
            if (object != NULL) {
                assert_true(object->maker < subtask->number);
                object->readers++;
            }
        }
    }
    for (size_t o = 0; o < op->n_outputs; o++) {
        if (op->outputs[o].len > 0) {
            assert_int_equal(op->outputs[o].len, 16);
            add_object(world, op->outputs[o].data, subtask->number);
        }
    }
}

static void
check_subtask(struct world *world, const struct gr_plan_subtask *planned)
{
    const Granary__Subtask *subtask = planned->subtask;

    assert_int_equal(subtask->number, world->subtasks);
    world->subtasks++;
    assert_true(subtask->n_ops >= 1);
    assert_string_equal(subtask->session, "default");
    for (size_t i = 0; i < planned->after_count; i++) {
        assert_true(planned->after[i] < subtask->number);
        assert_true(i == 0 || planned->after[i] > planned->after[i - 1]);
    }
    world->afters += planned->after_count;
    world->max_ops = subtask->n_ops > world->max_ops ? subtask->n_ops : world->max_ops;
    for (size_t i = 0; i < subtask->n_ops; i++) {
        if (strcmp(subtask->ops[i]->op, "null") == 0) {
            assert_int_equal(subtask->n_ops, 1);
        }
        check_op(world, subtask, i, planned->external);
    }
}

static size_t
find_held(const struct world *world, granary_id id)
{
    size_t at = 0;

    while (at < world->held_count && memcmp(&world->held[at], &id, sizeof id) != 0) {
        at++;
    }
    return at;
}

/* Held objects are made by the batch, and settled once. */
static void
check_held(struct world *world, const struct gr_plan_batch *batch)
{
    world->held = realloc(world->held, (world->held_count + batch->held_count + 1) * sizeof *world->held);
    for (size_t i = 0; i < batch->held_count; i++) {
        assert_non_null(world_find(world, batch->held[i].bytes));
        assert_int_equal(find_held(world, batch->held[i]), world->held_count);
        world->held[world->held_count++] = batch->held[i];
    }
    for (size_t i = 0; i < batch->settled_count; i++) {
        size_t at = find_held(world, batch->settled[i]);

        assert_true(at < world->held_count || world_find(world, batch->settled[i].bytes) == NULL);
        if (at < world->held_count) {
            world->held[at] = world->held[--world->held_count];
        }
    }
}

/* Whatever a batch put into the store is read by the batch, kept or held. */
static void
check_objects(const struct world *world, size_t first)
{
    for (size_t i = first; i < world->object_count; i++) {
        assert_true(world->objects[i].readers > 0 || gr_plan_keeps(world->plan, world->objects[i].id) ||
                    find_held(world, world->objects[i].id) < world->held_count);
    }
}

/* ---- running ---- */

static void
set_answer(Granary__Done *done, const ProtobufCMessage *message)
{
    done->n_inlines = 1;
    done->inlines = calloc(1, sizeof *done->inlines);
    done->inlines[0].len = protobuf_c_message_get_packed_size(message);
    done->inlines[0].data = malloc(done->inlines[0].len + 1);
    (void)protobuf_c_message_pack(message, done->inlines[0].data);
}

/* The types of the records that begin in a block, if it does not begin between quotes. */
static void
add_types(Granary__CsvSplit *split, const char *bytes, size_t file_size, size_t offset, size_t size, char delimiter,
          bool header)
{
    size_t guess = offset == 0 ? 0 : 2;
    int64_t first = split->first_record[guess];
    size_t behind = file_size - offset - size;
    Granary__CsvSplit *next = reference_split(bytes + offset + size, behind, delimiter);
    int64_t last = next->first_record[split->end_state[guess]];

    if (first >= 0 && (size_t)first < size && (behind == 0 || last >= 0)) {
        split->types_offset = (int64_t)offset + first;
        split->types_size = (int64_t)size + (behind == 0 ? 0 : last) - first;
        split->types = reference_types(bytes + split->types_offset, (size_t)split->types_size, delimiter, header);
    }
    granary__csv_split__free_unpacked(next, NULL);
}

static void
answer_by_reference(const struct world *world, const Granary__ChunkOp *op, Granary__Done *done)
{
    int64_t offset = gr_attr_int(op->attrs, op->n_attrs, "offset", -1);
    int64_t size = gr_attr_int(op->attrs, op->n_attrs, "size", -1);
    char delimiter = gr_attr_string(op->attrs, op->n_attrs, "delimiter", "?")[0];
    char *bytes;
    size_t file_size;

    assert_int_equal(gr_file_read(gr_attr_string(op->attrs, op->n_attrs, "path", ""), 1 << 26, &bytes, &file_size),
                     GRANARY_OK);
    assert_true(offset >= 0 && size >= 0 && (size_t)(offset + size) <= file_size);
    if (strcmp(op->op, "csv_split") == 0) {
        Granary__CsvSplit *split = reference_split(bytes + offset, (size_t)size, delimiter);

        if (world->types_in_split) {
            add_types(split, bytes, file_size, (size_t)offset, (size_t)size, delimiter,
                      GR_CHUNK_PARAMS(csv_infer, op->attrs, op->n_attrs)->header);
        }
        set_answer(done, &split->base);
        granary__csv_split__free_unpacked(split, NULL);
    } else {
        bool header = GR_CHUNK_PARAMS(csv_infer, op->attrs, op->n_attrs)->header;
        Granary__CsvTypes *types;

        assert_string_equal(op->op, "csv_infer");
        types = reference_types(bytes + offset, (size_t)size, delimiter, header);
        set_answer(done, &types->base);
        granary__csv_types__free_unpacked(types, NULL);
    }
    free(bytes);
}

/* Each operator has taken a microsecond. */
static void
account(struct world *world, const Granary__Subtask *subtask, Granary__Done *done)
{
    done->n_op_nanoseconds = subtask->n_ops;
    done->op_nanoseconds = calloc(subtask->n_ops, sizeof *done->op_nanoseconds);
    for (size_t i = 0; i < subtask->n_ops; i++) {
        done->op_nanoseconds[i] = 1000;
    }
    gr_plan_account(world->plan, subtask->number, done);
}

/* *ret_done: its answer, to be given to the plan; NULL: it has none. */
static granary_err
run_one(struct world *world, const struct gr_plan_subtask *planned, Granary__Done **ret_done)
{
    Granary__Done *done;
    granary_err err = GRANARY_OK;

    *ret_done = NULL;
    if (world->run == NULL && !planned->feeds) {
        return GRANARY_OK;
    }
    done = malloc(sizeof *done);
    granary__done__init(done);
    done->number = planned->subtask->number;
    if (world->run != NULL) {
        world->run(world, planned->subtask, done);
    } else {
        assert_int_equal(planned->subtask->n_ops, 1);
        answer_by_reference(world, planned->subtask->ops[0], done);
    }
    if (done->err != GRANARY_OK) {
        err = gr_fail((granary_err)done->err, "%s", done->message);
    } else {
        account(world, planned->subtask, done);
    }
    if (err == GRANARY_OK && planned->feeds) {
        *ret_done = done;
    } else {
        granary__done__free_unpacked(done, NULL);
    }
    return err;
}

static void
done_free(Granary__Done *done)
{
    if (done != NULL) {
        granary__done__free_unpacked(done, NULL);
    }
}

/* None of its subtasks reads what another makes. */
static bool
only_looks_at_files(const struct gr_plan_batch *batch)
{
    bool only = true;

    for (size_t i = 0; i < batch->count; i++) {
        const Granary__ChunkOp *op = batch->subtasks[i].subtask->ops[0];

        only = only && batch->subtasks[i].feeds && op->n_inputs == 0 && strncmp(op->op, "csv_", 4) == 0;
    }
    return only;
}

/* Answers come in any order: files' backwards, the others' so when they are late. */
static granary_err
run_batch(struct world *world, const struct gr_plan_batch *batch)
{
    Granary__Done **late = calloc(batch->count + 1, sizeof *late);
    bool files = !world->late && only_looks_at_files(batch);
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < batch->count && err == GRANARY_OK; i++) {
        const struct gr_plan_subtask *planned = &batch->subtasks[files ? batch->count - 1 - i : i];

        err = run_one(world, planned, &late[i]);
        if (err == GRANARY_OK && !world->late && late[i] != NULL) {
            err = gr_plan_feed(world->plan, late[i]->number, late[i]);
            done_free(late[i]);
            late[i] = NULL;
        }
    }
    for (size_t i = batch->count; i-- > 0;) {
        if (err == GRANARY_OK && late[i] != NULL) {
            err = gr_plan_feed(world->plan, late[i]->number, late[i]);
        }
        done_free(late[i]);
    }
    free(late);
    return err;
}

granary_err
world_plan(struct world *world, const char *json)
{
    Granary__Graph *graph;
    granary_err err = gr_graph_from_json(json, strlen(json), &graph);

    return err == GRANARY_OK ? gr_plan_create(graph, &world->options, &world->plan) : err;
}

/* *takes* more. */
static void
append_ids(granary_id **ids, size_t *count, granary_id *more, size_t more_count)
{
    *ids = realloc(*ids, (*count + more_count + 1) * sizeof **ids);
    assert_non_null(*ids);
    if (more_count > 0) {
        memcpy(*ids + *count, more, more_count * sizeof **ids);
    }
    *count += more_count;
    free(more);
}

granary_err
world_advance(struct world *world, struct gr_plan_batch *ret_batch)
{
    struct gr_plan_batch all = {0};
    granary_err err;

    do {
        struct gr_plan_batch batch;

        err = gr_plan_advance(world->plan, &batch);
        if (err != GRANARY_OK) {
            gr_plan_batch_free(&all);
            return err;
        }
        all.subtasks = realloc(all.subtasks, (all.count + batch.count + 1) * sizeof *all.subtasks);
        assert_non_null(all.subtasks);
        for (size_t i = 0; i < batch.count; i++) {
            all.subtasks[all.count++] = batch.subtasks[i];
        }
        all.more = batch.more;
        append_ids(&all.held, &all.held_count, batch.held, batch.held_count);
        append_ids(&all.settled, &all.settled_count, batch.settled, batch.settled_count);
        if (all.memory == NULL) {
            all.memory = batch.memory;
        } else if (batch.memory != NULL) {
            gr_region_absorb(all.memory, batch.memory);
        }
        free(batch.subtasks);
    } while (all.more);
    *ret_batch = all;
    return GRANARY_OK;
}

granary_err
world_run(struct world *world)
{
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && !gr_plan_complete(world->plan)) {
        struct gr_plan_batch batch;
        size_t first = world->object_count;

        err = world_advance(world, &batch);
        if (err != GRANARY_OK) {
            return err;
        }
        assert_true(batch.count > 0 || gr_plan_complete(world->plan)); /* a step may only name what is there */
        world->batches++;
        for (size_t i = 0; i < batch.count; i++) {
            check_subtask(world, &batch.subtasks[i]);
        }
        check_held(world, &batch);
        check_objects(world, first);
        err = run_batch(world, &batch);
        gr_plan_batch_free(&batch);
    }
    return err;
}

void
world_must(struct world *world, const char *json)
{
    if (world_plan(world, json) != GRANARY_OK || world_run(world) != GRANARY_OK) {
        fail_msg("%s", granary_error_message());
    }
}

Granary__Result *
world_result(const struct world *world, const char *target)
{
    Granary__Result *result = NULL;
    size_t at = 0;

    while (at < gr_plan_target_count(world->plan) && strcmp(gr_plan_target_name(world->plan, at), target) != 0) {
        at++;
    }
    if (at == gr_plan_target_count(world->plan)) {
        fail_msg("the graph has no target '%s'", target);
    } else if (gr_plan_target_result(world->plan, at, &result) != GRANARY_OK) {
        fail_msg("target '%s': %s", target, granary_error_message());
    }
    return result;
}

int
world_setup(void **state)
{
    struct world *world = malloc(sizeof *world);

    world_init(world);
    *state = world;
    return 0;
}

int
world_teardown(void **state)
{
    world_fini(*state);
    free(*state);
    return 0;
}
