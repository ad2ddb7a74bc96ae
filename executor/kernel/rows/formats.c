/* Numbers as people read them, and messages of queries. */
#include <stdio.h>

#include "kernel/rows/text.h"

/* 1.4 KiB: one digit behind the point, cut off. */
bool
text_size(struct text_call *call)
{
    static const char *const units[][6] = {
        {"", "KiB", "MiB", "GiB", "TiB", "PiB"},
        {"", "kB", "MB", "GB", "TB", "PB"},
    };
    bool decimal = call->node->op == GR_OP_FORMAT_DECIMAL_SIZE;
    const char *sign = call->ints[0] < 0 ? "-" : "";
    uint64_t step = decimal ? 1000 : 1024;
    uint64_t whole = call->ints[0] < 0 ? 0 - (uint64_t)call->ints[0] : (uint64_t)call->ints[0];
    uint64_t rest = 0;
    char text[48];
    int unit = 0;
    int size;

    for (; unit < 5 && whole >= step; unit++) {
        rest = whole % step;
        whole /= step;
    }
    size = unit == 0
               ? snprintf(text, sizeof text, "%s%llu byte%s", sign, (unsigned long long)whole, whole == 1 ? "" : "s")
               : snprintf(text, sizeof text, "%s%llu.%llu %s", sign, (unsigned long long)whole,
                          (unsigned long long)(rest * 10 / step), units[decimal][unit]);
    return text_give(call, (struct rows_text){text, (size_t)size});
}

/* A row that comes here is an error, and its text the message. */
bool
text_error(struct text_call *call)
{
    (void)call;
    return false;
}
