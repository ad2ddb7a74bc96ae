/*
 * A file and a table that one process changes again and again, while others ask queries over them, which may be recalled. The
 * file is replaced by another of that name at once; the table gets a row. What is asked has the version in it.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "granary/sql.h"
#include "torture/common/random.h"
#include "torture/work/registers.h"
#include "torture/work/work.h"

#define TABLE    "torture_versions"
#define ROWS     400u        /* of the file */
#define PAUSE_NS 4000000000u /* between two changes, at most: a file of two seconds may be recalled */

enum source { SOURCE_FILE, SOURCE_TABLE, SOURCES };

static const char *const questions[][2] = {
    {"SELECT min(v), max(v), count(*) FROM '%s/versions.csv'",
     "SELECT min(v), max(v), sum(n) FROM (SELECT v, count(*) AS n FROM '%s/versions.csv' GROUP BY v) g"},
    {"SELECT max(v), max(v), 0 FROM " TABLE, "SELECT max(v), max(v), 0 FROM " TABLE " WHERE v >= 0"},
};

/* ---- changes ---- */

static granary_err
write_file(const struct work *work, uint64_t version)
{
    char path[PATH_MAX], other[PATH_MAX + 8];
    FILE *file;
    bool good;

    (void)snprintf(path, sizeof path, "%s/versions.csv", work->site->directory);
    (void)snprintf(other, sizeof other, "%s.new", path);
    file = fopen(other, "we");
    good = file != NULL && fputs("v,x\n", file) >= 0;
    for (unsigned i = 0; good && i < ROWS; i++) {
        good = fprintf(file, "%" PRIu64 ",%u\n", version, i) > 0;
    }
    good = file != NULL && fclose(file) == 0 && good;
    return good && rename(other, path) == 0 ? GRANARY_OK : gr_fail_errno("%s", path);
}

static granary_err
change(const struct work *work, granary_client *client, enum source source, uint64_t version)
{
    char sql[96];

    if (source == SOURCE_FILE) {
        return write_file(work, version);
    }
    (void)snprintf(sql, sizeof sql, "INSERT INTO " TABLE " VALUES (%" PRIu64 ")", version);
    return granary_sql_execute(client, sql, strlen(sql), WORK_PATIENCE_MS, NULL);
}

static bool
change_one(struct work *work, granary_client *client, enum source source)
{
    struct registers *registers = work->journal;
    const uint64_t version = registers_change(registers, source);
    const granary_err err = change(work, client, source, version);

    if (err == GRANARY_OK) {
        registers_changed(registers, source, version);
    }
    return work_count(work, err, "change");
}

/* ---- reads ---- */

static void
ask_one(struct work *work, granary_client *client, enum source source, uint64_t *seed)
{
    struct registers *registers = work->journal;
    struct look look = registers_look(registers, source);
    int64_t row[WORK_ROW];
    char sql[PATH_MAX + 160];
    granary_err err;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(sql, sizeof sql, questions[source][random_next(seed) % 2], work->site->directory);
#pragma GCC diagnostic pop
    err = work_row(client, sql, random_next(seed) % 8 != 0, row, &look.recalled);
    if (work_count_read(work, err, "ask")) {
        const bool torn = row[0] != row[1] || (source == SOURCE_FILE && row[2] != ROWS);

        if (torn) {
            (void)fprintf(stderr, "torture: recall: %s gave %" PRId64 ", %" PRId64 ", %" PRId64 "%s\n", sql, row[0],
                          row[1], row[2], look.recalled ? ", recalled" : "");
        }
        atomic_fetch_add(&work->board->special, look.recalled);
        registers_seen(registers, look, (uint64_t)row[1], torn);
    }
}

static void
run(struct work *work, granary_client *client, unsigned number, uint64_t seed)
{
    while (work_goes_on(work)) {
        const enum source source = random_next(&seed) % SOURCES;

        if (number > 0) {
            ask_one(work, client, source, &seed);
            random_pause(&seed, 20000000);
        } else {
            (void)change_one(work, client, source);
            for (uint64_t left = random_next(&seed) % PAUSE_NS; work_goes_on(work) && left > 10000000;
                 left -= 10000000) {
                (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
            }
        }
    }
}

/* ---- the run's own part ---- */

static bool
set(struct work *work, granary_client *client)
{
    static const char create[] = "CREATE TABLE " TABLE " (v bigint)";
    struct registers *registers = work->journal;
    granary_err err;

    registers_clear(registers);
    (void)registers_add(registers);
    (void)registers_add(registers);
    err = granary_sql_execute(client, create, sizeof create - 1, WORK_PATIENCE_MS, NULL);
    return err == GRANARY_OK && change_one(work, client, SOURCE_FILE) && change_one(work, client, SOURCE_TABLE);
}

static size_t
judge(struct work *work, granary_client *client, FILE *out)
{
    static const char drop[] = "DROP TABLE " TABLE;

    (void)work_count(work, granary_sql_execute(client, drop, sizeof drop - 1, WORK_PATIENCE_MS, NULL), "drop");
    return registers_verdict(work->journal, out);
}

const struct work_kind work_recall = {
    .special = "recalled", .journal_bytes = sizeof(struct registers), .set = set, .run = run, .judge = judge};
