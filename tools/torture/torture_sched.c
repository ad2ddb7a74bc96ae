/*
 * Random graphs in a private instance: each once in calm, for what it gives; then many times by several clients while
 * executors and schedulers are killed and stopped and memory is short. Every result must be the calm one, to the byte.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "spawn/spawn.h"
#include "torture/graphs.h"
#include "torture/options.h"
#include "torture/torture.h"

#define GRAPHS      24
#define CLIENTS_MAX 32
#define DIGESTS     (32 * 1024) /* bytes of a result's digests, at most */
#define PATIENCE_MS 120000
#define PAUSE_NS    150000000 /* between two blows, at most */
#define FAILURES    20        /* so many tell enough */
#define TABLE_ROWS  60000

/* What all processes of the run share. */
struct shared {
    atomic_bool stop;
    atomic_uint_least64_t graphs, subtasks, retries, wrong, failed;
    char digests[GRAPHS][DIGESTS]; /* of each graph's chunks, one after the other, as made in calm */
};

struct run {
    struct options options; /* kills: of all processes together */
    unsigned executors, schedulers;
    char directory[64]; /* has the table, and the instance's below it */
    char instance[96];
    char table[96];
    struct shared *shared;
    uint64_t seed;
    pid_t clients[CLIENTS_MAX];
    uint64_t executor_kills, scheduler_kills, store_kills, stops;
};

/* ---- clients ---- */

static granary_client *
connect_to(const struct run *run, const char *session)
{
    granary_client *client = NULL;
    granary_connect_options options = {
        .instance = run->instance, .session = session, .tag = "torture", .reconnect_ms = PATIENCE_MS};

    if (granary_connect(&options, &client) != GRANARY_OK) {
        (void)fprintf(stderr, "torture: %s\n", granary_error_message());
    }
    return client;
}

/* The digests of a result's chunks, in order, as text. */
static granary_err
digest_result(granary_client *client, const char *key, char digests[static DIGESTS])
{
    granary_result result;
    granary_err err = granary_graph_result(client, key, "result", &result);
    size_t length = 0;

    if (err != GRANARY_OK) {
        return err;
    }
    digests[0] = '\0';
    for (size_t i = 0; i < result.chunk_count && err == GRANARY_OK && length + 33 < DIGESTS; i++) {
        err = granary_object_digest(client, result.chunks[i], PATIENCE_MS, digests + length);
        length += 32;
    }
    granary_result_free(&result);
    return err;
}

/* One graph from submission to deletion. */
static granary_err
run_graph(struct run *run, granary_client *client, unsigned number, char digests[static DIGESTS])
{
    granary_graph *graph =
        graphs_make(run->options.seed * 1000 + number, run->table, (int64_t)(run->options.memory / sizeof(double) / 3));
    granary_graph_status status = {.subtasks_total = 0};
    char key[GRANARY_KEY_MAX];
    granary_err err = granary_graph_submit(client, graph, NULL, key);

    granary_graph_destroy(graph);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "submit");
    }
    err = granary_graph_wait(client, key, PATIENCE_MS, &status);
    if (err != GRANARY_OK) {
        err = gr_fail_in(err, "wait");
    } else if ((err = digest_result(client, key, digests)) != GRANARY_OK) {
        err = gr_fail_in(err, "result");
    } else if ((err = granary_graph_delete(client, key)) != GRANARY_OK) {
        err = gr_fail_in(err, "delete");
    }
    atomic_fetch_add(&run->shared->graphs, 1);
    atomic_fetch_add(&run->shared->subtasks, status.subtasks_total);
    atomic_fetch_add(&run->shared->retries, status.retries);
    return err;
}

static void
be_client(struct run *run, unsigned number)
{
    static char digests[DIGESTS];
    uint64_t seed = run->options.seed + number;
    char session[32];
    granary_client *client;

    (void)snprintf(session, sizeof session, "torture-%u", number % 3);
    client = connect_to(run, session);
    while (client != NULL && !atomic_load(&run->shared->stop) && atomic_load(&run->shared->failed) < FAILURES) {
        unsigned graph = (unsigned)(graphs_random(&seed) % GRAPHS);
        granary_err err = run_graph(run, client, graph, digests);

        if (err != GRANARY_OK) {
            (void)fprintf(stderr, "torture: graph %u: %s\n", graph, granary_error_message());
            atomic_fetch_add(&run->shared->failed, 1);
        } else if (strcmp(digests, run->shared->digests[graph]) != 0) {
            (void)fprintf(stderr, "torture: graph %u: another result than in calm\n", graph);
            atomic_fetch_add(&run->shared->wrong, 1);
        }
    }
    if (client == NULL) {
        atomic_fetch_add(&run->shared->failed, 1);
    }
    granary_disconnect(client);
    _exit(0);
}

static bool
learn_in_calm(struct run *run)
{
    granary_client *client = connect_to(run, "torture-0");
    granary_err err = client == NULL ? GRANARY_EUNREACHABLE : GRANARY_OK;

    for (unsigned i = 0; i < GRAPHS && err == GRANARY_OK; i++) {
        err = run_graph(run, client, i, run->shared->digests[i]);
        if (err != GRANARY_OK) {
            (void)fprintf(stderr, "torture: graph %u fails in calm: %s\n", i, granary_error_message());
        }
    }
    granary_disconnect(client);
    return err == GRANARY_OK;
}

/* ---- blows ---- */

/* A daemon of the instance, as its supervisor tells it; 0: none runs now. */
static pid_t
daemon_of(const struct run *run, const char *field)
{
    char path[128];
    char text[2048] = "";
    const char *found;
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/instance.json", run->instance);
    file = fopen(path, "re");
    if (file != NULL) {
        (void)!fgets(text, sizeof text, file);
        (void)fclose(file);
    }
    found = strstr(text, field);
    return found == NULL ? 0 : (pid_t)strtol(found + strlen(field), NULL, 10);
}

/* Some executor; 0: none can be told. */
static pid_t
some_executor(struct run *run, granary_client *client)
{
    granary_executor_info *infos = NULL;
    size_t count = 0;
    pid_t pid = 0;

    if (granary_executor_list(client, &infos, &count) == GRANARY_OK && count > 0) {
        pid = (pid_t)infos[graphs_random(&run->seed) % count].pid;
    }
    free(infos);
    return pid;
}

static void
pause_at_most(struct run *run, uint64_t nanoseconds)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = (long)(graphs_random(&run->seed) % nanoseconds)}, NULL);
}

static void
strike(struct run *run, granary_client *client)
{
    uint64_t dice = graphs_random(&run->seed) % 100;
    pid_t victim = 0;

    if (dice < 55) {
        victim = some_executor(run, client);
        run->executor_kills += victim > 0 && kill(victim, SIGKILL) == 0;
    } else if (dice < 80) {
        victim = daemon_of(run, "\"sched_pid\": ");
        run->scheduler_kills += victim > 0 && kill(victim, SIGKILL) == 0;
    } else if (dice < 90 && !run->options.spare_store) {
        victim = daemon_of(run, "\"store_pid\": ");
        run->store_kills += victim > 0 && kill(victim, SIGKILL) == 0;
    } else {
        victim = some_executor(run, client);
        if (victim > 0 && kill(victim, SIGSTOP) == 0) {
            pause_at_most(run, PAUSE_NS);
            (void)kill(victim, SIGCONT);
            run->stops++;
        }
    }
}

static void
torment(struct run *run)
{
    const struct options *options = &run->options;
    int64_t end_ns = gr_deadline_ns(options->duration_ms);
    granary_client *client = connect_to(run, "torture-0");

    while (client != NULL &&
           (options->kills > 0 ? run->executor_kills + run->scheduler_kills + run->store_kills < options->kills
                               : gr_now_ns() < end_ns)) {
        pause_at_most(run, PAUSE_NS);
        strike(run, client);
    }
    granary_disconnect(client);
}

/* ---- the verdict ---- */

/* Objects that are left although every graph was deleted: frees are under way for a moment. */
static size_t
count_left(const struct run *run)
{
    int64_t deadline_ns = gr_deadline_ns(10000);
    size_t left = 0;

    for (unsigned i = 0; i < 3; i++) {
        char session[32];
        granary_client *client;
        size_t count = 1;

        (void)snprintf(session, sizeof session, "torture-%u", i);
        client = connect_to(run, session);
        while (client != NULL && count > 0) {
            granary_object_info *infos = NULL;

            if (granary_object_list(client, &infos, &count) != GRANARY_OK) {
                break;
            }
            free(infos);
            if (gr_now_ns() > deadline_ns) {
                break;
            }
            (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        }
        granary_disconnect(client);
        left += count;
    }
    return left;
}

static int
report(const struct run *run, size_t left, bool ended_well)
{
    const struct shared *shared = run->shared;
    uint64_t wrong = atomic_load(&shared->wrong);
    uint64_t failed = atomic_load(&shared->failed);

    (void)printf("graphs             %" PRIu64 " by %u clients, %d of them different\n", atomic_load(&shared->graphs),
                 run->options.clients, GRAPHS);
    (void)printf("subtasks           %" PRIu64 "\n", atomic_load(&shared->subtasks));
    (void)printf("re-runs            %" PRIu64 "\n", atomic_load(&shared->retries));
    (void)printf("executors killed   %" PRIu64 ", stopped %" PRIu64 "\n", run->executor_kills, run->stops);
    (void)printf("schedulers killed  %" PRIu64 "\n", run->scheduler_kills);
    (void)printf("stores killed      %" PRIu64 "\n", run->store_kills);
    (void)printf("wrong              %" PRIu64 "\n", wrong);
    (void)printf("lost               %" PRIu64 "\n", failed);
    (void)printf("objects left       %zu\n", left);
    return wrong + failed + left == 0 && ended_well ? 0 : 1;
}

/* ---- setting up ---- */

static bool
set_up(struct run *run)
{
    char memory[32], executors[16], schedulers[16];

    run->shared = mmap(NULL, sizeof *run->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)snprintf(run->directory, sizeof run->directory, "/tmp/granary-torture-XXXXXX");
    if (run->shared == MAP_FAILED || mkdtemp(run->directory) == NULL) {
        perror("granary: torture");
        return false;
    }
    run->seed = run->options.seed;
    (void)snprintf(run->instance, sizeof run->instance, "%s/instance", run->directory);
    (void)snprintf(run->table, sizeof run->table, "%s/table.csv", run->directory);
    (void)snprintf(memory, sizeof memory, "%" PRIu64, run->options.memory);
    (void)snprintf(executors, sizeof executors, "%u", run->executors);
    (void)snprintf(schedulers, sizeof schedulers, "%u", run->schedulers);
    return graphs_write_table(run->table, run->options.seed, TABLE_ROWS) &&
           spawn_granary((const char *const[]){"up", "--instance", run->instance, "--memory", memory, "--executors",
                                               executors, "--chunk-bytes", "256K",
                                               run->schedulers > 1 ? "--schedulers" : NULL, schedulers, NULL});
}

static error_t
parse(int key, char *text, struct argp_state *state)
{
    struct run *run = state->input;

    switch (key) {
    case 'e':
        run->executors = (unsigned)options_number(text, 1, 64, state);
        return 0;
    case 'd':
        run->schedulers = (unsigned)options_number(text, 1, 8, state);
        return 0;
    default:
        return options_key(key, text, state, &run->options);
    }
}

static void
run_clients(struct run *run)
{
    pid_t parent = getpid();

    for (unsigned i = 0; i < run->options.clients; i++) {
        run->clients[i] = fork();
        if (run->clients[i] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == parent) {
                be_client(run, i);
            }
            _exit(1);
        }
    }
    torment(run);
    atomic_store(&run->shared->stop, true);
    for (unsigned i = 0; i < run->options.clients; i++) {
        int status = 1;

        if (run->clients[i] < 0 || waitpid(run->clients[i], &status, 0) < 0 || status != 0) {
            atomic_fetch_add(&run->shared->failed, 1);
        }
    }
}

int
torture_sched(int argc, char **argv)
{
    static const struct argp_option list[] = {
        {"seconds", 's', "DURATION", 0, "how long; default: 10", 0},
        {"seed", 'S', "S", 0, "of the random numbers; default: 1", 0},
        {"memory", 'm', "SIZE", 0, "the store's budget; default: 32M", 0},
        {"clients", 'c', "C", 0, "client processes; default: 4", 0},
        {"executors", 'e', "E", 0, "executors; default: 3", 0},
        {"schedulers", 'd', "D", 0, "schedulers, all but one of them standing by; default: 1", 0},
        {"kills", 'k', "N", 0, "go on until so many processes were killed, whatever the time", 0},
        {"spare-store", 'p', NULL, 0, "do not kill the store", 0},
        {0},
    };
    static const struct argp parser = {
        list,
        parse,
        NULL,
        "Run random graphs while executors, schedulers and the store are killed; exit status 1 if anything was lost or "
        "wrong.",
        NULL,
        NULL,
        NULL};
    static char name[] = "granary torture sched";
    struct run run = {.options = {.duration_ms = 10000,
                                  .seed = 1,
                                  .memory = 32 << 20,
                                  .memory_least = 8 << 20,
                                  .clients = 4,
                                  .clients_most = CLIENTS_MAX},
                      .executors = 3,
                      .schedulers = 1};
    bool ended_well;
    size_t left = 0;

    argv[0] = name;
    argp_err_exit_status = granary_error_exit_status(GRANARY_EINVAL);
    (void)argp_parse(&parser, argc, argv, 0, NULL, &run);
    (void)printf("torture sched: seed %" PRIu64 "\n", run.options.seed);
    (void)fflush(stdout); /* before processes are forked that would say it again */
    if (!set_up(&run)) {
        return 1;
    }
    if (learn_in_calm(&run)) {
        run_clients(&run);
        left = count_left(&run);
    } else {
        atomic_fetch_add(&run.shared->failed, 1);
    }
    ended_well = spawn_granary((const char *const[]){"down", "--instance", run.instance, NULL});
    spawn_remove_directory(run.directory);
    return report(&run, left, ended_well);
}
