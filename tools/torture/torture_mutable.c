/*
 * Mutable tables in a private instance: writers, readers, a graph a second, whoever kills and stops them and the daemons, and
 * the verdict. All of it goes in rounds, each with new tables, so that what is noted has an end.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "torture/common/interrupt.h"
#include "torture/common/options.h"
#include "torture/common/random.h"
#include "torture/instance/realm.h"
#include "torture/tables/grouper.h"
#include "torture/tables/reader.h"
#include "torture/tables/stage.h"
#include "torture/tables/writer.h"
#include "torture/torture.h"

#define IDLE_PART   10u    /* the readers are alone for that part of the time, at first */
#define STOP_MS     180000 /* for a process to end, when it was told to */
#define NANO        1000000000u
#define LIVES_SPARE 64u
#define RESTART_NS  20000000u /* a daemon that was killed is back by then, or not */
#define FALLS_MOST  3u        /* of the store, in a row */
#define STOP_NS     80000000u /* a process stands still for that, at most */
#define IDLE_NS     10000000u

enum party { WRITERS, READERS, GROUPERS, PARTIES };

struct run {
    struct options options;
    uint64_t rows;    /* of a round */
    int64_t pause_ms; /* between two blows, at most */
    uint64_t rate;    /* appends a second of each writer; 0: as fast as it can */
    unsigned writer_count, reader_count;
    struct realm realm;
    struct journal journal;
    struct pack packs[PARTIES];
    uint64_t seed;
    int64_t end_ns;
    uint64_t kills[PARTIES], stops[PARTIES], falls[ROLES]; /* clients, and those of the instance */
    /* Of rounds that are over. */
    uint64_t rounds, wrong;
    uint64_t appends, rows_written, refused, reads[READ_KINDS];
    int64_t worked_ns;
};

static void
run_writer(void *context, unsigned number, uint64_t seed)
{
    writer_run(context, number, seed);
}

static void
run_reader(void *context, unsigned number, uint64_t seed)
{
    reader_run(context, number, seed);
}

/* The groupers' diaries are behind the readers'. */
static void
run_grouper(void *context, unsigned number, uint64_t seed)
{
    const struct journal *journal = context;

    grouper_run(journal, journal->readers - 1 - number, seed);
}

/* ---- blows ---- */

static uint64_t
all_kills(const struct run *run)
{
    uint64_t kills = 0;

    for (enum party party = 0; party < PARTIES; party++) {
        kills += run->kills[party];
    }
    for (enum role role = 0; role < ROLES; role++) {
        kills += run->falls[role];
    }
    return kills;
}

/* One of the instance's. Its supervisor starts another, which may fall as well, while it takes over; not so often in a row that
 * the supervisor gives up. */
static void
fell(struct run *run, enum role role)
{
    unsigned falls = 0;

    do {
        const pid_t victim = realm_find(&run->realm, role, (unsigned)random_next(&run->seed));

        run->falls[role] += victim > 0 && realm_signal(&run->realm, victim, SIGKILL, NULL);
        random_pause(&run->seed, RESTART_NS);
    } while (role == ROLE_STORE && ++falls < FALLS_MOST && random_next(&run->seed) % 4 == 0);
}

static void
kill_one(struct run *run, enum party party)
{
    struct pack *pack = &run->packs[party];

    pack_replace(pack, (unsigned)(random_next(&run->seed) % pack->count), SIGKILL);
    run->kills[party]++;
}

/* One stands still, perhaps between the two steps of a commit, while the others go on; perhaps for ever. */
static void
stop_one(struct run *run, enum party party)
{
    struct pack *pack = &run->packs[party];
    unsigned victim = (unsigned)(random_next(&run->seed) % pack->count);
    uint64_t then = random_next(&run->seed) % 4;

    (void)kill(pack->pids[victim], SIGSTOP);
    random_pause(&run->seed, STOP_NS);
    if (then == 0 && !run->options.spare_store) {
        fell(run, ROLE_STORE);
    }
    if (then == 1) {
        pack_replace(pack, victim, SIGKILL);
        run->kills[party]++;
    } else {
        (void)kill(pack->pids[victim], SIGCONT);
    }
    run->stops[party]++;
}

static void
strike(struct run *run)
{
    uint64_t dice = random_next(&run->seed) % 100;

    random_pause(&run->seed, (uint64_t)run->pause_ms * 1000000);
    if (dice < 20) {
        if (!run->options.spare_store) {
            fell(run, ROLE_STORE);
        }
    } else if (dice < 25) {
        fell(run, dice < 22 ? ROLE_SCHED : ROLE_EXECUTOR);
    } else if (dice < 65) {
        kill_one(run, dice < 50 ? WRITERS : dice < 63 ? READERS : GROUPERS);
    } else {
        stop_one(run, dice < 90 ? WRITERS : READERS);
    }
}

/* ---- a round ---- */

static bool
goes_on(const struct run *run)
{
    const uint64_t kills = run->options.kills;

    return !interrupted() && (kills > 0 ? all_kills(run) < kills : gr_now_ns() < run->end_ns);
}

/* Whether writers have anything left to write, and the journal has room for more of their lives. */
static bool
round_goes_on(const struct run *run)
{
    bool done = true;

    for (unsigned i = 0; i < run->journal.writers; i++) {
        done = done && atomic_load(&run->journal.hands[i]->rows) >= run->journal.share;
    }
    return goes_on(run) && !done && atomic_load(&run->journal.board->lives) < SIGHT_LIVES - LIVES_SPARE;
}

/* What a read at the fixed time takes while nothing else goes on. */
static void
look_idle(struct run *run)
{
    int64_t end_ns = gr_deadline_ns(run->options.duration_ms / IDLE_PART);

    atomic_store(&run->journal.board->idle, true);
    pack_start(&run->packs[READERS]);
    while (goes_on(run) && gr_now_ns() < end_ns) {
        random_pause(&run->seed, IDLE_NS);
    }
    atomic_store(&run->journal.board->idle, false);
}

static void
count_round(struct run *run)
{
    for (unsigned i = 0; i < run->journal.writers; i++) {
        const struct hand *hand = run->journal.hands[i];

        for (uint64_t k = 0; k < atomic_load(&hand->count); k++) {
            run->appends += atomic_load(&hand->appends[k].outcome) == APPEND_DONE;
            run->refused += atomic_load(&hand->appends[k].outcome) == APPEND_REFUSED;
        }
        run->rows_written += atomic_load(&hand->rows);
    }
    for (unsigned i = 0; i < run->journal.readers; i++) {
        const struct read *read = NULL;

        while ((read = diary_next(run->journal.diaries[i], read)) != NULL) {
            run->reads[read->kind]++;
        }
    }
}

static void
play_round(struct run *run)
{
    int64_t began_ns;

    journal_clear(&run->journal);
    if (!stage_set(&run->journal)) {
        run->wrong++;
        return;
    }
    if (run->rounds == 0) {
        look_idle(run);
    }
    began_ns = gr_now_ns();
    for (enum party party = 0; party < PARTIES; party++) {
        pack_start(&run->packs[party]);
    }
    while (round_goes_on(run)) {
        strike(run);
    }
    run->worked_ns += gr_now_ns() - began_ns;
    atomic_store(&run->journal.board->stop, true);
    for (enum party party = 0; party < PARTIES; party++) {
        pack_await(&run->packs[party], STOP_MS);
    }
    count_round(run);
    run->wrong += !stage_judge(&run->journal, run->seed, true);
    run->rounds++;
}

/* ---- the report ---- */

static void
report_reads(const struct run *run)
{
    const struct board *board = run->journal.board;
    const uint64_t idle = spread_quantile(&board->cpu[true], 999), busy = spread_quantile(&board->cpu[false], 999);
    const double seconds = (double)run->worked_ns / NANO;
    uint64_t all = 0;

    for (enum read_kind kind = 0; kind < READ_KINDS; kind++) {
        all += run->reads[kind];
    }
    (void)printf("reads              %" PRIu64 ", %.0f a second: %" PRIu64 " at the fixed time, %" PRIu64
                 " at past ones, %" PRIu64 " of cuts, %" PRIu64 " of now, %" PRIu64 " of snapshots, %" PRIu64
                 " by graphs; %" PRIu64 " turns missed\n",
                 all, seconds > 0 ? (double)all / seconds : 0, run->reads[READ_FIXED], run->reads[READ_PAST],
                 run->reads[READ_CUT], run->reads[READ_NOW], run->reads[READ_SNAPSHOT], run->reads[READ_GRAPH],
                 atomic_load(&board->late));
    (void)printf(
        "a fixed read       p99.9 of processor time %.3f ms idle, %.3f ms beside writers: ratio %.2f (medians %.3f and "
        "%.3f, p99 %.3f and %.3f)\n",
        (double)idle / 1e6, (double)busy / 1e6, idle > 0 ? (double)busy / (double)idle : 0,
        (double)spread_quantile(&board->cpu[true], 500) / 1e6, (double)spread_quantile(&board->cpu[false], 500) / 1e6,
        (double)spread_quantile(&board->cpu[true], 990) / 1e6, (double)spread_quantile(&board->cpu[false], 990) / 1e6);
    (void)printf("                   p99.9 of wall clock     %.3f ms idle, %.3f ms beside writers (%" PRIu64
                 " and %" PRIu64 " reads)\n",
                 (double)spread_quantile(&board->wall[true], 999) / 1e6,
                 (double)spread_quantile(&board->wall[false], 999) / 1e6, spread_count(&board->cpu[true]),
                 spread_count(&board->cpu[false]));
    (void)printf("a handle's first   median of processor time %.3f ms, p99.9 %.3f ms (%" PRIu64 " reads)\n",
                 (double)spread_quantile(&board->first_cpu, 500) / 1e6,
                 (double)spread_quantile(&board->first_cpu, 999) / 1e6, spread_count(&board->first_cpu));
}

static bool
report(const struct run *run, bool clean)
{
    const struct board *board = run->journal.board;
    const double seconds = (double)run->worked_ns / NANO;
    const uint64_t crashes = run->packs[WRITERS].crashes + run->packs[READERS].crashes + run->packs[GROUPERS].crashes;

    (void)printf("store killed       %" PRIu64 ", schedulers %" PRIu64 ", executors %" PRIu64 "\n",
                 run->falls[ROLE_STORE], run->falls[ROLE_SCHED], run->falls[ROLE_EXECUTOR]);
    (void)printf("writers killed     %" PRIu64 ", stopped %" PRIu64 "\n", run->kills[WRITERS], run->stops[WRITERS]);
    (void)printf("readers killed     %" PRIu64 ", stopped %" PRIu64 "; %" PRIu64 " groupers killed\n",
                 run->kills[READERS], run->stops[READERS], run->kills[GROUPERS]);
    (void)printf("appends            %" PRIu64 " of %" PRIu64
                 " rows in %.1f s: %.0f a second, %.0f rows a second; %" PRIu64 " refused\n",
                 run->appends, run->rows_written, seconds, seconds > 0 ? (double)run->appends / seconds : 0,
                 seconds > 0 ? (double)run->rows_written / seconds : 0, run->refused);
    report_reads(run);
    (void)printf("calls without room %" PRIu64 "\n", atomic_load(&board->full));
    (void)printf("calls failed       %" PRIu64 "\n", atomic_load(&board->failed));
    (void)printf("processes crashed  %" PRIu64 "\n", crashes);
    (void)printf("rounds             %" PRIu64 ", wrong %" PRIu64 "\n", run->rounds, run->wrong);
    return clean && run->wrong + crashes + atomic_load(&board->failed) == 0 && run->appends > 0;
}

static void
print_again(const struct run *run)
{
    const struct options *options = &run->options;

    (void)printf("again: granary torture mutable --seconds %" PRId64 "ms --seed %" PRIu64 " --memory %" PRIu64
                 " --writers %u --readers %u --executors %u --rows %" PRIu64 " --rate %" PRIu64 " --pause %" PRId64
                 "ms --kills %" PRIu64 "%s\n",
                 options->duration_ms, options->seed, options->memory, run->writer_count, run->reader_count,
                 options->executors, run->rows, run->rate, run->pause_ms, options->kills,
                 options->spare_store ? " --spare-store" : "");
}

/* ---- setting up ---- */

static bool
set_up(struct run *run)
{
    struct journal *journal = &run->journal;

    run->seed = run->options.seed;
    if (!realm_create(&run->realm, &run->options)) {
        return false;
    }
    if (!journal_create(journal, run->realm.directory, run->realm.instance, run->writer_count, run->reader_count + 1,
                        run->rows / run->writer_count) ||
        !realm_up(&run->realm)) {
        perror("granary: torture");
        journal_destroy(journal);
        realm_destroy(&run->realm);
        return false;
    }
    journal->pace_ns = run->rate > 0 ? NANO / run->rate : 0;
    run->packs[WRITERS] = (struct pack){
        .what = "writer", .count = run->writer_count, .run = run_writer, .context = journal, .seed = run->seed};
    run->packs[READERS] = (struct pack){
        .what = "reader", .count = run->reader_count, .run = run_reader, .context = journal, .seed = ~run->seed};
    run->packs[GROUPERS] =
        (struct pack){.what = "grouper", .count = 1, .run = run_grouper, .context = journal, .seed = run->seed / 2};
    return true;
}

static bool
tear_down(struct run *run)
{
    const bool clean = realm_down(&run->realm);

    realm_destroy(&run->realm);
    return clean;
}

static int
run_mutable(struct cli *cli)
{
    struct run *run = cli->self;
    bool clean;

    options_settle(&run->options, 0, 0);
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* processes that are forked would say it again */
    (void)printf("torture mutable: seed %" PRIu64 "\n", run->options.seed);
    interrupt_catch();
    if (!set_up(run)) {
        return 1;
    }
    run->end_ns = gr_deadline_ns(run->options.duration_ms);
    do {
        play_round(run);
    } while (goes_on(run) && run->wrong == 0);
    clean = tear_down(run);
    clean = report(run, clean);
    if (!clean) {
        print_again(run);
    }
    journal_destroy(&run->journal);
    return clean ? 0 : 1;
}

static const struct gr_option list[] = {
    OPTION_SECONDS("how long; default: 10"),
    OPTION_SEED,
    OPTION_MEMORY("the store's budget; default: 128M"),
    {"writers", 'w', "W", "processes that append; default: 4",
     GR_OPTION_NUMBER(struct run, writer_count, 1, PACK_MOST)},
    {"readers", 'r', "R", "processes that read; default: 4", GR_OPTION_NUMBER(struct run, reader_count, 1, PACK_MOST)},
    {"rows", 0, "N", "of a round, after which all is checked; default: 400000",
     GR_OPTION_NUMBER(struct run, rows, 1, 1000000000)},
    {"rate", 0, "N", "appends a second of each writer; default: as many as it can",
     GR_OPTION_NUMBER(struct run, rate, 0, 1000000000)},
    {"pause", 0, "DURATION", "between two blows, at most; default: 80ms", GR_OPTION_MS(struct run, pause_ms)},
    OPTION_EXECUTORS("executors of the graphs; default: 2"),
    OPTION_KILLS("go on until so many processes were killed, whatever the time"),
    OPTION_SPARE_STORE,
    {0}};

const struct command torture_mutable = {.options = list,
                                        COMMAND_SELF(struct run,
                                                     .options = {.duration_ms = 10000,
                                                                 .seed = 1,
                                                                 .memory = 128 << 20,
                                                                 .memory_least = 16 << 20,
                                                                 .executors = 2,
                                                                 .schedulers = 1},
                                                     .rows = 400000, .pause_ms = 80, .writer_count = 4,
                                                     .reader_count = 4),
                                        .alone = true,
                                        .run = run_mutable};
