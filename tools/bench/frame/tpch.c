/* The queries of TPC-H are files, built in; its tables are made by a program beside this one. */
#include "bench/frame/tpch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/frame/include_file.h"

INCLUDE_FILE(tpch_q01, TPCH_DIRECTORY "/q01.sql");
INCLUDE_FILE(tpch_q02, TPCH_DIRECTORY "/q02.sql");
INCLUDE_FILE(tpch_q03, TPCH_DIRECTORY "/q03.sql");
INCLUDE_FILE(tpch_q04, TPCH_DIRECTORY "/q04.sql");
INCLUDE_FILE(tpch_q05, TPCH_DIRECTORY "/q05.sql");
INCLUDE_FILE(tpch_q06, TPCH_DIRECTORY "/q06.sql");
INCLUDE_FILE(tpch_q07, TPCH_DIRECTORY "/q07.sql");
INCLUDE_FILE(tpch_q08, TPCH_DIRECTORY "/q08.sql");
INCLUDE_FILE(tpch_q09, TPCH_DIRECTORY "/q09.sql");
INCLUDE_FILE(tpch_q10, TPCH_DIRECTORY "/q10.sql");
INCLUDE_FILE(tpch_q11, TPCH_DIRECTORY "/q11.sql");
INCLUDE_FILE(tpch_q12, TPCH_DIRECTORY "/q12.sql");
INCLUDE_FILE(tpch_q13, TPCH_DIRECTORY "/q13.sql");
INCLUDE_FILE(tpch_q14, TPCH_DIRECTORY "/q14.sql");
INCLUDE_FILE(tpch_q15, TPCH_DIRECTORY "/q15.sql");
INCLUDE_FILE(tpch_q16, TPCH_DIRECTORY "/q16.sql");
INCLUDE_FILE(tpch_q17, TPCH_DIRECTORY "/q17.sql");
INCLUDE_FILE(tpch_q18, TPCH_DIRECTORY "/q18.sql");
INCLUDE_FILE(tpch_q19, TPCH_DIRECTORY "/q19.sql");
INCLUDE_FILE(tpch_q20, TPCH_DIRECTORY "/q20.sql");
INCLUDE_FILE(tpch_q21, TPCH_DIRECTORY "/q21.sql");
INCLUDE_FILE(tpch_q22, TPCH_DIRECTORY "/q22.sql");

static const char *const queries[TPCH_QUERIES] = {
    tpch_q01, tpch_q02, tpch_q03, tpch_q04, tpch_q05, tpch_q06, tpch_q07, tpch_q08, tpch_q09, tpch_q10, tpch_q11,
    tpch_q12, tpch_q13, tpch_q14, tpch_q15, tpch_q16, tpch_q17, tpch_q18, tpch_q19, tpch_q20, tpch_q21, tpch_q22};

const char *
tpch_query(int number)
{
    return queries[number - 1];
}

const char *
tpch_query_name(int number)
{
    static const char names[TPCH_QUERIES][4] = {"q01", "q02", "q03", "q04", "q05", "q06", "q07", "q08",
                                                "q09", "q10", "q11", "q12", "q13", "q14", "q15", "q16",
                                                "q17", "q18", "q19", "q20", "q21", "q22"};

    return names[number - 1];
}

const char *
tpch_table(int number)
{
    static const char *const names[TPCH_TABLES] = {"region",   "nation",   "supplier", "part",
                                                   "partsupp", "customer", "orders",   "lineitem"};

    return names[number];
}

/* The directory of this program. */
static bool
program_directory(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    char *slash;

    path[length < 0 ? 0 : length] = '\0';
    slash = strrchr(path, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return true;
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
    if (!program_directory(program)) {
        return false;
    }
    (void)snprintf(command, sizeof command, "'%s/granary-tpch-gen' %g '%s' >/dev/null", program, scale, directory);
    return system(command) == 0; /* NOLINT(cert-env33-c): a program of ours, a folder of the benchmark's own */
}
