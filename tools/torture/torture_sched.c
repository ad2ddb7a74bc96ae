/*
 * Random graphs in a private instance. Each runs once in calm, for its result. Then several clients run it many
 * times, while executors and schedulers are killed and stopped and memory is short.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "torture/common/interrupt.h"
#include "torture/common/options.h"
#include "torture/common/random.h"
#include "torture/graphs/graphers.h"
#include "torture/graphs/graphs.h"
#include "torture/instance/realm.h"
#include "torture/torture.h"

#define PAUSE_NS 150000000 /* between two blows, at most */

struct run {
    struct options options; /* kills: of all processes together */
    struct realm realm;
    struct graphers graphers;
    uint64_t seed;
    uint64_t kills[ROLES], stops;
};

static bool
send_signal(struct run *run, enum role role, int signal)
{
    pid_t victim = realm_find(&run->realm, role, (unsigned)random_next(&run->seed));

    return victim > 0 && realm_signal(&run->realm, victim, signal, NULL);
}

static void
stop_executor(struct run *run)
{
    pid_t victim = realm_find(&run->realm, ROLE_EXECUTOR, (unsigned)random_next(&run->seed));

    if (victim > 0 && realm_signal(&run->realm, victim, SIGSTOP, NULL)) {
        random_pause(&run->seed, PAUSE_NS);
        (void)realm_signal(&run->realm, victim, SIGCONT, NULL);
        run->stops++;
    }
}

static void
strike(struct run *run)
{
    uint64_t dice = random_next(&run->seed) % 100;
    enum role role = dice < 55 ? ROLE_EXECUTOR : dice < 80 ? ROLE_SCHED : ROLE_STORE;

    if (dice < 90 && !(role == ROLE_STORE && run->options.spare_store)) {
        run->kills[role] += send_signal(run, role, SIGKILL);
    } else {
        stop_executor(run);
    }
}

static void
torment(struct run *run)
{
    const struct options *options = &run->options;
    int64_t end_ns = gr_deadline_ns(options->duration_ms);

    while (!interrupted() &&
           (options->kills > 0
                ? run->kills[ROLE_EXECUTOR] + run->kills[ROLE_SCHED] + run->kills[ROLE_STORE] < options->kills
                : gr_now_ns() < end_ns)) {
        /* What is run again for the third time by force is given up: who takes longer is struck less often. */
        random_pause(&run->seed, options_short(options) ? PAUSE_NS * 6 : PAUSE_NS);
        strike(run);
    }
}

static int
report(const struct run *run, bool ended_well)
{
    (void)printf("executors killed   %" PRIu64 ", stopped %" PRIu64 "\n", run->kills[ROLE_EXECUTOR], run->stops);
    (void)printf("schedulers killed  %" PRIu64 "\n", run->kills[ROLE_SCHED]);
    (void)printf("stores killed      %" PRIu64 "\n", run->kills[ROLE_STORE]);
    return graphers_report(&run->graphers) && ended_well ? 0 : 1;
}

static bool
set_up(struct run *run)
{
    const struct options *options = &run->options;

    run->seed = options->seed;
    if (!realm_create(&run->realm, options)) {
        return false;
    }
    if (!graphers_create(&run->graphers, run->realm.instance, run->realm.directory, options, options->clients,
                         GRAPHERS_GRAPHS) ||
        !realm_up(&run->realm)) {
        realm_destroy(&run->realm);
        return false;
    }
    return true;
}

static int
run_sched(struct cli *cli)
{
    struct run *run = cli->self;
    uint64_t tensor = run->options.memory / GRAPHERS_TENSOR;
    bool ended_well;
    int status;

    options_settle(&run->options, tensor, tensor / 8);
    (void)printf("torture sched: seed %" PRIu64 "\n", run->options.seed);
    (void)fflush(stdout); /* before processes are forked that would say it again */
    interrupt_catch();
    if (!set_up(run)) {
        return 1;
    }
    if (graphers_learn(&run->graphers)) {
        graphers_start(&run->graphers);
        torment(run);
        graphers_stop(&run->graphers);
        graphers_inspect(&run->graphers);
    }
    ended_well = realm_down(&run->realm);
    realm_destroy(&run->realm);
    status = report(run, ended_well);
    graphers_destroy(&run->graphers);
    return status;
}

static const struct gr_option list[] = {
    OPTION_SECONDS("how long; default: 10"),
    OPTION_SEED,
    OPTION_MEMORY("the store's budget; '1/N': that part of the data; 'one': the largest object; default: 32M"),
    OPTION_CLIENTS("client processes; default: 4", GRAPHERS_MOST),
    OPTION_EXECUTORS("executors; default: 3"),
    OPTION_SCHEDULERS("1"),
    OPTION_KILLS("go on until so many processes were killed, whatever the time"),
    OPTION_SPARE_STORE,
    {0}};

const struct command torture_sched = {.options = list,
                                      COMMAND_SELF(struct run, .options = {.duration_ms = 10000,
                                                                           .seed = 1,
                                                                           .memory = 32 << 20,
                                                                           .shares = true,
                                                                           .memory_least = 8 << 20,
                                                                           .clients = 4,
                                                                           .executors = 3,
                                                                           .schedulers = 1}),
                                      .alone = true,
                                      .run = run_sched};
