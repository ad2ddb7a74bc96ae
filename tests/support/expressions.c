#include "support/expressions.h"

static const char *const leaves[] = {"a",
                                     "i",
                                     "x",
                                     "r",
                                     "s",
                                     "d",
                                     "b",
                                     "t",
                                     "l",
                                     "m",
                                     "u",
                                     "`end`",
                                     "1",
                                     "-7",
                                     "0.25",
                                     "'p_q'",
                                     "null",
                                     "1e3",
                                     "date '1999-12-31'",
                                     "interval '2 days'",
                                     "interval '1' month",
                                     "true",
                                     "2",
                                     "'ab'",
                                     "'12'"};
/* $ is an operand. */
static const char *const forms[] = {"$ + $",
                                    "$ - $",
                                    "$ * $",
                                    "$ / $",
                                    "$ // $",
                                    "$ % $",
                                    "-$",
                                    "($)",
                                    "$ = $",
                                    "$ < $",
                                    "($) >= ($)",
                                    "not $",
                                    "$ and $",
                                    "$ or $",
                                    "$ || $",
                                    "($) in ($, $)",
                                    "($) is null",
                                    "($) between ($) and ($)",
                                    "($) like '%x_'",
                                    "case when $ then $ else $ end",
                                    "coalesce($, $)",
                                    "cast($ as string)",
                                    "try_cast($ as int64)",
                                    "abs($)",
                                    "round($, 1)",
                                    "sqrt($)",
                                    "lower($)",
                                    "initcap($)",
                                    "length($)",
                                    "substring($, 2, 3)",
                                    "concat($, $)",
                                    "year($)",
                                    "date_trunc('month', $)",
                                    "greatest($, $)",
                                    "nullif($, $)",
                                    "cast($ as decimal(4))",
                                    "hash($, $)",
                                    "if($, $, $)",
                                    "($ ilike 'A%')",
                                    "cast($ as float32)",
                                    "cast($ as timestamp)",
                                    "cast($ as uint8)",
                                    "sign($)",
                                    "floor($)",
                                    "dayofweek($)",
                                    "least($, $, $)",
                                    "replace($, 'b', $)",
                                    "lpad($, 4, '*')",
                                    "split_part($, 'b', 1)",
                                    "reverse($)",
                                    "repeat($, 2)",
                                    "trim($)",
                                    "contains($, $)",
                                    "position($, $)",
                                    "make_date(2000, $, 1)",
                                    "(d + interval '1' month)",
                                    "($ + interval '36 hours')",
                                    "epoch($)",
                                    "regexp_matches($, '^a')",
                                    "regexp_extract($, '(.)b')",
                                    "regexp_replace($, 'b', $, 'g')",
                                    "try_strptime($, '%Y-%m-%d')",
                                    "strftime($, '%d %b %Y')",
                                    "upper($)",
                                    "isnan($)",
                                    "pow($, 2)"};

static uint64_t
next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

void
expression_write(uint64_t *state, int depth, struct gr_buf *out)
{
    const char *form;

    if (depth == 0 || next(state) % 5 == 0) {
        gr_buf_addf(out, "%s", leaves[next(state) % (sizeof leaves / sizeof leaves[0])]);
        return;
    }
    form = forms[next(state) % (sizeof forms / sizeof forms[0])];
    for (; *form != '\0'; form++) {
        if (*form == '$') {
            expression_write(state, depth - 1, out);
        } else {
            gr_buf_add(out, form, 1);
        }
    }
}
