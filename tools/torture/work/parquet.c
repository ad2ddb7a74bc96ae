/*
 * One process writes Parquet files again and again, and others read them. A file that a killed writer began appears whole,
 * later, or never: so the one behind it, which goes on, has a file of its own.
 */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "granary/sql.h"
#include "torture/common/random.h"
#include "torture/work/registers.h"
#include "torture/work/work.h"

#define ROWS 5000

static void
path_of(const struct work *work, uint32_t which, char path[static PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/parquet/%" PRIu64 "-%" PRIu32 ".parquet", work->site->directory, work->judged,
                   which); /* what a killed writer began may appear in a later round */
}

/* ---- the writer ---- */

static granary_err
write_one(struct work *work, granary_client *client, uint32_t which, uint64_t version)
{
    char path[PATH_MAX], sql[PATH_MAX + 160];

    path_of(work, which, path);
    (void)snprintf(sql, sizeof sql,
                   "COPY (SELECT %" PRIu64 "::bigint AS v, i AS x, 'row ' || (i %% 10) AS t"
                   " FROM generate_series(1, %d) AS g(i)) TO '%s' (FORMAT parquet)",
                   version, ROWS, path);
    return granary_sql_execute(client, sql, strlen(sql), WORK_PATIENCE_MS, NULL);
}

static void
run_writer(struct work *work, granary_client *client, uint64_t seed)
{
    struct registers *registers = work->journal;
    uint32_t which = REGISTERS_MOST;

    while (work_goes_on(work)) {
        uint64_t version;
        granary_err err;

        which = which == REGISTERS_MOST ? registers_add(registers) : which;
        if (which == REGISTERS_MOST) {
            return; /* enough for this round */
        }
        version = registers_change(registers, which);
        err = write_one(work, client, which, version);
        if (err == GRANARY_OK) {
            registers_changed(registers, which, version);
        }
        if (!work_count(work, err, "COPY") || random_next(&seed) % 32 == 0) {
            which = REGISTERS_MOST;
        }
        random_pause(&seed, 100000000);
    }
}

/* ---- readers ---- */

static void
read_one(struct work *work, granary_client *client, uint64_t *seed)
{
    struct registers *registers = work->journal;
    const uint32_t count = atomic_load(&registers->count);
    /* Mostly the newest one. */
    const uint32_t which = count == 0                  ? 0
                           : random_next(seed) % 4 > 0 ? count - 1
                                                       : (uint32_t)(random_next(seed) % count);
    struct look look = registers_look(registers, which);
    char path[PATH_MAX], sql[PATH_MAX + 160];
    int64_t row[WORK_ROW];
    granary_err err;

    path_of(work, which, path);
    if (count == 0 || (look.least == 0 && access(path, F_OK) < 0)) {
        return; /* it is not there yet */
    }
    (void)snprintf(sql, sizeof sql, "SELECT min(v), max(v), count(*), sum(x), count(DISTINCT t) FROM '%s'", path);
    err = work_row(client, sql, random_next(seed) % 2 == 0, row, &look.recalled);
    if (work_count_read(work, err, "read")) {
        atomic_fetch_add(&work->board->special, look.recalled);
        registers_seen(registers, look, (uint64_t)row[1],
                       row[0] != row[1] || row[2] != ROWS || row[3] != (int64_t)ROWS * (ROWS + 1) / 2 || row[4] != 10);
    }
}

static void
run(struct work *work, granary_client *client, unsigned number, uint64_t seed)
{
    if (number == 0) {
        run_writer(work, client, seed);
        return;
    }
    while (work_goes_on(work)) {
        read_one(work, client, &seed);
        random_pause(&seed, 30000000);
    }
}

/* ---- the run's own part ---- */

/* Remove all files. A file of one of the names is whole, and others belong to writers that were killed. */
static size_t
empty(const struct work *work, FILE *out)
{
    char directory[PATH_MAX], path[PATH_MAX * 2];
    struct dirent *entry;
    size_t odd = 0;
    DIR *stream;

    (void)snprintf(directory, sizeof directory, "%s/parquet", work->site->directory);
    stream = opendir(directory);
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        const char *end = strchr(entry->d_name, '.');

        if (entry->d_name[0] == '.') {
            continue;
        }
        if (end == NULL || (strcmp(end, ".parquet") != 0 && strncmp(end, ".parquet.granary-", 17) != 0)) {
            (void)fprintf(out, "torture: parquet: a file that nobody wrote: %s\n", entry->d_name);
            odd++;
        }
        (void)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        (void)unlink(path);
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    return odd;
}

static bool
set(struct work *work, granary_client *client)
{
    char directory[PATH_MAX];

    (void)client;
    (void)snprintf(directory, sizeof directory, "%s/parquet", work->site->directory);
    (void)mkdir(directory, 0700); /* it may be there: then writing tells */
    registers_clear(work->journal);
    return true;
}

/* Each file that was complete is read once more, then all go. */
static size_t
judge(struct work *work, granary_client *client, FILE *out)
{
    struct registers *registers = work->journal;

    for (uint32_t which = 0; which < atomic_load(&registers->count); which++) {
        struct look look = registers_look(registers, which);
        char path[PATH_MAX], sql[PATH_MAX + 160];
        int64_t row[WORK_ROW];

        path_of(work, which, path);
        if (look.least == 0 && access(path, F_OK) < 0) {
            continue;
        }
        (void)snprintf(sql, sizeof sql, "SELECT min(v), max(v), count(*) FROM '%s'", path);
        if (work_count(work, work_row(client, sql, false, row, NULL), "read at rest")) {
            registers_seen(registers, look, (uint64_t)row[1], row[0] != row[1] || row[2] != ROWS);
        }
    }
    return registers_verdict(registers, out) + empty(work, out);
}

const struct work_kind work_parquet = {
    .special = "recalled", .journal_bytes = sizeof(struct registers), .set = set, .run = run, .judge = judge};
