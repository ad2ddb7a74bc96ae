/* A private store, clients, whoever kills them, and the verdict. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "torture/common/interrupt.h"
#include "torture/common/options.h"
#include "torture/common/own.h"
#include "torture/common/random.h"
#include "torture/objects/crowd.h"
#include "torture/torture.h"

#define DATA      5                    /* times the budget that objects are made for */
#define ONE_SCALE ((uint64_t)64 << 20) /* the largest object is then as much as the least store has */
#define META      4096u

struct run {
    struct options options;
    struct own_store own;
    struct crowd crowd;
    uint64_t seed;
    uint64_t client_kills, stops;
};

/* ---- blows ---- */

static void
kill_client(struct run *run, unsigned victim)
{
    pack_replace(&run->crowd.pack, victim, SIGKILL);
    run->client_kills++;
}

/* A client that stands still, perhaps with leases, perhaps inside a message, while other things go on. */
static void
stop_client(struct run *run, unsigned victim)
{
    (void)kill(run->crowd.pack.pids[victim], SIGSTOP);
    random_pause(&run->seed, OWN_PAUSE_NS);
    if (!run->options.spare_store && random_next(&run->seed) % 2 == 0) {
        own_store_kill(&run->own, &run->seed);
    }
    (void)kill(run->crowd.pack.pids[victim], SIGCONT);
    run->stops++;
}

static bool
goes_on(const struct run *run, int64_t end_ns)
{
    const struct options *options = &run->options;

    return !run->own.broken && !interrupted() &&
           (options->kills > 0 ? run->own.kills < options->kills : gr_now_ns() < end_ns);
}

static void
torment(struct run *run)
{
    int64_t end_ns = gr_deadline_ns(run->options.duration_ms);

    while (goes_on(run, end_ns)) {
        unsigned victim = (unsigned)(random_next(&run->seed) % run->options.clients);
        unsigned dice = (unsigned)(random_next(&run->seed) % 100);

        random_pause(&run->seed, OWN_PAUSE_NS);
        if (dice < 50 && !run->options.spare_store) {
            own_store_kill(&run->own, &run->seed);
        } else if (dice < 80) {
            kill_client(run, victim);
        } else {
            stop_client(run, victim);
        }
    }
    /* On a busy machine nobody may have come to read anything, and a run that verified nothing has shown nothing. */
    while (atomic_load(&run->crowd.torment->verified) == 0 && !run->own.broken && !interrupted()) {
        random_pause(&run->seed, OWN_PAUSE_NS);
    }
}

static int
report(const struct run *run, bool clean)
{
    (void)printf("store killed       %" PRIu64 " times, restarted %" PRIu64 "\n", run->own.kills, run->own.restarts);
    (void)printf("clients killed     %" PRIu64 ", stopped %" PRIu64 "\n", run->client_kills, run->stops);
    return crowd_report(&run->crowd) && !run->own.broken && clean ? 0 : 1;
}

/* Objects of about four times the memory, most of which exist at any time. */
static bool
set_up(struct run *run)
{
    run->seed = run->options.seed;
    if (!own_store_start(&run->own, run->options.memory)) {
        return false;
    }
    if (crowd_create(&run->crowd, run->own.store.directory, run->own.store.directory, run->options.clients,
                     run->options.scale, run->options.scale * DATA, run->options.seed) != GRANARY_OK) {
        (void)fprintf(stderr, "granary: torture: %s\n", granary_error_message());
        (void)own_store_stop(&run->own);
        return false;
    }
    run->crowd.alone = true;
    if (options_short(&run->options)) {
        run->crowd.torment->room_ms = run->crowd.torment->patience_ms;
    }
    return true;
}

static int
run_store(struct cli *cli)
{
    struct run *run = cli->self;
    struct options *options = &run->options;
    bool clean;
    int status;

    options->scale = options->one_object ? ONE_SCALE : options->memory;
    options_settle(options, options->scale * DATA, CROWD_LARGEST(options->scale) + META);
    (void)printf("torture store: seed %" PRIu64 "\n", options->seed);
    (void)fflush(stdout); /* before processes are forked that would say it again */
    interrupt_catch();
    if (!set_up(run)) {
        return 1;
    }
    crowd_start(&run->crowd);
    torment(run);
    if (run->own.broken) {
        pack_kill(&run->crowd.pack);
    } else {
        crowd_stop(&run->crowd);
        crowd_inspect(&run->crowd);
    }
    clean = own_store_stop(&run->own);
    status = report(run, clean);
    crowd_destroy(&run->crowd);
    return status;
}

static const struct gr_option list[] = {
    OPTION_SECONDS("how long; default: 10"),
    OPTION_SEED,
    OPTION_MEMORY("the store's budget, a quarter of what is put; '1/N': that part of it; 'one': the largest object; "
                  "default: 16M"),
    OPTION_CLIENTS("client processes; default: 8", TORMENTED_MOST),
    OPTION_KILLS("go on until the store was killed so often, whatever the time"),
    OPTION_SPARE_STORE,
    {0}};

const struct command torture_store = {.options = list,
                                      COMMAND_SELF(struct run, .options = {.duration_ms = 10000,
                                                                           .seed = 1,
                                                                           .memory = 16 << 20,
                                                                           .shares = true,
                                                                           .memory_least = 4 << 20,
                                                                           .clients = 8}),
                                      .alone = true,
                                      .run = run_store};
