/* The run: a private store, clients, whoever kills them, and the verdict. */
#include "torture/torture.h"

#include <inttypes.h>
#include <signal.h>
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
#include "torture/check.h"
#include "torture/options.h"
#include "torture/tormented.h"

#define HISTORY_MOST ((uint64_t)4 << 20) /* operations of one client */
#define SETTLE_NS    10000000000ll       /* for the store to take note of the clients' ends */
#define PAUSE_NS     80000000            /* between two blows, at most */

struct blows {
    uint64_t store_kills, restarts, client_kills, stops;
};

struct run {
    struct options options;
    struct torment *torment;
    struct spawned store;
    pid_t clients[TORMENTED_MOST];
    struct blows blows;
    uint64_t seed;
    bool broken; /* the store cannot be started again */
    size_t lost; /* objects whose history cannot be true */
    granary_store_stat stat;
};

/* ---- clients ---- */

static pid_t
start_client(struct run *run, unsigned number)
{
    uint64_t seed = tormented_random(&run->seed);
    pid_t parent = getpid();
    pid_t child = fork();

    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            tormented_run(run->torment, number, seed);
        }
        _exit(0);
    }
    return child;
}

/* ---- blows ---- */

static void
pause_at_most(struct run *run, uint64_t nanoseconds)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = (long)(tormented_random(&run->seed) % nanoseconds)}, NULL);
}

static void
kill_store(struct run *run)
{
    spawn_kill(&run->store);
    run->blows.store_kills++;
    while (tormented_random(&run->seed) % 4 == 0) {
        /* The next one as well, while it takes over. */
        if (!spawn_blindly(&run->store)) {
            break;
        }
        pause_at_most(run, PAUSE_NS / 4);
        spawn_kill(&run->store);
        run->blows.store_kills++;
    }
    run->broken = !spawn_again(&run->store);
    run->blows.restarts++;
}

static void
kill_client(struct run *run, unsigned victim)
{
    (void)kill(run->clients[victim], SIGKILL);
    (void)waitpid(run->clients[victim], NULL, 0);
    run->blows.client_kills++;
    run->clients[victim] = start_client(run, victim);
}

/* A client that stands still, perhaps with leases, perhaps inside a message, while other things go on. */
static void
stop_client(struct run *run, unsigned victim)
{
    (void)kill(run->clients[victim], SIGSTOP);
    pause_at_most(run, PAUSE_NS);
    if (!run->options.spare_store && tormented_random(&run->seed) % 2 == 0) {
        kill_store(run);
    }
    (void)kill(run->clients[victim], SIGCONT);
    run->blows.stops++;
}

static bool
goes_on(const struct run *run, int64_t end_ns)
{
    const struct options *options = &run->options;

    return !run->broken && (options->kills > 0 ? run->blows.store_kills < options->kills : gr_now_ns() < end_ns);
}

static void
torment(struct run *run)
{
    int64_t end_ns = gr_deadline_ns(run->options.duration_ms);

    while (goes_on(run, end_ns)) {
        unsigned victim = (unsigned)(tormented_random(&run->seed) % run->options.clients);
        unsigned dice = (unsigned)(tormented_random(&run->seed) % 100);

        pause_at_most(run, PAUSE_NS);
        if (dice < 50 && !run->options.spare_store) {
            kill_store(run);
        } else if (dice < 80) {
            kill_client(run, victim);
        } else {
            stop_client(run, victim);
        }
    }
}

/* ---- the verdict ---- */

/* Everybody is gone: nothing is in use by the dead. */
static void
await_settled(struct run *run, granary_client *client)
{
    int64_t deadline = gr_now_ns() + SETTLE_NS;
    granary_store_stat *stat = &run->stat;

    while (!tormented_account(client, stat) || stat->writing_bytes + stat->retiring_bytes > 0 || stat->clients != 1) {
        if (gr_now_ns() > deadline) {
            (void)fprintf(stderr,
                          "torture: still writing %" PRIu64 " retiring %" PRIu64 " clients %" PRIu64
                          " after all clients have gone\n",
                          stat->writing_bytes, stat->retiring_bytes, stat->clients);
            atomic_fetch_add(&run->torment->account_errors, 1);
            break;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* All objects deleted: no byte is left anywhere. */
static void
await_empty(struct run *run, granary_client *client)
{
    int64_t deadline = gr_now_ns() + SETTLE_NS;
    granary_store_stat stat = {0};
    granary_object_info *infos = NULL;
    size_t count = 0;

    if (granary_object_list(client, &infos, &count) != GRANARY_OK) {
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        (void)granary_object_delete(client, infos[i].id, GRANARY_NOWAIT);
    }
    (void)granary_flush(client);
    free(infos);
    while (!tormented_account(client, &stat) || stat.objects + stat.sealed_bytes + stat.disk_bytes > 0) {
        if (gr_now_ns() > deadline) {
            (void)fprintf(stderr,
                          "torture: %" PRIu64 " objects, %" PRIu64 " bytes in memory, %" PRIu64
                          " on disk after all were deleted\n",
                          stat.objects, stat.sealed_bytes, stat.disk_bytes);
            atomic_fetch_add(&run->torment->account_errors, 1);
            break;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void
inspect(struct run *run)
{
    struct torment *torment = run->torment;
    granary_client *client = run->broken ? NULL : tormented_connect(torment);

    if (client == NULL) {
        return;
    }
    await_settled(run, client);
    for (uint32_t object = 0; object < torment->objects; object++) {
        tormented_get(torment, client, run->options.clients, object);
    }
    run->lost = check_histories(torment->histories, run->options.clients + 1, torment->objects, stderr);
    await_empty(run, client);
    (void)granary_store_stat_get(client, &run->stat);
    granary_disconnect(client);
}

static int
report(const struct run *run, bool clean)
{
    const struct torment *torment = run->torment;
    uint64_t damaged = atomic_load(&torment->damaged);
    uint64_t refused = atomic_load(&torment->refused);
    uint64_t account = atomic_load(&torment->account_errors);
    uint64_t late = atomic_load(&torment->late);

    (void)printf("operations         %" PRIu64 " by %u clients on %u objects\n", atomic_load(&torment->operations),
                 run->options.clients, torment->objects);
    (void)printf("store killed       %" PRIu64 " times, restarted %" PRIu64 "\n", run->blows.store_kills,
                 run->blows.restarts);
    (void)printf("clients killed     %" PRIu64 ", stopped %" PRIu64 "\n", run->blows.client_kills, run->blows.stops);
    (void)printf("spills             %" PRIu64 ", restores %" PRIu64 ", calls without room %" PRIu64 "\n",
                 run->stat.spills, run->stat.restores, atomic_load(&torment->full));
    (void)printf("checksums verified %" PRIu64 "\n", atomic_load(&torment->verified));
    (void)printf("damaged            %" PRIu64 "\n", damaged);
    (void)printf("objects lost       %zu\n", run->lost);
    (void)printf("calls timed out    %" PRIu64 "\n", late);
    (void)printf("calls failed       %" PRIu64 "\n", refused);
    (void)printf("account errors     %" PRIu64 "\n", account);
    return !run->broken && clean && run->lost == 0 && damaged + refused + late + account == 0 &&
                   atomic_load(&torment->verified) > 0
               ? 0
               : 1;
}

/* ---- setting up ---- */

/* Objects of about four times the memory, most of which exist at any time. */
static void
choose_objects(struct torment *torment, uint64_t memory)
{
    uint64_t bytes = 0;

    torment->largest = memory / 64;
    while (bytes < memory * 5) {
        bytes += tormented_size(torment, torment->objects++);
    }
}

static granary_err
set_up(struct run *run)
{
    static char memory[32];
    struct torment *torment = mmap(NULL, sizeof *torment, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (torment == MAP_FAILED) {
        return GRANARY_ENOMEM;
    }
    run->torment = torment;
    run->seed = run->options.seed;
    choose_objects(torment, run->options.memory);
    (void)snprintf(memory, sizeof memory, "%" PRIu64, run->options.memory);
    if (!spawn_start(&run->store, memory)) {
        return GRANARY_EFAILED;
    }
    memcpy(torment->instance, run->store.directory, sizeof torment->instance);
    for (unsigned i = 0; i <= run->options.clients; i++) {
        torment->histories[i] = history_create(run->store.directory, HISTORY_MOST);
        if (torment->histories[i] == NULL) {
            perror("granary: torture: history");
            return GRANARY_EFAILED;
        }
    }
    return GRANARY_OK;
}

static error_t
parse(int key, char *text, struct argp_state *state)
{
    return options_key(key, text, state, state->input);
}

int
torture_store(int argc, char **argv)
{
    static const struct argp_option list[] = {
        {"seconds", 's', "DURATION", 0, "how long; default: 10", 0},
        {"seed", 'S', "S", 0, "of the random numbers; default: 1", 0},
        {"memory", 'm', "SIZE", 0, "the store's budget, a quarter of what is put; default: 16M", 0},
        {"clients", 'c', "C", 0, "client processes; default: 8", 0},
        {"kills", 'k', "N", 0, "go on until the store was killed so often, whatever the time", 0},
        {"spare-store", 'p', NULL, 0, "do not kill the store", 0},
        {0},
    };
    static const struct argp parser = {
        list, parse, NULL, "Torment a private store and its clients; exit status 1 if anything was lost or wrong.",
        NULL, NULL,  NULL};
    static char name[] = "granary torture store";
    struct run run = {.options = {.duration_ms = 10000,
                                  .seed = 1,
                                  .memory = 16 << 20,
                                  .memory_least = 4 << 20,
                                  .clients = 8,
                                  .clients_most = TORMENTED_MOST}};
    bool clean;

    argv[0] = name;
    argp_err_exit_status = granary_error_exit_status(GRANARY_EINVAL);
    (void)argp_parse(&parser, argc, argv, 0, NULL, &run.options);
    (void)printf("torture store: seed %" PRIu64 "\n", run.options.seed);
    (void)fflush(stdout); /* before processes are forked that would say it again */
    if (set_up(&run) != GRANARY_OK) {
        return 1;
    }
    for (unsigned i = 0; i < run.options.clients; i++) {
        run.clients[i] = start_client(&run, i);
    }
    torment(&run);
    atomic_store(&run.torment->stop, true);
    for (unsigned i = 0; i < run.options.clients; i++) {
        if (run.broken) {
            (void)kill(run.clients[i], SIGKILL);
        }
        (void)waitpid(run.clients[i], NULL, 0);
    }
    inspect(&run);
    clean = spawn_stop(&run.store);
    for (unsigned i = 0; i <= run.options.clients; i++) {
        history_destroy(run.torment->histories[i]);
    }
    return report(&run, clean);
}
