/* `granary bench sched`: subtasks that do nothing, through client, scheduler and executors; and a raw round trip
 * beside. */
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "granary/graph.h"

#define EXECUTORS "2"

struct run {
    granary_client *client;
    struct results *results;
    size_t scale; /* 10 for --quick: a tenth of the samples */
    granary_err err;
};

/* False, said once on stderr, when something was refused. */
static bool
good(struct run *run, granary_err err)
{
    if (err != GRANARY_OK && run->err == GRANARY_OK) {
        (void)fprintf(stderr, "granary: bench: %s\n", granary_error_message());
        run->err = err;
    }
    return run->err == GRANARY_OK;
}

/* ---- figures ---- */

granary_graph *
bench_null_graph(size_t count, bool chain)
{
    granary_graph *graph = granary_graph_create();
    granary_node last = GRANARY_NO_NODE;

    for (size_t i = 0; i < count; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "n%zu", i);
        last = granary_graph_add(graph, name, "null", &last, chain && i > 0 ? 1 : 0);
        if (!chain || i + 1 == count) {
            granary_graph_target(graph, last);
        }
    }
    return graph;
}

/* A tree of nulls: leaves, and above them nodes that wait for two each, up to one. */
static granary_graph *
tree_graph(size_t leaves)
{
    granary_graph *graph = granary_graph_create();
    granary_node *level = calloc(leaves, sizeof *level);
    size_t made = 0;

    for (size_t width = leaves; graph != NULL && level != NULL && width > 0; width = width == 1 ? 0 : width / 2) {
        for (size_t i = 0; i < width; i++) {
            granary_node below[2] = {level[2 * i % leaves], level[(2 * i + 1) % leaves]};
            char name[32];

            (void)snprintf(name, sizeof name, "n%zu", made++);
            level[i] = granary_graph_add(graph, name, "null", below, width == leaves ? 0 : 2);
        }
    }
    if (graph != NULL && level != NULL) {
        granary_graph_target(graph, level[0]);
    }
    free(level);
    return graph;
}

/* One node that stands for count null subtasks. */
static granary_graph *
array_graph(size_t count)
{
    granary_graph *graph = granary_graph_create();
    granary_node node = granary_graph_add(graph, "array", "null", NULL, 0);

    granary_node_set_int(graph, node, "count", (int64_t)count);
    granary_graph_target(graph, node);
    return graph;
}

/* From submission until all is known to be done, in ns; the graph is deleted afterwards. */
static double
time_graph(struct run *run, const granary_graph *graph)
{
    char key[GRANARY_KEY_MAX];
    int64_t start = bench_now_ns();
    int64_t end;

    if (!good(run, granary_graph_run(run->client, graph, NULL, 60000, key, NULL))) {
        return 0;
    }
    end = bench_now_ns();
    (void)good(run, granary_graph_delete(run->client, key));
    return (double)(end - start);
}

/* How long a graph takes, several times: a figure of one of its subtasks, of all of it, or of how many a second. */
struct question {
    const char *key, *unit, *peer, *note;
    granary_graph *(*make)(size_t size);
    size_t size; /* of the graph */
    size_t runs;
    double ns;    /* in one unit; 0: it is so many subtasks a second, of the median */
    size_t parts; /* the figure is of one of so many */
};

static granary_graph *
loose_graph(size_t count)
{
    return bench_null_graph(count, false);
}

static granary_graph *
chain_graph(size_t count)
{
    return bench_null_graph(count, true);
}

static void
bench_question(struct run *run, const struct question *question)
{
    granary_graph *graph = question->make(question->size);
    struct samples samples = {.count = 0};

    for (size_t i = 0; i < question->runs && run->err == GRANARY_OK; i++) {
        samples_add(&samples, time_graph(run, graph));
    }
    if (question->ns > 0) {
        for (size_t i = 0; i < samples.count; i++) {
            samples.values[i] /= question->ns * (double)question->parts;
        }
        results_add(run->results, question->key, question->unit, question->peer, question->note, &samples);
    } else {
        results_add_value(run->results, question->key, question->unit, question->peer, question->note,
                          (double)question->size * 1e9 / samples_quantile(&samples, 0.5));
        samples_free(&samples);
    }
    granary_graph_destroy(graph);
}

static void
bench_graphs(struct run *run)
{
    const size_t some = 100 / run->scale;
    const struct question questions[] = {
        {"null_per_s", "1/s", NULL, "null subtasks, submit to all done, 2 executors", loose_graph, 200000 / run->scale,
         5, 0, 1},
        {"null_array_per_s", "1/s", "null_per_s", "the same as one array of 10^6", array_graph, 1000000, 5, 0, 1},
        {"submit_result_us", "us", "zmq_rtt_us", "one null subtask, submit to done", loose_graph, 1, 20 * some, 1e3, 1},
        {"chain_us", "us", "zmq_rtt_us", "a subtask of a chain of 1000", chain_graph, 1000, some, 1e3, 1000},
        {"tree_ms", "ms", NULL, "a tree of 1024 leaves, 2047 null subtasks", tree_graph, 1024, some, 1e6, 1}};

    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        bench_question(run, &questions[i]);
    }
}

/* A line of /proc/PID/status in bytes; 0: it cannot be read. */
static double
process_bytes(pid_t pid, const char *field)
{
    char path[64];
    char line[256];
    double kib = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, strlen(field)) == 0) {
            kib = strtod(line + strlen(field) + 1, NULL);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib * 1024;
}

static pid_t
scheduler_pid(const char *directory)
{
    char path[128];
    char text[64] = "";
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/sched.lock", directory);
    file = fopen(path, "re");
    if (file != NULL) {
        (void)!fgets(text, sizeof text, file);
        (void)fclose(file);
    }
    return (pid_t)strtol(text, NULL, 10);
}

/* 10^6 described one by one: time beside that of 10^5, and what the scheduler needs for each. */
static void
bench_million(struct run *run, const char *directory)
{
    const size_t count = 1000000;
    pid_t pid = scheduler_pid(directory);
    granary_graph *small = bench_null_graph(count / 10, false);
    granary_graph *large = bench_null_graph(count, false);
    struct samples shorts = {.count = 0};
    struct samples longs = {.count = 0};
    double before;
    double took;

    for (int i = 0; i < 3 && run->err == GRANARY_OK; i++) {
        samples_add(&shorts, time_graph(run, small));
    }
    before = process_bytes(pid, "VmRSS:");
    for (int i = 0; i < 3 && run->err == GRANARY_OK; i++) {
        samples_add(&longs, time_graph(run, large));
    }
    took = samples_quantile(&longs, 0.5);
    results_add_value(run->results, "null_million_per_s", "1/s", "null_per_s", "10^6 null subtasks in one graph",
                      (double)count * 1e9 / took);
    results_add_value(run->results, "null_million_linear", "ratio", NULL, "its time, beside ten times that of 10^5",
                      took / 10 / samples_quantile(&shorts, 0.5));
    results_add_value(run->results, "sched_bytes_per_subtask", "B", NULL, "memory the scheduler took for it, each",
                      (process_bytes(pid, "VmHWM:") - before) / (double)count);
    samples_free(&shorts);
    samples_free(&longs);
    granary_graph_destroy(small);
    granary_graph_destroy(large);
}

#define RESULT_BYTES 100000000u

/* Make objects as told by the pipe, and note the moment before each seal. */
static void
serve_objects(const char *directory, int told, _Atomic int64_t *sealing_ns)
{
    granary_client *client;
    granary_id id;

    if (granary_connect(&(granary_connect_options){.instance = directory, .tag = "bench maker"}, &client) !=
        GRANARY_OK) {
        _exit(1);
    }
    while (read(told, &id, sizeof id) == (ssize_t)sizeof id) {
        granary_buffer buffer;

        if (granary_object_create(client, id, RESULT_BYTES, 0, 10000, &buffer) != GRANARY_OK) {
            _exit(1);
        }
        memset(buffer.data, 1, RESULT_BYTES);
        atomic_store(sealing_ns, bench_now_ns());
        if (granary_object_seal(client, &buffer) != GRANARY_OK) {
            _exit(1);
        }
    }
    _exit(0);
}

/* A process waits for 100 MB that another one makes: from before the seal until it has read the first and last byte. */
static void
bench_result(struct run *run, const char *directory)
{
    _Atomic int64_t *sealing_ns =
        mmap(NULL, sizeof *sealing_ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct samples samples = {.count = 0};
    int pipe_fds[2];
    pid_t child;

    if (sealing_ns == MAP_FAILED || pipe(pipe_fds) < 0 || (child = fork()) < 0) {
        return;
    }
    if (child == 0) {
        (void)close(pipe_fds[1]);
        serve_objects(directory, pipe_fds[0], sealing_ns);
    }
    (void)close(pipe_fds[0]);
    for (size_t i = 0; i < 20 && run->err == GRANARY_OK; i++) {
        granary_id id = granary_id_random();
        granary_view view;

        if (write(pipe_fds[1], &id, sizeof id) == (ssize_t)sizeof id &&
            good(run, granary_object_get(run->client, id, 20000, &view))) {
            const volatile unsigned char *bytes = view.data;
            unsigned sum = bytes[0] + bytes[view.data_size - 1];

            if (i >= 2 && sum == 2) { /* the first map segments */
                samples_add(&samples, (double)(bench_now_ns() - atomic_load(sealing_ns)) / 1e3);
            }
            granary_object_release(run->client, &view);
            (void)good(run, granary_object_delete(run->client, id, 0));
        }
    }
    (void)close(pipe_fds[1]);
    (void)waitpid(child, NULL, 0);
    (void)munmap((void *)sealing_ns, sizeof *sealing_ns);
    results_add(run->results, "result_100mb_us", "us", "futex_rtt_ns",
                "100 MB seen by a waiting process, after its seal", &samples);
}

/* libzmq is a program of its own (zmq_peer.c): nobody else of the command line has to load it. */
static void
bench_zmq(struct run *run, const char *directory)
{
    struct samples samples = {.count = 0};
    char programs[PATH_MAX];
    char command[PATH_MAX + 160];
    char line[64];
    FILE *peer = NULL;

    if (bench_programs(programs)) {
        (void)snprintf(command, sizeof command, "exec '%s/granary-peer-zmq' '%s/echo.sock' %zu", programs, directory,
                       20000 / run->scale);
        peer = popen(command, "re"); /* NOLINT(cert-env33-c): a program of ours */
    }
    while (peer != NULL && fgets(line, sizeof line, peer) != NULL) {
        samples_add(&samples, strtod(line, NULL));
    }
    if (peer != NULL) {
        (void)pclose(peer);
    }
    if (samples.count == 0) {
        results_not_installed(run->results, "libzmq (granary-peer-zmq, beside granary)");
    } else {
        results_add(run->results, "zmq_rtt_us", "us", NULL, "raw ZeroMQ round trip between two processes, 64 bytes",
                    &samples);
    }
}

/* Wait until every executor is there. */
static bool
pool_ready(struct run *run)
{
    granary_executor_info *infos = NULL;
    size_t count = 0;

    for (int i = 0; i < 500 && run->err == GRANARY_OK && count < 2; i++) {
        if (good(run, granary_executor_list(run->client, &infos, &count))) {
            free(infos);
        }
        if (count < 2) {
            (void)usleep(10000);
        }
    }
    if (count < 2 && run->err == GRANARY_OK) {
        (void)fprintf(stderr, "granary: bench: the executors did not come up\n");
        run->err = GRANARY_EUNREACHABLE;
    }
    return run->err == GRANARY_OK;
}

/* From a moment to the end of a first graph, in ns. */
static double
time_first(struct run *run, int64_t began)
{
    granary_graph *graph = bench_null_graph(1, false);

    (void)time_graph(run, graph);
    granary_graph_destroy(graph);
    return (double)(bench_now_ns() - began);
}

static void
run_all(struct run *run, const char *directory)
{
    if (pool_ready(run)) {
        bench_graphs(run);
        bench_result(run, directory);
        if (run->scale == 1) {
            bench_million(run, directory);
        }
        bench_zmq(run, directory);
        bench_futex_rtt(run->results, 20000 / run->scale);
    }
}

static int
run_sched(struct cli *cli)
{
    const struct bench_options *options = cli->self;
    struct results results = {.count = 0};
    struct run run = {.results = &results, .scale = options->quick ? 10 : 1};
    char directory[] = "/tmp/granary-bench-XXXXXX";
    int64_t began = bench_now_ns();

    if (mkdtemp(directory) == NULL ||
        !spawn_granary((const char *const[]){"up", "--instance", directory, "--executors", EXECUTORS, NULL})) {
        (void)fprintf(stderr, "granary: bench: the instance did not start\n");
        run.err = GRANARY_EUNREACHABLE;
    } else if (good(&run,
                    granary_connect(&(granary_connect_options){.instance = directory, .tag = "bench"}, &run.client))) {
        (void)pool_ready(&run);
        results_add_value(&results, "up_ms", "ms", NULL, "from `granary up` to the first answer",
                          (time_first(&run, began)) / 1e6);
        run_all(&run, directory);
        granary_disconnect(run.client);
    }
    if (!spawn_granary((const char *const[]){"down", "--instance", directory, NULL}) && run.err == GRANARY_OK) {
        (void)fprintf(stderr, "granary: bench: the instance did not stop: see %s\n", directory);
    } else {
        spawn_remove_directory(directory);
    }
    if (run.err == GRANARY_OK) {
        /* After the instance is gone: they get the machine for themselves, as it did. */
        bench_pools(&results, options->quick);
        results_print(&results, options->json, stdout);
    }
    return granary_error_exit_status(run.err);
}

const struct command bench_sched = {
    .options = bench_options, COMMAND_ZERO(struct bench_options), .alone = true, .run = run_sched};
