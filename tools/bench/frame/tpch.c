/* The queries of TPC-H are files, built in; its tables are made by a program beside this one. */
#include "bench/frame/tpch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/frame/from.h"
#include "bench/frame/include_file.h"

#define FIRST_QUERIES(Q)    Q(q01) Q(q02) Q(q03) Q(q04) Q(q05) Q(q06) Q(q07) Q(q08) Q(q09) Q(q10) Q(q11)
#define LAST_QUERIES(Q)     Q(q12) Q(q13) Q(q14) Q(q15) Q(q16) Q(q17) Q(q18) Q(q19) Q(q20) Q(q21) Q(q22)
#define QUERIES(Q)          FIRST_QUERIES(Q) LAST_QUERIES(Q)
#define INCLUDE_QUERY(name) INCLUDE_FILE(tpch_##name, TPCH_DIRECTORY "/" #name ".sql");
QUERIES(INCLUDE_QUERY)

#define QUERY_ROW(name) {#name, tpch_##name},
static const struct {
    const char *name, *text;
} queries[TPCH_QUERIES] = {QUERIES(QUERY_ROW)};

const char *
tpch_query(int number)
{
    return queries[number - 1].text;
}

const char *
tpch_query_name(int number)
{
    return queries[number - 1].name;
}

const char *
tpch_table(int number)
{
    static const char *const names[TPCH_TABLES] = {"region",   "nation",   "supplier", "part",
                                                   "partsupp", "customer", "orders",   "lineitem"};

    return names[number];
}

static bool
write_queries(const char *directory)
{
    char path[PATH_MAX];
    bool good;

    (void)snprintf(path, sizeof path, "%s/queries", directory);
    good = mkdir(path, 0777) == 0 || errno == EEXIST;
    for (int q = 1; q <= TPCH_QUERIES && good; q++) {
        FILE *file;

        (void)snprintf(path, sizeof path, "%s/queries/%s.sql", directory, tpch_query_name(q));
        file = fopen(path, "we");
        good = file != NULL && fputs(tpch_query(q), file) >= 0;
        good = (file == NULL || fclose(file) == 0) && good;
    }
    if (!good) {
        (void)fprintf(stderr, "granary: bench: %s: %s\n", path, strerror(errno));
    }
    return good;
}

bool
tpch_make(const char *directory, double scale)
{
    char program[PATH_MAX];
    char path[PATH_MAX];
    char command[3 * PATH_MAX];

    if (!write_queries(directory)) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/lineitem.csv", directory);
    if (access(path, R_OK) == 0) {
        return true;
    }
    if (!bench_programs(program)) {
        return false;
    }
    (void)snprintf(command, sizeof command, "'%s/granary-tpch-gen' %g '%s' >/dev/null", program, scale, directory);
    return system(command) == 0; /* NOLINT(cert-env33-c): a program of ours, a folder of the benchmark's own */
}

bool
tpch_load(struct analytics *analytics)
{
    bool fine = true;

    for (int t = 0; t < TPCH_TABLES && fine; t++) {
        fine = from_provide(analytics, tpch_table(t));
    }
    return fine;
}
