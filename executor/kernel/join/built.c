/*
 * A built side is opened: every size, offset and alignment is checked against the object before anything is looked
 * up, for whoever wrote it is not trusted.
 */
#include "kernel/join/built.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static granary_err
built_corrupt(const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "the built side of a join: %s does not fit", what);
}

static const void *
section_at(const struct built_bytes *bytes, const struct built_section *section)
{
    if (section->offset > bytes->size || section->size > bytes->size - section->offset || section->offset % 8 != 0) {
        return NULL;
    }
    return (const char *)bytes->bytes + section->offset;
}

static granary_err
open_dense(struct built_part *part)
{
    const struct built_head *head = &part->head;
    uint64_t slice;
    uint64_t before;

    if (head->slice_bits >= 40) {
        return built_corrupt("its slice");
    }
    slice = UINT64_C(1) << head->slice_bits;
    before = (uint64_t)head->part << head->slice_bits;
    /* Every word of the range has a part, or lookups would go beyond the last one. */
    if (head->range > UINT64_C(1) << head->part_bits << head->slice_bits) {
        return built_corrupt("its range");
    }
    part->word_count = before >= head->range ? 0 : head->range - before < slice ? head->range - before : slice;
    if (head->table.size != (part->word_count + !head->unique) * sizeof *part->words) {
        return built_corrupt("its table");
    }
    part->entry_count = head->entries.size / sizeof *part->refs;
    return GRANARY_OK;
}

static granary_err
open_hash(struct built_part *part)
{
    const struct built_head *head = &part->head;

    if (head->directory_bits > 40 || head->part_bits + head->directory_bits > 60 ||
        head->table.size != ((UINT64_C(1) << head->directory_bits) + 1) * sizeof *part->directory) {
        return built_corrupt("its directory");
    }
    part->entry_count = head->entries.size / sizeof *part->entries;
    return GRANARY_OK;
}

static granary_err
open_bits(const struct built_bytes *bytes, struct built *built)
{
    const struct built_head *head = &built->parts[0].head;

    if (head->bits.size == 0) {
        return GRANARY_OK;
    }
    built->bits = section_at(bytes, &head->bits);
    return built->bits != NULL && head->index == BUILT_HASH && head->bits.size % 8 == 0 &&
                   head->range <= head->bits.size * 8
               ? GRANARY_OK
               : built_corrupt("its bits");
}

static granary_err
open_part(const struct built_bytes *bytes, struct built_part *part)
{
    const struct built_head *head = &part->head;
    const void *table;
    const void *entries;
    granary_err err;

    if (bytes->size < sizeof part->head) {
        return built_corrupt("its size");
    }
    memcpy(&part->head, bytes->bytes, sizeof part->head);
    if (head->magic == BUILT_MAGIC && head->version != BUILT_VERSION) {
        return gr_fail(GRANARY_EVERSION,
                       "the built side of a join has version %u, this granary reads %u: run the graph again",
                       head->version, BUILT_VERSION);
    }
    if (head->magic != BUILT_MAGIC || head->key_count == 0 || head->shift > 32 || head->part_bits > 16 ||
        head->part >> head->part_bits != 0 || (head->index != BUILT_DENSE && head->index != BUILT_HASH) ||
        head->unique > 1 || bytes->size - sizeof *head < head->key_count * sizeof(struct built_key)) {
        return built_corrupt("its head");
    }
    table = section_at(bytes, &head->table);
    entries = section_at(bytes, &head->entries);
    if (table == NULL || entries == NULL) {
        return built_corrupt("a section");
    }
    err = head->index == BUILT_DENSE ? open_dense(part) : open_hash(part);
    part->words = table;
    part->directory = table;
    part->refs = entries;
    part->entries = entries;
    return err;
}

/* Strings and tuples are the same in all parts: those of the first are read. */
static granary_err
open_keys(const struct built_bytes *bytes, struct built *built)
{
    const struct built_head *head = &built->parts[0].head;
    const void *section;

    built->key_count = head->key_count;
    built->keys = calloc(built->key_count, sizeof *built->keys);
    built->strings = calloc(built->key_count, sizeof *built->strings);
    if (built->keys == NULL || built->strings == NULL) {
        return gr_fail(GRANARY_ENOMEM, "join: out of memory for %zu keys", built->key_count);
    }
    memcpy(built->keys, (const char *)bytes->bytes + sizeof *head, built->key_count * sizeof *built->keys);
    for (size_t k = 0; k < built->key_count; k++) {
        const struct built_key *key = &built->keys[k];

        if (!gr_dtype_is(key->dtype) || (key->is_bytes != 0) != key_is_bytes((granary_dtype)key->dtype)) {
            return built_corrupt("the dtype of a key");
        }
        if (key->is_bytes != 0 && ((section = section_at(bytes, &key->strings)) == NULL ||
                                   !intern_open(section, key->strings.size, &built->strings[k]))) {
            return built_corrupt("its table of strings");
        }
    }
    if (head->tuples.size > 0 && ((section = section_at(bytes, &head->tuples)) == NULL ||
                                  !intern_open(section, head->tuples.size, &built->tuples))) {
        return built_corrupt("its table of tuples");
    }
    return GRANARY_OK;
}

static bool
belong_together(const struct built_head *first, const struct built_head *head, size_t part)
{
    return head->part == part && head->index == first->index && head->key_count == first->key_count &&
           head->shift == first->shift && head->part_bits == first->part_bits && head->rows == first->rows &&
           head->base == first->base && head->range == first->range && head->slice_bits == first->slice_bits;
}

granary_err
built_open(const struct built_bytes *parts, size_t count, struct built *ret_built)
{
    struct built built = {.part_count = count, .unique = true};
    granary_err err = GRANARY_OK;

    built.parts = calloc(count + 1, sizeof *built.parts);
    if (built.parts == NULL) {
        return gr_fail(GRANARY_ENOMEM, "join: out of memory for %zu parts", count);
    }
    for (size_t p = 0; p < count && err == GRANARY_OK; p++) {
        err = open_part(&parts[p], &built.parts[p]);
        if (err == GRANARY_OK && !belong_together(&built.parts[0].head, &built.parts[p].head, p)) {
            err = built_corrupt("a part");
        }
        built.unique = built.unique && built.parts[p].head.unique != 0;
    }
    if (err == GRANARY_OK && (count == 0 || count != UINT64_C(1) << built.parts[0].head.part_bits)) {
        err = built_corrupt("the number of its parts");
    }
    if (err == GRANARY_OK) {
        err = open_keys(&parts[0], &built);
    }
    if (err == GRANARY_OK) {
        err = open_bits(&parts[0], &built);
    }
    if (err != GRANARY_OK) {
        built_close(&built);
        return err;
    }
    *ret_built = built;
    return GRANARY_OK;
}

void
built_close(struct built *built)
{
    free(built->parts);
    free(built->keys);
    free(built->strings);
    *built = (struct built){0};
}
