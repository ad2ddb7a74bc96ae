/*
 * A plan from JSON. It comes from a file, so each member is checked before a driver counts on it: stages stand after those
 * that they read, nodes are there, numbers are in range.
 */
#include "graph_json/plan.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/region.h"
#include "graph_json/json_memory.h"
#include "graph_json/json_value.h"

struct reading {
    const char *text;
    size_t length;
    struct gr_cutplan *plan;
};

static void *
allocate(struct gr_cutplan *plan, size_t count, size_t size)
{
    void *bytes = gr_region_zalloc(plan->region, count + 1, size); /* never of nothing */

    if (bytes == NULL) {
        gr_fail_message("plan: out of memory");
    }
    return bytes;
}

/* A member that is a text, copied; NULL with a message: it is none, or there is no memory. */
static const char *
read_string(struct gr_cutplan *plan, const json_t *object, const char *member, granary_err *ret_err)
{
    const json_t *value = json_object_get(object, member);
    char *copy = NULL;

    if (!json_is_string(value)) {
        *ret_err = gr_fail(GRANARY_EINVAL, "its member '%s' needs a text, not %s", member,
                           value == NULL ? "nothing" : json_type_text(value));
        return NULL;
    }
    copy = allocate(plan, json_string_length(value), 1);
    *ret_err = copy == NULL ? GRANARY_ENOMEM : GRANARY_OK;
    return copy == NULL ? NULL : memcpy(copy, json_string_value(value), json_string_length(value) + 1);
}

static granary_err
read_count(const json_t *object, const char *member, json_int_t least, uint32_t *ret_count)
{
    const json_t *value = json_object_get(object, member);

    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > GR_PLAN_PARTITIONS) {
        return gr_fail(GRANARY_EINVAL, "its member '%s' needs a number from %d to %d", member, (int)least,
                       GR_PLAN_PARTITIONS);
    }
    *ret_count = (uint32_t)json_integer_value(value);
    return GRANARY_OK;
}

size_t
gr_cutplan_find(const struct gr_cutplan *plan, const char *name)
{
    size_t s = 0;

    while (s < plan->stage_count && strcmp(plan->stages[s].name, name) != 0) {
        s++;
    }
    return s;
}

/* ---- stages ---- */

static granary_err
find_node(const Granary__Graph *graph, const char *name, size_t *ret_node)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (strcmp(graph->nodes[i]->name, name) == 0) {
            *ret_node = i;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EINVAL, "its graph has no node '%.100s'", name);
}

static granary_err
read_stage_graph(json_t *object, struct gr_cutplan_stage *stage)
{
    granary_err err;

    if (object == NULL) {
        return gr_fail(GRANARY_EINVAL, "it has no 'graph'");
    }
    stage->graph = malloc(sizeof *stage->graph);
    if (stage->graph == NULL) {
        return gr_no_memory("plan");
    }
    granary__graph__init(stage->graph);
    err = json_read_graph(object, stage->graph);
    if (err == GRANARY_OK && stage->graph->n_targets != 1) {
        err = gr_fail(GRANARY_EINVAL, "its graph needs one target, and has %zu", stage->graph->n_targets);
    }
    return err;
}

static granary_err
read_part_of(struct gr_cutplan *plan, const json_t *list, struct gr_cutplan_stage *stage)
{
    granary_err err = GRANARY_OK;

    if (list != NULL && !json_is_array(list)) {
        return gr_fail(GRANARY_EINVAL, "its member 'part_of' needs a list of names, not %s", json_type_text(list));
    }
    stage->part_of = allocate(plan, json_array_size(list), sizeof *stage->part_of);
    if (stage->part_of == NULL) {
        return GRANARY_ENOMEM;
    }
    for (size_t i = 0; i < json_array_size(list) && err == GRANARY_OK; i++) {
        const char *name = json_string_value(json_array_get(list, i));

        err = name == NULL ? gr_fail(GRANARY_EINVAL, "its member 'part_of' has something that is no name")
                           : find_node(stage->graph, name, &stage->part_of[stage->part_of_count++]);
    }
    return err;
}

static granary_err
read_input(const struct gr_cutplan *plan, const struct gr_cutplan_stage *stage, const json_t *object,
           struct gr_cutplan_input *input)
{
    static const char *const takes[] = {"same", "part", "all"};
    const char *from = json_string_value(json_object_get(object, "stage"));
    const char *take = json_string_value(json_object_get(object, "take"));
    size_t t = 0;

    if (from == NULL || take == NULL) {
        return gr_fail(GRANARY_EINVAL, "it needs the texts 'stage' and 'take'");
    }
    input->stage = gr_cutplan_find(plan, from);
    if (input->stage == plan->stage_count) {
        return gr_fail(GRANARY_EINVAL, "no stage before this one is called '%.60s'", from);
    }
    while (t < sizeof takes / sizeof takes[0] && strcmp(take, takes[t]) != 0) {
        t++;
    }
    if (t == sizeof takes / sizeof takes[0]) {
        return gr_fail(GRANARY_EINVAL, "'take' is same, part or all, not '%.60s'", take);
    }
    input->take = (enum gr_cutplan_take)t;
    if (input->take == GR_PLAN_SAME && plan->stages[input->stage].partitions != stage->partitions) {
        return gr_fail(GRANARY_EINVAL, "'take' is same, but stage '%s' has %u partitions, and this one %u", from,
                       plan->stages[input->stage].partitions, stage->partitions);
    }
    return GRANARY_OK;
}

static granary_err
read_inputs(struct gr_cutplan *plan, json_t *inputs, struct gr_cutplan_stage *stage)
{
    granary_err err = GRANARY_OK;
    const char *name;
    json_t *object;

    if (inputs != NULL && !json_is_object(inputs)) {
        return gr_fail(GRANARY_EINVAL, "its member 'inputs' needs an object, not %s", json_type_text(inputs));
    }
    stage->inputs = allocate(plan, json_object_size(inputs), sizeof *stage->inputs);
    if (stage->inputs == NULL) {
        return GRANARY_ENOMEM;
    }
    json_object_foreach(inputs, name, object)
    {
        struct gr_cutplan_input *input = &stage->inputs[stage->input_count++];

        err = find_node(stage->graph, name, &input->node);
        err = err == GRANARY_OK ? read_input(plan, stage, object, input) : err;
        if (err != GRANARY_OK) {
            return gr_fail_in(err, "input '%.100s'", name);
        }
    }
    return err;
}

/* The digest is part of files' names, so it is nothing but digits. */
static granary_err
read_digest(struct gr_cutplan *plan, const json_t *object, struct gr_cutplan_stage *stage)
{
    granary_err err;

    stage->digest = read_string(plan, object, "digest", &err);
    return err == GRANARY_OK && (strlen(stage->digest) != GR_PLAN_DIGEST ||
                                 strspn(stage->digest, "0123456789abcdef") != GR_PLAN_DIGEST)
               ? gr_fail(GRANARY_EINVAL, "its digest needs %d hex digits", GR_PLAN_DIGEST)
               : err;
}

static granary_err
read_stage(struct gr_cutplan *plan, const json_t *object, struct gr_cutplan_stage *stage)
{
    granary_err err = read_digest(plan, object, stage);

    err = err == GRANARY_OK ? read_count(object, "partitions", 1, &stage->partitions) : err;
    if (err == GRANARY_OK && json_object_get(object, "chunks") != NULL) {
        err = read_count(object, "chunks", 0, &stage->chunks);
    }
    stage->home = json_is_true(json_object_get(object, "home"));
    err = err == GRANARY_OK ? read_stage_graph(json_object_get(object, "graph"), stage) : err;
    err = err == GRANARY_OK ? read_part_of(plan, json_object_get(object, "part_of"), stage) : err;
    return err == GRANARY_OK ? read_inputs(plan, json_object_get(object, "inputs"), stage) : err;
}

static granary_err
read_stages(struct gr_cutplan *plan, const json_t *list)
{
    granary_err err = GRANARY_OK;

    if (json_array_size(list) == 0) {
        return gr_fail(GRANARY_EINVAL, "a plan needs a list of 'stages'");
    }
    plan->stages = allocate(plan, json_array_size(list), sizeof *plan->stages);
    if (plan->stages == NULL) {
        return GRANARY_ENOMEM;
    }
    for (size_t i = 0; i < json_array_size(list) && err == GRANARY_OK; i++) {
        const json_t *object = json_array_get(list, i);
        struct gr_cutplan_stage *stage = &plan->stages[i];

        stage->name = read_string(plan, object, "name", &err);
        if (err != GRANARY_OK) {
            return gr_fail_in(err, "stage %zu", i);
        }
        if (gr_cutplan_find(plan, stage->name) < i) {
            return gr_fail(GRANARY_EINVAL, "two stages are called '%s'", stage->name);
        }
        err = read_stage(plan, object, stage);
        plan->stage_count += err == GRANARY_OK; /* so it reads those before it alone */
        if (err != GRANARY_OK) {
            granary__graph__free_unpacked(stage->graph, NULL);
            return gr_fail_in(err, "stage '%.60s'", stage->name);
        }
    }
    return err;
}

/* ---- the whole ---- */

static granary_err
read_target(struct gr_cutplan *plan, const json_t *object, struct gr_cutplan_target *target)
{
    granary_err err;
    const char *stage;

    target->name = read_string(plan, object, "name", &err);
    if (err != GRANARY_OK) {
        return err;
    }
    stage = read_string(plan, object, "stage", &err);
    if (err != GRANARY_OK) {
        return err;
    }
    target->stage = gr_cutplan_find(plan, stage);
    if (target->stage == plan->stage_count || plan->stages[target->stage].partitions != 1) {
        return gr_fail(GRANARY_EINVAL, "target '%s': stage '%s' %s", target->name, stage,
                       target->stage == plan->stage_count ? "is not there" : "has more than one partition");
    }
    return GRANARY_OK;
}

static granary_err
read_targets(struct gr_cutplan *plan, const json_t *list)
{
    granary_err err = GRANARY_OK;

    if (json_array_size(list) == 0) {
        return gr_fail(GRANARY_EINVAL, "a plan needs a list of 'targets'");
    }
    plan->targets = allocate(plan, json_array_size(list), sizeof *plan->targets);
    if (plan->targets == NULL) {
        return GRANARY_ENOMEM;
    }
    for (size_t i = 0; i < json_array_size(list) && err == GRANARY_OK; i++) {
        err = read_target(plan, json_array_get(list, i), &plan->targets[plan->target_count++]);
    }
    return err;
}

static granary_err
read_guesses(struct gr_cutplan *plan, const json_t *list)
{
    plan->guesses = allocate(plan, json_array_size(list), sizeof *plan->guesses);
    if (plan->guesses == NULL) {
        return GRANARY_ENOMEM;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *object = json_array_get(list, i);
        const char *stage = json_string_value(json_object_get(object, "stage"));
        struct gr_cutplan_guess *guess = &plan->guesses[plan->guess_count++];

        guess->stage = stage == NULL ? plan->stage_count : gr_cutplan_find(plan, stage);
        guess->most_bytes = json_number_value(json_object_get(object, "most_bytes"));
        if (guess->stage == plan->stage_count || !json_is_number(json_object_get(object, "most_bytes"))) {
            return gr_fail(GRANARY_EINVAL, "entry %zu of 'decided' needs a 'stage' that is there, and 'most_bytes'", i);
        }
    }
    return GRANARY_OK;
}

static granary_err
read_plan(void *context)
{
    struct reading *reading = context;
    struct gr_cutplan *plan = reading->plan;
    const json_t *format;
    json_t *root;
    granary_err err = json_load(reading->text, reading->length, &root);

    if (err != GRANARY_OK) {
        return err;
    }
    format = json_object_get(root, "granary_fragments");
    if (!json_is_integer(format)) {
        return gr_fail(GRANARY_EINVAL, "no plan: it has no number 'granary_fragments'");
    }
    if (json_integer_value(format) != GR_PLAN_FORMAT) {
        return gr_fail(GRANARY_EVERSION,
                       "its format is %" JSON_INTEGER_FORMAT ", and this granary, " GRANARY_VERSION
                       ", understands format %d: cut the graph with this one",
                       json_integer_value(format), GR_PLAN_FORMAT);
    }
    plan->version = read_string(plan, root, "version", &err);
    err = err == GRANARY_OK ? read_stages(plan, json_object_get(root, "stages")) : err;
    err = err == GRANARY_OK ? read_targets(plan, json_object_get(root, "targets")) : err;
    return err == GRANARY_OK ? read_guesses(plan, json_object_get(root, "decided")) : err;
}

static granary_err
look_for_format(void *context)
{
    const struct reading *reading = context;
    json_t *root;
    granary_err err = json_load(reading->text, reading->length, &root);

    return err == GRANARY_OK && json_object_get(root, "granary_fragments") == NULL ? GRANARY_ENOENT : err;
}

bool
gr_cutplan_is_meant(const char *text, size_t length)
{
    struct reading reading = {.text = text, .length = length};

    return json_run(look_for_format, &reading) == GRANARY_OK;
}

granary_err
gr_cutplan_from_json(const char *text, size_t length, struct gr_cutplan **ret_plan)
{
    struct reading reading = {.text = text, .length = length, .plan = calloc(1, sizeof *reading.plan)};
    granary_err err;

    if (reading.plan == NULL || (reading.plan->region = gr_region_create()) == NULL) {
        gr_cutplan_destroy(reading.plan);
        return gr_no_memory("plan");
    }
    err = json_run(read_plan, &reading);
    if (err != GRANARY_OK) {
        gr_cutplan_destroy(reading.plan);
        return err;
    }
    *ret_plan = reading.plan;
    return GRANARY_OK;
}

void
gr_cutplan_destroy(struct gr_cutplan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (size_t s = 0; s < plan->stage_count; s++) {
        granary__graph__free_unpacked(plan->stages[s].graph, NULL);
    }
    gr_region_destroy(plan->region);
    free(plan);
}
