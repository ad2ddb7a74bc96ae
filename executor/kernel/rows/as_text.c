/* Values as a cast writes them: as PostgreSQL and DuckDB do. Files have forms of their own (data/format.c). */
#include <string.h>

#include "data/value/calendar.h"
#include "graph/dtype_class.h"
#include "kernel/rows/node.h"
#include "kernel/rows/store.h"

#define FIRST_DAY (-719162) /* 0001-01-01 */

/* hh:mm:ss[.f], without zeros at the end of the fraction */
static void
add_clock(int64_t us, struct gr_buf *out)
{
    int64_t seconds = us / 1000000;
    int fraction = (int)(us % 1000000);
    int digits = 6;

    gr_buf_addf(out, "%02lld:%02d:%02d", (long long)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
    for (; fraction != 0 && fraction % 10 == 0; digits--) {
        fraction /= 10;
    }
    if (fraction != 0) {
        gr_buf_addf(out, ".%0*d", digits, fraction);
    }
}

/* A day before year 1 is "0044-03-15 (BC)". */
static void
add_date(int64_t days, struct gr_buf *out)
{
    struct gr_civil civil;

    if (days >= FIRST_DAY) {
        gr_date_format(days, out);
    } else {
        civil = gr_date_civil(days);
        gr_buf_addf(out, "%04lld-%02d-%02d (BC)", 1 - (long long)civil.year, civil.month, civil.day);
    }
}

static void
add_timestamp(int64_t us, struct gr_buf *out)
{
    int64_t clock = us % DAY_US;

    add_date(us / DAY_US - (clock < 0), out);
    gr_buf_add(out, " ", 1);
    add_clock(clock < 0 ? clock + DAY_US : clock, out);
}

/* "2 days 03:00:00", "-1 day -00:30:00", "00:00:00" */
static void
add_duration(int64_t us, struct gr_buf *out)
{
    int64_t days = us / DAY_US;
    int64_t clock = us % DAY_US;

    if (days != 0) {
        gr_buf_addf(out, "%lld day%s", (long long)days, days == 1 || days == -1 ? "" : "s");
    }
    if (days == 0 || clock != 0) {
        gr_buf_addf(out, "%s%s", days != 0 ? " " : "", clock < 0 ? "-" : "");
        add_clock(clock < 0 ? -clock : clock, out);
    }
}

/* "1.5e+10" becomes "15000000000.0", for exponents below 16. */
static void
add_expanded(const char *text, size_t size, struct gr_buf *out)
{
    const char *mark = memchr(text, 'e', size);
    size_t digits = mark == NULL ? 0 : (size_t)(mark - text);
    int exponent = 0;

    for (size_t i = digits + 2; mark != NULL && mark[1] == '+' && i < size; i++) {
        exponent = exponent * 10 + (text[i] - '0');
    }
    if (exponent == 0 || exponent > 15) {
        gr_buf_add(out, text, size);
        return;
    }
    for (size_t i = 0, behind = 0, point = 0; i < digits || (int)behind < exponent; i++) {
        char c = i < digits ? text[i] : '0';

        if (c == '.') {
            point = 1;
            continue;
        }
        if (point && (int)behind == exponent) {
            gr_buf_add(out, ".", 1);
            gr_buf_add(out, text + i, digits - i);
            return;
        }
        point = point || i >= digits;
        behind += point;
        gr_buf_add(out, &c, 1);
    }
    gr_buf_add(out, ".0", 2);
}

void
value_as_text(const struct node *node, int64_t i, struct gr_buf *out)
{
    size_t width = node->class == ROWS_WIDE ? 16 : node->class == ROWS_BOOL ? 1 : 8;
    gr_int128 stored = 0;
    granary_column one = {.dtype = node->dtype, .rows = 1, .values = &stored};
    size_t before = out->size;
    char copy[64];

    switch (gr_dtype_kind(node->dtype)) {
    case GRANARY_DATE:
        add_date(node_int_at(node, i), out);
        return;
    case GRANARY_TIMESTAMP:
        add_timestamp(node_int_at(node, i), out);
        return;
    case GRANARY_TIMESTAMPTZ:
        add_timestamp(node_int_at(node, i), out);
        gr_buf_add(out, "+00", 3);
        return;
    case GRANARY_TIME:
        add_clock(node_int_at(node, i), out);
        return;
    case GRANARY_DURATION:
        add_duration(node_int_at(node, i), out);
        return;
    default:
        break;
    }
    store_values(node->dtype, node->class, (const char *)node->values + (size_t)i * width, 1, &stored, 0);
    gr_value_format(&one, 0, out);
    if (node->class == ROWS_DOUBLE && gr_buf_ok(out) && out->size - before < sizeof copy) {
        size_t size = out->size - before;

        memcpy(copy, out->bytes + before, size);
        out->size = before;
        add_expanded(copy, size, out);
    }
}
