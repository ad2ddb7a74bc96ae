/* `granary simulate`: options, runs from seeds, and the report. */
#include "simulate/simulate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/memory/grow.h"
#include "base/text/duration.h"
#include "base/text/size.h"
#include "graph_json/json.h"
#include "options/options.h"
#include "plan/plan.h"
#include "simulate/world.h"

#define FILE_MAX         ((size_t)256 << 20)
#define DURATION_MOST_NS ((uint64_t)1000000 * 1000000000)
#define BYTES_MOST       ((uint64_t)1 << 50)

static const char *const shape_names[SHAPES] = {"tree", "chain", "map", "shuffle", "array", "random"};
static const char *const fault_names[] = {"death", "loss", "failure", "stall", "full", "restart"};

/* What was asked for; 0, NULL and -1: as the seed says. */
struct simulate {
    uint64_t runs;
    uint64_t seed;
    uint32_t executors;
    uint64_t memory_bytes;
    int shape;
    uint32_t size;
    int faults;
    const char *graph;
    const char *durations;
    bool json;
    bool trace;
    char directory[4096];
};

static granary_err
take_shape(void *target, char *text)
{
    for (int i = 0; i < SHAPES; i++) {
        if (strcmp(text, shape_names[i]) == 0) {
            ((struct simulate *)target)->shape = i;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EINVAL, "'%s' is none of tree, chain, map, shuffle, array, random", text);
}

static granary_err
take_faults(void *target, char *list)
{
    struct simulate *simulate = target;
    char *rest = NULL;
    int faults = 0;

    for (char *name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        size_t i = 0;

        while (i < sizeof fault_names / sizeof fault_names[0] && strcmp(name, fault_names[i]) != 0) {
            i++;
        }
        if (i < sizeof fault_names / sizeof fault_names[0]) {
            faults |= 1 << i;
        } else if (strcmp(name, "all") == 0) {
            faults = FAULTS_ALL;
        } else if (strcmp(name, "none") != 0) {
            return gr_fail(GRANARY_EINVAL, "'%s' is none of death, loss, failure, stall, full, restart, all, none",
                           name);
        }
    }
    simulate->faults = faults;
    return GRANARY_OK;
}

static const struct gr_option options[] = {
    {"runs", 0, "N", "play so many runs, with seeds from --seed on; default: 1",
     GR_OPTION_NUMBER(struct simulate, runs, 0, 1000000000)},
    {"seed", 0, "S", "begin with this seed; default: 1", GR_OPTION_NUMBER(struct simulate, seed, 0, UINT64_MAX)},
    {"executors", 0, "N", "play so many executors; default: as the seed says",
     GR_OPTION_NUMBER(struct simulate, executors, 0, WORLD_EXECUTORS)},
    {"memory", 0, "SIZE", "give the store so much memory; default: as the seed says",
     GR_OPTION_SIZE(struct simulate, memory_bytes, 1)},
    {"shape", 0, "NAME",
     "make graphs of this shape: tree, chain, map, shuffle, array or random; default: as the seed says",
     GR_OPTION_TAKE(take_shape)},
    {"size", 0, "N", "make graphs of about so many subtasks; default: as the seed says",
     GR_OPTION_NUMBER(struct simulate, size, 0, 1000000)},
    {"faults", 0, "LIST",
     "play these faults: none, all, or some of death,loss,failure,stall,full,restart; default: as the seed says",
     GR_OPTION_TAKE(take_faults)},
    {"durations", 0, "FILE", "read what nodes of GRAPH.json take: lines of NODE DURATION [SIZE]",
     GR_OPTION_TEXT(struct simulate, durations)},
    {"trace", 0, NULL, "print what happens, event by event", GR_OPTION_FLAG(struct simulate, trace)},
    {"json", 0, NULL, "print JSON", GR_OPTION_FLAG(struct simulate, json)},
    {0}};

/* ---- a recorded graph ---- */

struct recording {
    Granary__Graph *graph;
    struct world_duration *durations;
    size_t count;
};

static void
recording_free(struct recording *recording)
{
    granary__graph__free_unpacked(recording->graph, NULL);
    for (size_t i = 0; i < recording->count; i++) {
        free(recording->durations[i].node);
    }
    free(recording->durations);
}

static bool
has_node(const Granary__Graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (strcmp(graph->nodes[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Lines of a node, how long it takes and the bytes it makes. */
static granary_err
read_durations(const char *path, struct recording *recording)
{
    char *text = NULL;
    char *rest = NULL;
    size_t size = 0;
    size_t room = 0;
    granary_err err = gr_file_read(path, FILE_MAX, &text, &size);

    for (char *line = err == GRANARY_OK ? strtok_r(text, "\n", &rest) : NULL; line != NULL && err == GRANARY_OK;
         line = strtok_r(NULL, "\n", &rest)) {
        char node[256];
        char duration[32];
        char made[32] = "0";
        uint64_t ns;
        uint64_t bytes;

        if (sscanf(line, "%255s %31s %31s", node, duration, made) < 2 ||
            gr_duration_parse(duration, &ns) != GRANARY_OK || ns > DURATION_MOST_NS ||
            gr_size_parse(made, &bytes) != GRANARY_OK || bytes > BYTES_MOST) {
            err = gr_fail(GRANARY_EINVAL, "%s: '%.80s': a line is NODE DURATION [SIZE]", path, line);
            break;
        }
        if (!has_node(recording->graph, node)) {
            err = gr_fail(GRANARY_ENOENT, "%s: '%.80s': the graph has no node of that name", path, line);
            break;
        }
        if (!gr_grow(&recording->durations, &room, recording->count, sizeof *recording->durations)) {
            err = gr_fail(GRANARY_ENOMEM, "out of memory");
            break;
        }
        recording->durations[recording->count++] =
            (struct world_duration){.node = strdup(node), .nanoseconds = ns, .bytes = bytes};
    }
    free(text);
    return err;
}

static granary_err
read_recording(const struct simulate *simulate, struct recording *recording)
{
    char *text = NULL;
    size_t size = 0;
    granary_err err = gr_file_read(simulate->graph, FILE_MAX, &text, &size);

    if (err == GRANARY_OK) {
        err = gr_graph_from_json(text, size, &recording->graph);
    }
    free(text);
    for (size_t i = 0; err == GRANARY_OK && i < recording->graph->n_nodes; i++) {
        const Granary__Node *node = recording->graph->nodes[i];

        if (gr_plan_asks_files(node->op)) {
            err = gr_fail(GRANARY_EUNSUPPORTED,
                          "%s: node '%s' (%s): what follows depends on what is in the file, which is not read here: "
                          "use graphs of tensors and programs",
                          simulate->graph, node->name, node->op);
        }
    }
    if (err == GRANARY_OK && simulate->durations != NULL) {
        err = read_durations(simulate->durations, recording);
    }
    return err;
}

/* ---- runs ---- */

static void
choose(const struct simulate *simulate, const struct recording *recording, uint64_t seed, struct world_options *world)
{
    world_choose(seed, world);
    world->trace = simulate->trace;
    if (simulate->executors > 0) {
        world->executors = simulate->executors;
    }
    for (uint32_t i = 0; i < world->graph_count; i++) {
        struct world_graph *graph = &world->graphs[i];

        if (simulate->memory_bytes > 0 && graph->mean_bytes > 0) {
            graph->mean_bytes =
                (uint64_t)((double)graph->mean_bytes / (double)world->memory_bytes * (double)simulate->memory_bytes);
        }
        graph->shape = simulate->shape >= 0 ? (enum world_shape)simulate->shape : graph->shape;
        graph->size = simulate->size > 0 ? simulate->size : graph->size;
    }
    if (simulate->memory_bytes > 0) {
        world->memory_bytes = simulate->memory_bytes;
    }
    if (simulate->faults >= 0) {
        world->faults = (uint32_t)simulate->faults;
    }
    if (recording->graph != NULL) {
        world->recorded = recording->graph;
        world->directory = simulate->directory;
        world->durations = recording->durations;
        world->duration_count = recording->count;
        world->graph_count = 1;
        world->graphs[0].at_ns = 0;
        world->graphs[0].deadline_ms = 0;
        world->fair = false;
    }
    world->fair = world->fair && simulate->faults <= 0 && simulate->shape < 0 && simulate->size == 0;
}

static void
print_run(const struct simulate *simulate, uint64_t seed, const struct world_options *world,
          const struct world_report *report, int64_t took_ns)
{
    const double mib = 1024 * 1024;

    if (simulate->json) {
        (void)printf("{\"seed\": %" PRIu64 ", \"executors\": %u, \"memory_bytes\": %" PRIu64 ", \"subtasks\": %" PRIu64
                     ", \"reruns\": %" PRIu64 ", \"makespan_ns\": %" PRId64 ", \"utilisation\": %.4f, "
                     "\"peak_granted_bytes\": %" PRIu64 ", \"peak_store_bytes\": %" PRIu64
                     ", \"unfairness\": %.4f, \"succeeded\": %" PRIu64 ", \"failed\": %" PRIu64
                     ", \"refused\": %" PRIu64 ", \"seconds\": %.6f}\n",
                     seed, world->executors, world->memory_bytes, report->subtasks, report->reruns, report->makespan_ns,
                     report->utilisation, report->peak_granted, report->peak_store, report->unfairness,
                     report->succeeded, report->failed, report->refused, (double)took_ns / 1e9);
        return;
    }
    (void)printf("seed %" PRIu64 ": %u executors, %.1f MiB of memory, %u graphs of %u sessions\n", seed,
                 world->executors, (double)world->memory_bytes / mib, world->graph_count, world->sessions);
    (void)printf("  makespan     %.6f s of virtual time, %.0f %% of the executors' time used\n",
                 (double)report->makespan_ns / 1e9, report->utilisation * 100);
    (void)printf("  subtasks     %" PRIu64 " succeeded, %" PRIu64 " runs more\n", report->subtasks, report->reruns);
    (void)printf("  memory       %.1f MiB granted at most, %.1f MiB of objects at most\n",
                 (double)report->peak_granted / mib, (double)report->peak_store / mib);
    (void)printf("  graphs       %" PRIu64 " succeeded, %" PRIu64 " failed, %" PRIu64 " refused\n", report->succeeded,
                 report->failed, report->refused);
    if (world->fair) {
        (void)printf("  fairness     shares differ by %.0f %% of the bound\n", report->unfairness * 100);
    }
}

static void
add_up(struct world_report *sum, const struct world_report *report)
{
    sum->subtasks += report->subtasks;
    sum->reruns += report->reruns;
    sum->succeeded += report->succeeded;
    sum->failed += report->failed;
    sum->refused += report->refused;
    sum->deaths += report->deaths;
    sum->losses += report->losses;
    sum->failures += report->failures;
    sum->stalls += report->stalls;
    sum->fulls += report->fulls;
    sum->restarts += report->restarts;
    sum->makespan_ns += report->makespan_ns;
    sum->utilisation += report->utilisation;
    sum->unfairness = report->unfairness > sum->unfairness ? report->unfairness : sum->unfairness;
}

static void
print_sum(const struct simulate *simulate, const struct world_report *sum, uint64_t violations, int64_t took_ns)
{
    if (simulate->json) {
        (void)printf(
            "{\"runs\": %" PRIu64 ", \"seed\": %" PRIu64 ", \"violations\": %" PRIu64 ", \"subtasks\": %" PRIu64
            ", \"reruns\": %" PRIu64 ", \"succeeded\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"refused\": %" PRIu64
            ", \"deaths\": %" PRIu64 ", \"losses\": %" PRIu64 ", \"failures\": %" PRIu64 ", \"stalls\": %" PRIu64
            ", \"fulls\": %" PRIu64 ", \"restarts\": %" PRIu64 ", \"virtual_ns\": %" PRId64 ", \"utilisation\": %.4f, "
            "\"unfairness\": %.4f, \"seconds\": %.3f}\n",
            simulate->runs, simulate->seed, violations, sum->subtasks, sum->reruns, sum->succeeded, sum->failed,
            sum->refused, sum->deaths, sum->losses, sum->failures, sum->stalls, sum->fulls, sum->restarts,
            sum->makespan_ns, sum->utilisation / (double)simulate->runs, sum->unfairness, (double)took_ns / 1e9);
        return;
    }
    (void)printf("%" PRIu64 " runs, %.1f s of virtual time in %.1f s: %" PRIu64 " violations\n", simulate->runs,
                 (double)sum->makespan_ns / 1e9, (double)took_ns / 1e9, violations);
    (void)printf("  subtasks   %" PRIu64 " succeeded, %" PRIu64 " runs more\n", sum->subtasks, sum->reruns);
    (void)printf("  graphs     %" PRIu64 " succeeded, %" PRIu64 " failed, %" PRIu64 " refused\n", sum->succeeded,
                 sum->failed, sum->refused);
    (void)printf("  faults     %" PRIu64 " executors died, %" PRIu64 " objects lost, %" PRIu64
                 " subtasks failed, %" PRIu64 " stalls, %" PRIu64 " times no room, %" PRIu64 " restarts\n",
                 sum->deaths, sum->losses, sum->failures, sum->stalls, sum->fulls, sum->restarts);
    (void)printf("  fairness   shares differed by at most %.0f %% of the bound\n", sum->unfairness * 100);
}

/* The line that shows it again. */
static void
print_violation(const struct simulate *simulate, uint64_t seed, const char *what)
{
    (void)fprintf(stderr, "granary: simulate: seed %" PRIu64 ": %s\n  again: granary simulate --seed %" PRIu64, seed,
                  what, seed);
    if (simulate->executors > 0) {
        (void)fprintf(stderr, " --executors %u", simulate->executors);
    }
    if (simulate->memory_bytes > 0) {
        (void)fprintf(stderr, " --memory %" PRIu64, simulate->memory_bytes);
    }
    if (simulate->shape >= 0) {
        (void)fprintf(stderr, " --shape %s", shape_names[simulate->shape]);
    }
    if (simulate->size > 0) {
        (void)fprintf(stderr, " --size %u", simulate->size);
    }
    for (size_t i = 0, given = 0; simulate->faults >= 0 && i < sizeof fault_names / sizeof fault_names[0]; i++) {
        if ((simulate->faults & 1 << i) != 0) {
            (void)fprintf(stderr, "%s%s", given++ == 0 ? " --faults " : ",", fault_names[i]);
        }
    }
    (void)fprintf(stderr, "%s%s%s%s%s\n", simulate->faults == 0 ? " --faults none" : "",
                  simulate->durations != NULL ? " --durations " : "",
                  simulate->durations != NULL ? simulate->durations : "", simulate->graph != NULL ? " " : "",
                  simulate->graph != NULL ? simulate->graph : "");
}

/* Returns how much did not hold; a recorded graph that was refused is one. */
static uint64_t
run_all(const struct simulate *simulate, const struct recording *recording)
{
    struct world_report sum = {0};
    int64_t began_ns = gr_now_ns();
    uint64_t violations = 0;

    for (uint64_t i = 0; i < simulate->runs; i++) {
        struct world_options world;
        struct world_report report;

        choose(simulate, recording, simulate->seed + i, &world);
        world_run(&world, &report);
        if (report.violation[0] != '\0') {
            print_violation(simulate, simulate->seed + i, report.violation);
            violations++;
        }
        if (simulate->runs == 1) {
            print_run(simulate, simulate->seed, &world, &report, gr_now_ns() - began_ns);
        }
        if (simulate->runs == 1 && recording->graph != NULL && report.reason[0] != '\0') {
            (void)fprintf(stderr, "granary: simulate: %s: %s\n", simulate->graph, report.reason);
        }
        add_up(&sum, &report);
    }
    if (simulate->runs > 1) {
        print_sum(simulate, &sum, violations, gr_now_ns() - began_ns);
    }
    return violations + (recording->graph != NULL ? sum.refused : 0);
}

int
simulate_main(int argc, char **argv)
{
    struct simulate simulate = {.runs = 1, .seed = 1, .shape = -1, .faults = -1};
    const struct gr_options table = {
        .arguments = "[GRAPH.json]",
        .doc =
            "Play schedules with faults under virtual time, and check what must hold."
            "\vThe scheduler is the real one. Executors, store and faults come from a seed, or a graph is played whose "
            "durations were recorded. Every graph must end, and nothing may succeed twice. What is granted must come "
            "back, and never exceed what there is. Sessions must get their shares.",
        .most = 1,
        .sets = {{options, &simulate, NULL}}};
    struct recording recording = {0};
    uint64_t violations = 0;
    int first;
    granary_err err = GRANARY_OK;

    first = gr_options_parse(&table, argc, argv);
    simulate.graph = first < argc ? argv[first] : NULL;
    (void)setenv("GRANARY_LOG", "warn", 0); /* what a daemon tells of its restarts is no news here */
    gr_log_init("simulate");
    if (getcwd(simulate.directory, sizeof simulate.directory) == NULL) {
        err = gr_fail_errno("current directory");
    }
    if (err == GRANARY_OK && simulate.graph != NULL) {
        err = read_recording(&simulate, &recording);
    }
    if (err == GRANARY_OK) {
        violations = run_all(&simulate, &recording);
    } else {
        (void)fprintf(stderr, "granary: simulate: %s\n", granary_error_message());
    }
    recording_free(&recording);
    return err != GRANARY_OK ? granary_error_exit_status(err) : violations > 0;
}
