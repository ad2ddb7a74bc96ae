/* strip_accents(): letters without their accents. A letter is that of its canonical decomposition, without marks; what has
 * none stays (accents.def). */
#include "kernel/rows/text/text.h"
#include "kernel/rows/text/utf8.h"

/* Points, and the letter that is left of them; 0: none is, for they are marks. */
struct accented {
    uint32_t from;
    uint32_t to;
    uint32_t base;
};

static const struct accented letters[] = {
#define ACCENTED(point, base) {point, point, base},
#include "kernel/rows/text/accents.def"
};

static const struct accented marks[] = {
#define MARKS(from, to) {from, to, 0},
#include "kernel/rows/text/accents.def"
};

/* What a table says of a point; NULL: nothing. */
static const struct accented *
find(const struct accented *table, size_t count, uint32_t point)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (table[middle].to < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && table[low].from <= point ? &table[low] : NULL;
}

static uint32_t
base_of(uint32_t point)
{
    const struct accented *letter = find(letters, sizeof letters / sizeof letters[0], point);

    return letter == NULL ? point : letter->base;
}

bool
text_strip_accents(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    size_t size;

    if (rows_is_ascii(text)) {
        return text_give(call, *text);
    }
    for (size_t at = 0; at < text->size; at += size) {
        int32_t point = rows_utf8_decode(text->bytes + at, text->size - at, &size);

        if (point < 0x80) { /* also a byte that is no UTF-8 */
            gr_buf_add(call->out, text->bytes + at, size);
        } else if (find(marks, sizeof marks / sizeof marks[0], (uint32_t)point) == NULL) {
            rows_utf8_add(call->out, base_of((uint32_t)point));
        }
    }
    return true;
}
