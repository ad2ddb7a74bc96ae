/* Words of one width in rows.c: WORD, WORDS(name), SLOT_NUMBERS are set. No include guard. */

static granary_err
WORDS(sort_packed)(const struct layout *layout, WORD *words, int64_t *rows, size_t n, bool whole, unsigned row_bits,
                   uint8_t *ties)
{
    WORD mask = ((WORD)1 << row_bits) - 1;

    for (size_t from = 0; from < n; from += SORT_BLOCK) {
        size_t count = n - from < SORT_BLOCK ? n - from : SORT_BLOCK;
        WORD numbers[SORT_BLOCK];

        for (size_t i = 0; i < count; i++) {
            words[from + i] = 0;
        }
        for (size_t s = 0; s < layout->count; s++) {
            const struct slot *slot = &layout->slots[s];
            unsigned shift = slot->bits < 8 * sizeof(WORD) ? slot->bits : 0; /* all bits: the word is 0 */

            SLOT_NUMBERS(slot, whole ? NULL : rows + from, (int64_t)from, count, numbers);
            for (size_t i = 0; i < count; i++) {
                words[from + i] = words[from + i] << shift | numbers[i] >> slot->dropped;
            }
        }
        for (size_t i = 0; i < count; i++) {
            words[from + i] = words[from + i] << row_bits | (from + i);
        }
    }
    WORDS(sort_words)(words, words + n, n, row_bits);
    for (size_t i = 1; ties != NULL && i < n; i++) {
        ties[i] = words[i] >> row_bits == words[i - 1] >> row_bits;
    }
    if (whole) {
        for (size_t i = 0; i < n; i++) {
            rows[i] = (int64_t)(words[i] & mask);
        }
        return GRANARY_OK;
    }

    int64_t *sorted = scratch_alloc(n * sizeof *sorted);

    if (sorted == NULL) {
        return gr_fail(GRANARY_ENOMEM, "sort: out of memory for %zu rows", n);
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = rows[words[i] & mask];
    }
    memcpy(rows, sorted, n * sizeof *rows);
    scratch_free(sorted);
    return GRANARY_OK;
}
