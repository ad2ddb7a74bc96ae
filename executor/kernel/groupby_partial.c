/*
 * A table as bytes: a head, a directory with one entry for the groups and one for each aggregate, then their sections.
 * The section of the groups is an Arrow file: keys, and what each aggregate has once a group. nunique has an Arrow file
 * of (group, value) pairs, sums of float64 the written exact sums.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow.h"
#include "kernel/groupby.h"

#define PARTIAL_MAGIC   UINT64_C(0x59425055524f5247) /* "GROUPBY" and more */
#define PARTIAL_VERSION 1
#define ALIGNMENT       64u

struct partial_head {
    uint64_t magic;
    uint32_t version;
    uint32_t keys;
    uint64_t groups;
    uint64_t aggregates;
    uint64_t size; /* of everything */
};

struct partial_entry {
    uint32_t function; /* of the aggregate; 0 for the groups */
    uint32_t dtype;
    uint64_t offset; /* from the head; 64-byte aligned */
    uint64_t size;   /* 0: no section */
};

static uint64_t
aligned(uint64_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- writing ---- */

/* Columns of the groups' frame that an aggregate has. */
static size_t
state_columns(enum gr_aggregate_function function, granary_dtype dtype)
{
    return (size_t)group_counts(function) + (group_sum_kind(function, dtype) == GROUP_SUM_INT ? 2 : 0) +
           (function == GR_AGGREGATE_MIN || function == GR_AGGREGATE_MAX);
}

static granary_err
set_int64s(granary_frame *frame, size_t position, const int64_t *values)
{
    granary_column column = {.dtype = GRANARY_INT64, .rows = frame->rows, .values = values};

    return gr_frame_set_borrowed(frame, position, "", &column);
}

/* The two halves of 128-bit sums. */
static granary_err
set_int128s(granary_frame *frame, size_t position, const __int128 *values)
{
    granary_err err = GRANARY_OK;

    for (int half = 0; half < 2 && err == GRANARY_OK; half++) {
        struct gr_column column;

        err = gr_column_alloc(GRANARY_INT64, frame->rows, 0, false, &column);
        if (err == GRANARY_OK) {
            for (int64_t i = 0; i < frame->rows; i++) {
                ((int64_t *)(uintptr_t)column.view.values)[i] = (int64_t)(uint64_t)(values[i] >> (64 * half));
            }
            err = gr_frame_set(frame, position + (size_t)half, "", &column);
        }
    }
    return err;
}

static granary_err
groups_frame(const struct group_table *table, granary_frame **ret_frame)
{
    size_t at = table->keys->count;
    size_t columns = at;
    granary_frame *frame;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < table->count; i++) {
        columns += state_columns(table->states[i].function, table->states[i].dtype);
    }
    frame = gr_frame_create(columns, (int64_t)table->groups);
    if (frame == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %zu columns", columns);
    }
    for (size_t i = 0; i < table->keys->count && err == GRANARY_OK; i++) {
        const granary_column *key = &table->keys->columns[i].view;

        err = gr_frame_set_borrowed(frame, i, key->name, key);
    }
    for (size_t i = 0; i < table->count && err == GRANARY_OK; i++) {
        const struct group_state *state = &table->states[i];
        size_t from = at;

        if (state->counts != NULL) {
            err = set_int64s(frame, at++, state->counts);
        }
        if (err == GRANARY_OK && state->ints != NULL) {
            err = set_int128s(frame, at, state->ints);
        }
        if (err == GRANARY_OK && (state->function == GR_AGGREGATE_MIN || state->function == GR_AGGREGATE_MAX)) {
            err = gr_frame_set_borrowed(frame, at, "", &state->best.view);
        }
        at = from + state_columns(state->function, state->dtype);
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

static granary_err
pairs_frame(const struct group_state *state, granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(2, (int64_t)state->pair_count);
    granary_err err;

    if (frame == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory");
    }
    err = set_int64s(frame, 0, state->pair_groups);
    if (err == GRANARY_OK) {
        err = gr_frame_set_borrowed(frame, 1, "", &state->pair_values.view);
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

/* What goes into the sections: frames[0] the groups, frames[1 + i] the pairs of aggregate i, or NULL. */
struct draft {
    size_t count;
    granary_frame **frames;
    struct partial_entry *entries;
    uint64_t size;
    uint64_t meta_max;
};

static void
draft_fini(struct draft *draft)
{
    for (size_t i = 0; draft->frames != NULL && i < draft->count; i++) {
        gr_frame_destroy(draft->frames[i]);
    }
    free(draft->frames);
    free(draft->entries);
}

static granary_err
draft_section(struct draft *draft, size_t i, const struct group_table *table)
{
    const struct group_state *state = i > 0 ? &table->states[i - 1] : NULL;
    struct partial_entry *entry = &draft->entries[i];
    uint64_t meta_size = 0;
    granary_err err = GRANARY_OK;

    if (state == NULL) {
        err = groups_frame(table, &draft->frames[i]);
    } else {
        entry->function = (uint32_t)state->function;
        entry->dtype = (uint32_t)state->dtype;
        if (state->function == GR_AGGREGATE_NUNIQUE) {
            err = pairs_frame(state, &draft->frames[i]);
        }
        for (size_t group = 0; state->sums != NULL && group < table->groups; group++) {
            entry->size += exact_sum_size(&state->sums[group]);
        }
    }
    if (err == GRANARY_OK && draft->frames[i] != NULL) {
        err = gr_arrow_measure(draft->frames[i], &entry->size, &meta_size);
    }
    draft->meta_max = meta_size > draft->meta_max ? meta_size : draft->meta_max;
    entry->offset = aligned(draft->size);
    draft->size = entry->offset + entry->size;
    return err;
}

static granary_err
draft_init(struct draft *draft, const struct group_table *table)
{
    granary_err err = GRANARY_OK;

    *draft = (struct draft){.count = 1 + table->count};
    draft->frames = calloc(draft->count, sizeof *draft->frames);
    draft->entries = calloc(draft->count, sizeof *draft->entries);
    if (draft->frames == NULL || draft->entries == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory");
    }
    draft->size = sizeof(struct partial_head) + draft->count * sizeof *draft->entries;
    for (size_t i = 0; i < draft->count && err == GRANARY_OK; i++) {
        err = draft_section(draft, i, table);
    }
    draft->size = aligned(draft->size);
    return err;
}

static void
draft_write(const struct draft *draft, const struct group_table *table, char *bytes, void *meta)
{
    struct partial_head head = {
        .magic = PARTIAL_MAGIC,
        .version = PARTIAL_VERSION,
        .keys = (uint32_t)table->keys->count,
        .groups = table->groups,
        .aggregates = table->count,
        .size = draft->size,
    };

    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, draft->entries, draft->count * sizeof *draft->entries);
    for (size_t i = 0; i < draft->count; i++) {
        char *at = bytes + draft->entries[i].offset;

        if (draft->frames[i] != NULL) {
            gr_arrow_write(draft->frames[i], at, meta);
        } else if (table->states[i - 1].sums != NULL) {
            for (size_t group = 0; group < table->groups; group++) {
                at += exact_sum_write(&table->states[i - 1].sums[group], at);
            }
        }
    }
}

granary_err
group_table_write(const struct group_table *table, void **ret_bytes, uint64_t *ret_size)
{
    struct draft draft;
    void *bytes = NULL;
    void *meta = NULL;
    granary_err err = draft_init(&draft, table);

    if (err == GRANARY_OK) {
        bytes = gr_data_alloc(draft.size);
        meta = gr_data_alloc(draft.meta_max);
        if (bytes == NULL || meta == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %llu bytes", (unsigned long long)draft.size);
        }
    }
    if (err == GRANARY_OK) {
        draft_write(&draft, table, bytes, meta);
        *ret_bytes = bytes;
        *ret_size = draft.size;
    } else {
        free(bytes);
    }
    free(meta);
    draft_fini(&draft);
    return err;
}

/* ---- reading ---- */

static granary_err
corrupt(const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "groupby: a partial result is damaged: %s", what);
}

/* A column of counts or group numbers in [0, limit], without nulls, copied. *ret_values is to be freed. */
static granary_err
get_int64s(const granary_frame *frame, size_t position, int64_t limit, int64_t **ret_values)
{
    const granary_column *column = &frame->columns[position].view;
    size_t size = (size_t)frame->rows * sizeof(int64_t);
    int64_t *values;

    if (column->dtype != GRANARY_INT64 || column->null_count != 0) {
        return corrupt("numbers of another type");
    }
    values = malloc(size + 1);
    if (values == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %lld groups", (long long)frame->rows);
    }
    if (size > 0) {
        memcpy(values, column->values, size);
    }
    for (int64_t i = 0; i < frame->rows; i++) {
        if (values[i] < 0 || values[i] > limit) {
            free(values);
            return corrupt("a number is out of range");
        }
    }
    *ret_values = values;
    return GRANARY_OK;
}

static granary_err
get_int128s(const granary_frame *frame, size_t position, __int128 **ret_values)
{
    const granary_column *low = &frame->columns[position].view;
    const granary_column *high = &frame->columns[position + 1].view;
    __int128 *values;

    if (low->dtype != GRANARY_INT64 || high->dtype != GRANARY_INT64) {
        return corrupt("sums of another type");
    }
    values = calloc((size_t)frame->rows + 1, sizeof *values);
    if (values == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %lld groups", (long long)frame->rows);
    }
    for (int64_t i = 0; i < frame->rows; i++) {
        uint64_t bits = (uint64_t)((const int64_t *)low->values)[i];
        int64_t top = ((const int64_t *)high->values)[i];

        if (top < -((int64_t)1 << 40) || top >= (int64_t)1 << 40) {
            free(values);
            return corrupt("a sum is out of range");
        }
        values[i] = (__int128)top * ((__int128)1 << 64) + bits;
    }
    *ret_values = values;
    return GRANARY_OK;
}

static granary_err
read_sums(struct group_state *state, size_t groups, const char *bytes, uint64_t size)
{
    uint64_t at = 0;
    granary_err err = GRANARY_OK;

    state->sums = calloc(groups + 1, sizeof *state->sums);
    if (state->sums == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %zu groups", groups);
    }
    while (state->sum_count < groups && err == GRANARY_OK) {
        size_t taken = 0;

        err = exact_sum_read(bytes + at, size - at, &state->sums[state->sum_count], &taken);
        if (err == GRANARY_OK) {
            at += taken;
            state->sum_count++;
        }
    }
    return err == GRANARY_OK && at != size ? corrupt("sums too many") : err;
}

/* An Arrow file of the section, kept in table->files. */
static granary_err
read_frame(struct group_table *table, const char *bytes, const struct partial_entry *entry, const granary_frame **ret)
{
    granary_frame *frame;
    granary_err err = gr_arrow_read(bytes + entry->offset, entry->size, NULL, 0, &frame);

    if (err != GRANARY_OK) {
        return err == GRANARY_ENOMEM ? err : corrupt("it holds no table");
    }
    table->files[table->file_count++] = frame;
    *ret = frame;
    return GRANARY_OK;
}

static granary_err
read_pairs(struct group_table *table, struct group_state *state, const char *bytes, const struct partial_entry *entry)
{
    const granary_frame *pairs;
    granary_err err = read_frame(table, bytes, entry, &pairs);

    if (err != GRANARY_OK) {
        return err;
    }
    if (pairs->count != 2 || pairs->columns[1].view.dtype != state->dtype) {
        return corrupt("values of another type");
    }
    state->pair_count = (size_t)pairs->rows;
    state->pair_values.view = pairs->columns[1].view;
    return get_int64s(pairs, 0, (int64_t)table->groups - 1, &state->pair_groups);
}

/* Aggregate i, whose columns in the groups' frame begin at *at. */
static granary_err
read_state(struct group_table *table, size_t i, const char *bytes, const struct partial_entry *entry, size_t *at)
{
    struct group_state *state = &table->states[i];
    const granary_frame *groups = table->files[0];
    enum group_sum kind;
    granary_err err = GRANARY_OK;

    state->dtype = (granary_dtype)entry->dtype;
    kind = group_sum_kind(state->function, state->dtype);
    if (entry->dtype > GRANARY_FLOAT32 || *at + state_columns(state->function, state->dtype) > groups->count) {
        return corrupt("columns are missing");
    }
    if (group_counts(state->function)) {
        err = get_int64s(groups, (*at)++, INT64_MAX, &state->counts);
    }
    if (err == GRANARY_OK && kind == GROUP_SUM_INT) {
        err = get_int128s(groups, *at, &state->ints);
        *at += 2;
    }
    if (err == GRANARY_OK && kind == GROUP_SUM_DOUBLE) {
        err = read_sums(state, table->groups, bytes + entry->offset, entry->size);
    }
    if (err == GRANARY_OK && (state->function == GR_AGGREGATE_MIN || state->function == GR_AGGREGATE_MAX)) {
        state->best.view = groups->columns[(*at)++].view;
        err = state->best.view.dtype == state->dtype ? GRANARY_OK : corrupt("values of another type");
    }
    if (err == GRANARY_OK && state->function == GR_AGGREGATE_NUNIQUE) {
        err = read_pairs(table, state, bytes, entry);
    }
    return err;
}

static granary_err
head_read(const void *bytes, uint64_t size, size_t key_count, size_t count, struct partial_head *ret_head)
{
    struct partial_head head = {0};

    if (size < sizeof head) {
        return corrupt("cut off");
    }
    memcpy(&head, bytes, sizeof head);
    if (head.magic != PARTIAL_MAGIC) {
        return corrupt("it is no partial result of groupby");
    }
    if (head.version != PARTIAL_VERSION) {
        return gr_fail(GRANARY_EVERSION, "groupby: a partial result has version %u, not %u", head.version,
                       PARTIAL_VERSION);
    }
    if (head.keys != key_count || head.aggregates != count) {
        return gr_fail(GRANARY_EINVAL, "groupby: a partial result was made for other keys or aggregates");
    }
    if (head.size != size || head.groups >= UINT32_MAX ||
        count >= (size - sizeof head) / sizeof(struct partial_entry)) {
        return corrupt("sizes do not agree");
    }
    *ret_head = head;
    return GRANARY_OK;
}

static granary_err
entries_check(const struct partial_entry *entries, const struct gr_aggregate *aggregates, size_t count, uint64_t size)
{
    for (size_t i = 0; i <= count; i++) {
        if (entries[i].offset % ALIGNMENT != 0 || entries[i].offset > size ||
            entries[i].size > size - entries[i].offset) {
            return corrupt("a section is out of bounds");
        }
        if (i > 0 && entries[i].function != (uint32_t)aggregates[i - 1].function) {
            return gr_fail(GRANARY_EINVAL, "groupby: a partial result was made for other aggregates");
        }
    }
    return GRANARY_OK;
}

static granary_err
keys_borrow(const granary_frame *groups, size_t key_count, granary_frame **ret_keys)
{
    granary_frame *keys = gr_frame_create(key_count, groups->rows);
    granary_err err = GRANARY_OK;

    if (keys == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory");
    }
    for (size_t i = 0; i < key_count && err == GRANARY_OK; i++) {
        err = gr_frame_set_borrowed(keys, i, groups->columns[i].view.name, &groups->columns[i].view);
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(keys);
        return err;
    }
    *ret_keys = keys;
    return GRANARY_OK;
}

granary_err
group_table_read(const void *bytes, uint64_t size, size_t key_count, const struct gr_aggregate *aggregates,
                 size_t count, struct group_table *ret_table)
{
    struct group_table table = {0};
    struct partial_head head = {0};
    const struct partial_entry *entries = (const void *)((const char *)bytes + sizeof head);
    const granary_frame *groups;
    size_t at = key_count;
    granary_err err = head_read(bytes, size, key_count, count, &head);

    if (err == GRANARY_OK) {
        err = entries_check(entries, aggregates, count, size);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    table.groups = head.groups;
    table.files = calloc(count + 1, sizeof(granary_frame *));
    table.states = calloc(count + 1, sizeof *table.states);
    if (table.files == NULL || table.states == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "groupby: out of memory");
        goto fail;
    }
    err = read_frame(&table, bytes, &entries[0], &groups);
    if (err == GRANARY_OK && ((uint64_t)groups->rows != head.groups || groups->count < key_count)) {
        err = corrupt("groups are missing");
    }
    if (err == GRANARY_OK) {
        err = keys_borrow(groups, key_count, &table.keys);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        table.states[table.count++].function = aggregates[i].function;
        err = read_state(&table, i, bytes, &entries[1 + i], &at);
    }
    if (err == GRANARY_OK) {
        *ret_table = table;
        return GRANARY_OK;
    }

fail:
    group_table_fini(&table);
    return err;
}
