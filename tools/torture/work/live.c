/*
 * Each worker appends to a table that all share, and has a live query over it. Each result must be that of the rows that are there
 * at its cut, which the worker reads and adds up itself.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "granary/live.h"
#include "granary/mutable.h"
#include "torture/common/random.h"
#include "torture/work/work.h"

#define TABLE     "torture_live"
#define KEYS      8u
#define ROWS_MOST 40u
#define NEXT_MS   2000

static const granary_column schema[] = {{.name = "k", .dtype = GRANARY_INT64}, {.name = "x", .dtype = GRANARY_INT64}};

/* One that adds rows to groups, one whose results are the new rows, and one that is computed anew. */
static const char *const questions[] = {
    "SELECT k, count(*) AS n, sum(x) AS s FROM " TABLE " GROUP BY k",
    "SELECT k, 1::bigint AS n, x AS s FROM " TABLE " WHERE x >= 0",
    "SELECT k, count(*) AS n, sum(x) AS s, count(DISTINCT x) AS d FROM " TABLE " GROUP BY k",
};
#define QUESTIONS (sizeof questions / sizeof questions[0])

struct sums {
    int64_t rows[KEYS], of[KEYS];
    bool odd; /* a key or column that is none */
};

/* ---- sums ---- */

static const int64_t *
numbers(const granary_frame *frame, const char *name)
{
    const granary_column *column = granary_frame_column_named(frame, name);

    return column != NULL && column->dtype == GRANARY_INT64 && column->null_count == 0 ? column->values : NULL;
}

/* n: NULL: each row stands for itself */
static void
add_up(struct sums *sums, const int64_t *k, const int64_t *n, const int64_t *x, int64_t rows)
{
    sums->odd = sums->odd || (rows > 0 && (k == NULL || x == NULL));
    for (int64_t i = 0; i < rows && !sums->odd; i++) {
        if (k[i] < 0 || k[i] >= (int64_t)KEYS) {
            sums->odd = true;
            return;
        }
        sums->rows[k[i]] += n == NULL ? 1 : n[i];
        sums->of[k[i]] += x[i];
    }
}

static void
take_result(void *context, const granary_frame *frame)
{
    const int64_t *n = numbers(frame, "n");

    ((struct sums *)context)->odd = ((struct sums *)context)->odd || (n == NULL && granary_frame_rows(frame) > 0);
    add_up(context, numbers(frame, "k"), n, numbers(frame, "s"), granary_frame_rows(frame));
}

static granary_err
read_cut(granary_mutable *table, int64_t time, struct sums *ret_sums)
{
    granary_frame *frame = NULL;
    granary_err err = granary_mutable_read_frame(table, time, &frame);

    *ret_sums = (struct sums){.odd = false};
    if (err == GRANARY_OK) {
        add_up(ret_sums, numbers(frame, "k"), NULL, numbers(frame, "x"), granary_frame_rows(frame));
    }
    granary_frame_close(frame);
    return err;
}

/* ---- a worker ---- */

struct watch {
    struct work *work;
    granary_client *client;
    granary_mutable *table;
    granary_live *live;
    struct sums sums; /* of results so far */
    unsigned question;
    uint64_t seed;
};

static granary_err
append(struct watch *watch)
{
    int64_t k[ROWS_MOST], x[ROWS_MOST];
    const int64_t rows = 1 + (int64_t)(random_next(&watch->seed) % ROWS_MOST);
    granary_column columns[2] = {schema[0], schema[1]};

    for (int64_t i = 0; i < rows; i++) {
        k[i] = (int64_t)(random_next(&watch->seed) % KEYS);
        x[i] = (int64_t)(random_next(&watch->seed) % 100000);
    }
    columns[0].values = k;
    columns[1].values = x;
    columns[0].rows = columns[1].rows = rows;
    return granary_mutable_append(watch->table, columns, 2, rows, NULL, NULL);
}

static granary_err
look(struct watch *watch)
{
    granary_live_step step;
    struct sums wanted;
    granary_err err = granary_live_next(watch->live, NEXT_MS, &step);

    if (err != GRANARY_OK) {
        return err;
    }
    if (!step.added || step.anew) {
        watch->sums = (struct sums){.odd = false};
    }
    err = work_take(watch->client, step.key, take_result, &watch->sums);
    err = err == GRANARY_OK ? read_cut(watch->table, step.time, &wanted) : err;
    if (err == GRANARY_OK && memcmp(&wanted, &watch->sums, sizeof wanted) != 0) {
        int64_t rows[2] = {0, 0}, sums[2] = {0, 0};

        for (unsigned k = 0; k < KEYS; k++) {
            rows[0] += wanted.rows[k], rows[1] += watch->sums.rows[k];
            sums[0] += wanted.of[k], sums[1] += watch->sums.of[k];
        }
        work_wrong(watch->work,
                   "question %u at %" PRId64 ": %" PRId64 " rows of sum %" PRId64 ", and there are %" PRId64
                   " of sum %" PRId64 " (anew %d, added %d)",
                   watch->question, step.time, rows[1], sums[1], rows[0], sums[0], step.anew, step.added);
    }
    return err;
}

/* After an error a new query begins: what of a result was read is not known. */
static bool
begin(struct watch *watch)
{
    granary_live_close(watch->live);
    watch->live = NULL;
    watch->question = (unsigned)(random_next(&watch->seed) % QUESTIONS);
    watch->sums = (struct sums){.odd = false};
    return work_count(
        watch->work,
        granary_live_open(watch->client, questions[watch->question], strlen(questions[watch->question]), &watch->live),
        "open");
}

static void
run(struct work *work, granary_client *client, unsigned number, uint64_t seed)
{
    struct watch watch = {.work = work, .client = client, .seed = seed};
    bool works = work_count(work, granary_mutable_open(client, TABLE, &watch.table), "table");

    (void)number;
    while (works && work_goes_on(work)) {
        granary_err err;

        if ((watch.live == NULL || random_next(&watch.seed) % 64 == 0) && !begin(&watch)) {
            continue;
        }
        (void)work_count(work, append(&watch), "append");
        err = look(&watch);
        if (err != GRANARY_ETIMEDOUT && !work_count(work, err, questions[watch.question])) {
            granary_live_close(watch.live);
            watch.live = NULL;
        }
        random_pause(&watch.seed, 20000000);
    }
    granary_live_close(watch.live);
    granary_mutable_close(watch.table);
}

/* ---- the run's own part ---- */

static bool
set(struct work *work, granary_client *client)
{
    granary_mutable *table = NULL;
    granary_err err = granary_mutable_create_frame(client, TABLE, schema, 2, NULL, &table);

    (void)work;
    granary_mutable_close(table);
    return err == GRANARY_OK;
}

static size_t
judge(struct work *work, granary_client *client, FILE *out)
{
    (void)out;
    (void)work_count(work, granary_mutable_delete(client, TABLE), "delete");
    return 0;
}

const struct work_kind work_live = {.set = set, .run = run, .judge = judge};
