/* All rows are hashed by their keys in each round: a round is given all of them anyway. */
#include "kernel/recursion/keyed.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/recursion/seen.h"

/* A key: the first row of it, and the last one. */
struct spot {
    uint64_t hash;
    int64_t base; /* + 1; 0: free */
    int64_t last;
};

/* Rows of the state and of the round, one behind the other, being sorted out. */
struct sorting {
    const struct keyed *keyed;
    granary_frame *all;
    int64_t before; /* so many are the state's */
    uint64_t *hashes;
    struct spot *spots;
    size_t room;
    struct spot **order; /* in which keys have come */
    int64_t key_count;
    int64_t *rows; /* that are left, and what they are */
    int64_t *kinds;
    int64_t count;
};

granary_err
keyed_begin(struct keyed *keyed, const granary_frame *frame, const char *fresh, const char *const *keys,
            size_t key_count, bool distinct)
{
    int at = gr_frame_find(frame, fresh);

    *keyed = (struct keyed){.key_count = key_count, .distinct = distinct};
    keyed->columns = calloc(frame->count + key_count + 1, sizeof *keyed->columns);
    if (keyed->columns == NULL) {
        return gr_no_memory("recurse");
    }
    if (at < 0 || frame->columns[at].view.dtype != GRANARY_INT64) {
        return gr_fail(GRANARY_EPROTO, "'%.100s' is no column of int64", fresh);
    }
    keyed->fresh = (size_t)at;
    for (size_t k = 0; k < key_count; k++) {
        at = gr_frame_find(frame, keys[k]);
        if (at < 0) {
            return gr_fail(GRANARY_EPROTO, "there is no column '%.100s'", keys[k]);
        }
        keyed->columns[keyed->count++] = (size_t)at;
    }
    for (size_t c = 0; c < frame->count; c++) {
        if (c != keyed->fresh) {
            keyed->columns[keyed->count++] = c;
        }
    }
    if (key_count == 0 && distinct) { /* a row is its own key */
        keyed->key_count = keyed->count;
    }
    return GRANARY_OK;
}

void
keyed_end(struct keyed *keyed)
{
    free(keyed->columns);
    *keyed = (struct keyed){.count = 0};
}

/* ---- a round ---- */

static granary_err
open_sorting(struct sorting *s, const granary_frame *state, const granary_frame *made)
{
    const granary_frame *const frames[2] = {state != NULL ? state : made, made};
    granary_err err = gr_frame_concat(frames, state != NULL ? 2 : 1, &s->all);
    size_t rows;

    if (err != GRANARY_OK) {
        return err;
    }
    rows = (size_t)s->all->rows;
    s->before = state != NULL ? state->rows : 0;
    for (s->room = 64; s->room < 2 * rows;) {
        s->room *= 2;
    }
    s->hashes = malloc((rows + 1) * sizeof *s->hashes);
    s->spots = calloc(s->keyed->key_count > 0 ? s->room : 1, sizeof *s->spots);
    s->order = malloc((rows + 1) * sizeof(struct spot *));
    s->rows = malloc((rows + 1) * sizeof *s->rows);
    s->kinds = malloc((rows + 1) * sizeof *s->kinds);
    if (s->hashes == NULL || s->spots == NULL || s->order == NULL || s->rows == NULL || s->kinds == NULL) {
        return gr_no_memory("recurse");
    }
    return s->keyed->key_count > 0 ? seen_hashes(s->all, s->keyed->columns, s->keyed->key_count, s->hashes)
                                   : GRANARY_OK;
}

static void
close_sorting(struct sorting *s)
{
    gr_frame_destroy(s->all);
    free(s->hashes);
    free(s->spots);
    free(s->order);
    free(s->rows);
    free(s->kinds);
}

/* What a row was in the round at hand. */
static int64_t
kind_before(const struct sorting *s, int64_t row)
{
    return ((const int64_t *)s->all->columns[s->keyed->fresh].view.values)[row];
}

static void
leave(struct sorting *s, int64_t row, int64_t kind)
{
    s->rows[s->count] = row;
    s->kinds[s->count++] = kind;
}

static void
find_spot(struct sorting *s, int64_t row)
{
    size_t at = (size_t)s->hashes[row] & (s->room - 1);

    while (s->spots[at].base != 0 &&
           (s->spots[at].hash != s->hashes[row] ||
            !seen_equal(s->all, s->spots[at].base - 1, s->all, row, s->keyed->columns, s->keyed->key_count))) {
        at = (at + 1) & (s->room - 1);
    }
    if (s->spots[at].base == 0) {
        s->spots[at] = (struct spot){.hash = s->hashes[row], .base = row + 1, .last = row};
        s->order[s->key_count++] = &s->spots[at];
    } else {
        s->spots[at].last = row;
    }
}

/* With keys: the last row of each, and, unless rows are distinct, those that it has replaced in this very round. */
static void
sort_keys(struct sorting *s)
{
    const struct keyed *keyed = s->keyed;

    for (int64_t i = 0; i < s->all->rows; i++) {
        if (i >= s->before || kind_before(s, i) != KEYED_REPLACED) {
            find_spot(s, i);
        }
    }
    for (int64_t k = 0; k < s->key_count; k++) {
        const struct spot *spot = s->order[k];
        const int64_t base = spot->base - 1;
        bool same = base < s->before &&
                    (spot->last == base ||
                     (keyed->distinct && seen_equal(s->all, base, s->all, spot->last, keyed->columns, keyed->count)));

        leave(s, same ? base : spot->last, same ? KEYED_OLD : KEYED_FRESH);
    }
    for (int64_t i = s->before; i < s->all->rows && !keyed->distinct; i++) {
        size_t at = (size_t)s->hashes[i] & (s->room - 1);

        while (s->spots[at].hash != s->hashes[i] ||
               !seen_equal(s->all, s->spots[at].base - 1, s->all, i, keyed->columns, keyed->key_count)) {
            at = (at + 1) & (s->room - 1);
        }
        if (s->spots[at].last != i) {
            leave(s, i, KEYED_REPLACED);
        }
    }
}

/* The rows that are left, with what they are. */
static granary_err
take_rows(struct sorting *s, granary_frame **ret_frame)
{
    const char *name = s->all->columns[s->keyed->fresh].view.name;
    granary_frame *taken = NULL;
    granary_frame *frame = gr_frame_create(s->all->count, s->count);
    struct gr_column kinds;
    granary_err err = frame == NULL ? gr_no_memory("recurse") : gr_frame_take(s->all, s->rows, s->count, &taken);

    for (size_t c = 0; c < s->all->count && err == GRANARY_OK; c++) {
        if (c != s->keyed->fresh) {
            err = gr_frame_move(frame, c, taken, c);
            continue;
        }
        err = gr_column_alloc(GRANARY_INT64, s->count, 0, false, &kinds);
        if (err == GRANARY_OK && s->count > 0) {
            memcpy((void *)(uintptr_t)kinds.view.values, s->kinds, (size_t)s->count * sizeof *s->kinds);
        }
        if (err == GRANARY_OK) {
            gr_column_finish(&kinds);
            err = gr_frame_set(frame, c, name, &kinds);
        }
    }
    gr_frame_destroy(taken);
    return gr_frame_give(frame, err, ret_frame);
}

granary_err
keyed_round(const struct keyed *keyed, const granary_frame *state, const granary_frame *made, granary_frame **ret_state,
            int64_t *ret_fresh)
{
    struct sorting s = {.keyed = keyed};
    granary_err err = open_sorting(&s, state, made);

    if (err == GRANARY_OK && keyed->key_count > 0) {
        sort_keys(&s);
    }
    for (int64_t i = 0; err == GRANARY_OK && keyed->key_count == 0 && i < s.all->rows; i++) {
        leave(&s, i, i < s.before ? KEYED_OLD : KEYED_FRESH);
    }
    *ret_fresh = 0;
    for (int64_t i = 0; i < s.count; i++) {
        *ret_fresh += s.kinds[i] != KEYED_OLD;
    }
    err = err == GRANARY_OK ? take_rows(&s, ret_state) : err;
    close_sorting(&s);
    return err;
}
