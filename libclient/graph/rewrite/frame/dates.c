/* Series of timestamps: date_range. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/rewrite/private.h"

/* The n-th month's first day, from the first one that is not before the start; or start + n steps. */
static const char *
date_text(struct rewrite *x, const char *start, const char *freq)
{
    static const struct {
        const char *name;
        int64_t microseconds;
    } units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}, {"min", 60000000}, {"h", 3600000000}, {"D", 86400000000}};
    char *unit;
    long long count = strtoll(freq, &unit, 10);

    count = unit == freq ? 1 : count;
    if (count < 1 || count > 1000000) {
        (void)rewrite_fail(x, "parameter 'freq' is '%.40s': a number up to a million, and D, h, min, s, ms, us or MS",
                           freq);
        return "";
    }
    if (strcmp(unit, "MS") == 0) {
        const char *months = rewrite_text(x,
                                          "(year(%s) * 12 + month(%s) - (case when day(%s) = 1 then 1 else 0 end) + "
                                          "`#row` * %lld)",
                                          start, start, start, count);

        return rewrite_text(x, "cast(make_date(%s // 12, %s %% 12 + 1, 1) as timestamp)", months, months);
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i].name) == 0) {
            return rewrite_text(x, "cast(cast(%s as int64) + `#row` * %" PRId64 " as timestamp)", start,
                                (int64_t)count * units[i].microseconds);
        }
    }
    (void)rewrite_fail(
        x, "parameter 'freq' is '%.40s': its unit can be D, h, min, s, ms, us or MS (first days of months)", freq);
    return "";
}

static struct gr_node *
rewrite_date_range(struct rewrite *x)
{
    const char *start = rewrite_text(x, "cast(%s as timestamp)", rewrite_quote(x, rewrite_param_text(x, "start")));
    const char *text = date_text(x, start, rewrite_param_text(x, "freq"));
    struct gr_node *rows = rewrite_part(x, "numbers", GR_TILE_arange, NULL, NULL,
                                        rewrite_int(x, "stop", rewrite_param_int(x, "periods")), NULL);

    rows = rewrite_part(x, "rows", GR_TILE_from_tensor, rows, NULL, rewrite_string(x, "columns", "#row"), NULL);
    rewrite_entry(x, rewrite_param_text(x, "name"), text);
    return rewrite_add(x, GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
}

const struct gr_operator gr_op_date_range = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_date_range};
