/*
 * A table as bytes: a head, the dtypes of the arguments, an entry for each section, then the sections, aligned to 64
 * bytes. The first section is an Arrow file of the keys, encoded strings as codes. Behind the parts comes an Arrow
 * file for the dictionary of each encoded key, unless the readers have it. (Arrow's own dictionaries are checked at
 * length when they are read.) A part has up to three, each with its group: numbers (counts, 128-bit sums, or where
 * lists begin), an Arrow file of its values, and sums that need more than 128 bits.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "kernel/group/tables.h"

#define PARTIAL_MAGIC   UINT64_C(0x59425055524f5247) /* "GROUPBY" and more */
#define PARTIAL_VERSION 5
#define ALIGNMENT       64u

struct partial_head {
    uint64_t magic;
    uint32_t version;
    uint32_t keys;
    uint64_t groups;
    uint32_t aggregates;
    uint32_t arguments;
    uint64_t plan; /* what the parts are: a number that differs for other parts */
    uint64_t size; /* of everything */
};

enum { SECTION_NUMBERS, SECTION_VALUES, SECTION_MORE, SECTIONS };

struct partial_section {
    uint64_t offset; /* from the head; 64-byte aligned */
    uint64_t size;
};

struct partial_entry {
    int64_t unit; /* dictionaries: 1 when it was left out */
    uint64_t other_count;
    struct partial_section sections[SECTIONS];
};

static uint64_t
aligned(uint64_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* FNV-1a over what the parts are. */
static uint64_t
plan_number(const struct group_plan *plan)
{
    uint64_t number = UINT64_C(0xcbf29ce484222325);

    for (size_t p = 0; p < plan->part_count; p++) {
        const struct group_part_spec *spec = &plan->parts[p];
        int64_t words[] = {(int64_t)spec->kind, (int64_t)spec->measure, spec->x, spec->y, spec->mask, spec->n};

        for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
            number = (number ^ (uint64_t)words[w]) * UINT64_C(0x100000001b3);
        }
    }
    return number;
}

/* The keys, the parts, the dictionaries. */
static size_t
entry_count(const struct group_plan *plan)
{
    return 1 + plan->part_count + plan->keys->n_strings;
}

static uint64_t
head_size(size_t arguments, size_t entries)
{
    return sizeof(struct partial_head) + aligned(arguments * sizeof(uint32_t)) + entries * sizeof(struct partial_entry);
}

/* ---- writing ---- */

struct draft {
    size_t count; /* 1 + parts */
    struct partial_entry *entries;
    granary_frame **frames; /* of SECTION_VALUES; the first the keys */
    const bool *referred;   /* by key; NULL: none */
    uint64_t size;
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
frame_of_column(const granary_column *column, granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(1, column->rows);

    return gr_frame_give(frame, gr_frame_set_borrowed(frame, 0, "", column), ret_frame);
}

static granary_err
frame_of_keys(const granary_frame *keys, granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(keys->count, keys->rows);
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < keys->count && err == GRANARY_OK; k++) {
        granary_column key = keys->columns[k].view;

        key.dtype = key.dictionary != NULL ? GRANARY_INT32 : key.dtype;
        key.dictionary = NULL;
        err = gr_frame_set_borrowed(frame, k, key.name, &key);
    }
    return gr_frame_give(frame, err, ret_frame);
}

static void
draft_section(struct draft *draft, size_t i, int section, uint64_t size)
{
    draft->entries[i].sections[section] = (struct partial_section){aligned(draft->size), size};
    draft->size = aligned(draft->size) + size;
}

static granary_err
draft_part(struct draft *draft, size_t i, const struct group_plan *plan, const struct group_table *table)
{
    bool is_part = i > 0 && i <= plan->part_count;
    const struct group_part *part = is_part ? &table->parts[i - 1] : NULL;
    enum group_kind kind = is_part ? plan->parts[i - 1].kind : GROUP_VALUE;
    uint64_t numbers = 0;
    uint64_t file = 0;
    uint64_t more = 0;
    uint64_t meta = 0;
    bool left_out = i > plan->part_count && draft->referred != NULL && draft->referred[i - 1 - plan->part_count];
    granary_err err = GRANARY_OK;

    if (i == 0) {
        err = table->keys->count > 0 ? frame_of_keys(table->keys, &draft->frames[0]) : GRANARY_OK;
    } else if (!is_part) {
        const granary_column *dictionary = table->keys->columns[i - 1 - plan->part_count].view.dictionary;

        left_out = left_out && dictionary != NULL;
        err = dictionary != NULL && !left_out ? frame_of_column(dictionary, &draft->frames[i]) : GRANARY_OK;
    } else if (kind == GROUP_VALUE || kind == GROUP_LIST) {
        err = frame_of_column(&part->values.view, &draft->frames[i]);
    }
    if (err == GRANARY_OK && draft->frames[i] != NULL) {
        err = gr_arrow_measure(draft->frames[i], &file, &meta);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (kind == GROUP_COUNT) {
        numbers = table->groups * sizeof *part->counts;
    } else if (kind == GROUP_INT || kind == GROUP_REAL) {
        numbers = table->groups * sizeof *part->ints;
    } else if (kind == GROUP_LIST) {
        numbers = (table->groups + 1) * sizeof *part->starts;
    }
    for (size_t o = 0; part != NULL && o < part->other_count; o++) {
        more += 8 + exact_sum_size(&part->more[o]);
    }
    draft->entries[i].unit = part != NULL ? part->unit : left_out;
    draft->entries[i].other_count = part != NULL ? part->other_count : 0;
    draft_section(draft, i, SECTION_NUMBERS, numbers);
    draft_section(draft, i, SECTION_VALUES, file);
    draft_section(draft, i, SECTION_MORE, more);
    return GRANARY_OK;
}

static void
write_part(const struct draft *draft, size_t i, const struct group_plan *plan, const struct group_table *table,
           char *bytes)
{
    const struct partial_section *sections = draft->entries[i].sections;
    const struct group_part *part = i > 0 && i <= plan->part_count ? &table->parts[i - 1] : NULL;
    const void *numbers = NULL;
    char *at = bytes + sections[SECTION_MORE].offset;

    if (part != NULL) {
        enum group_kind kind = plan->parts[i - 1].kind;

        numbers = kind == GROUP_COUNT  ? (const void *)part->counts
                  : kind == GROUP_LIST ? (const void *)part->starts
                                       : (const void *)part->ints;
    }
    for (int s = 0; s < SECTIONS; s++) { /* up to the next section */
        uint64_t end = sections[s].offset + sections[s].size;

        memset(bytes + end, 0, aligned(end) - end);
    }
    if (sections[SECTION_NUMBERS].size > 0) {
        memcpy(bytes + sections[SECTION_NUMBERS].offset, numbers, sections[SECTION_NUMBERS].size);
    }
    if (draft->frames[i] != NULL) {
        gr_arrow_write(draft->frames[i], bytes + sections[SECTION_VALUES].offset, NULL);
    }
    for (size_t o = 0; part != NULL && o < part->other_count; o++) {
        uint64_t group = part->others[o];

        memcpy(at, &group, sizeof group);
        at += 8 + exact_sum_write(&part->more[o], at + 8);
    }
}

granary_err
group_table_write(const struct group_plan *plan, const struct group_table *table, const bool *referred,
                  void **ret_bytes, uint64_t *ret_size)
{
    struct draft draft = {.count = entry_count(plan), .referred = referred};
    struct partial_head head = {.magic = PARTIAL_MAGIC,
                                .version = PARTIAL_VERSION,
                                .keys = (uint32_t)table->keys->count,
                                .groups = table->groups,
                                .aggregates = (uint32_t)plan->count,
                                .arguments = (uint32_t)plan->argument_count,
                                .plan = plan_number(plan)};
    char *bytes = NULL;
    granary_err err = GRANARY_OK;

    draft.entries = calloc(draft.count, sizeof *draft.entries);
    draft.frames = calloc(draft.count, sizeof(granary_frame *));
    draft.size = head_size(plan->argument_count, entry_count(plan));
    if (draft.entries == NULL || draft.frames == NULL) {
        err = gr_no_memory("groupby");
    }
    for (size_t i = 0; i < draft.count && err == GRANARY_OK; i++) {
        err = draft_part(&draft, i, plan, table);
    }
    draft.size = aligned(draft.size);
    if (err == GRANARY_OK) {
        bytes = aligned_alloc(ALIGNMENT, draft.size); /* zeros only where nothing is written: this may be much */
        if (bytes == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %llu bytes", (unsigned long long)draft.size);
        }
    }
    if (err == GRANARY_OK) {
        uint32_t *dtypes = (uint32_t *)(void *)(bytes + sizeof head);

        head.size = draft.size;
        memset(bytes, 0, aligned(head_size(plan->argument_count, entry_count(plan))));
        memcpy(bytes, &head, sizeof head);
        for (size_t a = 0; a < plan->argument_count; a++) {
            dtypes[a] = (uint32_t)plan->dtypes[a];
        }
        memcpy(bytes + sizeof head + aligned(plan->argument_count * sizeof *dtypes), draft.entries,
               draft.count * sizeof *draft.entries);
        for (size_t i = 0; i < draft.count; i++) {
            write_part(&draft, i, plan, table, bytes);
        }
        *ret_bytes = bytes;
        *ret_size = draft.size;
    } else {
        free(bytes);
    }
    draft_fini(&draft);
    return err;
}

/* ---- reading ---- */

static granary_err
partial_corrupt(const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "groupby: a partial result is damaged: %s", what);
}

/* An Arrow file, kept among the table's files, without dictionaries. */
static granary_err
read_frame(struct group_table *table, const char *bytes, const struct partial_section *section,
           const granary_frame **ret_frame)
{
    granary_frame *frame;
    granary_err err = gr_arrow_read(bytes + section->offset, section->size, NULL, 0, &frame);

    if (err != GRANARY_OK) {
        return err == GRANARY_ENOMEM ? err : partial_corrupt("it holds no table");
    }
    table->files[table->file_count++] = frame;
    *ret_frame = frame;
    return GRANARY_OK;
}

static granary_err
read_more(struct group_part *part, size_t groups, const char *bytes, const struct partial_entry *entry)
{
    const struct partial_section *section = &entry->sections[SECTION_MORE];
    uint64_t at = 0;
    granary_err err = GRANARY_OK;

    if (entry->other_count > section->size / 8 || entry->other_count > groups) {
        return partial_corrupt("sums are missing");
    }
    part->others = calloc(entry->other_count + 1, sizeof *part->others);
    part->more = calloc(entry->other_count + 1, sizeof *part->more);
    if (part->others == NULL || part->more == NULL) {
        return gr_no_memory("groupby");
    }
    while (part->other_count < entry->other_count && err == GRANARY_OK) {
        size_t taken = 0;
        uint64_t group;

        if (section->size - at < 8) {
            return partial_corrupt("sums are missing");
        }
        memcpy(&group, bytes + section->offset + at, sizeof group);
        if (group >= groups || (part->other_count > 0 && group <= part->others[part->other_count - 1])) {
            return partial_corrupt("a sum belongs to no group");
        }
        at += 8;
        err = exact_sum_read(bytes + section->offset + at, section->size - at, &part->more[part->other_count], &taken);
        if (err == GRANARY_OK) {
            part->others[part->other_count++] = (uint32_t)group;
            at += taken;
        }
    }
    return err == GRANARY_OK && at != section->size ? partial_corrupt("sums too many") : err;
}

static granary_err
read_values(struct group_table *table, struct group_part *part, granary_dtype dtype, const char *bytes,
            const struct partial_section *section)
{
    const granary_frame *frame;
    granary_err err = read_frame(table, bytes, section, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    if (frame->count != 1 || frame->columns[0].view.dtype != dtype || frame->columns[0].view.dictionary != NULL) {
        return partial_corrupt("values of another type");
    }
    part->values.view = frame->columns[0].view;
    return GRANARY_OK;
}

static granary_err
read_part(struct group_table *table, const struct group_plan *plan, size_t p, const char *bytes,
          const struct partial_entry *entry)
{
    const struct group_part_spec *spec = &plan->parts[p];
    const struct partial_section *numbers = &entry->sections[SECTION_NUMBERS];
    struct group_part *part = &table->parts[p];
    size_t width = spec->kind == GROUP_COUNT                             ? 8
                   : spec->kind == GROUP_INT || spec->kind == GROUP_REAL ? 16
                   : spec->kind == GROUP_LIST                            ? 4
                                                                         : 0;
    void *data = (void *)(uintptr_t)(bytes + numbers->offset);
    granary_err err = GRANARY_OK;

    part->borrowed = true;
    if (spec->kind == GROUP_VALUE || spec->kind == GROUP_LIST) {
        err = read_values(table, part, plan->dtypes[spec->x], bytes, &entry->sections[SECTION_VALUES]);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (spec->kind == GROUP_VALUE && (uint64_t)part->values.view.rows != table->groups) {
        return partial_corrupt("values are missing");
    }
    if (numbers->size != width * (table->groups + (spec->kind == GROUP_LIST))) {
        return partial_corrupt("numbers are missing");
    }
    switch (spec->kind) {
    case GROUP_COUNT:
        part->counts = data;
        for (size_t g = 0; g < table->groups; g++) {
            if (part->counts[g] < 0 || part->counts[g] > INT64_MAX >> 20) {
                return partial_corrupt("a count is out of range");
            }
        }
        return GRANARY_OK;
    case GROUP_INT:
        part->ints = data;
        return GRANARY_OK;
    case GROUP_REAL:
        part->ints = data;
        if (entry->unit < -1100 || entry->unit > 900) {
            return partial_corrupt("a unit is out of range");
        }
        part->unit = (int)entry->unit;
        return read_more(part, table->groups, bytes, entry);
    case GROUP_VALUE:
        return GRANARY_OK;
    case GROUP_LIST:
        part->starts = data;
        if (part->values.view.null_count != 0 && spec->measure != GROUP_ALL &&
            plan->dtypes[spec->x] != GRANARY_NULLTYPE) {
            return partial_corrupt("a value is null");
        }
        for (size_t g = 0; g < table->groups; g++) {
            if (part->starts[g] > part->starts[g + 1]) {
                return partial_corrupt("a value belongs to no group");
            }
        }
        if (part->starts[0] != 0 || part->starts[table->groups] != part->values.view.rows) {
            return partial_corrupt("a value belongs to no group");
        }
        return GRANARY_OK;
    }
    return GRANARY_OK;
}

static granary_err
read_head(struct group_plan *plan, const void *bytes, uint64_t size, struct partial_head *ret_head)
{
    struct partial_head head = {0};

    if (size < sizeof head) {
        return partial_corrupt("cut off");
    }
    memcpy(&head, bytes, sizeof head);
    if (head.magic != PARTIAL_MAGIC) {
        return partial_corrupt("it is no partial result of groupby");
    }
    if (head.version != PARTIAL_VERSION) {
        return gr_fail(GRANARY_EVERSION,
                       "groupby: a partial result of version %u, this granary reads %u: run the graph again",
                       head.version, PARTIAL_VERSION);
    }
    if (head.keys != plan->keys->n_strings || head.aggregates != plan->count ||
        head.arguments != plan->argument_count) {
        return gr_fail(GRANARY_EINVAL, "groupby: a partial result was made for other keys or other aggregates");
    }
    if (head.size != size || head.groups >= UINT32_MAX / 4 || head_size(head.arguments, 0) > size) {
        return partial_corrupt("sizes do not agree");
    }
    *ret_head = head;
    return GRANARY_OK;
}

/* The plan's dtypes from the first table; those of the others must be the same. */
static granary_err
read_dtypes(struct group_plan *plan, bool is_first, const char *bytes)
{
    granary_dtype *dtypes = calloc(plan->argument_count + 1, sizeof *dtypes);
    granary_err err = dtypes == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    for (size_t a = 0; a < plan->argument_count && err == GRANARY_OK; a++) {
        uint32_t number;

        memcpy(&number, bytes + sizeof(struct partial_head) + a * sizeof number, sizeof number);
        dtypes[a] = (granary_dtype)number;
        if (!gr_dtype_is(number)) {
            err = partial_corrupt("a dtype is unknown");
        } else if (!is_first && dtypes[a] != plan->dtypes[a]) {
            err = gr_fail(GRANARY_ETYPE, "groupby: `%s` is %s in one chunk and %s in another", plan->arguments[a],
                          granary_dtype_name(plan->dtypes[a]), granary_dtype_name(dtypes[a]));
        }
    }
    if (err == GRANARY_OK && is_first) {
        err = group_plan_types(plan, dtypes);
    }
    free(dtypes);
    return err;
}

/* Codes and the dictionary they lead into become a column of strings, borrowed. */
static granary_err
join_dictionary(const granary_column *dictionary, granary_column *codes)
{
    const int32_t *values = codes->values;

    if (!gr_dtype_is_text(dictionary->dtype) || dictionary->null_count != 0 || dictionary->dictionary != NULL ||
        codes->dtype != GRANARY_INT32) {
        return partial_corrupt("a dictionary of another type");
    }
    for (int64_t i = 0; i < codes->rows; i++) {
        if (!gr_is_null(codes, i) && (values[i] < 0 || values[i] >= dictionary->rows)) {
            return partial_corrupt("a code is out of range");
        }
        if (gr_is_null(codes, i) && values[i] != 0) {
            return partial_corrupt("a null has a code");
        }
    }
    codes->dtype = dictionary->dtype;
    codes->dictionary = dictionary;
    return GRANARY_OK;
}

/* The dictionary of a key, its own or that of the reference. */
static granary_err
read_dictionary(struct group_table *table, const char *bytes, const struct partial_entry *entry, const char *name,
                const granary_frame *reference, granary_column *codes)
{
    const struct partial_section *section = &entry->sections[SECTION_VALUES];
    const granary_frame *frame;
    granary_err err;

    if (entry->unit == 1) {
        const granary_column *there = reference != NULL ? granary_frame_column_named(reference, name) : NULL;

        return there == NULL || there->dictionary == NULL ? partial_corrupt("a dictionary is missing")
                                                          : join_dictionary(there->dictionary, codes);
    }
    err = read_frame(table, bytes, section, &frame);
    if (err == GRANARY_OK && frame->count != 1) {
        err = partial_corrupt("a dictionary of another type");
    }
    return err == GRANARY_OK ? join_dictionary(&frame->columns[0].view, codes) : err;
}

static granary_err
read_keys(struct group_table *table, const struct group_plan *plan, const char *bytes,
          const struct partial_entry *entries, const granary_frame *reference)
{
    const granary_frame *file;
    granary_err err;

    if (plan->keys->n_strings == 0) {
        table->keys = gr_frame_create(0, (int64_t)table->groups);
        return table->keys == NULL  ? gr_no_memory("groupby")
               : table->groups == 1 ? GRANARY_OK
                                    : partial_corrupt("groups without keys");
    }
    err = read_frame(table, bytes, &entries[0].sections[SECTION_VALUES], &file);
    if (err == GRANARY_OK && ((uint64_t)file->rows != table->groups || file->count != plan->keys->n_strings)) {
        err = partial_corrupt("groups are missing");
    }
    if (err == GRANARY_OK) {
        table->keys = gr_frame_create(file->count, file->rows);
        err = table->keys == NULL ? gr_no_memory("groupby") : GRANARY_OK;
    }
    for (size_t k = 0; err == GRANARY_OK && k < file->count; k++) {
        const struct partial_entry *dictionary = &entries[1 + plan->part_count + k];
        granary_column key = file->columns[k].view;

        if (key.dictionary != NULL) {
            err = partial_corrupt("a key of another type");
        } else if (dictionary->sections[SECTION_VALUES].size > 0 || dictionary->unit == 1) {
            err = read_dictionary(table, bytes, dictionary, plan->keys->strings[k], reference, &key);
        }
        if (err == GRANARY_OK) {
            err = gr_frame_set_borrowed(table->keys, k, plan->keys->strings[k], &key);
        }
    }
    return err;
}

granary_err
group_table_read(struct group_plan *plan, bool is_first, const void *bytes, uint64_t size,
                 const granary_frame *reference, struct group_table *ret_table)
{
    struct group_table table = {0};
    struct partial_head head = {0};
    const struct partial_entry *entries;
    granary_err err = read_head(plan, bytes, size, &head);

    if (err == GRANARY_OK) {
        err = read_dtypes(plan, is_first, bytes);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (head.plan != plan_number(plan)) {
        return gr_fail(GRANARY_EINVAL, "groupby: a partial result was made for other keys or other aggregates");
    }
    if (head_size(plan->argument_count, entry_count(plan)) > size) {
        return partial_corrupt("sizes do not agree");
    }
    entries = (const void *)((const char *)bytes + head_size(plan->argument_count, 0));
    for (size_t i = 0; i < entry_count(plan); i++) {
        for (int s = 0; s < SECTIONS; s++) {
            const struct partial_section *section = &entries[i].sections[s];

            if (section->offset % ALIGNMENT != 0 || section->offset > size || section->size > size - section->offset) {
                return partial_corrupt("a section is out of bounds");
            }
        }
    }
    table.groups = head.groups;
    table.files = calloc(entry_count(plan) + 1, sizeof(granary_frame *));
    table.parts = calloc(plan->part_count + 1, sizeof *table.parts);
    table.part_count = plan->part_count;
    if (table.files == NULL || table.parts == NULL) {
        err = gr_no_memory("groupby");
    }
    if (err == GRANARY_OK) {
        err = read_keys(&table, plan, bytes, entries, reference);
    }
    for (size_t p = 0; p < plan->part_count && err == GRANARY_OK; p++) {
        err = read_part(&table, plan, p, bytes, &entries[1 + p]);
    }
    if (err != GRANARY_OK) {
        group_table_fini(&table);
        return err;
    }
    *ret_table = table;
    return GRANARY_OK;
}
