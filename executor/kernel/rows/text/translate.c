/* translate(s, from, to): as PostgreSQL has it, a character at a time. Of a character that is twice in from, the first
 * place counts. */
#include <string.h>

#include "kernel/rows/text/text.h"
#include "kernel/rows/text/utf8.h"

/* Which character of the set it is, from 0; -1: none. */
static int64_t
place_in(const struct rows_text *set, const char *at, size_t size)
{
    int64_t place = 0;

    for (size_t i = 0, step; i < set->size; i += step, place++) {
        (void)rows_utf8_decode(set->bytes + i, set->size - i, &step);
        if (step == size && memcmp(set->bytes + i, at, size) == 0) {
            return place;
        }
    }
    return -1;
}

bool
text_translate(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    const struct rows_text *from = &call->texts[1];
    const struct rows_text *to = &call->texts[2];

    for (size_t i = 0, size; i < text->size; i += size) {
        int64_t place;

        (void)rows_utf8_decode(text->bytes + i, text->size - i, &size);
        place = place_in(from, text->bytes + i, size);
        text_give(call, place < 0 ? text_between(text, i, i + size)
                                  : text_between(to, rows_utf8_offset(to, place), rows_utf8_offset(to, place + 1)));
    }
    return true;
}
