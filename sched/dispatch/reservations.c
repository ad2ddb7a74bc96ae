/* Tokens: what each message to an executor was granted, in one array; executors in another, with how many they have. */

#include "sched/dispatch/reservations.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory/grow.h"
#include "sched/dispatch/reservations_private.h"
#include "sched/dispatch/resources.h"

struct reservations *
reservations_create(uint64_t memory_bytes, uint32_t cores)
{
    struct reservations *reservations = calloc(1, sizeof *reservations);

    if (reservations != NULL) {
        reservations->memory_bytes = memory_bytes == 0 ? UINT64_MAX : memory_bytes;
        reservations->cores = cores == 0 ? UINT32_MAX : cores;
        reservations->free_tokens = RESERVATION_NONE;
    }
    return reservations;
}

void
reservations_destroy(struct reservations *reservations)
{
    if (reservations != NULL) {
        free(reservations->holders);
        free(reservations->candidates);
        free(reservations->tokens);
        free(reservations);
    }
}

void
reservations_use(struct reservations *reservations, struct resources *resources)
{
    assert(reservations->last_order == 0);
    reservations->resources = resources;
}

static struct holder *
holder_find(const struct reservations *reservations, uint32_t number)
{
    for (size_t i = 0; i < reservations->holder_count; i++) {
        if (reservations->holders[i].number == number) {
            return &reservations->holders[i];
        }
    }
    return NULL;
}

bool
reservations_join(struct reservations *reservations, uint32_t number, int32_t node)
{
    size_t holder_room = reservations->holder_room; /* both arrays have as much */

    assert(number != 0 && holder_find(reservations, number) == NULL);
    if (!gr_grow(&reservations->holders, &holder_room, reservations->holder_count, sizeof *reservations->holders) ||
        !gr_grow(&reservations->candidates, &reservations->holder_room, reservations->holder_count,
                 sizeof *reservations->candidates)) {
        return false;
    }
    reservations->holders[reservations->holder_count++] =
        (struct holder){.number = number, .node = node, .limit = UINT64_MAX, .lent = RESERVATION_NONE};
    return true;
}

void
reservations_limit(struct reservations *reservations, uint32_t executor, uint64_t subtasks)
{
    struct holder *holder = holder_find(reservations, executor);

    if (holder != NULL) {
        holder->limit = subtasks;
    }
}

void
reservations_close(struct reservations *reservations, uint32_t executor)
{
    reservations_limit(reservations, executor, 0);
}

/* The most subtasks a message to it may have. */
static uint32_t
room_of(const struct holder *holder)
{
    uint64_t left = holder->limit > holder->given ? holder->limit - holder->given : 0;

    return left < RESERVATIONS_BATCH ? (uint32_t)left : RESERVATIONS_BATCH;
}

/* Whether it has operators to run, of those that are not asked for. */
static bool
takes_core(const struct reservations *reservations, const struct holder *holder)
{
    bool operators = false;

    for (uint32_t i = 0; i < holder->in_flight; i++) {
        operators = operators || !reservations->tokens[holder->tokens[i]].user_code;
    }
    return operators && holder->limit == UINT64_MAX;
}

bool
reservations_cores_taken(const struct reservations *reservations)
{
    uint32_t count = 0;

    if (reservations->holder_count < reservations->cores) {
        return false;
    }
    for (size_t i = 0; i < reservations->holder_count && count < reservations->cores; i++) {
        count += takes_core(reservations, &reservations->holders[i]);
    }
    return count >= reservations->cores;
}

/* Whether it has a core already, or is bound to none. */
static bool
needs_no_core(const struct reservations *reservations, const struct holder *holder)
{
    return takes_core(reservations, holder) || holder->limit != UINT64_MAX;
}

/* Whether it could take a message now. */
static bool
holder_is_free(const struct reservations *reservations, const struct holder *holder, bool idle_only)
{
    return holder->lent == RESERVATION_NONE && room_of(holder) > 0 &&
           (holder->in_flight == 0 || (!idle_only && !holder->held && holder->in_flight < RESERVATIONS_CREDIT &&
                                       !reservations->tokens[holder->tokens[0]].alone));
}

bool
reservations_any_free(const struct reservations *reservations, bool user_code)
{
    bool any_core = user_code || !reservations_cores_taken(reservations);
    bool found = false;

    for (size_t i = 0; i < reservations->holder_count && !found; i++) {
        const struct holder *holder = &reservations->holders[i];

        found = holder_is_free(reservations, holder, false) && (any_core || needs_no_core(reservations, holder));
    }
    return found;
}

void
reservations_hold(struct reservations *reservations)
{
    struct holder *least = NULL;

    for (size_t i = 0; i < reservations->holder_count; i++) {
        struct holder *holder = &reservations->holders[i];
        /* Behind what runs long nothing is queued anyway: that is not the one that will be idle first. */
        bool soon = holder->in_flight > 0 && !reservations->tokens[holder->tokens[0]].alone;

        if (!holder->held && soon && room_of(holder) > 0 && (least == NULL || holder->in_flight < least->in_flight)) {
            least = holder;
        }
    }
    if (least != NULL) {
        least->held = true;
    }
}

void
reservations_unhold(struct reservations *reservations)
{
    for (size_t i = 0; i < reservations->holder_count; i++) {
        reservations->holders[i].held = false;
    }
}

struct gr_place_candidate *
reservations_candidates(struct reservations *reservations, bool idle_only, bool user_code, size_t *ret_count)
{
    bool any_core = user_code || !reservations_cores_taken(reservations);
    size_t count = 0;

    for (size_t i = 0; i < reservations->holder_count; i++) {
        const struct holder *holder = &reservations->holders[i];

        if (holder_is_free(reservations, holder, idle_only) && (any_core || needs_no_core(reservations, holder))) {
            reservations->candidates[count++] =
                (struct gr_place_candidate){holder->number, holder->node, holder->in_flight, false};
        }
    }
    *ret_count = count;
    return reservations->candidates;
}

bool
reservations_fit(const struct reservations *reservations, uint64_t more, uint64_t bytes)
{
    uint64_t taken = reservations->bytes + more;

    return taken == 0 || bytes == 0 ||
           (taken <= reservations->memory_bytes && bytes <= reservations->memory_bytes - taken);
}

/* ---- tokens ---- */

/* A message that needs several slots occupies executors that have nothing to do. */
static void
lend(struct reservations *reservations, uint32_t position, uint32_t slots)
{
    for (size_t i = 0; i < reservations->holder_count && slots > 1; i++) {
        struct holder *holder = &reservations->holders[i];

        if (holder->in_flight == 0 && holder->lent == RESERVATION_NONE) {
            holder->lent = position;
            slots--;
        }
    }
}

static uint32_t
token_new(struct reservations *reservations)
{
    uint32_t token = reservations->free_tokens;

    if (token != RESERVATION_NONE) {
        reservations->free_tokens = reservations->tokens[token].next_free;
        return token;
    }
    if (!gr_grow(&reservations->tokens, &reservations->token_room, reservations->token_count,
                 sizeof *reservations->tokens)) {
        return RESERVATION_NONE;
    }
    return reservations->token_count++;
}

uint32_t
reservations_grant(struct reservations *reservations, uint32_t executor, const uint64_t *numbers, uint32_t count,
                   uint64_t bytes, bool alone, const struct reservation_ask *ask)
{
    struct holder *holder = holder_find(reservations, executor);
    uint32_t position = token_new(reservations);
    uint32_t need = ask == NULL ? NEED_NONE : ask->need;
    int32_t rank = ask == NULL ? 0 : ask->rank;
    struct token *token;

    assert(holder != NULL && holder->in_flight < RESERVATIONS_CREDIT && count > 0 && count <= room_of(holder));
    if (position == RESERVATION_NONE) {
        return RESERVATION_NONE;
    }
    token = &reservations->tokens[position];
    token->executor = executor;
    token->count = count;
    token->left = count;
    token->bytes = bytes;
    token->order = ++reservations->last_order;
    token->alone = alone;
    token->user_code = ask != NULL && ask->user_code;
    token->need = need;
    for (uint32_t i = 0; i < count; i++) {
        assert(numbers[i] != 0);
        token->numbers[i] = numbers[i];
    }
    holder->tokens[holder->in_flight++] = position;
    holder->given += count;
    reservations->bytes += bytes;
    reservations->granted++;
    if (need != NEED_NONE) {
        resources_take(reservations->resources, need);
        lend(reservations, position, resources_slots(reservations->resources, need));
    }
    claim_pass(&reservations->memory_claim, numbers, count, rank, bytes > 0);
    claim_pass(&reservations->need_claim, numbers, count, rank,
               claim_competes(reservations, need, &reservations->need_claim));
    return position;
}

uint32_t
reservations_holder(const struct reservations *reservations, uint32_t token)
{
    return token < reservations->token_count ? reservations->tokens[token].executor : 0;
}

uint64_t
reservations_order(const struct reservations *reservations, uint32_t token)
{
    return reservations->tokens[token].order;
}

uint64_t
reservations_last_order(const struct reservations *reservations)
{
    return reservations->last_order;
}

uint64_t
reservations_first(const struct reservations *reservations, uint32_t executor)
{
    const struct holder *holder = holder_find(reservations, executor);

    for (uint32_t i = 0; holder != NULL && i < holder->in_flight; i++) {
        const struct token *token = &reservations->tokens[holder->tokens[i]];

        for (uint32_t k = 0; k < token->count; k++) {
            if (token->numbers[k] != 0) {
                return token->numbers[k];
            }
        }
    }
    return 0;
}

static void
token_return(struct reservations *reservations, uint32_t position)
{
    struct token *token = &reservations->tokens[position];

    assert(token->executor != 0 && reservations->bytes >= token->bytes && reservations->granted > 0);
    reservations->bytes -= token->bytes;
    reservations->granted--;
    if (token->need != NEED_NONE) {
        resources_give_back(reservations->resources, token->need);
        for (size_t i = 0; i < reservations->holder_count; i++) {
            struct holder *holder = &reservations->holders[i];

            holder->lent = holder->lent == position ? RESERVATION_NONE : holder->lent;
        }
    }
    token->executor = 0;
    token->next_free = reservations->free_tokens;
    reservations->free_tokens = position;
}

bool
reservations_settle(struct reservations *reservations, uint32_t position, uint64_t number)
{
    struct token *token = &reservations->tokens[position];
    struct holder *holder = holder_find(reservations, token->executor);
    uint32_t at;

    assert(holder != NULL && token->left > 0);
    /* Reports come in order, so this is the first not settled but for what was cancelled. */
    for (at = token->count - token->left; at > 0 && token->numbers[at] != number; at--) {
    }
    for (; at < token->count && token->numbers[at] != number; at++) {
    }
    assert(at < token->count);
    token->numbers[at] = 0;
    if (--token->left > 0) {
        return false;
    }
    for (uint32_t i = 0, kept = 0; i < holder->in_flight; i++) {
        if (holder->tokens[i] != position) {
            holder->tokens[kept++] = holder->tokens[i];
        }
    }
    holder->in_flight--;
    token_return(reservations, position);
    return true;
}

void
reservations_leave(struct reservations *reservations, uint32_t executor,
                   void (*visit)(void *context, uint64_t number, bool first), void *context)
{
    struct holder *holder = holder_find(reservations, executor);
    struct holder gone;
    bool first = true;

    if (holder == NULL) {
        return;
    }
    gone = *holder;
    *holder = reservations->holders[--reservations->holder_count];
    for (uint32_t i = 0; i < gone.in_flight; i++) {
        struct token token = reservations->tokens[gone.tokens[i]];

        token_return(reservations, gone.tokens[i]);
        for (uint32_t k = 0; k < token.count; k++) {
            if (token.numbers[k] != 0) {
                visit(context, token.numbers[k], first);
                first = false;
            }
        }
    }
}

void
reservations_of_graph(const struct reservations *reservations, uint32_t serial,
                      void (*visit)(void *context, uint32_t executor, const uint64_t *numbers, size_t count),
                      void *context)
{
    for (uint32_t i = 0; i < reservations->token_count; i++) {
        const struct token *token = &reservations->tokens[i];
        uint64_t numbers[RESERVATIONS_BATCH];
        size_t count = 0;

        for (uint32_t k = 0; token->executor != 0 && k < token->count; k++) {
            if (token->numbers[k] >> 32 == serial) {
                numbers[count++] = token->numbers[k];
            }
        }
        if (count > 0) {
            visit(context, token->executor, numbers, count);
        }
    }
}

void
reservations_visit(const struct reservations *reservations,
                   void (*visit)(void *context, uint32_t executor, uint64_t bytes, uint64_t first, uint32_t left),
                   void *context)
{
    for (uint32_t i = 0; i < reservations->token_count; i++) {
        const struct token *token = &reservations->tokens[i];
        uint32_t at = 0;

        while (token->executor != 0 && at < token->count && token->numbers[at] == 0) {
            at++;
        }
        if (token->executor != 0 && at < token->count) {
            visit(context, token->executor, token->bytes, token->numbers[at], token->left);
        }
    }
}

uint32_t
reservations_in_flight(const struct reservations *reservations, uint32_t executor)
{
    const struct holder *holder = holder_find(reservations, executor);

    return holder == NULL ? 0 : holder->in_flight;
}

uint32_t
reservations_queued(const struct reservations *reservations, uint32_t executor)
{
    const struct holder *holder = holder_find(reservations, executor);
    uint32_t queued = 0;

    for (uint32_t i = 0; holder != NULL && i < holder->in_flight; i++) {
        queued += reservations->tokens[holder->tokens[i]].left;
    }
    return queued;
}

uint32_t
reservations_room(const struct reservations *reservations, uint32_t executor)
{
    const struct holder *holder = holder_find(reservations, executor);

    return holder == NULL ? 0 : room_of(holder);
}

uint32_t
reservations_granted(const struct reservations *reservations)
{
    return reservations->granted;
}

uint64_t
reservations_bytes(const struct reservations *reservations)
{
    return reservations->bytes;
}

uint32_t
reservations_with_bytes(const struct reservations *reservations)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < reservations->token_count; i++) {
        count += reservations->tokens[i].executor != 0 && reservations->tokens[i].bytes > 0;
    }
    return count;
}

uint32_t
reservations_idle(const struct reservations *reservations)
{
    uint32_t count = 0;

    for (size_t i = 0; i < reservations->holder_count; i++) {
        count += holder_is_free(reservations, &reservations->holders[i], true);
    }
    return count;
}

uint32_t
reservations_executors(const struct reservations *reservations)
{
    return (uint32_t)reservations->holder_count;
}
