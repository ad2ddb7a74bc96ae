/*
 * A whole instance under mixed load: clients of the store, clients with graphs, and blows at processes of every kind,
 * its supervisor's among them. Now and then everybody rests; then all that was seen must be possible, and all that was
 * taken must be back.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "spawn/spawn.h"
#include "torture/blows.h"
#include "torture/crowd.h"
#include "torture/graphers.h"
#include "torture/level.h"
#include "torture/logs.h"
#include "torture/minimise.h"
#include "torture/options.h"
#include "torture/realm.h"
#include "torture/torture.h"

#define GRAPHS       12u
#define TICK_NS      10000000
#define STOPPED_MOST 16u
#define VICTIM_MS    3000  /* how long is waited for a process of that kind to be there */
#define WHOLE_MS     60000 /* how long an instance may take until all its processes are there again */
#define LEVEL_MS     15000 /* ... and until what was taken is back */
#define CALM_MS      700   /* of load before the level of the beginning is taken */
#define LINE_MOST    256
/* For calls of clients: a store that stands still, the next one, and `granary up` may come one after the other. */
#define CLIENT_PATIENCE_MS 120000

struct stopped {
    int pidfd;
    int64_t until_ns;
};

struct run {
    struct options options;
    unsigned grapher_count;
    uint64_t kills_each; /* go on until each kind was killed so often; 0: the time counts */
    const char *record_path, *replay_path, *minimise_path;
    unsigned tries;
    FILE *record, *replay;
    struct realm realm;
    struct crowd crowd;
    struct graphers graphers;
    struct logs logs;
    struct dealer dealer;
    struct level level; /* of the beginning */
    struct stopped stopped[STOPPED_MOST];
    size_t stopped_count;
    int64_t end_ns;
    uint64_t kills[ROLES], stops[ROLES], missed;
    uint64_t rests, leaked, damaged, complaints;
    bool broken; /* the instance does not come back */
};

static volatile sig_atomic_t interrupted;

static void
interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* ---- blows ---- */

static void
resume(struct run *run, bool all)
{
    for (size_t i = 0; i < run->stopped_count;) {
        struct stopped *stopped = &run->stopped[i];

        if (!all && gr_now_ns() < stopped->until_ns) {
            i++;
            continue;
        }
        (void)gr_pidfd_signal(stopped->pidfd, SIGCONT);
        gr_fd_close(&stopped->pidfd);
        *stopped = run->stopped[--run->stopped_count];
    }
}

static void
tick(struct run *run)
{
    run->broken = run->broken || !realm_tend(&run->realm);
    resume(run, false);
    (void)nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
}

static bool
is_clean(const struct run *run)
{
    return crowd_is_clean(&run->crowd) && graphers_are_clean(&run->graphers) &&
           run->leaked + run->damaged + run->complaints + run->realm.ups_refused == 0 && !run->broken;
}

static bool
killed_enough(const struct run *run)
{
    for (enum role role = 0; role < ROLES; role++) {
        if (run->kills[role] < run->kills_each && (role != ROLE_STANDBY || run->options.schedulers > 1)) {
            return false;
        }
    }
    return true;
}

/* The first that is wrong ends the run: then the blows that led to it are the last ones. */
static bool
goes_on(const struct run *run)
{
    return !interrupted && is_clean(run) &&
           (run->replay != NULL || (run->kills_each > 0 ? !killed_enough(run) : gr_now_ns() < run->end_ns));
}

static pid_t
await_victim(struct run *run, const struct blow *blow)
{
    int64_t deadline = gr_deadline_ns(VICTIM_MS);
    pid_t pid;

    if (blow->victim == ROLE_CLIENT) {
        return run->crowd.pack.pids[blow->which % run->crowd.pack.count];
    }
    if (blow->victim == ROLE_GRAPHER) {
        return run->graphers.pack.pids[blow->which % run->graphers.pack.count];
    }
    while ((pid = realm_find(&run->realm, blow->victim, blow->which)) == 0 && gr_now_ns() < deadline && !run->broken) {
        tick(run);
    }
    return pid;
}

/* Those that are no daemons are children of this process: their pids stay theirs. */
static bool
stop(struct run *run, const struct blow *blow, pid_t victim)
{
    struct stopped *stopped = &run->stopped[run->stopped_count];
    bool daemon = blow->victim < REALM_ROLES;

    if (run->stopped_count == STOPPED_MOST) {
        return false;
    }
    if (daemon ? !realm_signal(&run->realm, victim, SIGSTOP, &stopped->pidfd)
               : (stopped->pidfd = gr_pidfd_open(victim)) < 0 || gr_pidfd_signal(stopped->pidfd, SIGSTOP) < 0) {
        return false;
    }
    stopped->until_ns = gr_deadline_ns(blow->stop_ms);
    run->stopped_count++;
    run->stops[blow->victim]++;
    return true;
}

static bool
send_off(struct run *run, const struct blow *blow, pid_t victim)
{
    int signal = blow->kind == BLOW_TERM ? SIGTERM : SIGKILL;

    if (blow->victim == ROLE_CLIENT) {
        pack_replace(&run->crowd.pack, blow->which % run->crowd.pack.count, signal);
    } else if (blow->victim == ROLE_GRAPHER) {
        pack_replace(&run->graphers.pack, blow->which % run->graphers.pack.count, signal);
    } else if (!realm_signal(&run->realm, victim, signal, NULL)) {
        return false;
    }
    run->realm.hit = true;
    run->kills[blow->victim]++;
    return true;
}

static void
strike(struct run *run, const struct blow *blow)
{
    pid_t victim = await_victim(run, blow);

    if (victim == 0 || !(blow->kind == BLOW_STOP ? stop(run, blow, victim) : send_off(run, blow, victim))) {
        run->missed++;
    }
}

/* ---- rests ---- */

static bool
await_whole(struct run *run)
{
    int64_t deadline = gr_deadline_ns(WHOLE_MS);

    while (!realm_is_whole(&run->realm) || run->realm.up != 0) {
        if (gr_now_ns() > deadline || run->broken) {
            struct process processes[REALM_PROCESSES];
            size_t count = realm_processes(&run->realm, processes);

            (void)fprintf(stderr, "torture: not every process is there again, or too many:");
            for (size_t i = 0; i < count; i++) {
                (void)fprintf(stderr, " %s %d", role_name(processes[i].role), (int)processes[i].pid);
            }
            (void)fputc('\n', stderr);
            run->broken = true;
            return false;
        }
        tick(run);
    }
    return true;
}

static void
check_level(struct run *run)
{
    int64_t deadline = gr_deadline_ns(LEVEL_MS);
    struct level now;

    level_measure(&run->realm, &now);
    while (level_compare(&run->level, &now, NULL) > 0 && gr_now_ns() < deadline) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        level_measure(&run->realm, &now);
    }
    run->leaked += level_compare(&run->level, &now, stderr);
}

static void
check_shape(struct run *run)
{
    char log[128];
    char *text = NULL;
    size_t size;
    int status = 1;
    pid_t child;

    (void)snprintf(log, sizeof log, "%s/fsck.log", run->realm.directory);
    (void)unlink(log);
    child = spawn_command((const char *const[]){"fsck", "--instance", run->realm.instance, "--verify", NULL}, log);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        run->damaged++;
        if (gr_file_read(log, 1 << 20, &text, &size) == GRANARY_OK) {
            (void)fprintf(stderr, "torture: fsck: %s\n", text);
        }
        free(text);
    }
}

/* Stop the load. The instance is whole, and nobody uses it. */
static bool
come_to_rest(struct run *run)
{
    resume(run, true);
    if (!await_whole(run)) {
        return false;
    }
    atomic_store(&run->crowd.torment->stop, true);
    graphers_stop(&run->graphers);
    crowd_stop(&run->crowd);
    return await_whole(run);
}

static void
inspect(struct run *run)
{
    graphers_inspect(&run->graphers);
    crowd_inspect(&run->crowd);
    check_shape(run);
    run->complaints += logs_look(&run->logs, &run->realm, stderr);
}

static void
rest(struct run *run)
{
    if (come_to_rest(run)) {
        run->rests++;
        inspect(run);
        check_level(run);
    }
}

static void
start_load(struct run *run)
{
    graphers_start(&run->graphers);
    crowd_start(&run->crowd);
}

/* ---- the run ---- */

static bool
next_blow(struct run *run, struct blow *ret_blow)
{
    char line[LINE_MOST];

    if (run->replay == NULL) {
        *ret_blow = blows_draw(&run->dealer);
        return true;
    }
    return fgets(line, sizeof line, run->replay) != NULL && blows_read(line, ret_blow);
}

static void
storm(struct run *run)
{
    int64_t due_ns = gr_now_ns();
    struct blow blow;

    while (goes_on(run) && next_blow(run, &blow)) {
        due_ns += blow.after_ms * 1000000;
        while (goes_on(run) && gr_now_ns() < due_ns) {
            tick(run);
        }
        if (!goes_on(run)) {
            break;
        }
        if (run->record != NULL) {
            blows_write(run->record, &blow);
            (void)fflush(run->record); /* it is there when this process dies */
        }
        if (blow.kind == BLOW_REST) {
            rest(run);
            start_load(run);
        } else {
            strike(run, &blow);
        }
        due_ns = due_ns < gr_now_ns() ? gr_now_ns() : due_ns;
    }
    rest(run);
    if (run->broken) {
        pack_kill(&run->crowd.pack);
        pack_kill(&run->graphers.pack);
    }
}

/* What takes its time at first is there when the level of the beginning is taken. */
static bool
begin_in_calm(struct run *run)
{
    if (!graphers_learn(&run->graphers)) {
        return false;
    }
    start_load(run);
    for (int64_t until = gr_deadline_ns(CALM_MS); gr_now_ns() < until;) {
        tick(run);
    }
    if (!come_to_rest(run)) {
        return false;
    }
    inspect(run);
    level_measure(&run->realm, &run->level);
    return is_clean(run);
}

static int
report(const struct run *run, bool ended_well)
{
    bool clean = is_clean(run) && ended_well;

    for (enum role role = 0; role < ROLES; role++) {
        (void)printf("%-18s killed %" PRIu64 ", stopped %" PRIu64 "\n", role_name(role), run->kills[role],
                     run->stops[role]);
    }
    (void)printf("victims not there  %" PRIu64 "\n", run->missed);
    (void)printf("brought up         %" PRIu64 " times\n", run->realm.ups);
    (void)printf("rests              %" PRIu64 "\n", run->rests);
    clean = crowd_report(&run->crowd) && clean;
    clean = graphers_report(&run->graphers) && clean;
    (void)printf("damaged by fsck    %" PRIu64 "\n", run->damaged);
    (void)printf("bad lines in logs  %" PRIu64 "\n", run->complaints);
    (void)printf("leaked             %" PRIu64 " kinds of things\n", run->leaked);
    (void)printf("%s\n", clean ? "lost 0, wrong 0, leaked 0" : "NOT CLEAN");
    return clean ? 0 : 1;
}

/* ---- setting up ---- */

static void
write_head(const struct run *run)
{
    const struct options *options = &run->options;

    (void)fprintf(
        run->record, "whole seed %" PRIu64 " memory %" PRIu64 " clients %u graphers %u executors %u schedulers %u\n",
        options->seed, options->memory, options->clients, run->grapher_count, options->executors, options->schedulers);
}

static bool
read_head(struct run *run)
{
    struct options *options = &run->options;
    char line[LINE_MOST];

    return fgets(line, sizeof line, run->replay) != NULL &&
           sscanf(line, "whole seed %" SCNu64 " memory %" SCNu64 " clients %u graphers %u executors %u schedulers %u",
                  &options->seed, &options->memory, &options->clients, &run->grapher_count, &options->executors,
                  &options->schedulers) == 6 &&
           options->clients >= 1 && options->clients <= options->clients_most && run->grapher_count >= 1 &&
           run->grapher_count <= GRAPHERS_MOST && options->executors >= 1 && options->executors <= 64 &&
           options->schedulers >= 1 && options->schedulers <= 8;
}

static bool
open_schedules(struct run *run)
{
    if (run->replay_path != NULL && ((run->replay = fopen(run->replay_path, "re")) == NULL || !read_head(run))) {
        (void)fprintf(stderr, "granary: torture: %s: no schedule that can be read: give one that --record wrote\n",
                      run->replay_path);
        return false;
    }
    if (run->record_path != NULL) {
        run->record = fopen(run->record_path, "we");
        if (run->record == NULL) {
            perror(run->record_path);
            return false;
        }
        write_head(run);
    }
    return true;
}

static void
close_schedules(struct run *run)
{
    if (run->replay != NULL) {
        (void)fclose(run->replay);
    }
    if (run->record != NULL) {
        (void)fclose(run->record);
    }
}

static void
prepare_blows(struct run *run)
{
    int64_t duration = run->options.duration_ms;
    bool is_long = duration >= 60000 || run->kills_each > 0;

    run->dealer = (struct dealer){.seed = run->options.seed,
                                  .pause_ms = is_long ? 600 : 250,
                                  .rest_ms = is_long ? 20000 : duration,
                                  .stop_least_ms = is_long ? 1000 : 100,
                                  .stop_most_ms = is_long ? 10000 : 500,
                                  .standby = run->options.schedulers > 1};
}

static bool
set_up(struct run *run)
{
    const struct options *options = &run->options;
    struct sigaction action = {.sa_handler = interrupt};

    if (!open_schedules(run) || !realm_create(&run->realm, options)) {
        return false;
    }
    prepare_blows(run);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    if (!graphers_create(&run->graphers, run->realm.instance, run->realm.directory, options, run->grapher_count,
                         GRAPHS) ||
        crowd_create(&run->crowd, run->realm.instance, run->realm.directory, options->clients, options->memory,
                     options->memory * 2, options->seed) != GRANARY_OK ||
        !realm_up(&run->realm)) {
        (void)fprintf(stderr, "granary: torture: %s\n", granary_error_message());
        realm_destroy(&run->realm);
        return false;
    }
    run->crowd.torment->room_ms = run->crowd.torment->patience_ms = CLIENT_PATIENCE_MS;
    return true;
}

enum { KEY_KILLS_EACH = 0x3000, KEY_RECORD, KEY_REPLAY, KEY_MINIMISE, KEY_TRIES };

static error_t
parse(int key, char *text, struct argp_state *state)
{
    struct run *run = state->input;

    switch (key) {
    case 'g':
        run->grapher_count = (unsigned)options_number(text, 1, GRAPHERS_MOST, state);
        return 0;
    case KEY_KILLS_EACH:
        run->kills_each = options_number(text, 1, UINT32_MAX, state);
        return 0;
    case KEY_RECORD:
        run->record_path = text;
        return 0;
    case KEY_REPLAY:
        run->replay_path = text;
        return 0;
    case KEY_MINIMISE:
        run->minimise_path = text;
        return 0;
    case KEY_TRIES:
        run->tries = (unsigned)options_number(text, 1, 1000, state);
        return 0;
    default:
        return options_key(key, text, state, &run->options);
    }
}

int
torture_whole(int argc, char **argv)
{
    static const struct argp_option list[] = {
        {"seconds", 's', "DURATION", 0, "how long; default: 20", 0},
        {"seed", 'S', "S", 0, "of the random numbers; default: 1", 0},
        {"memory", 'm', "SIZE", 0, "the store's budget; default: 32M", 0},
        {"clients", 'c', "C", 0, "clients of the store; default: 4", 0},
        {"graphers", 'g', "G", 0, "clients with graphs; default: 3", 0},
        {"executors", 'e', "E", 0, "executors; default: 3", 0},
        {"schedulers", 'd', "D", 0, "schedulers, all but one of them standing by; default: 2", 0},
        {"kills-each", KEY_KILLS_EACH, "N", 0, "go on until each kind of process was killed N times", 0},
        {"record", KEY_RECORD, "FILE", 0, "write what was done to whom and when", 0},
        {"replay", KEY_REPLAY, "FILE", 0, "do that again", 0},
        {"minimise", KEY_MINIMISE, "FILE", 0,
         "repeat a recorded schedule that failed with parts left out, and write the smallest that fails to FILE.min",
         0},
        {"tries", KEY_TRIES, "N", 0, "how often each schedule is tried for that; default: 3", 0},
        {0},
    };
    static const struct argp parser = {list,
                                       parse,
                                       NULL,
                                       "Torment a private instance, every process of it, under mixed load; exit status "
                                       "1 if anything was lost, wrong or "
                                       "leaked. The run ends with the first that is.",
                                       NULL,
                                       NULL,
                                       NULL};
    static char name[] = "granary torture whole";
    struct run run = {.options = {.duration_ms = 20000,
                                  .seed = 1,
                                  .memory = 32 << 20,
                                  .memory_least = 16 << 20,
                                  .clients = 4,
                                  .clients_most = TORMENTED_MOST,
                                  .executors = 3,
                                  .schedulers = 2},
                      .grapher_count = 3,
                      .tries = 3};
    bool ended_well;
    int status;

    argv[0] = name;
    argp_err_exit_status = granary_error_exit_status(GRANARY_EINVAL);
    (void)argp_parse(&parser, argc, argv, 0, NULL, &run);
    if (run.minimise_path != NULL) {
        return minimise(run.minimise_path, run.tries);
    }
    (void)printf("torture whole: seed %" PRIu64 "\n", run.options.seed);
    (void)fflush(stdout); /* before processes are forked that would say it again */
    if (!set_up(&run)) {
        return 1;
    }
    if (begin_in_calm(&run)) {
        start_load(&run);
        run.end_ns = gr_deadline_ns(run.options.duration_ms);
        storm(&run);
    }
    ended_well = realm_down(&run.realm);
    ended_well = realm_is_gone(&run.realm) && ended_well;
    status = report(&run, ended_well);
    realm_destroy(&run.realm);
    crowd_destroy(&run.crowd);
    graphers_destroy(&run.graphers);
    close_schedules(&run);
    return status;
}
