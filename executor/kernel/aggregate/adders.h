/*
 * Within groupby_map: what the values of rows are added to. Each part of the
 * plan has an adder, and each group a few words: those of one group lie
 * together, so that one cache miss serves all parts.
 *
 * First come the words that sums are added to. Two small sums share one of 64 bits: numbers of rows, and sums of small
 * integers. A sum of doubles has two words. Then come those of single
 * values. Words that are seldom needed, for sums of large integers and what small sums have grown to, lie elsewhere,
 * and are made when they are.
 */
#ifndef KERNEL_AGGREGATE_ADDERS_H
#define KERNEL_AGGREGATE_ADDERS_H

#include <string.h>

#include "contract/int128.h"
#include "kernel/aggregate/block.h"
#include "kernel/aggregate/lists.h"
#include "kernel/aggregate/reals.h"
#include "kernel/aggregate/table.h"
#include "kernel/keys/keys.h"

enum {
    ADDER_COPIES = 4,          /* of the words when groups are few: rows in a row seldom
                                  wait for one another */
    ADDER_COPIES_GROUPS = 256, /* few */
    ADDER_COLUMNS = 4,         /* words of a group that are added to in one pass over a
                                  block's rows */
    ADDER_AHEAD = 16,          /* rows that words are fetched ahead of */
};

/* What a small sum gets from a block. */
enum adder_share { SHARE_NONE, SHARE_SMALL, SHARE_LARGE };

/* How a part is added up. */
struct adder {
    const struct group_part_spec *spec;
    granary_dtype dtype; /* of x; NULLTYPE without */
    int lane;            /* COUNT, INT: half of a word, two a word; -1: none */
    unsigned at;         /* others: its first word */
    unsigned words;
    unsigned cold; /* COUNT, INT: its first word elsewhere */
    unsigned cold_words;
    bool is_cold; /* something was added there; else nobody need look */
    bool wide;    /* INT: elsewhere is one 128-bit number; else two words: upper and
                  lower halves added up apart */
    enum adder_share share;
    struct reals reals;   /* REAL */
    struct values values; /* VALUE of strings: their texts; LIST */
    struct values by;     /* ARG: the texts of y */
    uint32_t *owners;     /* LIST */
    size_t owner_room;
};

struct map {
    struct group_plan *plan;
    struct rows **sources;
    size_t source_count;
    struct group_keys *keys; /* NULL: rows are numbered already */
    const uint32_t *numbers; /* without keys: by row, from 1 on */
    uint32_t number_room;    /* they are below */
    size_t first_argument;   /* among the vectors of a source */
    struct adder *adders;
    struct argument_block *arguments;
    unsigned stride; /* words of a group */
    int64_t *first;  /* the words of a group without rows */
    int64_t *words;  /* copies * room * stride */
    uint32_t room;
    unsigned copies;
    bool one;   /* there is one group only, and no key */
    bool coded; /* as of group_map() */
    /* small sums */
    struct adder **lanes; /* two a word; NULL: half a word is not used */
    unsigned pairs;       /* the words that have them, the first of a group */
    int64_t small_most;   /* no small sum is more in size */
    int64_t *cold;        /* copies * room * cold_stride; NULL: not needed yet, all zero */
    unsigned cold_stride;
    /* of a block */
    uint32_t ids[ROWS_BLOCK];
    uint32_t slots[ROWS_BLOCK];                 /* id and copy: which entry of words, of cold */
    uint32_t offsets[ROWS_BLOCK + ADDER_AHEAD]; /* of the entry's words; behind them any */
    const struct group_part_spec *multiplied;   /* what products and rests are of; NULL: nothing */
    double products[ROWS_BLOCK];
    double rests[ROWS_BLOCK];
    double left[ROWS_BLOCK];
    double right[ROWS_BLOCK];
    int64_t high[ROWS_BLOCK];
    int64_t low[ROWS_BLOCK];
    int64_t ones[ROWS_BLOCK];
    int64_t columns[ADDER_COLUMNS][ROWS_BLOCK];
    uint8_t there[ROWS_BLOCK];
};

/* ---- adders.c ---- */

/* An adder a part. Errors: ENOMEM */
granary_err adders_init(struct map *map);
/* Words for all groups there are now. Growing is for one copy. Errors: EFULL ·
 * ENOMEM */
granary_err adders_grow(struct map *map);
/* The words elsewhere. Errors: ENOMEM */
granary_err adders_need_cold(struct map *map);
/* Add a block, whose ids, slots and offsets are set. Errors: EFAILED a sum
 * exceeds 128 bits · EFULL · ENOMEM */
granary_err adders_add(struct map *map, int64_t n);
/* All copies of the words into the first. */
granary_err adders_fold(struct map *map);
/* Strings have a word. */
bool adder_is_extreme(const struct adder *adder);
/* The best values are words as well; of decimals, which have two, they are listed. */
bool adder_is_best(const struct adder *adder);

/* All numbers of groups are below. */
static inline uint32_t
map_numbers_room(const struct map *map)
{
    return map->keys != NULL ? group_keys_room(map->keys) : map->number_room;
}

/* Whether there may be numbers that no row has. */
static inline bool
map_numbers_direct(const struct map *map)
{
    return map->keys != NULL && group_keys_direct(map->keys);
}

static inline const int64_t *
adder_words(const struct map *map, const struct adder *adder, uint32_t id)
{
    return map->words + (size_t)id * map->stride + adder->at;
}

/* The words elsewhere of an entry; they are there. */
static inline int64_t *
adder_cold(const struct map *map, const struct adder *adder, size_t slot)
{
    return map->cold + slot * map->cold_stride + adder->cold;
}

/* A small sum. */
static inline int32_t
adder_half(int64_t word, int lane)
{
    int32_t low = (int32_t)(uint64_t)word;

    return (lane & 1) == 0 ? low : (int32_t)((word - low) >> 32);
}

/* ---- sums_ints.c ---- */

/* Where an argument and what must be there with it are there; NULL: everywhere.
 */
const uint8_t *sums_there(struct map *map, const struct group_part_spec *spec, int64_t n);
/* Which values of a block are small; there is room for their sums then. Errors:
 * EFAILED · ENOMEM */
granary_err sums_choose(struct map *map, int64_t n);
/* What small sums add to a word that they share, in room or elsewhere; NULL:
 * nothing. */
const int64_t *sums_pair(struct map *map, unsigned pair, int64_t *room, int64_t n);
/* Add what is not small. Errors: EFAILED a sum exceeds 128 bits · ENOMEM */
granary_err sums_large(struct map *map, int64_t n);
/* at: a 128-bit number. Errors: EFAILED it overflows */
granary_err sums_add_wide(int64_t *at, gr_int128 value);

/* ---- sums_reals.c ---- */

/* What is added to the two words of a sum of doubles: two columns. With one
 * group it is added at once. Errors: ENOMEM */
granary_err sums_reals(struct map *map, struct adder *adder, int64_t *const *split, int64_t n);
/* What the words of a sum of doubles hold goes to its 128-bit sums. Errors:
 * ENOMEM */
granary_err sums_empty_reals(struct map *map, struct adder *adder);

/* ---- sums.c ---- */

/* All counts and sums. */
granary_err sums_add(struct map *map, int64_t n);
/* Fold copies of what they have; the words of sums of doubles become empty. */
granary_err sums_fold(struct map *map);
/* Of one group, when copies are folded. */
static inline int64_t
sums_count(const struct map *map, const struct adder *adder, uint32_t id)
{
    int64_t count = adder->is_cold ? *adder_cold(map, adder, id) : 0;

    return adder->lane < 0
               ? count
               : count + adder_half(map->words[(size_t)id * map->stride + (unsigned)adder->lane / 2], adder->lane);
}

static inline gr_int128
sums_int(const struct map *map, const struct adder *adder, uint32_t id)
{
    gr_int128 sum = adder_half(map->words[(size_t)id * map->stride + (unsigned)adder->lane / 2], adder->lane);
    gr_int128 more = 0;

    if (adder->is_cold && adder->wide) {
        memcpy(&more, adder_cold(map, adder, id), sizeof more);
    } else if (adder->is_cold) {
        const int64_t *halves = adder_cold(map, adder, id);

        more = (gr_int128)halves[1] * ((gr_int128)1 << 32) + halves[0];
    }
    return more + sum;
}

/* ---- singles.c: values of rows as they are ---- */

granary_err singles_add(struct map *map, struct adder *adder, int64_t n);

/* Doubles in an order in which integers compare as they do. */
static inline int64_t
singles_ordered(int64_t bits)
{
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}

/* ---- map_table.c ---- */

/* What was added up, as a table; starts as of group_map(). */
granary_err map_table(struct map *map, size_t parts, struct group_table *ret_table, size_t **ret_starts);

#endif
