/*
 * A whole instance under mixed load: clients of the store, clients with graphs, and blows at processes of every kind,
 * its supervisor's among them. Now and then everybody rests; then all that was seen must be possible, and all that was
 * taken must be back.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "torture/common/interrupt.h"
#include "torture/common/options.h"
#include "torture/instance/blows.h"
#include "torture/instance/siege.h"
#include "torture/minimise.h"
#include "torture/torture.h"

#define GRAPHS         12u
#define LINE_MOST      256
#define HOUR_MS        3600000
#define EACH_HOUR      260 /* kills of each kind that an hour is to come to; some find nobody there */
#define PAUSE_LEAST_MS 200 /* between two blows: work goes on meanwhile */
#define PAUSE_MOST_MS  600

struct run {
    struct options options;
    unsigned grapher_count;
    uint64_t kills_each; /* go on until each kind was killed so often; 0: the time counts */
    bool plain;          /* objects and graphs alone */
    const char *python;
    const char *keep;
    const char *record_path, *replay_path, *minimise_path;
    unsigned tries;
    FILE *record, *replay;
    struct dealer dealer;
    struct siege siege;
    bool is_long;               /* minutes: then each kind is to fall often enough */
    int64_t begin_ns, storm_ms; /* since then; without rests */
    int64_t end_ns;
};

static bool
killed_enough(const struct run *run)
{
    for (enum role role = 0; role < ROLES; role++) {
        if (run->siege.kills[role] < run->kills_each && (siege_absent(&run->siege) & 1u << role) == 0) {
            return false;
        }
    }
    return true;
}

/* The first that is wrong ends the run: then the blows that led to it are the last ones. */
static bool
goes_on(const struct run *run)
{
    return !interrupted() && siege_is_clean(&run->siege) &&
           (run->replay != NULL || (run->kills_each > 0 ? !killed_enough(run) : gr_now_ns() < run->end_ns));
}

/* ---- the run ---- */

/*
 * The pause between blows with which each kind falls often enough in the time that is left. Some time goes for rests: as
 * much as so far.
 */
static void
keep_pace(struct run *run)
{
    const int64_t elapsed_ms = (gr_now_ns() - run->begin_ns) / 1000000;
    const int64_t left_ms = run->options.duration_ms - elapsed_ms;
    const uint64_t each =
        run->kills_each > 0 ? run->kills_each : (uint64_t)run->options.duration_ms * EACH_HOUR / HOUR_MS;
    int64_t needed = 0, pause_ms;

    for (enum role role = 0; role < ROLES; role++) {
        const uint64_t kills = run->siege.kills[role];

        needed += (siege_absent(&run->siege) & 1u << role) == 0 && kills < each ? (int64_t)(each - kills) : 0;
    }
    needed = needed * 100 / BLOWS_KILL_SHARE;
    pause_ms =
        needed == 0 || left_ms <= 0 || elapsed_ms < 1 ? PAUSE_MOST_MS : left_ms * run->storm_ms / elapsed_ms / needed;
    run->dealer.pause_ms = pause_ms < PAUSE_LEAST_MS  ? PAUSE_LEAST_MS
                           : pause_ms > PAUSE_MOST_MS ? PAUSE_MOST_MS
                                                      : pause_ms;
}

static bool
next_blow(struct run *run, struct blow *ret_blow)
{
    char line[LINE_MOST];

    if (run->replay == NULL) {
        if (run->is_long) {
            keep_pace(run);
        }
        *ret_blow = blows_draw(&run->dealer);
        return true;
    }
    return fgets(line, sizeof line, run->replay) != NULL && blows_read(line, ret_blow);
}

static void
storm(struct run *run)
{
    int64_t due_ns = gr_now_ns(), since_ns = due_ns;
    struct blow blow;

    while (goes_on(run) && next_blow(run, &blow)) {
        due_ns += blow.after_ms * 1000000;
        while (goes_on(run) && gr_now_ns() < due_ns) {
            siege_tick(&run->siege);
        }
        if (!goes_on(run)) {
            break;
        }
        if (run->record != NULL) {
            blows_write(run->record, &blow);
            (void)fflush(run->record); /* it is there when this process dies */
        }
        run->storm_ms += (gr_now_ns() - since_ns) / 1000000;
        since_ns = gr_now_ns();
        if (blow.kind == BLOW_REST) {
            siege_rest(&run->siege);
            siege_load(&run->siege);
            since_ns = gr_now_ns();
        } else {
            siege_strike(&run->siege, &blow);
        }
        due_ns = due_ns < gr_now_ns() ? gr_now_ns() : due_ns;
    }
    siege_rest(&run->siege);
}

/* ---- setting up ---- */

static void
write_head(const struct run *run)
{
    const struct options *options = &run->options;

    (void)fprintf(run->record,
                  "whole seed %" PRIu64 " memory %" PRIu64
                  " clients %u graphers %u executors %u schedulers %u plain %d\n",
                  options->seed, options->memory, options->clients, run->grapher_count, options->executors,
                  options->schedulers, run->plain);
}

static bool
read_head(struct run *run)
{
    struct options *options = &run->options;
    char line[LINE_MOST];
    int plain = 0;
    bool good =
        fgets(line, sizeof line, run->replay) != NULL &&
        sscanf(line,
               "whole seed %" SCNu64 " memory %" SCNu64 " clients %u graphers %u executors %u schedulers %u plain %d",
               &options->seed, &options->memory, &options->clients, &run->grapher_count, &options->executors,
               &options->schedulers, &plain) == 7;

    run->plain = plain != 0;
    return good && options->clients >= 1 && options->clients <= TORMENTED_MOST && run->grapher_count >= 1 &&
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
    bool is_long = run->is_long = duration >= 60000 || run->kills_each > 0;

    run->dealer = (struct dealer){.seed = run->options.seed,
                                  .pause_ms = is_long ? PAUSE_MOST_MS : 250,
                                  .rest_ms = duration >= HOUR_MS / 6 ? 45000
                                             : is_long               ? 20000
                                                                     : duration,
                                  .upgrade_ms = run->plain ? 0
                                                : is_long  ? 45000
                                                           : duration / 3,
                                  .kills = run->siege.kills,
                                  .is_there = siege_has,
                                  .context = &run->siege,
                                  .stop_least_ms = is_long ? 1000 : 100,
                                  .stop_most_ms = is_long ? 10000 : 500,
                                  .standby = true,
                                  .absent = siege_absent(&run->siege)};
}

static bool
set_up(struct run *run)
{
    const struct options *options = &run->options;

    if (!open_schedules(run)) {
        return false;
    }
    options_settle(&run->options, 0, 0);
    interrupt_catch();
    if (!siege_begin(&run->siege, options, run->grapher_count, GRAPHS, options->memory * 2, run->plain ? 0 : ~0u,
                     run->python)) {
        return false;
    }
    run->siege.keep = run->keep;
    prepare_blows(run);
    return true;
}

static int
run_whole(struct cli *cli)
{
    struct run *run = cli->self;
    bool clean;

    if (run->minimise_path != NULL) {
        return minimise(run->minimise_path, run->tries);
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* processes that are forked would say it again */
    (void)printf("torture whole: seed %" PRIu64 "\n", run->options.seed);
    if (!set_up(run)) {
        return 1;
    }
    if (siege_calm(&run->siege)) {
        siege_load(&run->siege);
        run->begin_ns = gr_now_ns();
        run->end_ns = gr_deadline_ns(run->options.duration_ms);
        storm(run);
    }
    clean = siege_end(&run->siege);
    clean = siege_report(&run->siege) && clean;
    (void)printf("%s\n", clean ? "lost 0, wrong 0, stale 0, leaked 0" : "NOT CLEAN");
    siege_destroy(&run->siege);
    close_schedules(run);
    return clean ? 0 : 1;
}

static const struct gr_option list[] = {
    OPTION_SECONDS("how long; default: 20"),
    OPTION_SEED,
    OPTION_MEMORY("the store's budget; default: 32M"),
    OPTION_CLIENTS("clients of the store; default: 4", TORMENTED_MOST),
    OPTION_EXECUTORS("executors; default: 3"),
    OPTION_SCHEDULERS("2"),
    {"graphers", 'g', "G", "clients with graphs; default: 3",
     GR_OPTION_NUMBER(struct run, grapher_count, 1, GRAPHERS_MOST)},
    {"plain", 0, NULL, "only objects and graphs: no tables, channels, queries, files, pages, programs",
     GR_OPTION_FLAG(struct run, plain)},
    {"python", 0, "FILE", "a program of workers in Python, as tests/python/load/worker.py; default: none run",
     GR_OPTION_TEXT(struct run, python)},
    {"kills-each", 0, "N", "go on until each kind of process was killed N times",
     GR_OPTION_NUMBER(struct run, kills_each, 1, UINT32_MAX)},
    {"keep", 0, "DIR",
     "when something is wrong, copy shared memory, spill files and logs there, for `granary ls --copy DIR`",
     GR_OPTION_TEXT(struct run, keep)},
    {"record", 0, "FILE", "write what was done to whom and when", GR_OPTION_TEXT(struct run, record_path)},
    {"replay", 0, "FILE", "do that again", GR_OPTION_TEXT(struct run, replay_path)},
    {"minimise", 0, "FILE",
     "repeat a recorded schedule that failed with parts left out, and write the smallest that fails to FILE.min",
     GR_OPTION_TEXT(struct run, minimise_path)},
    {"tries", 0, "N", "how often each schedule is tried for that; default: 3",
     GR_OPTION_NUMBER(struct run, tries, 1, 1000)},
    {0}};

const struct command torture_whole = {.options = list,
                                      COMMAND_SELF(struct run,
                                                   .options = {.duration_ms = 20000,
                                                               .seed = 1,
                                                               .memory = 32 << 20,
                                                               .memory_least = 16 << 20,
                                                               .clients = 4,
                                                               .executors = 3,
                                                               .schedulers = 2},
                                                   .grapher_count = 3, .tries = 3),
                                      .alone = true,
                                      .run = run_whole};
