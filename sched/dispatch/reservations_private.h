/* What the files of reservations.h share. */
#ifndef SCHED_DISPATCH_RESERVATIONS_PRIVATE_H
#define SCHED_DISPATCH_RESERVATIONS_PRIVATE_H

#include "sched/dispatch/reservations.h"

struct token {
    uint32_t executor; /* 0: not granted */
    uint32_t count;
    uint32_t left;
    uint32_t next_free;
    uint64_t bytes;
    uint64_t order;
    uint32_t need;
    bool alone;
    bool user_code;
    uint64_t numbers[RESERVATIONS_BATCH]; /* 0: settled; a subtask's number is never 0 */
};

struct holder {
    uint32_t number;
    int32_t node;
    uint32_t in_flight;
    bool held;                            /* nothing is queued behind what it has */
    uint32_t lent;                        /* token of another executor's message that occupies it; RESERVATION_NONE */
    uint64_t given;                       /* subtasks since it joined */
    uint64_t limit;                       /* ... it may be given; UINT64_MAX: any number */
    uint32_t tokens[RESERVATIONS_CREDIT]; /* the one at work first */
};

struct claim {
    struct reservation_ask ask; /* number 0: nobody's */
    uint32_t passed;            /* times others were granted what it waits for */
};

struct reservations {
    struct resources *resources; /* NULL: none */
    struct claim memory_claim, need_claim;
    struct holder *holders;
    struct gr_place_candidate *candidates; /* room for one a holder */
    size_t holder_count, holder_room;
    struct token *tokens;
    uint32_t token_count;
    size_t token_room;
    uint32_t free_tokens; /* list */
    uint32_t granted;
    uint64_t last_order;
    uint64_t bytes;
    uint64_t memory_bytes;
    uint32_t cores;
};

/* Whether a grant of that need takes what the claimant waits for: executors, if it needs several and has all else. */
bool claim_competes(const struct reservations *reservations, uint32_t need, const struct claim *claim);
/* Subtasks were granted something: a claimant's claim is met, or somebody was passed over once more. */
void claim_pass(struct claim *claim, const uint64_t *numbers, uint32_t count, int32_t rank, bool competing);

#endif
