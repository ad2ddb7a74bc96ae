/*
 * recurse: each round the body makes rows of those that the round before has made (SQL:1999, section 7.13). What a round
 * makes is copied, because it may borrow from the rows it was made of. The result is made where it will stay; what
 * is made on the way is on the heap.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "data/place.h"
#include "kernel/core/frame_call.h"
#include "kernel/recursion/keyed.h"
#include "kernel/recursion/rounds.h"
#include "kernel/recursion/seen.h"

struct recursion {
    const struct gr_chunk_recurse *params;
    struct rounds rounds;
    struct pile pile;
    struct seen seen;
    uint64_t count; /* rounds */
};

/* That there is room, and somebody waits. */
static granary_err
go_on(const struct recursion *r)
{
    const struct gr_kernel_call *call = r->rounds.call;
    uint64_t bytes = r->pile.bytes + seen_bytes(&r->seen);

    if (call->stopped != NULL && call->stopped(call)) {
        return gr_fail(GRANARY_ECANCELLED, "it was stopped in round %" PRIu64 ", with %" PRId64 " rows", r->count,
                       r->pile.rows);
    }
    return r->params->most == 0 || bytes <= (uint64_t)r->params->most
               ? GRANARY_OK
               : gr_fail(GRANARY_EFULL,
                         "after %" PRIu64 " rounds its %" PRId64 " rows take %.1f MiB, and it can take %.1f MiB, half "
                         "of the store's memory: does it ever end? Let a condition end it, or give the store more",
                         r->count, r->pile.rows, (double)bytes / 1048576, (double)r->params->most / 1048576);
}

/* The rows that count, as a frame that lends nothing. */
static granary_err
keep_rows(struct recursion *r, const granary_frame *made, granary_frame **ret_frame)
{
    return r->params->distinct ? seen_sift(&r->seen, &r->pile, made, ret_frame)
                               : gr_frame_slice(made, 0, made->rows, ret_frame);
}

static granary_err
add_rows(struct recursion *r, granary_frame *rows, granary_frame **ret_before)
{
    granary_err err = pile_settle(&r->pile);

    if (err != GRANARY_OK) {
        gr_frame_destroy(rows);
        return err;
    }
    *ret_before = rows;
    return pile_add(&r->pile, rows);
}

static granary_err
begin(struct recursion *r, granary_frame **ret_before)
{
    const granary_frame *first;
    granary_frame *rows = NULL;
    granary_err err = call_frame_encoded(r->rounds.call, 0, &first);

    if (err == GRANARY_OK) {
        err = r->params->distinct ? seen_sift(&r->seen, &r->pile, first, &rows) : frame_borrow(first, &rows);
    }
    return err == GRANARY_OK ? add_rows(r, rows, ret_before) : err;
}

static granary_err
run_all(struct recursion *r)
{
    granary_frame *before = NULL;
    granary_err err = begin(r, &before);

    while (err == GRANARY_OK && before->rows > 0 && r->pile.rows < r->params->limit) {
        granary_frame *made;
        granary_frame *rows = NULL;

        err = go_on(r);
        r->count++;
        err = err == GRANARY_OK ? rounds_run(&r->rounds, before, &made) : err;
        err = err == GRANARY_OK ? keep_rows(r, made, &rows) : err;
        rounds_forget(&r->rounds);
        if (err == GRANARY_OK && rows->rows == 0) {
            gr_frame_destroy(rows);
            return GRANARY_OK;
        }
        err = err == GRANARY_OK ? add_rows(r, rows, &before) : err;
    }
    return err;
}

/* The pile is the state alone, which *takes* its place. */
static granary_err
set_state(struct recursion *r, granary_frame *state, granary_frame **ret_state)
{
    pile_free(&r->pile);
    r->pile = (struct pile){.rows = 0};
    *ret_state = state;
    return pile_add(&r->pile, state);
}

/* Rounds that see all rows. */
static granary_err
run_keyed(struct recursion *r)
{
    const Granary__Attr *keys = r->params->keys;
    const granary_frame *first;
    struct keyed keyed = {.count = 0};
    granary_frame *state = NULL;
    granary_frame *made = NULL;
    int64_t fresh = 0;
    granary_err err = call_frame_encoded(r->rounds.call, 0, &first);

    if (err == GRANARY_OK) {
        err = keyed_begin(&keyed, first, r->params->fresh, keys == NULL ? NULL : (const char *const *)keys->strings,
                          keys == NULL ? 0 : keys->n_strings, r->params->distinct);
    }
    err = err == GRANARY_OK ? keyed_round(&keyed, NULL, first, &made, &fresh) : err;
    err = err == GRANARY_OK ? set_state(r, made, &state) : err;
    while (err == GRANARY_OK && fresh > 0) {
        granary_frame *round;

        err = go_on(r);
        r->count++;
        err = err == GRANARY_OK ? rounds_run(&r->rounds, state, &round) : err;
        err = err == GRANARY_OK ? keyed_round(&keyed, state, round, &made, &fresh) : err;
        rounds_forget(&r->rounds);
        err = err == GRANARY_OK ? set_state(r, made, &state) : err;
    }
    keyed_end(&keyed);
    return err;
}

granary_err
kernel_recurse(struct gr_kernel_call *call, const struct gr_chunk_recurse *params)
{
    struct recursion r = {.params = params};
    struct gr_place *place = place_leave();
    granary_frame *frame = NULL;
    granary_err err = rounds_begin(&r.rounds, call);

    err = err != GRANARY_OK ? err : params->fresh != NULL ? run_keyed(&r) : run_all(&r);
    rounds_end(&r.rounds);
    seen_free(&r.seen);
    gr_place_set(place);
    err = err == GRANARY_OK ? pile_give(&r.pile, &frame) : err;
    pile_free(&r.pile);
    return call_yield(call, 0, frame, err);
}
