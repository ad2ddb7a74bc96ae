/*
 * Joins, sorts, groups and windows over some times as many rows as there is memory for, which others use, too. Their answers are
 * known by arithmetic.
 */
#include <inttypes.h>
#include <stdio.h>

#include "torture/common/random.h"
#include "torture/work/work.h"

#define ROW_BYTES 24u   /* of what a query has at a time, about */
#define PRIME     7919u /* and so i * PRIME % n is a permutation, but for n that it divides */

/* Of n rows; each gives n, and the sum of 0 to n - 1. */
static const char *const questions[] = {
    "SELECT sum(c)::bigint, sum(s)::bigint FROM (SELECT i %% 5003 AS k, count(*) AS c, sum(i) AS s FROM range(%" PRIu64
    ") AS g(i) GROUP BY k) t",
    "SELECT count(*), sum(a.i)::bigint FROM range(%1$" PRIu64 ") AS a(i) JOIN range(%1$" PRIu64
    ") AS b(i) ON a.i = b.i",
    "SELECT count(*), sum(d * i)::bigint FROM (SELECT i, i - lag(i, 1, -1) OVER (ORDER BY i) AS d FROM"
    " (SELECT i * 7919 %% %1$" PRIu64 " AS i FROM range(%1$" PRIu64 ") AS g(i)) r) t",
    "SELECT count(*), sum(i)::bigint FROM (SELECT DISTINCT i * 7919 %% %1$" PRIu64 " AS i FROM range(%1$" PRIu64
    ") AS g(i)) t",
};
#define WINDOW    2u /* one over all rows is one piece of work, and has them all at a time: it gets fewer */
#define QUESTIONS (sizeof questions / sizeof questions[0])

static void
run(struct work *work, granary_client *client, unsigned number, uint64_t seed)
{
    const uint64_t most = work->site->memory / ROW_BYTES * 2;

    (void)number;
    while (work_goes_on(work)) {
        const unsigned question = (unsigned)(random_next(&seed) % QUESTIONS);
        uint64_t rows = most / 16 + random_next(&seed) % most;
        int64_t row[WORK_ROW];
        char sql[512];

        rows /= question == WINDOW ? 4 : 1;
        rows += rows % PRIME == 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(sql, sizeof sql, questions[question], rows);
#pragma GCC diagnostic pop
        if (work_count(work, work_row(client, sql, false, row, NULL), sql) &&
            (row[0] != (int64_t)rows || row[1] != (int64_t)(rows * (rows - 1) / 2))) {
            work_wrong(work, "%s gave %" PRId64 ", %" PRId64, sql, row[0], row[1]);
        }
        random_pause(&seed, 200000000);
    }
}

const struct work_kind work_spill = {.run = run};
