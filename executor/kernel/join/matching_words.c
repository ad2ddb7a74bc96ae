/* The keys of a probing frame as words, and what can be told of them before the index is asked. */
#include <string.h>

#include "contract/int128.h"
#include "graph/join.h"
#include "kernel/join/matching.h"

static uint32_t
string_number(const struct matching *m, size_t k, int64_t row)
{
    const granary_column *column = m->columns[k];
    uint32_t *numbers = m->numbers[k];
    gr_int128 scratch;
    size_t size;
    const char *bytes;
    int32_t code = 0;
    uint32_t number;

    if (numbers != NULL) {
        code = ((const int32_t *)column->values)[row];
        if (numbers[code] != NOT_LOOKED) {
            return gr_is_null(column, row) ? GR_TEXTS_NONE : numbers[code];
        }
    }
    bytes = key_bytes(column, (granary_dtype)m->built->keys[k].dtype, row, &scratch, &size);
    if (bytes == NULL) {
        return GR_TEXTS_NONE;
    }
    number = intern_find(&m->built->strings[k], bytes, size);
    if (numbers != NULL) {
        numbers[code] = number;
    }
    return number;
}

/* Words of the rows that the block has, of all it spans. */
static void
some_words(struct matching *m, size_t k, int64_t *words)
{
    int64_t all[JOIN_BLOCK];
    uint8_t present[JOIN_BLOCK];

    memset(present, 1, (size_t)m->span);
    key_words(m->columns[k], (granary_dtype)m->built->keys[k].dtype, m->from, m->span, all, present);
    for (int64_t i = 0; i < m->n; i++) {
        int64_t at = (int64_t)m->row[i] - m->from;

        words[i] = all[at];
        m->present[i] = (uint8_t)(m->present[i] & present[at]);
    }
}

static void
one_key(struct matching *m, size_t k, int64_t *words)
{
    const struct built_key *key = &m->built->keys[k];

    if (!key->is_bytes && m->n == m->span) {
        key_words(m->columns[k], (granary_dtype)key->dtype, m->from, m->n, words, m->present);
        return;
    }
    if (!key->is_bytes) {
        some_words(m, k, words);
        return;
    }
    for (int64_t i = 0; i < m->n; i++) {
        uint32_t number = string_number(m, k, m->row[i]);

        words[i] = number;
        m->present[i] = (uint8_t)(m->present[i] & (number != GR_TEXTS_NONE));
    }
}

static void
tuple_words(struct matching *m)
{
    size_t keys = m->built->key_count;

    for (int64_t i = 0; i < m->n; i++) {
        int64_t tuple[GR_JOIN_KEYS_MAX];
        uint32_t number;

        for (size_t k = 0; k < keys; k++) {
            tuple[k] = m->tuple[k * JOIN_BLOCK + (size_t)i];
        }
        number =
            m->present[i] ? intern_find(&m->built->tuples, (const char *)tuple, keys * sizeof *tuple) : GR_TEXTS_NONE;
        m->words[i] = number;
        m->present[i] = number != GR_TEXTS_NONE;
    }
}

static void
block_words(struct matching *m)
{
    const struct built *built = m->built;

    memset(m->present, 1, (size_t)m->n);
    if (built->key_count == 1) {
        one_key(m, 0, m->words);
        return;
    }
    for (size_t k = 0; k < built->key_count; k++) {
        one_key(m, k, m->tuple + k * JOIN_BLOCK);
    }
    if (built->parts[0].head.tuples.size > 0) {
        tuple_words(m);
        return;
    }
    memset(m->words, 0, (size_t)m->n * sizeof *m->words);
    for (size_t k = 0; k < built->key_count; k++) {
        const struct built_key *key = &built->keys[k];
        const int64_t *words = m->tuple + k * JOIN_BLOCK;

        for (int64_t i = 0; i < m->n; i++) {
            uint64_t place = (uint64_t)words[i] - (uint64_t)key->base;

            m->present[i] = (uint8_t)(m->present[i] & (place < key->range));
            m->words[i] = (int64_t)((uint64_t)m->words[i] + place * key->stride);
        }
    }
}

/* Whose word has no bit matches nothing: where such rows leave no trace they are done with. */
static void
look_at_bits(struct matching *m)
{
    const struct built_head *head = &m->built->parts[0].head;
    const uint64_t *bits = m->built->bits;
    bool drops = m->kind == MATCH_INNER || m->kind == MATCH_SEMI;
    int64_t at = 0;

    for (int64_t i = 0; i < m->n; i++) {
        uint64_t place = (uint64_t)m->words[i] - (uint64_t)head->base;
        uint64_t inside = place < head->range ? place : 0;
        uint64_t bit = bits[inside >> 6] >> (inside & 63) & (place < head->range) & m->present[i];

        m->words[at] = m->words[i];
        m->row[at] = m->row[i];
        m->present[at] = (uint8_t)bit;
        at += (int64_t)(bit | !drops);
    }
    m->n = at;
}

/* The same for a key that is there as it is compared, in one pass over it. */
#define LOOK_AT_VALUES(TYPE)                                                                                           \
    do {                                                                                                               \
        const TYPE *values = (const TYPE *)m->columns[0]->values + m->from;                                            \
                                                                                                                       \
        for (int64_t i = 0; i < m->span; i++) {                                                                        \
            uint64_t place = (uint64_t)(int64_t)values[i] - base;                                                      \
            uint64_t inside = place < range ? place : 0;                                                               \
                                                                                                                       \
            m->words[at] = values[i];                                                                                  \
            m->row[at] = (uint32_t)(m->from + i);                                                                      \
            at += (int64_t)(bits[inside >> 6] >> (inside & 63) & (place < range));                                     \
        }                                                                                                              \
    } while (0)

/* Whether it was done: of all rows of a block, one key of integers without nulls, and rows without a match to leave
 * out.
 */
static bool
look_at_values(struct matching *m)
{
    const struct built_head *head = &m->built->parts[0].head;
    const granary_column *column = m->columns[0];
    const uint64_t *bits = m->built->bits;
    uint64_t base = (uint64_t)head->base;
    uint64_t range = head->range;
    int64_t at = 0;

    if (bits == NULL || m->built->key_count != 1 || m->built->keys[0].dtype != GRANARY_INT64 ||
        column->null_count != 0 || (m->kind != MATCH_INNER && m->kind != MATCH_SEMI) ||
        (column->dtype != GRANARY_INT32 && column->dtype != GRANARY_INT64)) {
        return false;
    }
    if (column->dtype == GRANARY_INT32) {
        LOOK_AT_VALUES(int32_t);
    } else {
        LOOK_AT_VALUES(int64_t);
    }
    memset(m->present, 1, (size_t)at);
    m->n = at;
    return true;
}

void
matching_words(struct matching *m)
{
    if (m->n == m->span && look_at_values(m)) {
        return;
    }
    block_words(m);
    if (m->built->bits != NULL) {
        look_at_bits(m);
    }
}
