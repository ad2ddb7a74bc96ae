/* strip_accents(): letters without their accents. A letter is that of its canonical decomposition, without marks; what has
 * none stays (accents.def). */
#include "kernel/rows/text/text.h"
#include "kernel/rows/text/utf8.h"

struct accented {
    uint32_t point;
    uint32_t base;
};

struct marks {
    uint32_t from;
    uint32_t to;
};

static const struct accented accented[] = {
#define ACCENTED(point, base) {point, base},
#include "kernel/rows/text/accents.def"
};

static const struct marks marks[] = {
#define MARKS(from, to) {from, to},
#include "kernel/rows/text/accents.def"
};

static bool
is_mark(uint32_t point)
{
    size_t low = 0;
    size_t high = sizeof marks / sizeof marks[0];

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (marks[middle].to < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < sizeof marks / sizeof marks[0] && marks[low].from <= point;
}

static uint32_t
base_of(uint32_t point)
{
    size_t low = 0;
    size_t high = sizeof accented / sizeof accented[0];

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (accented[middle].point < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < sizeof accented / sizeof accented[0] && accented[low].point == point ? accented[low].base : point;
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
        } else if (!is_mark((uint32_t)point)) {
            rows_utf8_add(call->out, base_of((uint32_t)point));
        }
    }
    return true;
}
