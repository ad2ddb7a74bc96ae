/*
 * How much two texts differ, byte by byte as in DuckDB: edits (Levenshtein; with letters exchanged, too, Damerau and
 * Levenshtein), places (Hamming), common letters (Jaccard), and matches (Jaro, Winkler).
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/rows/text/text.h"

enum {
    TEXT_MOST = 8192,      /* bytes of a text that edits are counted of */
    TABLE_MOST = 16 << 20, /* places of a table of edits */
};

static int32_t
least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Two rows of the table of edits: this one, and the one before. */
static int64_t
edits(const struct rows_text *a, const struct rows_text *b, int32_t *room)
{
    int32_t *last = room;
    int32_t *now = room + b->size + 1;

    for (size_t k = 0; k <= b->size; k++) {
        last[k] = (int32_t)k;
    }
    for (size_t i = 1; i <= a->size; i++) {
        int32_t *before = last;

        now[0] = (int32_t)i;
        for (size_t k = 1; k <= b->size; k++) {
            now[k] = least(least(last[k], now[k - 1]) + 1, last[k - 1] + (a->bytes[i - 1] != b->bytes[k - 1]));
        }
        last = now;
        now = before;
    }
    return last[b->size];
}

/*
 * The whole table, with a row and a column before it. Letters between two that were exchanged may be put in or left out:
 * last_a[c] is the last row in which a has the byte c, last_b the last place of this row in which both are equal.
 */
static int64_t
exchanges(const struct rows_text *a, const struct rows_text *b, int32_t *table)
{
    const int32_t most = (int32_t)(a->size + b->size);
    const size_t width = b->size + 2;
    int32_t last_a[256] = {0};

#define AT(i, k) table[(size_t)(i)*width + (size_t)(k)]
    for (size_t i = 0; i <= a->size + 1; i++) {
        AT(i, 0) = most;
        AT(i, 1) = i == 0 ? most : (int32_t)i - 1;
    }
    for (size_t k = 1; k <= b->size + 1; k++) {
        AT(0, k) = most;
        AT(1, k) = (int32_t)k - 1;
    }
    for (int32_t i = 1; i <= (int32_t)a->size; i++) {
        int32_t last_b = 0;

        for (int32_t k = 1; k <= (int32_t)b->size; k++) {
            int32_t row = last_a[(unsigned char)b->bytes[k - 1]];
            int32_t place = last_b;
            bool same = a->bytes[i - 1] == b->bytes[k - 1];

            last_b = same ? k : last_b;
            AT(i + 1, k + 1) = least(least(AT(i, k) + !same, least(AT(i + 1, k), AT(i, k + 1)) + 1),
                                     AT(row, place) + (i - row - 1) + 1 + (k - place - 1));
        }
        last_a[(unsigned char)a->bytes[i - 1]] = i;
    }
    return AT(a->size + 1, b->size + 1);
#undef AT
}

bool
text_edits(struct text_call *call)
{
    const struct rows_text *a = &call->texts[0];
    const struct rows_text *b = &call->texts[1];
    bool all = call->node->op == GR_OP_DAMERAU;
    size_t rows = all ? a->size + 2 : 2;
    int32_t *room;

    if (a->size > TEXT_MOST || b->size > TEXT_MOST || rows * (b->size + 2) > TABLE_MOST) {
        return false;
    }
    room = malloc(rows * (b->size + 2) * sizeof *room);
    if (room == NULL) {
        call->no_memory = true;
        return false;
    }
    call->value = all ? exchanges(a, b, room) : edits(a, b, room);
    free(room);
    return true;
}

bool
text_hamming(struct text_call *call)
{
    const struct rows_text *a = &call->texts[0];
    const struct rows_text *b = &call->texts[1];

    if (a->size != b->size || a->size == 0) {
        return false;
    }
    for (size_t i = 0; i < a->size; i++) {
        call->value += a->bytes[i] != b->bytes[i];
    }
    return true;
}

bool
text_jaccard(struct text_call *call)
{
    bool seen[2][256] = {{false}};
    int both = 0;
    int any = 0;

    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < call->texts[k].size; i++) {
            seen[k][(unsigned char)call->texts[k].bytes[i]] = true;
        }
    }
    for (int c = 0; c < 256; c++) {
        both += seen[0][c] && seen[1][c];
        any += seen[0][c] || seen[1][c];
    }
    call->real = any == 0 ? 0.0 : (double)both / any;
    return call->texts[0].size > 0 && call->texts[1].size > 0;
}

/* Matches lie within half of the longer text; of those in another order half count. */
static double
jaro(const struct rows_text *a, const struct rows_text *b, uint8_t *taken_a, uint8_t *taken_b)
{
    size_t longest = a->size > b->size ? a->size : b->size;
    size_t reach = longest / 2 > 0 ? longest / 2 - 1 : 0;
    size_t matches = 0;
    size_t moved = 0;

    for (size_t i = 0; i < a->size; i++) {
        size_t from = i > reach ? i - reach : 0;
        size_t to = i + reach + 1 < b->size ? i + reach + 1 : b->size;

        for (size_t k = from; k < to; k++) {
            if (taken_b[k] == 0 && a->bytes[i] == b->bytes[k]) {
                taken_a[i] = taken_b[k] = 1;
                matches++;
                break;
            }
        }
    }
    if (matches == 0) {
        return 0.0;
    }
    for (size_t i = 0, k = 0; i < a->size; i++) {
        if (taken_a[i] == 0) {
            continue;
        }
        while (taken_b[k] == 0) {
            k++;
        }
        moved += a->bytes[i] != b->bytes[k++];
    }
    return ((double)matches / (double)a->size + (double)matches / (double)b->size +
            (double)(matches - moved / 2) / (double)matches) /
           3.0;
}

/* Winkler adds to what is alike more than 0.7 for up to four letters at the beginning. */
bool
text_jaro(struct text_call *call)
{
    const struct rows_text *a = &call->texts[0];
    const struct rows_text *b = &call->texts[1];
    size_t common = 0;
    uint8_t *taken;

    if (a->size > TEXT_MOST || b->size > TEXT_MOST) {
        return false;
    }
    taken = calloc(a->size + b->size + 1, 1);
    if (taken == NULL) {
        call->no_memory = true;
        return false;
    }
    call->real = jaro(a, b, taken, taken + a->size);
    free(taken);
    while (common < 4 && common < a->size && common < b->size && a->bytes[common] == b->bytes[common]) {
        common++;
    }
    if (call->node->op == GR_OP_JARO_WINKLER && call->real > 0.7) {
        call->real += 0.1 * (double)common * (1.0 - call->real);
    }
    return true;
}
