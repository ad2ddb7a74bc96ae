/* What dialect_sample.c has made of TABLESAMPLE and USING SAMPLE: a window whose partition is method, size, unit, seed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/parse/private.h"

static bool
is_text(const struct sql_expr *expr, const char *text)
{
    return strlen(expr->text) == strlen(text) + 2 && strncasecmp(expr->text + 1, text, strlen(text)) == 0;
}

bool
parse_sample(struct parse *p, const PgQuery__WindowDef *from, struct sql_select *select)
{
    struct sql_sample *sample = SQL_NEW(p->q, struct sql_sample);
    struct sql_expr **parts = parse_exprs(p, TAKE(p, from, partition_clause), from->n_partition_clause);
    bool part; /* rows by themselves, or blocks of them: a part of all */
    double size;

    (void)TAKE(p, from, frame_options);
    if (sample == NULL || parts == NULL) {
        return false;
    }
    if (select->sample != NULL) {
        return sql_fail(p->q, GRANARY_EINVAL, from->location, "a query has one USING SAMPLE");
    }
    part = is_text(parts[0], "bernoulli") || is_text(parts[0], "system");
    if (!part && !is_text(parts[0], "reservoir") && !is_text(parts[0], "")) {
        return sql_fail(p->q, GRANARY_EUNSUPPORTED, from->location,
                        "a sample by %s is not supported: bernoulli, system and reservoir are", parts[0]->text);
    }
    if (part && is_text(parts[2], "rows")) {
        return sql_fail(p->q, GRANARY_EINVAL, from->location, "a sample by %s takes a percentage: reservoir takes rows",
                        parts[0]->text);
    }
    size = strtod(parts[1]->text, NULL);
    part = is_text(parts[2], "percent") || part;
    if (!(size >= 0) || (part && size > 100) || (!part && (size != floor(size) || size > 9e15))) {
        return sql_fail(p->q, GRANARY_EINVAL, from->location,
                        "a sample has 0 to 100 percent, or a whole number of rows");
    }
    *sample = (struct sql_sample){.fraction = part ? size / 100 : -1,
                                  .rows = part ? 0 : (int64_t)size,
                                  .seed = (int64_t)fmax(-9e15, fmin(9e15, strtod(parts[3]->text, NULL))),
                                  .position = from->location};
    select->sample = sample;
    return true;
}
