/* Each client is a process of a pack. What it has begun outlives it, and its successor goes on with that. */
#include "torture/graphs/graphers.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "granary/graph.h"
#include "granary/store.h"
#include "torture/common/interrupt.h"
#include "torture/common/random.h"
#include "torture/graphs/digest.h"
#include "torture/graphs/graphs.h"
#include "torture/graphs/tally.h"

#define SESSIONS    3u
#define PATIENCE_MS 180000
#define STOP_MS     400000 /* for a client to end: a call may wait twice */
#define LEFT_MS     20000  /* for frees */
#define FAILURES    20     /* so many tell enough */
#define TABLE_ROWS  60000
#define TALLY       GRAPHERS_GRAPHS /* instead of a graph's number: an append to the client's table */
#define TALLY_PART  4               /* one of so many graphs is that */

enum step {
    STEP_NONE,
    STEP_SENT,     /* it may have been accepted */
    STEP_ACCEPTED, /* it was */
    STEP_DELETING, /* its result was right; it may be gone */
};

/* What a client is at; the one after it goes on with that. */
struct place {
    uint64_t serial; /* of its submissions */
    uint32_t graph;
    _Atomic uint32_t step;
};

struct graphers_shared {
    atomic_bool stop;
    atomic_uint_least64_t graphs, resumed, subtasks, retries, wrong, failed, left;
    struct place places[GRAPHERS_MOST];
    atomic_uint_least64_t tallies[GRAPHERS_MOST]; /* appends that are done, by client */
    atomic_uint_least64_t begun[GRAPHERS_MOST];   /* as many were when its table was begun */
    bool refused[GRAPHERS_GRAPHS];                /* there is too little memory for it */
    char digests[GRAPHERS_GRAPHS][DIGEST_MOST];   /* of each graph's chunks, one after the other, as made in calm */
};

/* ---- one graph ---- */

static granary_client *
connect_to(const struct graphers *graphers, unsigned number)
{
    granary_client *client = NULL;
    char session[32];
    granary_connect_options options = {.instance = graphers->instance,
                                       .session = session,
                                       .tag = "torture",
                                       .timeout_ms = PATIENCE_MS,
                                       .reconnect_ms = PATIENCE_MS};
    int64_t deadline = gr_deadline_ns(PATIENCE_MS);
    granary_err err;

    (void)snprintf(session, sizeof session, "torture-%u", number % SESSIONS);
    while ((err = granary_connect(&options, &client)) == GRANARY_EUNREACHABLE && gr_now_ns() < deadline) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    if (err != GRANARY_OK) {
        (void)fprintf(stderr, "torture: grapher %u: connect: %s\n", number, granary_error_message());
        atomic_fetch_add(&graphers->shared->failed, 1);
    }
    return client;
}

static void
complain(struct graphers_shared *shared, uint32_t graph, const char *digests)
{
    const char *calm = shared->digests[graph];
    size_t chunks = strlen(calm) / DIGEST_CHUNK;
    size_t differ = 0;

    for (size_t i = 0; i < chunks && i < strlen(digests) / DIGEST_CHUNK; i++) {
        differ += memcmp(calm + DIGEST_CHUNK * i, digests + DIGEST_CHUNK * i, DIGEST_CHUNK) != 0;
    }
    (void)fprintf(stderr,
                  "torture: graph %" PRIu32 ": another result than in calm: %zu of %zu parts differ, there are %zu\n",
                  graph, differ, chunks, strlen(digests) / DIGEST_CHUNK);
    atomic_fetch_add(&shared->wrong, 1);
}

/* The number of the next append, in the table there is now. */
static uint64_t
next_tally(const struct graphers_shared *shared, unsigned number)
{
    return atomic_load(&shared->tallies[number]) - atomic_load(&shared->begun[number]) + 1;
}

/* Submitting again with the same key is the same submission: also when the first was accepted and its sender died. */
static granary_err
submit(struct graphers *graphers, granary_client *client, unsigned number, const char *wanted)
{
    struct place *place = &graphers->shared->places[number];
    bool may_recall = wanted[strlen(wanted) - 1] % 2 == 0; /* half of them are computed whatever there is */
    granary_graph_options options = {
        .key = wanted, .chunk_bytes = graphers->chunk_bytes, .flags = may_recall ? 0 : GRANARY_GRAPH_NO_RECALL};
    granary_graph *graph = place->graph == TALLY
                               ? tally_append(number, next_tally(graphers->shared, number))
                               : graphs_make(graphers->seed * 1000 + place->graph, graphers->table, graphers->elements);
    char key[GRANARY_KEY_MAX];
    granary_err err = place->graph == TALLY ? tally_open(client, number) : GRANARY_OK;

    err = err == GRANARY_OK ? granary_graph_submit(client, graph, &options, key) : err;
    granary_graph_destroy(graph);
    if (err == GRANARY_OK) {
        atomic_store(&place->step, STEP_ACCEPTED);
    }
    return err == GRANARY_OK ? err : gr_fail_in(err, "submit");
}

static granary_err
check_digest(struct graphers *graphers, granary_client *client, unsigned number, const char *key,
             char digests[static DIGEST_MOST])
{
    struct graphers_shared *shared = graphers->shared;
    const uint32_t graph = shared->places[number].graph;
    granary_err err = digest_result(client, key, PATIENCE_MS, digests);

    if (err != GRANARY_OK) {
        return gr_fail_in(err, "result");
    }
    if (shared->digests[graph][0] == '\0') {
        memcpy(shared->digests[graph], digests, DIGEST_MOST);
    } else if (strcmp(digests, shared->digests[graph]) != 0) {
        complain(shared, graph, digests);
    }
    return GRANARY_OK;
}

/* The append is there, and all before it. */
static granary_err
check_tally(struct graphers *graphers, granary_client *client, unsigned number, const char *key)
{
    struct graphers_shared *shared = graphers->shared;
    const uint64_t appends = next_tally(shared, number);
    char counted[GRANARY_KEY_MAX];
    bool right = true;
    granary_err err;

    (void)snprintf(counted, sizeof counted, "%s-count", key);
    err = tally_check(client, number, counted, appends, PATIENCE_MS, &right);
    if (!right && err == GRANARY_OK) {
        (void)fprintf(stderr, "torture: tally-%u: its appends are not what was appended\n", number);
        atomic_fetch_add(&shared->wrong, 1);
    }
    return err == GRANARY_OK ? err : gr_fail_in(err, "count");
}

/* From where it stands to its deletion. Its digests are those of calm unless `digests` is to be filled. */
static granary_err
go_on(struct graphers *graphers, granary_client *client, unsigned number, char digests[static DIGEST_MOST])
{
    struct graphers_shared *shared = graphers->shared;
    struct place *place = &shared->places[number];
    granary_graph_status status = {.subtasks_total = 0};
    char key[GRANARY_KEY_MAX];
    granary_err err = GRANARY_OK;

    (void)snprintf(key, sizeof key, "torture-%u-%" PRIu64, number, place->serial);
    if (atomic_load(&place->step) == STEP_SENT) {
        err = submit(graphers, client, number, key);
    }
    if (err == GRANARY_OK && atomic_load(&place->step) == STEP_ACCEPTED) {
        err = granary_graph_wait(client, key, PATIENCE_MS, &status);
        if (err != GRANARY_OK) {
            err = gr_fail_in(err, "wait");
        } else {
            err = place->graph == TALLY ? check_tally(graphers, client, number, key)
                                        : check_digest(graphers, client, number, key, digests);
        }
        if (err == GRANARY_OK) {
            atomic_store(&place->step, STEP_DELETING);
        }
    }
    if (err == GRANARY_OK) {
        err = granary_graph_delete(client, key);
        err = err == GRANARY_OK || err == GRANARY_ENOENT ? GRANARY_OK : gr_fail_in(err, "delete");
    }
    if (err == GRANARY_EUNREACHABLE) {
        return err; /* to be gone on with */
    }
    /* In this order: who dies in between begins the same append again, which is there. */
    atomic_store(&place->step, STEP_NONE);
    if (err == GRANARY_OK && place->graph == TALLY) {
        atomic_fetch_add(&shared->tallies[number], 1);
    }
    atomic_fetch_add(&shared->graphs, 1);
    atomic_fetch_add(&shared->subtasks, status.subtasks_total);
    atomic_fetch_add(&shared->retries, status.retries);
    return err;
}

static granary_err
begin(struct graphers *graphers, granary_client *client, unsigned number, unsigned graph,
      char digests[static DIGEST_MOST])
{
    struct place *place = &graphers->shared->places[number];

    place->serial++;
    place->graph = graph;
    atomic_store(&place->step, STEP_SENT);
    return go_on(graphers, client, number, digests);
}

/* ---- a client ---- */

static unsigned
choose_graph(const struct graphers *graphers, uint64_t *seed)
{
    unsigned graph = (unsigned)(random_next(seed) % graphers->graphs);

    if (!graphers->little && random_next(seed) % TALLY_PART == 0) {
        return TALLY;
    }
    while (graphers->shared->refused[graph]) {
        graph = (graph + 1) % graphers->graphs;
    }
    return graph;
}

static void
run_client(void *context, unsigned number, uint64_t seed)
{
    static char digests[DIGEST_MOST];
    struct graphers *graphers = context;
    struct graphers_shared *shared = graphers->shared;
    granary_client *client = connect_to(graphers, number);
    bool resume = atomic_load(&shared->places[number].step) != STEP_NONE;
    int64_t patient_until = gr_deadline_ns(PATIENCE_MS);

    atomic_fetch_add(&shared->resumed, resume);
    while (client != NULL && (resume || !atomic_load(&shared->stop)) && atomic_load(&shared->failed) < FAILURES) {
        unsigned graph = resume ? shared->places[number].graph : choose_graph(graphers, &seed);
        granary_err err;

        err = resume ? go_on(graphers, client, number, digests) : begin(graphers, client, number, graph, digests);
        if (err == GRANARY_EUNREACHABLE && gr_now_ns() < patient_until) {
            /* The supervisor was killed: calls fail until somebody says `granary up`, and then the graph is there. */
            resume = true;
            (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
            continue;
        }
        resume = false;
        patient_until = gr_deadline_ns(PATIENCE_MS);
        if (err != GRANARY_OK) {
            (void)fprintf(stderr, "torture: graph %u: %s\n", graph, granary_error_message());
            atomic_fetch_add(&shared->failed, 1);
        }
        if (graphers->pause_us > 0) {
            (void)nanosleep(&(struct timespec){.tv_sec = graphers->pause_us / 1000000,
                                               .tv_nsec = graphers->pause_us % 1000000 * 1000},
                            NULL);
        }
    }
    granary_disconnect(client);
}

/* ---- the run ---- */

bool
graphers_create(struct graphers *graphers, const char *instance, const char *directory, const struct options *options,
                unsigned count, unsigned graphs)
{
    *graphers = (struct graphers){
        .instance = instance,
        .seed = options->seed,
        .elements = (int64_t)(options->scale / GRAPHERS_TENSOR / sizeof(double)),
        .graphs = graphs,
        .little = options_short(options),
        .chunk_bytes = options->one_object ? options->memory - options->memory / 8 : 0,
        .pack = {.what = "grapher", .count = count, .run = run_client, .context = graphers, .seed = ~options->seed}};
    (void)snprintf(graphers->table, sizeof graphers->table, "%s/table.csv", directory);
    graphers->shared = mmap(NULL, sizeof *graphers->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (graphers->shared == MAP_FAILED || !graphs_write_table(graphers->table, options->seed, TABLE_ROWS)) {
        perror("granary: torture");
        return false;
    }
    return true;
}

void
graphers_destroy(struct graphers *graphers)
{
    (void)munmap(graphers->shared, sizeof *graphers->shared);
}

static void
forget_refused(granary_client *client, const struct place *place)
{
    char key[GRANARY_KEY_MAX];

    (void)snprintf(key, sizeof key, "torture-0-%" PRIu64, place->serial);
    (void)granary_graph_delete(client, key);
}

bool
graphers_learn(struct graphers *graphers)
{
    static char digests[DIGEST_MOST];
    granary_client *client = connect_to(graphers, 0);
    granary_err err = client == NULL ? GRANARY_EUNREACHABLE : GRANARY_OK;

    for (unsigned i = 0; i < graphers->graphs && err == GRANARY_OK && !interrupted(); i++) {
        err = begin(graphers, client, 0, i, digests);
        if (err == GRANARY_EFULL && graphers->little) { /* an answer, and in time: it is left out */
            memset(graphers->shared->digests[i], 0, DIGEST_MOST);
            graphers->shared->refused[i] = true;
            graphers->refused++;
            forget_refused(client, &graphers->shared->places[0]);
            err = graphers->refused < graphers->graphs ? GRANARY_OK : err;
        }
        if (err != GRANARY_OK) {
            (void)fprintf(stderr, "torture: graph %u fails in calm: %s\n", i, granary_error_message());
            atomic_fetch_add(&graphers->shared->failed, 1);
        }
    }
    granary_disconnect(client);
    return err == GRANARY_OK;
}

void
graphers_start(struct graphers *graphers)
{
    atomic_store(&graphers->shared->stop, false);
    pack_start(&graphers->pack);
}

void
graphers_stop(struct graphers *graphers)
{
    atomic_store(&graphers->shared->stop, true);
    pack_await(&graphers->pack, STOP_MS);
}

void
graphers_inspect(struct graphers *graphers)
{
    int64_t deadline_ns = gr_deadline_ns(LEFT_MS);

    for (unsigned i = 0; i < SESSIONS; i++) {
        granary_client *client = connect_to(graphers, i);
        size_t count = 1;
        bool late = false; /* each session is looked at once, at least */

        for (unsigned number = i; client != NULL && number < graphers->pack.count; number += SESSIONS) {
            (void)tally_delete(client, number); /* what is left is found */
            atomic_store(&graphers->shared->begun[number], atomic_load(&graphers->shared->tallies[number]));
        }
        if (client != NULL) {
            (void)granary_recall_clear(client, NULL); /* what deleted graphs have left to be recalled */
        }
        while (client != NULL && count > 0 && !late) {
            granary_object_info *infos = NULL;

            late = gr_now_ns() >= deadline_ns;

            if (granary_object_list(client, &infos, &count) != GRANARY_OK) {
                count = 1;
            }
            free(infos);
            if (count > 0) {
                (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
            }
        }
        granary_disconnect(client);
        atomic_fetch_add(&graphers->shared->left, count);
    }
}

bool
graphers_are_clean(const struct graphers *graphers)
{
    const struct graphers_shared *shared = graphers->shared;

    return graphers->pack.crashes + atomic_load(&shared->wrong) + atomic_load(&shared->failed) +
               atomic_load(&shared->left) ==
           0;
}

uint64_t
graphers_subtasks(const struct graphers *graphers)
{
    return atomic_load(&graphers->shared->subtasks);
}

static uint64_t
all_tallies(const struct graphers_shared *shared)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < GRAPHERS_MOST; i++) {
        all += atomic_load(&shared->tallies[i]);
    }
    return all;
}

bool
graphers_report(const struct graphers *graphers)
{
    const struct graphers_shared *shared = graphers->shared;

    (void)printf("graphs             %" PRIu64 " by %u clients, %u of them different; %" PRIu64
                 " gone on with by the next client\n",
                 atomic_load(&shared->graphs), graphers->pack.count, graphers->graphs, atomic_load(&shared->resumed));
    if (graphers->little) {
        (void)printf("graphs refused     %u: too little memory\n", graphers->refused);
    }
    (void)printf("appends of graphs  %" PRIu64 "\n", all_tallies(shared));
    (void)printf("subtasks           %" PRIu64 "\n", atomic_load(&shared->subtasks));
    (void)printf("re-runs            %" PRIu64 "\n", atomic_load(&shared->retries));
    (void)printf("wrong              %" PRIu64 "\n", atomic_load(&shared->wrong));
    (void)printf("lost               %" PRIu64 "\n", atomic_load(&shared->failed));
    (void)printf("clients crashed    %" PRIu64 "\n", graphers->pack.crashes);
    (void)printf("objects left       %" PRIu64 "\n", atomic_load(&shared->left));
    return graphers_are_clean(graphers);
}
