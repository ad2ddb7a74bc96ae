/*
 * Exact sums of doubles by group: a 128-bit integer in units of a power of two for most, and an exact sum
 * (kernel/core/exact_sum.h) beside it for the groups whose values do not fit. Nothing is rounded before the end, so
 * the order of additions does not matter.
 */
#include "kernel/aggregate/reals.h"
#include "contract/int128.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* 128-bit sums stay below 2^126. */
static const gr_int128 whole_max = (gr_int128)1 << 126;

void
reals_fini(struct reals *reals)
{
    for (size_t i = 0; i < reals->other_count; i++) {
        exact_sum_fini(&reals->others[i]);
    }
    free(reals->others);
    free(reals->other_of);
    free(reals->whole);
    *reals = (struct reals){.top = INT_MIN};
}

granary_err
reals_grow(struct reals *reals, uint32_t room)
{
    if (room <= reals->room) {
        return GRANARY_OK;
    }
    if (reals->whole != NULL) {
        gr_int128 *whole = realloc(reals->whole, room * sizeof *whole);

        if (whole == NULL) {
            return gr_no_memory("groupby: sums");
        }
        memset(whole + reals->room, 0, (room - reals->room) * sizeof *whole);
        reals->whole = whole;
    }
    if (reals->other_of != NULL) {
        uint32_t *other_of = realloc(reals->other_of, room * sizeof *other_of);

        if (other_of == NULL) {
            return gr_no_memory("groupby: sums");
        }
        memset(other_of + reals->room, 0, (room - reals->room) * sizeof *other_of);
        reals->other_of = other_of;
    }
    reals->room = room;
    return GRANARY_OK;
}

static granary_err
other_sum(struct reals *reals, uint32_t group, struct exact_sum **ret_sum)
{
    if (reals->other_of == NULL) {
        reals->other_of = calloc(reals->room, sizeof *reals->other_of);
        if (reals->other_of == NULL) {
            return gr_no_memory("groupby: sums");
        }
    }
    if (reals->other_of[group] == 0) {
        if (reals->other_count == reals->other_room) {
            size_t room = reals->other_room * 2 + 16;
            struct exact_sum *others = realloc(reals->others, room * sizeof *others);

            if (others == NULL) {
                return gr_no_memory("groupby: sums");
            }
            reals->others = others;
            reals->other_room = room;
        }
        reals->others[reals->other_count] = (struct exact_sum){0};
        reals->other_of[group] = (uint32_t)++reals->other_count;
    }
    *ret_sum = &reals->others[reals->other_of[group] - 1];
    return GRANARY_OK;
}

granary_err
reals_add_other(struct reals *reals, uint32_t group, double x)
{
    struct exact_sum *sum;
    granary_err err = other_sum(reals, group, &sum);

    if (err == GRANARY_OK) {
        exact_sum_add(sum, x);
        err = exact_sum_ok(sum) ? GRANARY_OK : gr_no_memory("groupby: sums");
    }
    return err;
}

granary_err
reals_add_many(struct reals *reals, uint32_t group, const double *values, size_t count)
{
    struct exact_sum *sum;
    granary_err err = other_sum(reals, group, &sum);

    if (err == GRANARY_OK) {
        exact_sum_add_many(sum, values, count);
        err = exact_sum_ok(sum) ? GRANARY_OK : gr_no_memory("groupby: sums");
    }
    return err;
}

granary_err
reals_add_sum(struct reals *reals, uint32_t group, const struct exact_sum *sum)
{
    struct exact_sum *to;
    granary_err err = other_sum(reals, group, &to);

    if (err == GRANARY_OK) {
        exact_sum_merge(to, sum);
        err = exact_sum_ok(to) ? GRANARY_OK : gr_no_memory("groupby: sums");
    }
    return err;
}

/* Add value * 2^unit to an exact sum, in pieces that are doubles. */
static void
add_pieces(struct exact_sum *sum, gr_int128 value, int unit)
{
    for (int piece = 0; piece < 3 && value != 0; piece++) {
        int64_t low = piece < 2 ? (int64_t)((uint64_t)value & ((UINT64_C(1) << 48) - 1)) : (int64_t)value;

        exact_sum_add(sum, ldexp((double)low, unit + 48 * piece));
        value = (value - low) >> 48;
    }
}

granary_err
reals_add_whole(struct reals *reals, uint32_t group, gr_int128 value, int unit)
{
    int shift = unit - reals->unit;
    struct exact_sum *sum;
    granary_err err;

    if (value == 0) {
        return GRANARY_OK;
    }
    if (reals->whole == NULL) {
        reals->whole = calloc(reals->room, sizeof *reals->whole);
        if (reals->whole == NULL) {
            return gr_no_memory("groupby: sums");
        }
        reals->unit = unit;
        shift = 0;
    }
    if (shift >= 0 && shift < 126) {
        gr_int128 limit = whole_max >> shift;

        if (value < limit && value > -limit) {
            gr_int128 total = reals->whole[group] + value * ((gr_int128)1 << shift);

            if (total < whole_max && total > -whole_max) {
                reals->whole[group] = total;
                return GRANARY_OK;
            }
        }
    }
    err = other_sum(reals, group, &sum);
    if (err == GRANARY_OK) {
        add_pieces(sum, value, unit);
        err = exact_sum_ok(sum) ? GRANARY_OK : gr_no_memory("groupby: sums");
    }
    return err;
}

granary_err
reals_part(struct reals *reals, const uint32_t *ids, size_t count, struct group_part *ret_part)
{
    size_t others = 0;

    ret_part->ints = calloc(count + 1, sizeof *ret_part->ints);
    if (ret_part->ints == NULL) {
        return gr_no_memory("groupby: sums");
    }
    ret_part->unit = reals->unit;
    for (size_t i = 0; reals->whole != NULL && i < count; i++) {
        ret_part->ints[i] = reals->whole[ids[i]];
    }
    if (reals->other_count == 0) {
        return GRANARY_OK;
    }
    ret_part->others = malloc(reals->other_count * sizeof *ret_part->others);
    ret_part->more = calloc(reals->other_count, sizeof *ret_part->more);
    if (ret_part->others == NULL || ret_part->more == NULL) {
        return gr_no_memory("groupby: sums");
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t at = reals->other_of[ids[i]];

        if (at != 0) {
            ret_part->others[others] = (uint32_t)i;
            ret_part->more[others++] = reals->others[at - 1]; /* moves */
            reals->others[at - 1] = (struct exact_sum){0};
        }
    }
    ret_part->other_count = others;
    return GRANARY_OK;
}

granary_err
reals_sum(const struct group_part *part, size_t g, size_t *at, struct exact_sum *ret_sum)
{
    struct exact_sum sum = {0};

    add_pieces(&sum, part->ints[g], part->unit);
    while (*at < part->other_count && part->others[*at] < g) {
        (*at)++;
    }
    if (*at < part->other_count && part->others[*at] == g) {
        exact_sum_merge(&sum, &part->more[*at]);
    }
    *ret_sum = sum;
    return exact_sum_ok(&sum) ? GRANARY_OK : gr_no_memory("groupby: sums");
}

granary_err
reals_value(const struct group_part *part, size_t g, size_t *at, double *ret_value)
{
    struct exact_sum sum;
    granary_err err;

    while (*at < part->other_count && part->others[*at] < g) {
        (*at)++;
    }
    if (*at >= part->other_count || part->others[*at] != g) {
        *ret_value = ldexp((double)part->ints[g], part->unit); /* the conversion rounds, once */
        return GRANARY_OK;
    }
    err = reals_sum(part, g, at, &sum);
    *ret_value = exact_sum_value(&sum);
    exact_sum_fini(&sum);
    return err;
}
