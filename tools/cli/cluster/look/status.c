/*
 * granary cluster status, top: a row for each machine, and the sums. All are asked at once; one that does not answer has a
 * row that says so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/dask.h"
#include "cli/cluster/nodes.h"
#include "cli/cluster/slurm/pilot.h"
#include "cli/cluster/where.h"
#include "cli/print/again.h"

struct status {
    struct where where;
    struct again again;
};

/* One answer of all machines. */
struct round {
    struct node *nodes;
    size_t count;
    struct pilot pilot;
    char state[32]; /* of the pilot job; "": there is none, or nobody asked for it */
    size_t up;      /* nodes of the pilot job */
};

/* ---- asking ---- */

static bool
has_node(const struct round *round, const struct node *node)
{
    for (size_t i = 0; i < round->count; i++) {
        if (strcmp(round->nodes[i].name, node->name) == 0 &&
            strcmp(round->nodes[i].facts.instance, node->facts.instance) == 0) {
            return true;
        }
    }
    return false;
}

/* Take over the nodes that are new; the others are freed. */
static granary_err
add_nodes(struct round *round, struct node *nodes, size_t count)
{
    struct node *more = realloc(round->nodes, (round->count + count + 1) * sizeof *more);

    if (more == NULL) {
        nodes_free(nodes, count);
        return gr_no_memory("nodes");
    }
    round->nodes = more;
    for (size_t i = 0; i < count; i++) {
        if (has_node(round, &nodes[i])) {
            free(nodes[i].said);
        } else {
            round->nodes[round->count++] = nodes[i];
        }
    }
    free(nodes);
    return GRANARY_OK;
}

static granary_err
add_places(struct round *round, const struct places *places)
{
    struct node *nodes = NULL;
    granary_err err = nodes_ask(places, false, &nodes);

    return err == GRANARY_OK ? add_nodes(round, nodes, places->count) : err;
}

/* The pilot job's: also those that are not up yet are counted. */
static granary_err
add_pilot(struct round *round)
{
    struct pilot_node *nodes = NULL;
    struct places places = {.count = 0};
    size_t count = 0, first = round->count;
    granary_err err = pilot_ask(&round->pilot, round->state);

    if (err == GRANARY_OK && round->state[0] == '\0') {
        err = pilot_failure(&round->pilot);
        return gr_fail(err, "%s: `granary cluster down` forgets it", granary_error_message());
    }
    if (err == GRANARY_OK && (err = pilot_nodes(&round->pilot, &nodes, &count)) == GRANARY_EUNREACHABLE) {
        return GRANARY_OK; /* it may wait in the queue */
    }
    err = err == GRANARY_OK ? places_recall("slurm", round->pilot.job, count, &places) : err;
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        (void)snprintf(places.list[i].name, sizeof places.list[i].name, "%s", nodes[i].name);
        (void)snprintf(places.list[i].instance, sizeof places.list[i].instance, "%s", nodes[i].instance);
    }
    err = err == GRANARY_OK ? add_places(round, &places) : err;
    for (size_t i = first; i < round->count && err == GRANARY_OK; i++) { /* what is in its file, too */
        struct node *node = &round->nodes[i];
        const struct pilot_node *told = &nodes[i - first];

        node->fragments = told->fragments;
        if (node->facts.version[0] == '\0') {
            (void)snprintf(node->facts.version, sizeof node->facts.version, "%s", told->version);
            (void)snprintf(node->facts.instance, sizeof node->facts.instance, "%s", told->instance);
            node->facts.executors = told->executors;
            node->facts.memory_bytes = (int64_t)told->memory;
        }
    }
    round->up = count;
    places_close(&places);
    free(nodes);
    return err;
}

/* Machines of runs that go on, or whose driver was killed. */
static granary_err
add_runs(struct round *round, const struct where *where, const char *instance)
{
    struct record_view *runs = NULL;
    size_t count = 0;
    granary_err err = where_runs(where, instance, &runs, &count);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        bool is_pilot = round->pilot.job[0] != '\0' && strcmp(runs[i].places.job, round->pilot.job) == 0;

        err = is_pilot ? err : add_places(round, &runs[i].places);
    }
    where_runs_free(runs, count);
    return err;
}

static granary_err
ask_all(const struct where *where, const char *instance, struct round *round)
{
    bool is_slurm = where->on != NULL && strcmp(where->on, "slurm") == 0;
    bool is_local = where->on != NULL && strncmp(where->on, "local", 5) == 0;
    const struct places_options options = {.on = where->on, .instance = instance, .looks = true};
    struct places places = {.count = 0};
    struct node *nodes = NULL;
    size_t count = 0;
    granary_err err;

    if (dask_address(where->on) != NULL) {
        err = dask_nodes(dask_address(where->on), &nodes, &count);
        return err == GRANARY_OK ? add_nodes(round, nodes, count) : err;
    }
    if (where->on != NULL && !is_slurm && !is_local) {
        err = places_open(&options, &places);
        err = err == GRANARY_OK ? add_places(round, &places) : err;
        places_close(&places);
        return err;
    }
    err = is_local || where->directory != NULL ? GRANARY_ENOENT : pilot_find(instance, &round->pilot);
    if (err == GRANARY_OK) {
        err = add_pilot(round);
    } else if (!is_slurm && err == GRANARY_ENOENT) {
        round->pilot.job[0] = '\0';
        err = GRANARY_OK;
    }
    if (err == GRANARY_OK && !is_slurm) {
        err = add_runs(round, where, instance);
    }
    if (err == GRANARY_OK && round->count == 0 && round->pilot.job[0] == '\0') {
        err = gr_fail(GRANARY_ENOENT, "no cluster is up: `granary cluster up --slurm -N 4` starts one, and --on "
                                      "ssh:HOST,... names machines; no run goes on here either");
    }
    return err;
}

/* ---- showing ---- */

/* People see nothing of a machine that told nothing. */
static const char *
show_number(const struct node *node, int64_t number, char buffer[SHOW_TEXT])
{
    (void)snprintf(buffer, SHOW_TEXT, "%" PRId64, number);
    return node->facts.version[0] == '\0' ? "-" : buffer;
}

static const char *
show_size(const struct node *node, int64_t bytes, char buffer[SHOW_TEXT])
{
    return node->facts.version[0] == '\0' ? "-" : cli_format_size((uint64_t)bytes, buffer);
}

#define SHOWS(name, how, member)                                                                                       \
    static const char *name(const void *row, char buffer[SHOW_TEXT])                                                   \
    {                                                                                                                  \
        return how(row, ((const struct node *)row)->facts.member, buffer);                                             \
    }
SHOWS(node_executors, show_number, executors)
SHOWS(node_memory, show_size, memory_bytes)
SHOWS(node_used, show_size, used_bytes)
SHOWS(node_spilled, show_size, spilled_bytes)
SHOWS(node_busy, show_number, busy)
SHOWS(node_objects, show_number, objects)
SHOWS(node_running, show_number, running)

static const char *
node_version(const void *row, char buffer[SHOW_TEXT])
{
    const struct node *node = row;

    return node->facts.version[0] == '\0' ? "-" : show_text(node->facts.version, buffer);
}

static const char *
node_load(const void *row, char buffer[SHOW_TEXT])
{
    const struct node *node = row;

    (void)snprintf(buffer, SHOW_TEXT, "%.1f/%" PRId64, node->facts.load, node->facts.processors);
    return node->facts.processors == 0 ? "-" : buffer;
}

/* Where it is, or what is wrong with it. */
static const char *
node_state(const void *row, char buffer[SHOW_TEXT])
{
    const struct node *node = row;

    return show_text(node->trouble[0] == '\0' ? node->facts.instance : node->trouble, buffer);
}

static const struct column node_columns[] = {
    {"node", "node", -16, COLUMN(struct node, name)},
    {"version", "version", -10, COLUMN(struct node, facts.version), .show = node_version},
    {"executors", "executors", 9, COLUMN(struct node, facts.executors), .show = node_executors},
    {"memory_bytes", "memory", 9, COLUMN(struct node, facts.memory_bytes), .show = node_memory},
    {"used_bytes", "used", 9, COLUMN(struct node, facts.used_bytes), .show = node_used},
    {"spilled_bytes", "spilled", 9, COLUMN(struct node, facts.spilled_bytes), .show = node_spilled},
    {"busy", "busy", 5, COLUMN(struct node, facts.busy), .show = node_busy},
    {"objects", "objects", 8, COLUMN(struct node, facts.objects), .show = node_objects},
    {"running", "running", 7, COLUMN(struct node, facts.running), .show = node_running},
    {"load", "load", 8, COLUMN(struct node, facts.load), .show = node_load},
    {"processors", NULL, 0, COLUMN(struct node, facts.processors)},
    {"fragments", NULL, 0, COLUMN(struct node, fragments)},
    {"store", NULL, 0, COLUMN(struct node, facts.store)},
    {"instance", NULL, 0, COLUMN(struct node, facts.instance)},
    {"trouble", NULL, 0, COLUMN(struct node, trouble)},
    {NULL, "instance", 0, .show = node_state},
    {0}};

/* Of those that have told something. */
static struct node
sum_up(const struct round *round, size_t *ret_answered)
{
    struct node sum = {.name = "all"};

    *ret_answered = 0;
    for (size_t i = 0; i < round->count; i++) {
        const struct facts *facts = &round->nodes[i].facts;

        *ret_answered += round->nodes[i].said != NULL && facts->processors > 0;
        sum.facts.executors += facts->executors;
        sum.facts.busy += facts->busy;
        sum.facts.memory_bytes += facts->memory_bytes;
        sum.facts.used_bytes += facts->used_bytes;
        sum.facts.spilled_bytes += facts->spilled_bytes;
        sum.facts.objects += facts->objects;
        sum.facts.running += facts->running;
        sum.facts.processors += facts->processors;
        sum.facts.load += facts->load;
        sum.fragments += round->nodes[i].fragments;
    }
    (void)snprintf(sum.facts.version, sizeof sum.facts.version, "%s", granary_version());
    return sum;
}

static const struct column total_columns[] = {{"executors", NULL, 0, COLUMN(struct node, facts.executors)},
                                              {"busy", NULL, 0, COLUMN(struct node, facts.busy)},
                                              {"memory_bytes", NULL, 0, COLUMN(struct node, facts.memory_bytes)},
                                              {"used_bytes", NULL, 0, COLUMN(struct node, facts.used_bytes)},
                                              {"spilled_bytes", NULL, 0, COLUMN(struct node, facts.spilled_bytes)},
                                              {"objects", NULL, 0, COLUMN(struct node, facts.objects)},
                                              {"running", NULL, 0, COLUMN(struct node, facts.running)},
                                              {"load", NULL, 0, COLUMN(struct node, facts.load)},
                                              {"processors", NULL, 0, COLUMN(struct node, facts.processors)},
                                              {"fragments", NULL, 0, COLUMN(struct node, fragments)},
                                              {0}};

static void
print_json(const struct round *round, const struct node *sum, size_t answered)
{
    struct json json = {0};

    json_open(&json, NULL, '{');
    if (round->state[0] != '\0') {
        pilot_write(&round->pilot, round->state, &json);
    }
    listing_array(&json, "nodes", node_columns, round->nodes, round->count, sizeof *round->nodes);
    json_unsigned(&json, "answered", answered);
    listing_object(&json, "totals", total_columns, sum);
    json_close(&json);
}

static void
print_round(const struct round *round, bool is_json)
{
    size_t answered;
    struct node sum = sum_up(round, &answered);
    struct listing listing = {0};

    if (is_json) {
        print_json(round, &sum, answered);
        return;
    }
    if (round->state[0] != '\0') {
        pilot_print(&round->pilot, round->state, round->up);
    }
    if (round->count == 0) {
        return;
    }
    (void)snprintf(sum.facts.instance, sizeof sum.facts.instance, "%zu of %zu answer", answered, round->count);
    listing_begin(&listing, node_columns, false);
    for (size_t i = 0; i < round->count; i++) {
        listing_row(&listing, &round->nodes[i]);
    }
    listing_row(&listing, &sum);
    listing_end(&listing);
}

/* A version that differs is the error that the next run would have. Nobody answers: so is that. */
static granary_err
check_round(const struct round *round)
{
    size_t answered;

    for (size_t i = 0; i < round->count; i++) {
        const struct node *node = &round->nodes[i];

        if (node->facts.version[0] != '\0' && strcmp(node->facts.version, granary_version()) != 0) {
            return gr_fail(GRANARY_EVERSION,
                           "node %s has granary %s, and this machine %s: install the same version on all machines",
                           node->name, node->facts.version, granary_version());
        }
    }
    (void)sum_up(round, &answered);
    return round->count > 0 && answered == 0 ? gr_fail(GRANARY_EUNREACHABLE, "no machine answers") : GRANARY_OK;
}

static granary_err
check_status(struct cli *cli)
{
    const struct status *status = cli->self;

    if (status->where.on != NULL && status->where.directory != NULL) {
        return gr_fail(GRANARY_EINVAL, "--on and --directory: name one of them");
    }
    return status->again.interval_ms >= AGAIN_LEAST_MS && status->again.interval_ms <= AGAIN_MOST_MS
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, AGAIN_WRONG);
}

static int
run_status(struct cli *cli)
{
    struct status *status = cli->self;
    granary_err err;

    again_begin(&status->again, !cli->json);
    do {
        struct round round = {.count = 0};

        err = ask_all(&status->where, cli->instance, &round);
        if (err == GRANARY_OK) {
            again_clear(&status->again);
            print_round(&round, cli->json);
            err = status->again.once ? check_round(&round) : err;
        }
        nodes_free(round.nodes, round.count);
    } while (err == GRANARY_OK && again_next(&status->again));
    again_end(&status->again);
    return err;
}

static const struct gr_option status_options[] = {
    {"on", 0, "WHERE", WHERE_ON_HELP, GR_OPTION_TEXT(struct status, where.on)},
    {"directory", 0, "DIR", "the machines of runs in this directory", GR_OPTION_TEXT(struct status, where.directory)},
    {0}};

static const struct gr_option top_options[] = {
    {"on", 0, "WHERE", WHERE_ON_HELP, GR_OPTION_TEXT(struct status, where.on)},
    {"directory", 0, "DIR", "the machines of runs in this directory", GR_OPTION_TEXT(struct status, where.directory)},
    {"once", 0, NULL, "print one screen", GR_OPTION_FLAG(struct status, again.once)},
    {"interval", 'd', "DURATION", AGAIN_HELP, GR_OPTION_MS(struct status, again.interval_ms)},
    {0}};

const struct command cluster_status = {.options = status_options,
                                       COMMAND_SELF(struct status, .again = {.once = true, .interval_ms = 1000}),
                                       .check = check_status,
                                       .run = run_status};
const struct command cluster_top = {.options = top_options,
                                    COMMAND_SELF(struct status, .again.interval_ms = 1000),
                                    .check = check_status,
                                    .run = run_status};
