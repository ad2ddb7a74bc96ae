/* Numbers and ranges, put together into one list. */
#include "cli/mutable/numbers.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "cli/objects/slice.h"

#define LIST_MOST ((int64_t)1 << 24)

struct list {
    int64_t *number;
    size_t count;
    size_t room;
};

static granary_err
list_add(struct list *list, const char *text, granary_slice slice)
{
    const int64_t stop = slice.step == 0 ? slice.start + 1 : slice.stop, step = slice.step == 0 ? 1 : slice.step;

    for (int64_t at = slice.start; at < stop; at += step) {
        if (list->count >= (size_t)LIST_MOST) {
            return gr_fail(GRANARY_EINVAL, "'%s': more than %lld rows can be named by one range alone", text,
                           (long long)LIST_MOST);
        }
        if (!gr_grow(&list->number, &list->room, list->count, sizeof *list->number)) {
            return gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        list->number[list->count++] = at;
    }
    return GRANARY_OK;
}

/* A number, or a range that may go on for ever; *text moves to a comma or the end. */
static granary_err
range_parse(const char **text, granary_slice *ret_slice)
{
    const char *begin = *text;
    granary_slice slice;
    granary_err err = slice_parse(text, false, &slice);

    if (err != GRANARY_OK) {
        return err;
    }
    slice.start = slice.start == GRANARY_OMITTED ? 0 : slice.start;
    slice.stop = slice.stop == GRANARY_OMITTED ? INT64_MAX : slice.stop;
    if (slice.start < 0 || slice.step < 0 || (slice.step != 0 && slice.stop < slice.start)) {
        return gr_fail(GRANARY_EINVAL, "'%s' names no rows: numbers of rows are not negative, and ranges ascend",
                       begin);
    }
    *ret_slice = slice;
    return GRANARY_OK;
}

granary_err
numbers_parse(char *const *texts, int count, granary_rows *ret_rows)
{
    struct list list = {.count = 0};
    granary_err err = GRANARY_OK;

    for (int i = 0; err == GRANARY_OK && i < count; i++) {
        const char *text = texts[i];
        granary_slice slice;

        do {
            err = range_parse(&text, &slice);
            if (err == GRANARY_OK && count == 1 && *text == '\0' && list.count == 0 && slice.step == 1) {
                *ret_rows = (granary_rows){.from = slice.start, .to = slice.stop};
                return GRANARY_OK;
            }
            err = err == GRANARY_OK ? list_add(&list, texts[i], slice) : err;
        } while (err == GRANARY_OK && *text++ == ',');
    }
    if (err != GRANARY_OK) {
        free(list.number);
        return err;
    }
    *ret_rows = (granary_rows){.numbers = list.number, .count = list.count};
    return GRANARY_OK;
}
