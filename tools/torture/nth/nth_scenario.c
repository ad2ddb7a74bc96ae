/* What is done under the fault. */
#include <stdio.h>
#include <string.h>

#include "torture/nth/nth.h"

#define CSV_ROWS 120

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define PLAY(name) WORDS("torture", "nth", "play", name)
#define SQL(text)  WORDS("sql", "--csv", text)
#define RUN        WORDS("run", "--discard", "--csv", "--chunk-bytes", "2000", "birdstrikes.json")

/* One name may have several rows, for different processes; the first one tells about it. */
static const struct nth_scenario scenarios[] = {
    {"put_get", "objects are put, built, named, got and deleted", NTH_CLIENT, NTH_STORE, "16M", false, NULL,
     PLAY("put_get")},
    {"spill_restore", "more objects than memory: they go to disk and come back", NTH_CLIENT, NTH_STORE, "4M", false,
     NULL, PLAY("spill_restore")},
    {"birdstrikes", "the main job: a graph over a CSV file", NTH_CLIENT, NTH_EXECUTOR, "8M", true, NULL, RUN},
    {"restart", "the process is killed; the next one serves what there was", NTH_CLIENT, NTH_STORE, "4M", false,
     PLAY("keep"), PLAY("kept")},
    {"restart", NULL, NTH_SCHED, NTH_SCHED, "8M", true,
     WORDS("run", "--csv", "--keep=top", "--chunk-bytes", "2000", "birdstrikes.json"),
     WORDS("read", "--csv", "--timeout", "10", "top/costliest")},
    {"restart", NULL, NTH_EXECUTOR, NTH_EXECUTOR, "8M", true, RUN, RUN},
    {"mutable", "a table that changes: rows are written, read, kept, given up and sealed", NTH_CLIENT, NTH_STORE, "16M",
     false, NULL, PLAY("mutable")},
    {"durable", "a table whose writes are on disk when they return", NTH_CLIENT, NTH_STORE, "16M", false, NULL,
     PLAY("durable")},
    {"channel", "messages, small ones and objects, are put and got", NTH_CLIENT, NTH_STORE, "16M", false, NULL,
     PLAY("channel")},
    {"recall", "the same question twice: the second answer is recalled", NTH_CLIENT, NTH_EXECUTOR, "8M", true, NULL,
     SQL("SELECT g % 7 AS k, sum(g) AS s FROM generate_series(1, 2000) t(g) GROUP BY 1 ORDER BY 1;"
         "SELECT g % 7 AS k, sum(g) AS s FROM generate_series(1, 2000) t(g) GROUP BY 1 ORDER BY 1")},
    {"parquet", "a Parquet file is written, and read", NTH_CLIENT, NTH_EXECUTOR, "8M", true, NULL,
     SQL("COPY (SELECT g AS i, repeat('x', 1 + g % 5) AS s FROM generate_series(1, 500) t(g)) TO 'out.parquet';"
         "SELECT count(*) AS n, sum(i) AS i, min(s) AS s FROM 'out.parquet'")},
    /* A file that is written again with what it has: whenever it is looked at, all of it is there. */
    {"copy", "a file takes the place of another one", NTH_CLIENT, NTH_EXECUTOR, "8M", true, NULL,
     SQL("SELECT count(*) AS n, sum(i) AS i FROM 'kept.csv';"
         "COPY (SELECT g AS i, 'word' AS s FROM generate_series(1, 900) t(g)) TO 'kept.csv';"
         "SELECT count(*) AS n, sum(i) AS i FROM 'kept.csv'")},
    {"fragments", "a query in fragments, over a directory", NTH_CLIENT, NTH_CLIENT, "8M", true, NULL,
     WORDS("sql", "--csv", "--on", "local:1", "--fragment-bytes", "1",
           "SELECT count(*) AS n, sum(i) AS i FROM 'kept.csv'")},
};

const struct nth_scenario *
nth_scenario_find(const char *name, enum nth_process process)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        if (strcmp(scenarios[i].name, name) == 0 && process >= scenarios[i].first && process <= scenarios[i].last) {
            return &scenarios[i];
        }
    }
    return NULL;
}

const char *
nth_scenario_name(size_t i)
{
    for (size_t row = 0; row < sizeof scenarios / sizeof scenarios[0]; row++) {
        if (scenarios[row].summary != NULL && i-- == 0) {
            return scenarios[row].name;
        }
    }
    return NULL;
}

void
nth_scenarios_print(void)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        if (scenarios[i].summary != NULL) {
            (void)printf("%-14s %s\n", scenarios[i].name, scenarios[i].summary);
        }
    }
}

static FILE *
create(const char *directory, const char *name)
{
    char path[160];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    file = fopen(path, "we");
    if (file == NULL) {
        perror(path);
    }
    return file;
}

static bool
write_rows(const char *directory)
{
    static const char *const species[] = {"Canada goose", "Turkey vulture", "Red-tailed hawk",
                                          "Mallard",      "Unknown bird",   "Gull"};
    FILE *csv = create(directory, "birdstrikes.csv");

    if (csv == NULL) {
        return false;
    }
    (void)fprintf(csv, "Airport Name,Effect Amount of damage,Flight Date,Phase of flight,Wildlife Species,Cost Total $,"
                       "Speed IAS in knots\n");
    for (int i = 0; i < CSV_ROWS; i++) {
        (void)fprintf(csv, "AIRPORT %d,None,1990-01-%02d,Climb,%s,%d,%d\n", i % 17, i % 28 + 1, species[i * i % 6],
                      i * 7919 % 1000, 100 + i % 9 * 30);
    }
    return fclose(csv) == 0;
}

static bool
write_kept(const char *directory)
{
    FILE *csv = create(directory, "kept.csv");

    for (int i = 0; csv != NULL && i <= 900; i++) {
        (void)(i == 0 ? fprintf(csv, "i,s\n") : fprintf(csv, "%d,word\n", i));
    }
    return csv != NULL && fclose(csv) == 0;
}

bool
nth_scenario_files(const char *directory)
{
    FILE *graph = create(directory, "birdstrikes.json");

    if (graph == NULL) {
        return false;
    }
    (void)fprintf(
        graph,
        "{\"nodes\": {\"strikes\": {\"op\": \"read_csv\", \"path\": \"%s/birdstrikes.csv\"},\n"
        "\"species\": {\"op\": \"groupby\", \"input\": \"strikes\", \"keys\": [\"Wildlife Species\"], \"aggregate\":\n"
        "{\"n\": \"size\", \"total\": \"sum(Cost Total $)\", \"mean_speed\": \"mean(Speed IAS in knots)\"}},\n"
        "\"by_cost\": {\"op\": \"sort\", \"input\": \"species\", \"by\": [\"total\"], \"descending\": true},\n"
        "\"costliest\": {\"op\": \"head\", \"input\": \"by_cost\", \"rows\": 10}}, \"targets\": [\"costliest\"]}\n",
        directory);
    return fclose(graph) == 0 && write_rows(directory) && write_kept(directory);
}
