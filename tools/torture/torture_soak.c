/*
 * An hour of it: a light, steady load on one instance, clients and executors killed now and then, and samples of what
 * the instance takes of the machine. What it takes after the warm-up it may take at the end, and no more.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "torture/common/interrupt.h"
#include "torture/common/options.h"
#include "torture/instance/blows.h"
#include "torture/instance/siege.h"
#include "torture/torture.h"

#define GRAPHS      12u
#define GRAPHERS    2u
#define GRAPH_PAUSE 40
#define MIB         1048576.0
/* The scheduler remembers its last runs of subtasks, by promise: so many, and so much may it grow by with each. */
#define RUNS      262144u
#define RUN_BYTES 128
/* The state's log is begun anew when it has 16 MiB. */
#define STATE_MOST ((uint64_t)24 << 20)
/* Pages that a heap's allocator keeps, now more, now less, of each process. */
#define NOISE_BYTES (1.0 * MIB)

struct sample {
    int64_t at_ms;
    struct level level;
    uint64_t subtasks;
};

struct run {
    struct options options;
    int64_t warm_ms, every_ms;
    long pause_ms; /* of a client between two operations; of graphs GRAPH_PAUSE times as long */
    bool plain;    /* objects and graphs alone */
    const char *python;
    const char *json_path;
    FILE *json;
    struct dealer dealer;
    struct siege siege;
    int64_t began_ns;
    struct sample *samples;
    size_t count, room;
    struct sample warm, end; /* at rest */
};

/* ---- samples ---- */

static void
measure(const struct run *run, struct sample *ret_sample)
{
    ret_sample->at_ms = (gr_now_ns() - run->began_ns) / 1000000;
    ret_sample->subtasks = graphers_subtasks(&run->siege.graphers);
    level_measure(&run->siege.realm, &ret_sample->level);
}

static void
write_sample(FILE *file, const struct sample *sample, const char *when)
{
    const struct level *level = &sample->level;

    (void)fprintf(file, "{\"at_ms\": %" PRId64 ", \"when\": \"%s\", \"subtasks\": %" PRIu64, sample->at_ms, when,
                  sample->subtasks);
    for (enum role role = 0; role < REALM_ROLES; role++) {
        const struct footprint *print = &level->roles[role];

        (void)fprintf(file,
                      ", \"%s\": {\"processes\": %u, \"anon\": %" PRIu64 ", \"shared\": %" PRIu64
                      ", \"fds\": %u, \"threads\": %u}",
                      role_name(role), print->processes, print->anon, print->shared, print->fds, print->threads);
    }
    (void)fprintf(file,
                  ", \"shm_names\": %u, \"shm_bytes\": %" PRIu64 ", \"segments\": %u, \"segment_bytes\": %" PRIu64
                  ", \"runtime_files\": %u, \"runtime_bytes\": %" PRIu64 ", \"state_bytes\": %" PRIu64
                  ", \"log_bytes\": %" PRIu64 ", \"spill_files\": %u, \"spill_bytes\": %" PRIu64
                  ", \"objects\": %" PRIu64 ", \"clients\": %" PRIu64 "}\n",
                  level->names, level->names_bytes, level->segments, level->segments_bytes, level->runtime_files,
                  level->runtime_bytes, level->state_bytes, level->log_bytes, level->spill_files, level->spill_bytes,
                  level->account.objects, level->account.clients);
    (void)fflush(file);
}

static void
print_head(void)
{
    (void)printf("%8s %-6s %7s", "seconds", "", "graphs'");
    for (enum role role = 0; role < REALM_ROLES; role++) {
        (void)printf(" %10s", role_name(role));
    }
    (void)printf(" %6s %6s %5s %8s %8s %8s %8s\n%8s %-6s %7s", "fds", "thr", "shm", "shm KiB", "state", "logs", "spill",
                 "", "", "subtask");
    for (enum role role = 0; role < REALM_ROLES; role++) {
        (void)printf(" %10s", "KiB own");
    }
    (void)printf(" %6s %6s %5s %8s %8s %8s %8s\n", "", "", "names", "", "KiB", "KiB", "KiB");
}

static void
print_sample(const struct sample *sample, const char *when)
{
    const struct level *level = &sample->level;
    unsigned fds = 0;
    unsigned threads = 0;

    (void)printf("%8.1f %-6s %7" PRIu64, (double)sample->at_ms / 1000, when, sample->subtasks);
    for (enum role role = 0; role < REALM_ROLES; role++) {
        (void)printf(" %10" PRIu64, level->roles[role].anon >> 10);
        fds += level->roles[role].fds;
        threads += level->roles[role].threads;
    }
    (void)printf(" %6u %6u %5u %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n", fds, threads, level->names,
                 (level->names_bytes + level->segments_bytes) >> 10, level->state_bytes >> 10, level->log_bytes >> 10,
                 level->spill_bytes >> 10);
    (void)fflush(stdout);
}

/* One under load. Some are shown, all are kept for the slopes. */
static void
take_sample(struct run *run)
{
    if (run->count == run->room) {
        return;
    }
    measure(run, &run->samples[run->count]);
    if (run->json != NULL) {
        write_sample(run->json, &run->samples[run->count], "load");
    }
    if (run->count % (run->room / 24 + 1) == 0) {
        print_sample(&run->samples[run->count], "");
    }
    run->count++;
}

/* ---- the run ---- */

static void
run_until(struct run *run, int64_t end_ns)
{
    struct siege *siege = &run->siege;
    struct blow blow = blows_draw(&run->dealer);
    int64_t blow_ns = gr_deadline_ns(blow.after_ms);
    int64_t sample_ns = gr_now_ns();

    siege_load(siege);
    while (gr_now_ns() < end_ns && !interrupted() && siege_is_clean(siege)) {
        if (gr_now_ns() >= sample_ns) {
            take_sample(run);
            sample_ns += run->every_ms * 1000000;
        }
        if (gr_now_ns() >= blow_ns) {
            if (blow.kind != BLOW_REST) {
                siege_strike(siege, &blow);
            }
            blow = blows_draw(&run->dealer);
            blow_ns = gr_deadline_ns(blow.after_ms);
        }
        siege_tick(siege);
    }
}

/* Nobody does anything, and what is kept warm for a while is given back. */
static void
look_at_rest(struct run *run, struct sample *ret_sample, const char *when)
{
    int64_t deadline = gr_deadline_ns(run->options.duration_ms < 60000 ? 300 : 13000);

    if (!siege_quiet(&run->siege)) {
        return;
    }
    siege_inspect(&run->siege);
    while (gr_now_ns() < deadline && !interrupted()) {
        siege_tick(&run->siege);
    }
    measure(run, ret_sample);
    print_sample(ret_sample, when);
    if (run->json != NULL) {
        write_sample(run->json, ret_sample, when);
    }
}

static bool
soak(struct run *run)
{
    run->began_ns = gr_now_ns();
    print_head();
    run_until(run, run->began_ns + run->warm_ms * 1000000);
    look_at_rest(run, &run->warm, "warm");
    if (interrupted()) {
        return false;
    }
    run->siege.level = run->warm.level;
    run_until(run, run->began_ns + run->options.duration_ms * 1000000);
    look_at_rest(run, &run->end, "end");
    if (interrupted()) {
        return false;
    }
    siege_check_level(&run->siege);
    return siege_is_clean(&run->siege);
}

/* ---- the verdict ---- */

/* Bytes an hour, of samples under load after the warm-up: least squares. 0: too few. */
static double
slope_of(const struct run *run, enum role role)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;

    for (size_t i = 0; i < run->count; i++) {
        const struct sample *sample = &run->samples[i];
        double hours = (double)sample->at_ms / 3600000;
        double bytes = (double)sample->level.roles[role].anon;

        if (sample->at_ms < run->warm_ms) {
            continue;
        }
        n += 1;
        x += hours;
        y += bytes;
        xx += hours * hours;
        xy += hours * bytes;
    }
    return n < 3 || n * xx - x * x <= 0 ? 0 : (n * xy - x * y) / (n * xx - x * x);
}

/* What is remembered of runs. Those of workers are not counted one by one. */
static double
remembered(const struct run *run, const struct sample *sample)
{
    const bool all = sample == &run->end && !run->plain;

    return (double)(sample->subtasks < RUNS && !all ? sample->subtasks : RUNS) * RUN_BYTES;
}

/* Whether a kind of process holds more of its own at the end than an hour and the allocator may explain. */
static bool
has_grown(const struct run *run, enum role role)
{
    const struct footprint *begin = &run->warm.level.roles[role];
    const struct footprint *end = &run->end.level.roles[role];
    double hours = (double)(run->end.at_ms - run->warm.at_ms) / 3600000;
    double runs = role == ROLE_SCHED ? remembered(run, &run->end) - remembered(run, &run->warm) : 0;
    double grown = (double)end->anon - (double)begin->anon;
    double allowed = hours * MIB + NOISE_BYTES * end->processes + runs;

    (void)printf("%-18s own %+.0f KiB from rest to rest, allowed %.0f; under load %+.2f MiB/h\n", role_name(role),
                 grown / 1024, allowed / 1024, slope_of(run, role) / MIB);
    return grown > allowed;
}

static bool
has_more(const char *what, uint64_t begin, uint64_t end, uint64_t slack)
{
    (void)printf("%-18s %" PRIu64 " after the warm-up, %" PRIu64 " at the end%s\n", what, begin, end,
                 end > begin + slack ? ": MORE" : "");
    return end > begin + slack;
}

/* The store keeps warm pages as the load asks for them, and clients keep rooms: memory is lost when no account has it.
 */
static bool
has_hidden(const struct level *end)
{
    const granary_store_stat *account = &end->account;
    uint64_t known = account->sealed_bytes + account->writing_bytes + account->retiring_bytes + account->pooled_bytes;

    (void)printf("%-18s %u of %" PRIu64 " bytes at the end, the store accounts for %" PRIu64 "%s\n", "segments",
                 end->segments, end->segments_bytes, known, end->segments_bytes > known + (1u << 20) ? ": MORE" : "");
    return end->segments_bytes > known + (1u << 20);
}

static bool
verdict(const struct run *run)
{
    const struct level *begin = &run->warm.level;
    const struct level *end = &run->end.level;
    unsigned bad = 0;

    for (enum role role = 0; role < REALM_ROLES; role++) {
        bad += has_grown(run, role);
        bad += has_more("  descriptors", level_descriptors(begin, role), level_descriptors(end, role), 0);
        bad += has_more("  threads", begin->roles[role].threads, end->roles[role].threads, 0);
    }
    bad += has_more("names in /dev/shm", begin->names, end->names, 4);
    bad += has_more("bytes in /dev/shm", begin->names_bytes, end->names_bytes, 1u << 20);
    bad += has_hidden(end);
    bad += has_more("state on disk", begin->state_bytes < STATE_MOST ? STATE_MOST : begin->state_bytes,
                    end->state_bytes, 0);
    bad += has_more("spill files", begin->spill_files, end->spill_files, 0);
    bad += has_more("objects", begin->account.objects, end->account.objects, 0);
    bad += has_more("clients", begin->account.clients, end->account.clients, 0);
    (void)printf("logs               %" PRIu64 " bytes, %" PRIu64 " at the end of the warm-up\n", end->log_bytes,
                 begin->log_bytes);
    return bad == 0;
}

/* ---- setting up ---- */

static bool
set_up(struct run *run)
{
    int64_t duration = run->options.duration_ms;
    bool is_long = duration >= 60000;

    run->warm_ms = duration / 12 > 300000 ? 300000 : is_long ? duration / 12 : duration / 3;
    run->every_ms = is_long ? 10000 : 200;
    run->room = (size_t)(duration / run->every_ms) + 8;
    run->samples = calloc(run->room, sizeof *run->samples);
    run->dealer = (struct dealer){.seed = run->options.seed,
                                  .pause_ms = is_long ? 10000 : 300,
                                  .rest_ms = INT64_MAX / 2,
                                  .stop_least_ms = is_long ? 1000 : 50,
                                  .stop_most_ms = is_long ? 5000 : 200,
                                  .gentle = true};
    if (run->json_path != NULL && (run->json = fopen(run->json_path, "we")) == NULL) {
        perror(run->json_path);
        return false;
    }
    interrupt_catch();
    options_settle(&run->options, 0, 0);
    if (run->samples == NULL || !siege_begin(&run->siege, &run->options, GRAPHERS, GRAPHS, run->options.memory * 2,
                                             run->plain ? 0 : ~0u, run->python)) {
        return false;
    }
    run->dealer.absent = siege_absent(&run->siege);
    run->siege.crowd.torment->pause_us = run->pause_ms * 1000;
    run->siege.graphers.pause_us = run->pause_ms * 1000 * GRAPH_PAUSE;
    return true;
}

static int
run_soak(struct cli *cli)
{
    struct run *run = cli->self;
    bool clean;

    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* processes that are forked would say it again */
    (void)printf("torture soak: seed %" PRIu64 "\n", run->options.seed);
    if (!set_up(run)) {
        free(run->samples);
        return 1;
    }
    clean = siege_calm(&run->siege) && soak(run) && verdict(run);
    clean = siege_end(&run->siege) && clean;
    clean = siege_report(&run->siege) && clean;
    (void)printf("%s\n", clean ? "ends where it was after the warm-up" : interrupted() ? "INTERRUPTED" : "NOT CLEAN");
    siege_destroy(&run->siege);
    free(run->samples);
    if (run->json != NULL) {
        (void)fclose(run->json);
    }
    return clean ? 0 : 1;
}

static const struct gr_option list[] = {
    OPTION_SECONDS("how long; default: 3600"),
    OPTION_SEED,
    OPTION_MEMORY("the store's budget; default: 32M"),
    OPTION_CLIENTS("clients of the store; default: 3", TORMENTED_MOST),
    OPTION_EXECUTORS("executors; default: 2"),
    OPTION_SCHEDULERS("2"),
    {"pause", 0, "MS", "of a client between two operations; of graphs 40 times as long; default: 25",
     GR_OPTION_NUMBER(struct run, pause_ms, 0, 1000000)},
    {"plain", 0, NULL, "only objects and graphs: no tables, channels, queries, files, pages, programs",
     GR_OPTION_FLAG(struct run, plain)},
    {"python", 0, "FILE", "a program of workers in Python, as tests/python/load/worker.py; default: none run",
     GR_OPTION_TEXT(struct run, python)},
    {"json", 0, "FILE", "write each sample, a line each", GR_OPTION_TEXT(struct run, json_path)},
    {0}};

const struct command torture_soak = {.options = list,
                                     COMMAND_SELF(struct run,
                                                  .options = {.duration_ms = 3600000,
                                                              .seed = 1,
                                                              .memory = 32 << 20,
                                                              .memory_least = 16 << 20,
                                                              .clients = 3,
                                                              .executors = 2,
                                                              .schedulers = 2},
                                                  .pause_ms = 25),
                                     .alone = true,
                                     .run = run_soak};
