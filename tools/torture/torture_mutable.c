/*
 * Mutable tables in a private store: writers and readers, whoever kills and stops them and the store, and the verdict.
 * All of it goes in rounds, each with new tables, so that what is noted has an end.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "torture/common/interrupt.h"
#include "torture/common/options.h"
#include "torture/common/own.h"
#include "torture/common/random.h"
#include "torture/tables/reader.h"
#include "torture/tables/stage.h"
#include "torture/tables/writer.h"
#include "torture/torture.h"

#define IDLE_PART   10u    /* the readers are alone for that part of the time, at first */
#define STOP_MS     180000 /* for a process to end, when it was told to */
#define NANO        1000000000u
#define LIVES_SPARE 64u

enum party { WRITERS, READERS, PARTIES };

struct run {
    struct options options;
    uint64_t rows; /* of a round */
    uint64_t rate; /* appends a second of each writer; 0: as fast as it can */
    unsigned writer_count, reader_count;
    struct own_store own;
    struct journal journal;
    struct pack packs[PARTIES];
    uint64_t seed;
    int64_t end_ns;
    uint64_t kills[PARTIES], stops[PARTIES];
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

/* ---- blows ---- */

static uint64_t
all_kills(const struct run *run)
{
    return run->own.kills + run->kills[WRITERS] + run->kills[READERS];
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
    random_pause(&run->seed, OWN_PAUSE_NS);
    if (then == 0 && !run->options.spare_store) {
        own_store_kill(&run->own, &run->seed);
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

    random_pause(&run->seed, OWN_PAUSE_NS);
    if (dice < 20) {
        if (!run->options.spare_store) {
            own_store_kill(&run->own, &run->seed);
        }
    } else if (dice < 50) {
        kill_one(run, WRITERS);
    } else if (dice < 65) {
        kill_one(run, READERS);
    } else {
        stop_one(run, dice < 90 ? WRITERS : READERS);
    }
}

/* ---- a round ---- */

static bool
goes_on(const struct run *run)
{
    const uint64_t kills = run->options.kills;

    return !run->own.broken && !interrupted() && (kills > 0 ? all_kills(run) < kills : gr_now_ns() < run->end_ns);
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
        random_pause(&run->seed, OWN_PAUSE_NS);
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
    pack_start(&run->packs[READERS]);
    pack_start(&run->packs[WRITERS]);
    while (round_goes_on(run)) {
        strike(run);
    }
    run->worked_ns += gr_now_ns() - began_ns;
    atomic_store(&run->journal.board->stop, true);
    for (enum party party = 0; party < PARTIES; party++) {
        if (run->own.broken) {
            pack_kill(&run->packs[party]);
        } else {
            pack_await(&run->packs[party], STOP_MS);
        }
    }
    count_round(run);
    run->wrong += run->own.broken || !stage_judge(&run->journal, run->seed);
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
                 " at past ones, %" PRIu64 " of cuts, %" PRIu64 " of now, %" PRIu64 " of snapshots; %" PRIu64
                 " turns missed\n",
                 all, seconds > 0 ? (double)all / seconds : 0, run->reads[READ_FIXED], run->reads[READ_PAST],
                 run->reads[READ_CUT], run->reads[READ_NOW], run->reads[READ_SNAPSHOT], atomic_load(&board->late));
    (void)printf("a fixed read       p99.9 of processor time %.3f ms idle, %.3f ms beside writers: ratio %.2f\n",
                 (double)idle / 1e6, (double)busy / 1e6, idle > 0 ? (double)busy / (double)idle : 0);
    (void)printf("                   p99.9 of wall clock     %.3f ms idle, %.3f ms beside writers (%" PRIu64
                 " and %" PRIu64 " reads)\n",
                 (double)spread_quantile(&board->wall[true], 999) / 1e6,
                 (double)spread_quantile(&board->wall[false], 999) / 1e6, spread_count(&board->cpu[true]),
                 spread_count(&board->cpu[false]));
}

static bool
report(const struct run *run, bool clean)
{
    const struct board *board = run->journal.board;
    const double seconds = (double)run->worked_ns / NANO;
    const uint64_t crashes = run->packs[WRITERS].crashes + run->packs[READERS].crashes;

    (void)printf("store killed       %" PRIu64 " times, restarted %" PRIu64 "\n", run->own.kills, run->own.restarts);
    (void)printf("writers killed     %" PRIu64 ", stopped %" PRIu64 "\n", run->kills[WRITERS], run->stops[WRITERS]);
    (void)printf("readers killed     %" PRIu64 ", stopped %" PRIu64 "\n", run->kills[READERS], run->stops[READERS]);
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
                 " --writers %u --readers %u --rows %" PRIu64 " --rate %" PRIu64 " --kills %" PRIu64 "%s\n",
                 options->duration_ms, options->seed, options->memory, run->writer_count, run->reader_count, run->rows,
                 run->rate, options->kills, options->spare_store ? " --spare-store" : "");
}

/* ---- setting up ---- */

static bool
set_up(struct run *run)
{
    run->seed = run->options.seed;
    if (!own_store_start(&run->own, run->options.memory)) {
        return false;
    }
    if (!journal_create(&run->journal, run->own.store.directory, run->own.store.directory, run->writer_count,
                        run->reader_count, run->rows / run->writer_count)) {
        perror("granary: torture: journal");
        journal_destroy(&run->journal);
        (void)own_store_stop(&run->own);
        return false;
    }
    run->journal.pace_ns = run->rate > 0 ? NANO / run->rate : 0;
    run->packs[WRITERS] = (struct pack){
        .what = "writer", .count = run->writer_count, .run = run_writer, .context = &run->journal, .seed = run->seed};
    run->packs[READERS] = (struct pack){
        .what = "reader", .count = run->reader_count, .run = run_reader, .context = &run->journal, .seed = ~run->seed};
    return true;
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
    clean = own_store_stop(&run->own);
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
    OPTION_KILLS("go on until so many processes were killed, whatever the time"),
    OPTION_SPARE_STORE,
    {0}};

const struct command torture_mutable = {
    .options = list,
    COMMAND_SELF(struct run,
                 .options = {.duration_ms = 10000, .seed = 1, .memory = 128 << 20, .memory_least = 16 << 20},
                 .rows = 400000, .writer_count = 4, .reader_count = 4),
    .alone = true,
    .run = run_mutable};
