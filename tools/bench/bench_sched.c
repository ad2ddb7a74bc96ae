/* `granary bench sched`: subtasks that do nothing, through client, scheduler and executors; and a raw round trip
 * beside. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "granary/graph.h"
#include "message/zmq.h"

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

/* ---- an instance of one's own ---- */

/* Run `granary COMMAND --instance directory ...` and wait for it; what it prints is not wanted. */
static bool
run_granary(const char *command, const char *directory)
{
    const char *bin = getenv("GRANARY_BIN");
    char program[512] = "/proc/self/exe";
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        if (bin != NULL) {
            (void)snprintf(program, sizeof program, "%s/granary", bin);
        }
        if (freopen("/dev/null", "w", stdout) == NULL) {
            _exit(127);
        }
        if (strcmp(command, "up") == 0) {
            (void)execl(program, "granary", command, "--instance", directory, "--executors", EXECUTORS, (char *)NULL);
        } else {
            (void)execl(program, "granary", command, "--instance", directory, (char *)NULL);
        }
        perror(program);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- figures ---- */

static granary_graph *
null_graph(size_t count, bool chain)
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

/* From submission until all is known to be done, in ns; the graph is deleted afterwards. */
static double
time_graph(struct run *run, const granary_graph *graph)
{
    char key[GRANARY_KEY_MAX];
    int64_t start = bench_now_ns();
    int64_t end;

    if (!good(run, granary_graph_submit(run->client, graph, NULL, key)) ||
        !good(run, granary_graph_wait(run->client, key, 60000, NULL))) {
        return 0;
    }
    end = bench_now_ns();
    (void)good(run, granary_graph_delete(run->client, key));
    return (double)(end - start);
}

static void
bench_null(struct run *run)
{
    size_t count = 200000 / run->scale;
    granary_graph *graph = null_graph(count, false);
    struct samples samples = {.count = 0};

    for (int i = 0; i < 5 && run->err == GRANARY_OK; i++) {
        samples_add(&samples, time_graph(run, graph));
    }
    results_add_value(run->results, "null_per_s", "1/s", NULL, "null subtasks, submit to all done, 2 executors",
                      (double)count * 1e9 / samples_quantile(&samples, 0.5));
    samples_free(&samples);
    granary_graph_destroy(graph);
}

static void
bench_submit_result(struct run *run)
{
    granary_graph *graph = null_graph(1, false);
    struct samples samples = {.count = 0};

    for (size_t i = 0; i < 2000 / run->scale && run->err == GRANARY_OK; i++) {
        samples_add(&samples, time_graph(run, graph) / 1e3);
    }
    results_add(run->results, "submit_result_us", "us", "zmq_rtt_us", "one null subtask, submit to done", &samples);
    granary_graph_destroy(graph);
}

static void
bench_chain(struct run *run)
{
    const size_t count = 1000;
    granary_graph *graph = null_graph(count, true);
    struct samples samples = {.count = 0};

    for (size_t i = 0; i < 100 / run->scale && run->err == GRANARY_OK; i++) {
        samples_add(&samples, time_graph(run, graph) / 1e3 / (double)count);
    }
    results_add(run->results, "chain_us", "us", "zmq_rtt_us", "a subtask of a chain of 1000", &samples);
    granary_graph_destroy(graph);
}

/* Echo until killed. */
static void
serve_echo(const char *path)
{
    struct gr_zmq_context *context = gr_zmq_context_create(1);
    granary_err err;
    struct gr_zmq_socket *socket = gr_zmq_router(context, path, &err);
    struct gr_zmq_message message;

    while (socket != NULL && gr_zmq_wait(&socket, 1, NULL, NULL, 0, -1)) {
        while (gr_zmq_receive(socket, &message)) {
            (void)gr_zmq_send(socket, &message.peer, message.bytes, message.size);
            gr_zmq_message_free(&message);
        }
    }
    _exit(1);
}

static void
bench_zmq(struct run *run, const char *directory)
{
    struct samples samples = {.count = 0};
    struct gr_zmq_context *context;
    struct gr_zmq_socket *socket;
    struct gr_zmq_message message;
    char path[96];
    char bytes[64] = "";
    granary_err err = GRANARY_OK;
    pid_t child;

    (void)snprintf(path, sizeof path, "%s/echo.sock", directory);
    child = fork();
    if (child == 0) {
        serve_echo(path);
    }
    context = gr_zmq_context_create(1);
    socket = gr_zmq_dealer(context, path, &err);
    for (size_t i = 0; child > 0 && socket != NULL && i < 20000 / run->scale; i++) {
        int64_t start = bench_now_ns();

        (void)gr_zmq_send(socket, NULL, bytes, sizeof bytes);
        if (!gr_zmq_wait(&socket, 1, NULL, NULL, 0, 5000) || !gr_zmq_receive(socket, &message)) {
            break;
        }
        gr_zmq_message_free(&message);
        if (i > 0) { /* the first connects */
            samples_add(&samples, (double)(bench_now_ns() - start) / 1e3);
        }
    }
    results_add(run->results, "zmq_rtt_us", "us", NULL, "raw ZeroMQ round trip between two processes, 64 bytes",
                &samples);
    gr_zmq_close(socket);
    gr_zmq_context_destroy(context);
    if (child > 0) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
    }
    (void)unlink(path);
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

static void
run_all(struct run *run, const char *directory)
{
    if (pool_ready(run)) {
        bench_null(run);
        bench_submit_result(run);
        bench_chain(run);
        bench_zmq(run, directory);
    }
}

int
bench_sched(int argc, char **argv)
{
    struct results results = {.count = 0};
    struct run run = {.results = &results};
    char directory[] = "/tmp/granary-bench-XXXXXX";
    bool quick;
    bool json;

    if (!bench_options(argc, argv, &quick, &json)) {
        return 2;
    }
    run.scale = quick ? 10 : 1;
    if (mkdtemp(directory) == NULL || !run_granary("up", directory)) {
        (void)fprintf(stderr, "granary: bench: the instance did not start\n");
        run.err = GRANARY_EUNREACHABLE;
    } else if (good(&run,
                    granary_connect(&(granary_connect_options){.instance = directory, .tag = "bench"}, &run.client))) {
        run_all(&run, directory);
        granary_disconnect(run.client);
    }
    if (!run_granary("down", directory) && run.err == GRANARY_OK) {
        (void)fprintf(stderr, "granary: bench: the instance did not stop: see %s\n", directory);
    } else {
        spawn_remove_directory(directory);
    }
    if (run.err == GRANARY_OK) {
        results_print(&results, json, stdout);
    }
    return granary_error_exit_status(run.err);
}
