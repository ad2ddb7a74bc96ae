/*
 * The scheduler's core with its state in memory, under time that is chosen: honest clients and executors, and others.
 * Whatever was said, each message that comes out can be read, resources are never granted beyond what there is, and in
 * the end an honest graph runs to its end on honest executors.
 */
#ifndef FUZZ_PLAY_H
#define FUZZ_PLAY_H

#include "choices.h"
#include "message_maker.h"
#include "sched/manager/manager.h"
#include "sched/restore.h"

#define PLAY_EXECUTORS 4
#define PLAY_GIVEN     512

/* A subtask that an executor was given and has not answered. */
struct play_given {
    uint32_t executor;
    Granary__Subtask *subtask;
};

struct play {
    struct manager *manager;
    struct keeper keeper;
    int64_t now_ns;
    uint64_t ticket;
    uint64_t last_err_ticket; /* the last that was answered */
    bool honest_ended;        /* the wait for the honest graph was answered */
    granary_err honest_err;
    uint64_t honest_ticket;             /* of that wait; 0: none */
    uint32_t executors[PLAY_EXECUTORS]; /* numbers; 0: not there */
    uint32_t last_number;
    struct play_given given[PLAY_GIVEN];
    size_t given_count;
    uint64_t numbers[16]; /* wire numbers, free orders: of late */
    size_t number_count;
    uint8_t ids[16][16];
    size_t id_count;
};

void play_begin(struct play *play);
void play_end(struct play *play);
/* Everything that follows from what has happened. */
void play_turn(struct play *play);

/* ---- the honest ---- */

void play_submits(struct play *play, const char *key, uint32_t which);
void play_joins(struct play *play, uint32_t slot);
void play_dies(struct play *play, uint32_t slot);
/* The answer to one of what was given; it is answered. */
void play_answers(struct play *play, size_t given, granary_err err);
/* Another scheduler begins, with what was kept; executors tell what they have. */
void play_restarts(struct play *play);
/* A graph by an honest client on honest executors: it ends well, and nothing is granted when all have ended. */
void play_honestly(struct play *play);

/* ---- the others ---- */

/* What messages are made from. */
struct message_words play_words(const struct play *play);
void play_requests(struct play *play, Granary__Request *request);
uint32_t play_executor(const struct play *play, struct choices *choices);

#endif
