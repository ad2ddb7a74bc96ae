/*
 * Every other read is one of few rows at a time that is long past: its time on the processor is what it is without
 * writers, or they disturb it. The others read all there is, or was at some time, and may take a tenth of the time.
 */
#include "torture/tables/reader.h"

#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "torture/common/client.h"
#include "torture/common/random.h"

#define WHOLE_SHARE 10       /* reads of everything may take one of so many parts of the time */
#define BACK_BITS   30u      /* times are up to so many bits of nanoseconds before the latest final one */
#define CUT_WAIT_NS 5000000u /* from a cut to reading what it made final */
#define LOOKS_BACK  8u       /* at the end, of each table */
#define REOPEN      64u      /* one of so many reads is the first one of handles */

struct reader {
    const struct journal *journal;
    struct diary *diary;
    uint64_t seed;
    granary_client *client;
    granary_mutable *tables[JOURNAL_TABLES];
    bool has_read; /* the handle of table 0, at the fixed time */
    struct eye *eye;
    int64_t turn_ns;  /* the next read's */
    int64_t whole_ns; /* when everything may be read again */
};

static uint32_t
dice(struct reader *reader, uint32_t sides)
{
    return (uint32_t)(random_next(&reader->seed) % sides);
}

static bool
failed(const struct reader *reader, granary_err err, const char *what)
{
    if (err != GRANARY_OK) {
        board_failed(reader->journal->board, err, what);
    }
    return err != GRANARY_OK;
}

/* ---- what is known before a read ---- */

/* A time that was answered before, or that of a write or the one before it, or any. GRANARY_NOW: there is none. */
static int64_t
choose_past(struct reader *reader, uint32_t table)
{
    const struct board *board = reader->journal->board;
    uint64_t answered = atomic_load(&board->past_count[table]);
    const struct hand *hand = reader->journal->hands[dice(reader, reader->journal->writers)];
    int64_t final = atomic_load(&board->final[table]);
    int64_t time = 0;

    switch (dice(reader, 3)) {
    case 0:
        answered = answered < JOURNAL_PAST ? answered : JOURNAL_PAST;
        time = answered == 0 ? 0 : atomic_load(&board->past[table][dice(reader, (uint32_t)answered)]);
        break;
    case 1:
        time = atomic_load(&hand->newest[table]);
        time = time == INT64_MIN ? 0 : time - dice(reader, 2);
        break;
    default:
        time = final == INT64_MIN ? 0 : final - dice(reader, 1u << dice(reader, BACK_BITS));
        break;
    }
    return time == 0 ? GRANARY_NOW : time;
}

/* ---- reads ---- */

/* Read, look and note. */
static bool
read_table(struct reader *reader, uint32_t table, int64_t time, struct read what)
{
    const struct sighting *sighting;
    granary_frame *frame = NULL;

    if (failed(reader, granary_mutable_read_frame(reader->tables[table], time, &frame), "read")) {
        return false;
    }
    sighting = eye_look(reader->eye, frame, table);
    granary_frame_close(frame);
    what.table = (uint8_t)table;
    if (what.kind == READ_NOW && /* at which time was it? */
        failed(reader, granary_cut(&reader->tables[table], 1, &what.time), "cut")) {
        return false;
    }
    diary_note(reader->diary, what, sighting);
    board_answered(reader->journal->board, table, what.time);
    return true;
}

static bool
read_at(struct reader *reader, uint32_t table, int64_t time, enum read_kind kind)
{
    return read_table(reader, table, time,
                      (struct read){.kind = (uint8_t)kind, .from = time, .time = time, .acknowledged = INT64_MIN});
}

static int64_t
cpu_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool
read_fixed(struct reader *reader)
{
    struct board *board = reader->journal->board;
    const bool idle = atomic_load(&board->idle);
    int64_t wall = gr_now_ns();
    int64_t cpu = cpu_ns();
    bool done = read_at(reader, 0, board->fixed, READ_FIXED);

    if (reader->has_read) {
        spread_note(&board->cpu[idle], (uint64_t)(cpu_ns() - cpu));
        spread_note(&board->wall[idle], (uint64_t)(gr_now_ns() - wall));
    } else if (!idle) {
        spread_note(&board->first_cpu, (uint64_t)(cpu_ns() - cpu));
    }
    reader->has_read = true;
    return done;
}

/* By name of now; the read does not tell which time that is, so it is between two cuts. */
static bool
read_now(struct reader *reader, uint32_t table)
{
    struct read what = {.kind = READ_NOW,
                        .from = GRANARY_NOW,
                        .time = GRANARY_NOW,
                        .acknowledged = journal_acknowledged(reader->journal, table)};

    return !failed(reader, granary_cut(&reader->tables[table], 1, &what.from), "cut") &&
           read_table(reader, table, GRANARY_NOW, what);
}

/* Several tables at one time, one after the other. */
static bool
read_cut(struct reader *reader, int64_t time)
{
    struct board *board = reader->journal->board;
    int64_t acknowledged = INT64_MIN;
    bool done;

    for (uint32_t i = 0; time == GRANARY_NOW && i < JOURNAL_TABLES; i++) {
        int64_t latest = journal_acknowledged(reader->journal, i);

        acknowledged = latest > acknowledged ? latest : acknowledged;
    }
    done = !failed(reader, granary_cut(reader->tables, JOURNAL_TABLES, &time), "cut");
    for (uint32_t i = 0; done && i < JOURNAL_TABLES; i++) {
        board_answered(board, i, time);
    }
    for (uint32_t i = 0; done && i < JOURNAL_TABLES; i++) {
        if (dice(reader, 2) == 0) {
            random_pause(&reader->seed, CUT_WAIT_NS);
        }
        done = read_table(reader, i, time,
                          (struct read){.kind = READ_CUT, .from = time, .time = time, .acknowledged = acknowledged});
    }
    return done;
}

/* What a snapshot has, which is gone afterwards. */
static bool
look_at_snapshot(struct reader *reader, uint32_t table, granary_id id, struct read what)
{
    const struct sighting *sighting;
    granary_mutable *sealed = NULL;
    granary_frame *frame = NULL;
    bool done = !failed(reader, granary_sealed_open(reader->client, id, &sealed), "open a snapshot") &&
                !failed(reader, granary_mutable_read_frame(sealed, GRANARY_NOW, &frame), "read a snapshot");

    if (done) {
        sighting = eye_look(reader->eye, frame, table);
        what.table = (uint8_t)table;
        diary_note(reader->diary, what, sighting);
        board_answered(reader->journal->board, table, what.time);
    }
    granary_frame_close(frame);
    granary_mutable_close(sealed);
    return !failed(reader, granary_object_delete(reader->client, id, 0), "delete a snapshot") && done;
}

static bool
read_snapshot(struct reader *reader, uint32_t table, int64_t time)
{
    const struct read what = {.kind = READ_SNAPSHOT, .from = time, .time = time, .acknowledged = INT64_MIN};
    granary_id id;

    return !failed(reader, granary_mutable_snapshot(reader->tables[table], time, NULL, &id), "snapshot") &&
           look_at_snapshot(reader, table, id, what);
}

static bool
read_whole(struct reader *reader)
{
    const int64_t began = gr_now_ns();
    const uint32_t table = dice(reader, JOURNAL_TABLES);
    const uint32_t kind = dice(reader, 5);
    int64_t past = choose_past(reader, table);
    bool done = kind == 0                          ? read_cut(reader, GRANARY_NOW)
                : kind == 1                        ? read_cut(reader, past)
                : kind == 2 || past == GRANARY_NOW ? read_now(reader, table)
                : kind == 3                        ? read_snapshot(reader, table, past)
                                                   : read_at(reader, table, past, READ_PAST);

    reader->whole_ns = gr_now_ns() + (gr_now_ns() - began) * (WHOLE_SHARE - 1);
    return done;
}

/* ---- a life ---- */

static bool
open_tables(struct reader *reader)
{
    reader->has_read = false;
    for (uint32_t i = 0; i < JOURNAL_TABLES; i++) {
        if (failed(reader, granary_mutable_open(reader->client, journal_table(i), &reader->tables[i]), "open")) {
            return false;
        }
    }
    return true;
}

static void
close_tables(struct reader *reader)
{
    for (uint32_t i = 0; i < JOURNAL_TABLES; i++) {
        granary_mutable_close(reader->tables[i]);
        reader->tables[i] = NULL;
    }
}

static bool
begin(struct reader *reader, const struct journal *journal, unsigned number, uint64_t seed)
{
    *reader = (struct reader){
        .journal = journal, .diary = journal->diaries[number], .seed = seed, .eye = eye_open(), .turn_ns = gr_now_ns()};
    return !failed(reader, reader->eye != NULL ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "out of memory"), "reader");
}

/* Until the next read's turn, or for a moment of it. */
static void
await_turn(struct reader *reader)
{
    int64_t now = gr_now_ns();

    if (reader->turn_ns + READER_SLOT_NS < now) {
        atomic_fetch_add(&reader->journal->board->late, (uint64_t)((now - reader->turn_ns) / READER_SLOT_NS));
        reader->turn_ns = now;
    } else if (reader->turn_ns > now) {
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)(reader->turn_ns - now)}, NULL);
    }
    reader->turn_ns += READER_SLOT_NS;
}

static bool
reopen(struct reader *reader)
{
    if (dice(reader, REOPEN) > 0) {
        return true;
    }
    close_tables(reader);
    return open_tables(reader);
}

/* One that fails is counted. */
static void
read_once(struct reader *reader)
{
    struct board *board = reader->journal->board;
    bool whole = !atomic_load(&board->idle) && gr_now_ns() >= reader->whole_ns && dice(reader, 2) == 0;

    (void)(whole ? read_whole(reader) : read_fixed(reader));
}

void
reader_run(const struct journal *journal, unsigned number, uint64_t seed)
{
    struct reader reader;
    bool works =
        begin(&reader, journal, number, seed) &&
        !failed(&reader, client_connect(journal->board->instance, CLIENT_PATIENCE_MS, &reader.client), "connect") &&
        open_tables(&reader);

    while (works && !atomic_load(&journal->board->stop)) {
        await_turn(&reader);
        works = reopen(&reader);
        if (works) {
            read_once(&reader);
        }
    }
    close_tables(&reader);
    granary_disconnect(reader.client);
    eye_close(reader.eye);
}

bool
reader_look_back(const struct journal *journal, granary_client *client, uint64_t seed)
{
    struct reader reader;
    bool works = begin(&reader, journal, journal->readers, seed);

    reader.client = client;
    works = works && open_tables(&reader) && read_cut(&reader, GRANARY_NOW);
    for (uint32_t i = 0; works && i < JOURNAL_TABLES * LOOKS_BACK; i++) {
        int64_t past = choose_past(&reader, i % JOURNAL_TABLES);

        works = past == GRANARY_NOW || read_at(&reader, i % JOURNAL_TABLES, past, READ_PAST);
    }
    close_tables(&reader);
    eye_close(reader.eye);
    return works;
}
