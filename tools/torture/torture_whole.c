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

#define GRAPHS    12u
#define LINE_MOST 256

struct run {
    struct options options;
    unsigned grapher_count;
    uint64_t kills_each; /* go on until each kind was killed so often; 0: the time counts */
    const char *record_path, *replay_path, *minimise_path;
    unsigned tries;
    FILE *record, *replay;
    struct dealer dealer;
    struct siege siege;
    int64_t end_ns;
};

static bool
killed_enough(const struct run *run)
{
    for (enum role role = 0; role < ROLES; role++) {
        if (run->siege.kills[role] < run->kills_each && (role != ROLE_STANDBY || run->options.schedulers > 1)) {
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
            siege_tick(&run->siege);
        }
        if (!goes_on(run)) {
            break;
        }
        if (run->record != NULL) {
            blows_write(run->record, &blow);
            (void)fflush(run->record); /* it is there when this process dies */
        }
        if (blow.kind == BLOW_REST) {
            siege_rest(&run->siege);
            siege_load(&run->siege);
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

    if (!open_schedules(run)) {
        return false;
    }
    options_settle(&run->options, 0, 0);
    prepare_blows(run);
    interrupt_catch();
    return siege_begin(&run->siege, options, run->grapher_count, GRAPHS, options->memory * 2);
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
    bool clean;

    argv[0] = name;
    argp_err_exit_status = granary_error_exit_status(GRANARY_EINVAL);
    (void)argp_parse(&parser, argc, argv, 0, NULL, &run);
    if (run.minimise_path != NULL) {
        return minimise(run.minimise_path, run.tries);
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* processes that are forked would say it again */
    (void)printf("torture whole: seed %" PRIu64 "\n", run.options.seed);
    if (!set_up(&run)) {
        return 1;
    }
    if (siege_calm(&run.siege)) {
        siege_load(&run.siege);
        run.end_ns = gr_deadline_ns(run.options.duration_ms);
        storm(&run);
    }
    clean = siege_end(&run.siege);
    clean = siege_report(&run.siege) && clean;
    (void)printf("%s\n", clean ? "lost 0, wrong 0, leaked 0" : "NOT CLEAN");
    siege_destroy(&run.siege);
    close_schedules(&run);
    return clean ? 0 : 1;
}
