/* Functions as users write them, for test_functions.c. */
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <granary/call.h>

#ifndef LIBRARY_VERSION
#define LIBRARY_VERSION 1
#endif

GRANARY_FUNCTION(halve, .summary = "fare / 2", .inputs_min = 1, .inputs_max = 1)
{
    int64_t rows;
    const double *fare = granary_call_column(call, "fare", GRANARY_FLOAT64, &rows);
    double *half = granary_call_new_column(call, "half", GRANARY_FLOAT64);

    for (int64_t i = 0; fare != NULL && half != NULL && i < rows; i++) {
        half[i] = fare[i] / 2;
    }
    return GRANARY_OK;
}

/* fare becomes int64, "name" is new, and rows of a fare below `least` go. */
GRANARY_FUNCTION(reshape)
{
    static const int32_t offsets[] = {1, 2, 2, 5};
    int64_t rows;
    const double *fare = granary_call_column(call, "fare", GRANARY_FLOAT64, &rows);
    int64_t *whole = granary_call_new_column(call, "fare", GRANARY_INT64);
    double least = granary_call_param_double(call, "least", 0);
    uint8_t keep[3];
    granary_err err;

    if (fare == NULL || whole == NULL || rows != 3) {
        return granary_call_fail(call, GRANARY_EINVAL, "three rows are wanted");
    }
    for (int64_t i = 0; i < rows; i++) {
        whole[i] = (int64_t)fare[i];
        keep[i] = fare[i] >= least;
    }
    err = granary_call_new_strings(call, "name", offsets,
                                   "xa\xc3\xa9"
                                   "c");
    return err == GRANARY_OK ? granary_call_keep_rows(call, keep) : err;
}

GRANARY_FUNCTION(from_nothing, .outputs = 2)
{
    const int64_t shape[] = {2, 3};
    int64_t *column;
    double *values;
    granary_err err = granary_call_set_rows(call, 2);

    column = granary_call_new_column(call, "n", GRANARY_INT64);
    if (err == GRANARY_OK && column != NULL) {
        column[0] = 7;
        column[1] = LIBRARY_VERSION;
        err = granary_call_output_tensor(call, 1, GRANARY_FLOAT64, 2, shape, (void **)&values);
    }
    for (int i = 0; err == GRANARY_OK && i < 6; i++) {
        values[i] = i;
    }
    return err;
}

GRANARY_FUNCTION(tensor)
{
    void *values;

    return granary_call_output_tensor(call, 0, GRANARY_FLOAT64, 2, (const int64_t[]){2, 3}, &values);
}

/* Of a tensor of int64, each element with the other sign. */
GRANARY_FUNCTION(negate)
{
    granary_tensor tensor;
    int64_t *values;
    int64_t count = 1;
    granary_err err = granary_call_tensor(call, 0, &tensor);

    if (err == GRANARY_OK) {
        err = granary_call_output_tensor(call, 0, tensor.dtype, tensor.dims, tensor.shape, (void **)&values);
    }
    for (int i = 0; err == GRANARY_OK && i < tensor.dims; i++) {
        count *= tensor.shape[i];
    }
    for (int64_t i = 0; err == GRANARY_OK && i < count; i++) {
        values[i] = -((const int64_t *)tensor.values)[i];
    }
    return err;
}

/* Text of what the call knows. */
GRANARY_FUNCTION(describe)
{
    const granary_call_context *context = granary_call_context_get(call);
    char text[512];
    void *out;
    int length =
        snprintf(text, sizeof text, "%d %s %s %s %s %llu %u %llu/%llu %d %s", (int)context->env, context->session,
                 context->graph, context->node, context->function, (unsigned long long)context->subtask,
                 context->attempt, (unsigned long long)context->index, (unsigned long long)context->count,
                 (int)granary_call_param_int(call, "n", -1), granary_call_param(call, "none", "fallback"));
    granary_err err = granary_call_output(call, 0, (uint64_t)length, &out);

    if (err == GRANARY_OK) {
        memcpy(out, text, (size_t)length);
    }
    return err;
}

/* Sizes of all inputs, one a line. */
GRANARY_FUNCTION(sizes)
{
    char text[256] = "";
    void *out;
    granary_err err;

    for (size_t i = 0; i < granary_call_inputs(call); i++) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%llu\n",
                       (unsigned long long)granary_call_input(call, i)->data_size);
    }
    err = granary_call_output(call, 0, strlen(text), &out);
    if (err == GRANARY_OK) {
        memcpy(out, text, strlen(text));
    }
    return err;
}

GRANARY_FUNCTION(fails)
{
    (void)printf("it is %s\n", "printed");
    (void)fprintf(stderr, "and told\n");
    return granary_call_fail(call, GRANARY_EBUSY, "gave up after %d", 3);
}

GRANARY_FUNCTION(returns)
{
    return (granary_err)granary_call_param_int(call, "err", 0);
}

/* `bytes` bytes of output. */
GRANARY_FUNCTION(talks)
{
    static char line[65536];

    memset(line, 'x', sizeof line);
    for (int64_t left = granary_call_param_int(call, "bytes", 0); left > 0; left -= (int64_t)sizeof line) {
        (void)!write(STDOUT_FILENO, line, left < (int64_t)sizeof line ? (size_t)left : sizeof line);
    }
    return granary_call_output(call, 1, 0, NULL);
}

/* ---- what must be put back, and whether it was ---- */

static void
handler(int signal)
{
    (void)signal;
}

GRANARY_FUNCTION(disturbs)
{
    void *out;
    sigset_t all;

    (void)!chdir("/proc");
    (void)umask(0777);
    (void)signal(SIGUSR1, handler);
    (void)signal(SIGPIPE, handler);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)fesetround(FE_UPWARD);
    (void)setlocale(LC_ALL, "C.UTF-8");
    (void)alarm(1);
    return granary_call_output(call, 0, 0, &out);
}

GRANARY_FUNCTION(looks)
{
    char directory[256];
    struct sigaction usr1, pipe;
    sigset_t mask;
    mode_t old = umask(0);
    char text[512];
    void *out;
    granary_err err;

    (void)umask(old);
    (void)sigaction(SIGUSR1, NULL, &usr1);
    (void)sigaction(SIGPIPE, NULL, &pipe);
    (void)sigprocmask(SIG_SETMASK, NULL, &mask);
    (void)snprintf(
        text, sizeof text, "%s %s %s %s %s %u", getcwd(directory, sizeof directory),
        usr1.sa_handler == SIG_DFL ? "default" : "?", pipe.sa_handler == SIG_IGN ? "ignored" : "?",
        sigismember(&mask, SIGINT) ? "blocked" : "open", old == 0777 ? "?" : "umask",
        (unsigned)(fegetround() == FE_TONEAREST && alarm(0) == 0 && strcmp(setlocale(LC_ALL, NULL), "C") == 0));
    err = granary_call_output(call, 0, strlen(text), &out);
    if (err == GRANARY_OK) {
        memcpy(out, text, strlen(text));
    }
    return err;
}

/* ---- reusable variables ---- */

struct counter {
    int made, ordered, asked;
};
static int counters_made;

static granary_err
counter_init(granary_call *call, void **ret_value)
{
    struct counter *counter = calloc(1, sizeof *counter);

    if (counter == NULL) {
        return granary_call_fail(call, GRANARY_ENOMEM, "no counter");
    }
    counter->made = ++counters_made;
    *ret_value = counter;
    return GRANARY_OK;
}

static granary_err
counter_reinit(granary_call *call, void **value)
{
    struct counter *counter = *value;

    if (granary_call_param(call, "spoil", NULL) != NULL) {
        return granary_call_fail(call, GRANARY_EFAILED, "spoilt");
    }
    counter->ordered++;
    return GRANARY_OK;
}

GRANARY_REUSABLE(counter, .init = counter_init, .reinit = counter_reinit, .fini = free);

static granary_err
never_init(granary_call *call, void **ret_value)
{
    (void)ret_value;
    return granary_call_fail(call, GRANARY_EUNREACHABLE, "no such host");
}
GRANARY_REUSABLE(never, .init = never_init);

GRANARY_FUNCTION(counts, .reusables = "counter")
{
    struct counter *counter = granary_call_reusable(call, "counter");
    char text[64];
    void *out;
    granary_err err;

    if (counter == NULL || counter != granary_call_reusable(call, "counter")) {
        return GRANARY_EFAILED;
    }
    counter->asked++;
    (void)snprintf(text, sizeof text, "%d %d %d", counter->made, counter->ordered, counter->asked);
    err = granary_call_output(call, 0, strlen(text), &out);
    if (err == GRANARY_OK) {
        memcpy(out, text, strlen(text));
    }
    return err;
}

GRANARY_FUNCTION(asks)
{
    return granary_call_reusable(call, granary_call_param(call, "which", "")) == NULL ? GRANARY_EFAILED : GRANARY_OK;
}

/* ---- context ---- */

GRANARY_FUNCTION(until_cancelled)
{
    granary_call_progress(call, 0.25);
    while (!granary_call_cancelled(call)) {
        (void)usleep(1000);
    }
    return GRANARY_ECANCELLED;
}

/* Waits for the object `id`. */
GRANARY_FUNCTION(waits)
{
    granary_view view;
    granary_id id;
    void *out;
    granary_err err;

    if (granary_id_parse(granary_call_param(call, "id", ""), 32, &id) != GRANARY_OK) {
        return GRANARY_EINVAL;
    }
    err = granary_object_get(granary_call_client(call), id, 20000, &view);
    if (err == GRANARY_OK) {
        err = granary_call_output(call, 0, view.data_size, &out);
        if (err == GRANARY_OK) {
            memcpy(out, view.data, view.data_size);
        }
        granary_object_release(granary_call_client(call), &view);
    }
    return err;
}

/* As any program would: from the environment. */
GRANARY_FUNCTION(connects)
{
    granary_connect_options options = {.session = getenv("GRANARY_SESSION")};
    granary_client *client;
    void *out;
    granary_err err = granary_connect(&options, &client);

    if (err == GRANARY_OK && granary_env_get() != GRANARY_ENV_EXEC) {
        err = granary_call_fail(call, GRANARY_ESTATE, "inside of nothing");
    }
    if (err == GRANARY_OK) {
        err = granary_object_put(client, granary_id_from_name("x", "connects"), "x", 1, NULL, 0, 0);
        granary_disconnect(client);
    }
    return err == GRANARY_OK ? granary_call_output(call, 0, 0, &out) : err;
}

GRANARY_FUNCTION(waits_for_graph)
{
    return granary_graph_wait(granary_call_client(call), "some", 1000, NULL);
}

GRANARY_FUNCTION(goes_on)
{
    granary_graph *graph = granary_graph_create();
    granary_node node = granary_graph_add(graph, "numbers", "arange", NULL, 0);
    granary_err err;

    granary_node_set_int(graph, node, "start", 0);
    granary_node_set_int(graph, node, "stop", 5);
    granary_graph_target(graph, node);
    if (granary_call_param(call, "twice", NULL) != NULL) {
        granary_graph_target(graph, node);
    }
    err = granary_call_go_on(call, graph);
    granary_graph_destroy(graph);
    return err;
}

/* ---- faults ---- */

static void *
thread(void *unused)
{
    for (;;) {
        (void)usleep(1000);
    }
    return unused;
}

/* Threads that nobody ends, and memory that nobody frees. */
GRANARY_FUNCTION(leaves_threads)
{
    pthread_t id;
    void *out;

    for (int i = 0; i < 4; i++) {
        if (pthread_create(&id, NULL, thread, malloc(1 << 20)) != 0) {
            return GRANARY_EFAILED;
        }
    }
    return granary_call_output(call, 0, 0, &out);
}

/* A child that comes back, too. */
GRANARY_FUNCTION(forks)
{
    void *out;
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        return GRANARY_OK;
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        return granary_call_fail(call, GRANARY_EFAILED, "the child ended with %d", status);
    }
    return granary_call_output(call, 0, 0, &out);
}

/* The sum of a tensor and the rows of a frame, and what is said of inputs that are not there or something else. */
GRANARY_FUNCTION(reads)
{
    const granary_frame *frame;
    granary_tensor tensor;
    char text[64];
    void *out;
    granary_err err = granary_call_frame(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = granary_call_tensor(call, 1, &tensor);
    }
    if (err == GRANARY_OK && (granary_call_tensor(call, 0, &tensor) != GRANARY_ETYPE ||
                              granary_call_frame(call, 2, &frame) != GRANARY_EINVAL ||
                              granary_call_input(call, 2) != NULL || granary_call_inputs(call) != 2)) {
        err = granary_call_fail(call, GRANARY_EFAILED, "an input that is none was given");
    }
    if (err == GRANARY_OK) {
        (void)snprintf(text, sizeof text, "%lld %lld", (long long)granary_frame_rows(frame),
                       (long long)((const int64_t *)tensor.values)[tensor.shape[0] - 1]);
        err = granary_call_output(call, 0, strlen(text), &out);
    }
    if (err == GRANARY_OK) {
        memcpy(out, text, strlen(text));
    }
    return err;
}

GRANARY_FUNCTION(overwrites)
{
    volatile char *bytes = (volatile char *)(uintptr_t)granary_call_input(call, 0)->data;

    bytes[0] = 'X';
    return GRANARY_OK;
}

static volatile int depth_wanted = 1 << 30;

static int
deeper(int depth)
{
    volatile char room[65536];

    room[depth % 65536] = 1;
    return depth < depth_wanted ? deeper(depth + 1) + room[depth % 65536] : 0;
}

GRANARY_FUNCTION(dies)
{
    const char *how = granary_call_param(call, "how", "");
    volatile uintptr_t nowhere = 16;

    (void)printf("last words");
    (void)fflush(stdout);
    if (strcmp(how, "exit") == 0) {
        exit(0);
    }
    if (strcmp(how, "_exit") == 0) {
        _exit(0);
    }
    if (strcmp(how, "abort") == 0) {
        abort();
    }
    if (strcmp(how, "stack") == 0) {
        (void)printf("%d", deeper(0));
    }
    if (strcmp(how, "descriptors") == 0) {
        for (int fd = 0; fd < 1024; fd++) {
            (void)close(fd);
        }
        return GRANARY_OK;
    }
    *(volatile int *)nowhere = 1;
    return GRANARY_OK;
}

GRANARY_FUNCTION(once, .max_calls = 1)
{
    void *out;

    return granary_call_output(call, 0, 0, &out);
}

GRANARY_FUNCTION(gives_nothing)
{
    (void)call;
    return GRANARY_OK;
}
