/*
 * The operations of clients and what they saw, in memory that outlives them. An operation is noted before it begins
 * and completed when it has ended. So one that its client's death cut short stands there without an end.
 */
#ifndef TORTURE_HISTORY_H
#define TORTURE_HISTORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum op_kind { OP_PUT = 1, OP_DELETE = 2, OP_GET = 3 };

/* By which call; for those who read complaints. */
enum op_way { OP_PLAIN = 0, OP_BATCH = 1, OP_PART = 2 };

enum op_outcome {
    OP_UNKNOWN = 0, /* its client died, or was told that nobody knows: a put or delete may have happened, or may yet */
    OP_YES = 1,     /* put: sealed; delete: gone; get: found */
    OP_NO = 2,      /* put: there already; delete, get: not there */
    OP_NOTHING = 3, /* it failed before it could do anything */
    OP_EITHER = 4,  /* yes or no, but it is over */
};

struct op {
    int64_t began_ns;
    _Atomic int64_t ended_ns; /* 0: not ended; what is above and below is valid when it is read as not 0 */
    uint64_t value;           /* of a put, never 0; or what a get found, 0: something */
    uint32_t object;
    uint8_t kind;
    uint8_t outcome;
    uint8_t way;
};

/* One writer at a time, in whatever process. */
struct history {
    _Atomic uint64_t count;
    uint64_t room;
    uint64_t forgotten; /* operations before these */
    struct op ops[];
};

/* Shared with processes that are forked later, backed by a file in that directory that is gone at once. NULL: errno */
struct history *history_create(const char *directory, uint64_t room);
void history_destroy(struct history *history);

/* Begin anew with none; numbers go on. Nobody writes it meanwhile. */
void history_forget(struct history *history);

/* Note that an operation begins. NULL: the history is full. */
struct op *history_begin(struct history *history, enum op_kind kind, enum op_way way, uint32_t object);
/* The number its put gives to an object: another one for every operation of all histories of a run. */
uint64_t history_value(const struct history *history, unsigned writer, const struct op *op);
void history_answer(struct op *op, enum op_outcome outcome, uint64_t value);

#endif
