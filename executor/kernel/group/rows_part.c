/*
 * groupby_part: rows that were dealt by the hash of their keys (rows_deal.c) are put into the order of their hashes.
 * Equal keys then stand together, which numbers the groups, and it is the order that the result has: there is no table
 * to look them up in.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/core/frame_call.h"
#include "kernel/core/gather.h"
#include "kernel/core/scratch.h"
#include "kernel/group/dealt_rows.h"
#include "kernel/group/tables.h"
#include "kernel/sort/sort.h"

enum { BUCKET_ROWS = 8 }; /* about */

struct part {
    struct group_plan plan;
    const Granary__Attr *texts;
    size_t count; /* of pieces: one a groupby_deal */
    granary_frame **keys;
    granary_frame **arguments;
    const uint64_t **hashes; /* of each piece */
    int64_t rows;            /* of all pieces */
    /* in the order of the hashes */
    uint64_t *sorted;
    uint32_t *refs;
    uint32_t shift;
    granary_frame *sorted_keys;
    uint32_t *numbers; /* of groups, from 1 on */
    int64_t *firsts;   /* the first row of each group */
    uint32_t groups;
};

static granary_err
piece_corrupt(const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "groupby: rows that were dealt to parts are damaged: %s", what);
}

/* ---- the pieces ---- */

/* A column of codes gets its dictionary back. there: the reference's column; NULL: it has none. */
static granary_err
join_dictionary(granary_column *codes, const granary_frame *dictionary, const granary_column *there)
{
    const granary_column *entries = dictionary->count == 1 ? &dictionary->columns[0].view : NULL;
    const int32_t *values = codes->values;
    bool fits = true;

    if (entries == NULL) {
        return GRANARY_OK;
    }
    if (entries->dtype == GRANARY_INT32) {
        entries = there != NULL ? there->dictionary : NULL;
    }
    if (entries == NULL || codes->dtype != GRANARY_INT32 || !gr_dtype_is_text(entries->dtype) ||
        entries->dictionary != NULL || entries->null_count != 0) {
        return piece_corrupt("a dictionary of another type");
    }
    for (int64_t i = 0; i < codes->rows; i++) {
        fits = fits && ((values[i] >= 0 && values[i] < entries->rows) || (values[i] == 0 && gr_is_null(codes, i)));
    }
    codes->dtype = entries->dtype;
    codes->dictionary = entries;
    return fits ? GRANARY_OK : piece_corrupt("a code is out of range");
}

/* Columns [first, first + count) of a dealt frame, by their own names. */
static granary_err
borrow_columns(const granary_frame *from, size_t first, const char *const *names, size_t count,
               granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(count, from->rows);
    granary_err err = GRANARY_OK;

    for (size_t c = 0; c < count && err == GRANARY_OK; c++) {
        err = gr_frame_set_borrowed(frame, c, names[c], &from->columns[first + c].view);
    }
    *ret_frame = frame;
    return err;
}

/* frames: the rows of a piece, then the dictionaries. reference: may be NULL. */
static granary_err
open_piece(struct part *part, size_t piece, const granary_frame *const *frames, const granary_frame *reference)
{
    const struct group_plan *plan = &part->plan;
    size_t keys = plan->keys->n_strings;
    const granary_column *hash = &frames[0]->columns[keys + plan->argument_count].view;
    granary_err err;

    if (frames[0]->count != keys + plan->argument_count + 1 || hash->dtype != GRANARY_UINT64) {
        return piece_corrupt("columns are missing");
    }
    part->hashes[piece] = hash->values;
    err = borrow_columns(frames[0], 0, (const char *const *)plan->keys->strings, keys, &part->keys[piece]);
    if (err == GRANARY_OK) {
        err = borrow_columns(frames[0], keys, plan->arguments, plan->argument_count, &part->arguments[piece]);
    }
    for (size_t t = 0; t < part->texts->n_ints && err == GRANARY_OK; t++) {
        const char *name = plan->keys->strings[part->texts->ints[t]];

        err = join_dictionary(&part->keys[piece]->columns[part->texts->ints[t]].view, frames[1 + t],
                              reference != NULL ? granary_frame_column_named(reference, name) : NULL);
    }
    part->rows += frames[0]->rows;
    return err;
}

static granary_err
open_pieces(struct part *part, const struct gr_kernel_call *call, const struct gr_chunk_groupby_part *params,
            const granary_frame ***ret_frames)
{
    size_t first = params->reference;
    size_t each;
    granary_err err = group_dealt_texts(params->texts, &part->plan);

    if (err != GRANARY_OK) {
        return err;
    }
    part->texts = params->texts;
    each = 1 + part->texts->n_ints;
    part->count = call->input_count > first ? (call->input_count - first) / each : 0;
    part->keys = calloc(part->count + 1, sizeof *part->keys);
    part->arguments = calloc(part->count + 1, sizeof *part->arguments);
    part->hashes = calloc(part->count + 1, sizeof *part->hashes);
    if (part->keys == NULL || part->arguments == NULL || part->hashes == NULL) {
        return gr_no_memory("groupby");
    }
    if (part->count == 0 || (call->input_count - first) % each != 0) {
        return gr_fail(GRANARY_EINVAL, "%s: %zu inputs are no pieces of %zu", call->op->op, call->input_count, each);
    }
    err = call_frames_encoded(call, ret_frames);
    for (size_t p = 0; p < part->count && err == GRANARY_OK; p++) {
        err = open_piece(part, p, *ret_frames + first + p * each, first > 0 ? (*ret_frames)[0] : NULL);
    }
    return err;
}

/* ---- order ---- */

/* Bits of a reference that tell the row. More than 32 bits in all: false. */
static bool
refs_fit(struct part *part)
{
    part->shift = 0;
    for (size_t p = 0; p < part->count; p++) {
        while (part->shift < 32 && part->keys[p]->rows > INT64_C(1) << part->shift) {
            part->shift++;
        }
    }
    return (uint64_t)part->count << part->shift < UINT32_MAX && part->rows < UINT32_MAX;
}

struct hashed {
    uint64_t hash;
    uint32_t ref;
};

/* Stable, in the place of `rows`; room for as many. Buckets are short: merging is for those of skewed hashes. (A radix
 * sort of the words takes up to twice as long as buckets do: hashes are spread evenly already.) */
static void
sort_hashed(struct hashed *rows, size_t count, struct hashed *room)
{
    enum { SHORT = 24 };
    size_t half = count / 2;
    size_t a = 0;
    size_t b = half;

    if (count <= SHORT) {
        for (size_t i = 1; i < count; i++) {
            struct hashed row = rows[i];
            size_t to = i;

            for (; to > 0 && rows[to - 1].hash > row.hash; to--) {
                rows[to] = rows[to - 1];
            }
            rows[to] = row;
        }
        return;
    }
    sort_hashed(rows, half, room);
    sort_hashed(rows + half, count - half, room);
    if (rows[half - 1].hash <= rows[half].hash) {
        return;
    }
    memcpy(room, rows, count * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        bool first = b == count || (a < half && room[a].hash <= room[b].hash);

        rows[i] = first ? room[a++] : room[b++];
    }
}

/* Hashes are spread evenly over the range of a part: one step puts rows into buckets of a few, in order. */
static uint32_t
bucket_of(uint64_t hash, uint64_t least, unsigned shift)
{
    return (uint32_t)((hash - least) >> shift);
}

static void
hash_range(const struct part *part, uint64_t *ret_least, unsigned *ret_shift, size_t *ret_buckets)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    unsigned shift = 0;

    for (size_t p = 0; p < part->count; p++) {
        for (int64_t row = 0; row < part->keys[p]->rows; row++) {
            uint64_t hash = part->hashes[p][row];

            least = hash < least ? hash : least;
            most = hash > most ? hash : most;
        }
    }
    least = least > most ? most : least;
    while (shift < 63 && (most - least) >> shift > (uint64_t)part->rows / BUCKET_ROWS) {
        shift++;
    }
    *ret_least = least;
    *ret_shift = shift;
    *ret_buckets = (size_t)((most - least) >> shift) + 1;
}

/* starts: buckets + 1 zeros. */
static void
sort_into(const struct part *part, uint64_t least, unsigned shift, size_t buckets, uint32_t *starts,
          struct hashed *rows, struct hashed *room)
{
    for (size_t p = 0; p < part->count; p++) {
        for (int64_t row = 0; row < part->keys[p]->rows; row++) {
            starts[bucket_of(part->hashes[p][row], least, shift) + 1]++;
        }
    }
    for (size_t b = 0; b < buckets; b++) {
        starts[b + 1] += starts[b];
    }
    for (size_t p = 0; p < part->count; p++) {
        for (int64_t row = 0; row < part->keys[p]->rows; row++) {
            uint64_t hash = part->hashes[p][row];
            uint32_t ref = (uint32_t)((uint64_t)p << part->shift | (uint64_t)row);

            rows[starts[bucket_of(hash, least, shift)]++] = (struct hashed){hash, ref};
        }
    }
    for (size_t b = 0; b < buckets; b++) { /* each start has moved on to the next one */
        size_t from = b == 0 ? 0 : starts[b - 1];

        sort_hashed(rows + from, starts[b] - from, room);
    }
}

static granary_err
sort_by_hash(struct part *part)
{
    struct hashed *rows = scratch_alloc((size_t)(part->rows + 1) * sizeof *rows);
    struct hashed *room = scratch_alloc((size_t)(part->rows + 1) * sizeof *room);
    uint32_t *starts = NULL;
    size_t buckets;
    uint64_t least;
    unsigned shift;
    granary_err err = rows == NULL || room == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    if (err == GRANARY_OK && !refs_fit(part)) {
        err = gr_fail(GRANARY_EFULL,
                      "groupby: %lld rows in %zu pieces are more than one part can hold: use larger chunks",
                      (long long)part->rows, part->count);
    }
    if (err == GRANARY_OK) {
        hash_range(part, &least, &shift, &buckets);
        starts = calloc(buckets + 1, sizeof *starts);
        part->sorted = scratch_alloc((size_t)(part->rows + 1) * sizeof *part->sorted);
        part->refs = scratch_alloc((size_t)(part->rows + 1) * sizeof *part->refs);
        err = starts == NULL || part->sorted == NULL || part->refs == NULL ? gr_no_memory("groupby") : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        sort_into(part, least, shift, buckets, starts, rows, room);
    }
    for (int64_t i = 0; i < part->rows && err == GRANARY_OK; i++) {
        part->sorted[i] = rows[i].hash;
        part->refs[i] = rows[i].ref;
    }
    free(starts);
    scratch_free(room);
    scratch_free(rows);
    return err;
}

/* All rows of the pieces in the order of the references. */
static granary_err
part_gather(const struct part *part, granary_frame *const *pieces, granary_frame **ret_frame)
{
    struct gather gather = {.refs = part->refs,
                            .count = part->rows,
                            .shift = part->shift,
                            .piece_count = part->count,
                            .pieces = (const granary_frame *const *)pieces};

    return gather_frame(&gather, NULL, ret_frame);
}

/* ---- groups ---- */

#define COMPARE(type)                                                                                                  \
    for (int64_t i = 1; i < column->rows; i++) {                                                                       \
        differs[i] |= ((const type *)column->values)[i] != ((const type *)column->values)[i - 1];                      \
    }                                                                                                                  \
    break

/* Rows whose value is not that of the row before. Keys have one form each, and zeros under nulls. */
static void
mark_different(const granary_column *column, uint8_t *differs)
{
    if (column->dtype == GRANARY_NULLTYPE) {
        return;
    }
    for (int64_t i = 1; i < column->rows && column->null_count != 0; i++) {
        differs[i] |= gr_is_null(column, i) != gr_is_null(column, i - 1);
    }
    if (column->dtype == GRANARY_BOOL) {
        for (int64_t i = 1; i < column->rows; i++) {
            differs[i] |= gr_bit(column->values, i) != gr_bit(column->values, i - 1);
        }
        return;
    }
    if (gr_dtype_is_text(column->dtype) && column->dictionary == NULL) {
        for (int64_t i = 1; i < column->rows; i++) {
            size_t sizes[2];
            const char *before = gr_text_at(column, i - 1, &sizes[0]);
            const char *text = gr_text_at(column, i, &sizes[1]);

            differs[i] |= sizes[0] != sizes[1] || (sizes[0] > 0 && memcmp(before, text, sizes[0]) != 0);
        }
        return;
    }
    switch (gr_value_size(column)) {
    case 1:
        COMPARE(uint8_t);
    case 2:
        COMPARE(uint16_t);
    case 4:
        COMPARE(uint32_t);
    case 8:
        COMPARE(uint64_t);
    default:
        COMPARE(gr_int128);
    }
}

/* Rows with one hash and different keys, which hardly ever come, are put into the order of the keys. */
static granary_err
sort_ties(struct part *part)
{
    size_t count = part->sorted_keys->count;
    struct sort_key *by = calloc(count + 1, sizeof *by);
    int64_t *order = malloc((size_t)(part->rows + 1) * sizeof *order);
    uint32_t *refs = scratch_alloc((size_t)(part->rows + 1) * sizeof *refs);
    granary_err err = by == NULL || order == NULL || refs == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    for (size_t k = 0; k < count && err == GRANARY_OK; k++) {
        by[k].column = &part->sorted_keys->columns[k].view;
    }
    for (int64_t i = 0; i < part->rows && err == GRANARY_OK;) {
        int64_t end = i;

        for (; end < part->rows && part->sorted[end] == part->sorted[i]; end++) {
            order[end] = end;
        }
        err = end - i > 1 ? sort_rows_of(by, count, order + i, end - i) : GRANARY_OK;
        i = end;
    }
    for (int64_t i = 0; i < part->rows && err == GRANARY_OK; i++) {
        refs[i] = part->refs[order[i]];
    }
    free(order);
    free(by);
    if (err != GRANARY_OK) {
        scratch_free(refs);
        return err;
    }
    scratch_free(part->refs);
    part->refs = refs;
    gr_frame_destroy(part->sorted_keys);
    part->sorted_keys = NULL;
    return part_gather(part, part->keys, &part->sorted_keys);
}

/* Numbers from equal neighbours; *ret_ties: somewhere a hash has different keys. */
static void
number_rows(struct part *part, const uint8_t *differs, bool *ret_ties)
{
    bool ties = false;

    part->groups = 0;
    for (int64_t i = 0; i < part->rows; i++) {
        bool same_hash = i > 0 && part->sorted[i] == part->sorted[i - 1];

        ties |= same_hash && differs[i];
        if (!same_hash || differs[i]) {
            part->firsts[part->groups++] = i;
        }
        part->numbers[i] = part->groups;
    }
    *ret_ties = ties;
}

static granary_err
find_groups(struct part *part)
{
    uint8_t *differs = scratch_alloc((size_t)part->rows + 1);
    bool ties = false;
    granary_err err = part_gather(part, part->keys, &part->sorted_keys);

    part->numbers = scratch_alloc((size_t)(part->rows + 1) * sizeof *part->numbers);
    part->firsts = scratch_alloc((size_t)(part->rows + 1) * sizeof *part->firsts);
    if (err == GRANARY_OK && (differs == NULL || part->numbers == NULL || part->firsts == NULL)) {
        err = gr_no_memory("groupby");
    }
    for (int round = 0; round < 2 && err == GRANARY_OK; round++) {
        memset(differs, 0, (size_t)part->rows + 1);
        for (size_t k = 0; k < part->sorted_keys->count; k++) {
            mark_different(&part->sorted_keys->columns[k].view, differs);
        }
        number_rows(part, differs, &ties);
        if (!ties) {
            break;
        }
        err = round == 0 ? sort_ties(part) : GRANARY_OK;
    }
    scratch_free(differs);
    return err;
}

/* ---- the whole ---- */

static granary_err
part_group(struct part *part, struct group_table *ret_table)
{
    granary_frame *arguments = NULL;
    struct group_table table = {0};
    granary_err err = sort_by_hash(part);

    if (err == GRANARY_OK) {
        err = find_groups(part);
    }
    if (err == GRANARY_OK) {
        err = part_gather(part, part->arguments, &arguments);
    }
    if (err == GRANARY_OK) {
        err = group_map_numbered(&part->plan, arguments, part->numbers, part->groups, &table);
    }
    gr_frame_destroy(arguments);
    if (err == GRANARY_OK) {
        gr_frame_destroy(table.keys);
        table.keys = NULL;
        if ((int64_t)part->groups == part->rows) {
            table.keys = part->sorted_keys;
            part->sorted_keys = NULL;
        } else {
            err = gr_frame_take(part->sorted_keys, part->firsts, part->groups, &table.keys);
        }
        table.ordered = true;
    }
    if (err != GRANARY_OK) {
        group_table_fini(&table);
        return err;
    }
    *ret_table = table;
    return GRANARY_OK;
}

static void
part_fini(struct part *part)
{
    for (size_t p = 0; part->keys != NULL && p < part->count; p++) {
        gr_frame_destroy(part->keys[p]);
    }
    for (size_t p = 0; part->arguments != NULL && p < part->count; p++) {
        gr_frame_destroy(part->arguments[p]);
    }
    free(part->keys);
    free(part->arguments);
    free(part->hashes);
    gr_frame_destroy(part->sorted_keys);
    scratch_free(part->sorted);
    scratch_free(part->refs);
    scratch_free(part->numbers);
    scratch_free(part->firsts);
    group_plan_fini(&part->plan);
}

granary_err
kernel_groupby_part(struct gr_kernel_call *call, const struct gr_chunk_groupby_part *params)
{
    const granary_frame **frames = NULL;
    granary_frame *result = NULL;
    struct group_table table = {0};
    struct part part = {0};
    granary_err err = group_plan_init(&params->group, &part.plan);

    if (err == GRANARY_OK) {
        err = open_pieces(&part, call, params, &frames);
    }
    if (err == GRANARY_OK) {
        err = part_group(&part, &table);
    }
    if (err == GRANARY_OK) {
        err = group_result(&part.plan, &table, &result);
        group_table_fini(&table);
    }
    part_fini(&part);
    free(frames);
    return call_yield(call, 0, result, err);
}
