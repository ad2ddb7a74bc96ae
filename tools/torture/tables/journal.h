/*
 * What the writers and readers of a round began, were told and saw, in memory that outlives each of them. An append is
 * noted before it begins and completed when it has returned. So one that its writer's death cut short stands there
 * without an end. A reader notes what it saw when it has seen all of it.
 *
 * No clock is part of it. What happened before what is known because one has read what the other had noted: a writer
 * what was final (`after`), a reader what was acknowledged (`acknowledged`).
 */
#ifndef TORTURE_JOURNAL_H
#define TORTURE_JOURNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "granary/mutable.h"
#include "torture/common/pack.h"
#include "torture/common/spread.h"
#include "torture/tables/sight.h"

#define JOURNAL_TABLES 3u
#define JOURNAL_HANDS  (PACK_MOST + 1) /* writers, or readers, and whoever sets up or looks last */
#define JOURNAL_PAST   1024u

enum append_outcome {
    APPEND_UNKNOWN = 0, /* its writer died */
    APPEND_DONE = 1,
    APPEND_REFUSED = 2, /* it failed: nothing was written */
};

struct append {
    int64_t asked; /* for which time; GRANARY_NOW: to be taken */
    int64_t after; /* of its table, so much was known to be final before it began */
    int64_t time;  /* done: it was written at */
    uint32_t life;
    uint32_t rows;
    uint8_t table;
    bool forward;
    _Atomic uint8_t outcome; /* what is above is valid when it is read as not unknown */
};

/* The appends of one writer, through all of its lives. One process at a time writes it. */
struct hand {
    _Atomic uint64_t count;
    uint64_t room;
    _Atomic uint64_t rows;                  /* acknowledged */
    _Atomic int64_t newest[JOURNAL_TABLES]; /* time that was acknowledged */
    struct append appends[];
};

enum read_kind { READ_FIXED, READ_PAST, READ_CUT, READ_NOW, READ_SNAPSHOT, READ_GRAPH, READ_KINDS };

struct read {
    uint32_t size; /* bytes, with its sights */
    uint8_t kind;
    uint8_t table;
    uint8_t flaw;       /* enum flaw */
    uint32_t flaw_life; /* where it was found */
    uint32_t sight_count;
    int64_t from, time;   /* it was answered for a time not before and not after these; both are final now */
    int64_t acknowledged; /* this was the time of an append before it began, and it was for all that is there */
    uint64_t flaw_number;
    struct sight sights[]; /* of lives that had rows */
};

/* The reads of one reader, through all of its lives. */
struct diary {
    _Atomic uint64_t used;
    uint64_t room;
    _Alignas(8) char bytes[];
};

/* What all processes of a run see. */
struct board {
    char instance[96];
    _Atomic bool stop;
    _Atomic uint32_t lives; /* of writers, in this round */
    int64_t fixed;          /* a past time of table 0, with few rows */
    _Atomic int64_t final[JOURNAL_TABLES];
    _Atomic uint64_t past_count[JOURNAL_TABLES];
    _Atomic int64_t past[JOURNAL_TABLES][JOURNAL_PAST]; /* times that were answered; 0: none yet */
    /* Through all rounds. */
    _Atomic uint64_t late;         /* reads that were begun later than their turn */
    _Atomic uint64_t full;         /* calls that found no room: fine */
    _Atomic uint64_t failed;       /* calls that failed as none should */
    _Atomic uint64_t away;         /* calls that found no store: fine where the supervisor is killed */
    bool outages;                  /* ... which is so here */
    _Atomic bool idle;             /* the writers have not begun */
    struct spread cpu[2], wall[2]; /* nanoseconds of a read at the fixed time: [whether idle] */
    struct spread first_cpu;       /* of a handle's first such read beside writers: it learns the whole table */
};

struct journal {
    struct board *board;
    unsigned writers, readers;       /* hand `writers` and diary `readers` are those of the run itself */
    uint64_t share;                  /* rows of each writer in a round */
    uint64_t pace_ns;                /* between two appends of a writer; 0: none */
    uint64_t failed_told, away_told; /* so much of the board's is counted elsewhere */
    struct hand *hands[JOURNAL_HANDS];
    struct diary *diaries[JOURNAL_HANDS];
};

/* Shared with processes that are forked later. False: errno */
bool journal_create(struct journal *journal, const char *directory, const char *instance, unsigned writers,
                    unsigned readers, uint64_t share);
void journal_destroy(struct journal *journal);
/* Begin a round. Nobody writes it meanwhile. */
void journal_clear(struct journal *journal);

/* Note that an append begins. NULL: the journal is full. */
struct append *hand_begin(struct hand *hand, struct append append);
void hand_done(struct hand *hand, struct append *append, int64_t time);
void hand_refused(struct append *append);
/* The origin of the rows of a hand's append. */
struct origin hand_origin(const struct hand *hand, const struct append *append);

/* The latest time that some writer was told, of a table; INT64_MIN: none was. */
int64_t journal_acknowledged(const struct journal *journal, uint32_t table);

/* Note a read. It is lost when the diary is full, or its reader dies meanwhile. */
void diary_note(struct diary *diary, struct read read, const struct sighting *sighting);
/* The read behind this one; NULL: the first one. NULL is returned behind the last one. */
const struct read *diary_next(const struct diary *diary, const struct read *read);

/* Note that a read or cut was answered: the time is final in the table. */
void board_answered(struct board *board, uint32_t table, int64_t time);

/* A call failed: count it as is right, and tell of it when no call should fail so. */
void board_failed(struct board *board, granary_err err, const char *what);

/* The name of a table. */
const char *journal_table(uint32_t table);

#endif
