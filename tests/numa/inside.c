/*
 * What is true inside a machine with several NUMA nodes, seen from a program beside the instance: executors are bound
 * to the cpus and the memory of their node, the pages of what they made lie there, and a subtask runs where its input
 * lies. Prints tables; exit status 1 when anything is not as it should be.
 */
#include <inttypes.h>
#include <numaif.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "granary/granary.h"

#define NODES_MAX  8
#define PAGE       4096u
#define GRAPHS     4
#define CONSUMERS  16
#define TIMEOUT_MS 120000

static int wrong;

static void
check(bool good, const char *what)
{
    (void)printf("  %s%s\n", good ? "ok" : "WRONG: ", good ? "" : what);
    wrong += !good;
}

static void
must(granary_err err, const char *what)
{
    if (err != GRANARY_OK) {
        (void)printf("%s: %s\n", what, granary_error_message());
        exit(granary_error_exit_status(err));
    }
}

/* The first line of a file that begins with a word, without the word and without its end of line; "": none. */
static void
line_of(const char *path, const char *word, char *ret_text, size_t size)
{
    FILE *file = fopen(path, "re");
    char line[4096];

    ret_text[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, word, strlen(word)) == 0) {
            line[strcspn(line, "\n")] = '\0';
            (void)snprintf(ret_text, size, "%s", line + strlen(word) + strspn(line + strlen(word), " \t"));
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static granary_table *
ask(granary_client *client, const char *subject, const char *key)
{
    granary_query query = {.subject = subject, .keys = &key, .key_count = key != NULL};
    granary_table *table;

    must(granary_info(client, &query, &table), subject);
    return table;
}

/* ---- executors ---- */

/* Private pages of a process on each node. */
static void
count_private(int64_t pid, size_t of_node[NODES_MAX])
{
    char path[96], line[4096];
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/numa_maps", pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *rest = NULL;

        if (strstr(line, " anon=") == NULL || strstr(line, " file=") != NULL) { /* pages of a file may be anybody's */
            continue;
        }
        for (char *word = strtok_r(line, " \n", &rest); word != NULL; word = strtok_r(NULL, " \n", &rest)) {
            unsigned node, pages;

            if (sscanf(word, "N%u=%u", &node, &pages) == 2 && node < NODES_MAX) {
                of_node[node] += pages;
            }
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void
check_executors(granary_client *client)
{
    granary_table *table = ask(client, "executors", NULL);
    int of_node[NODES_MAX] = {0};

    (void)printf("executor    pid node  cpus allowed  cpus of node  memory policy  private pages on node 0, node 1\n");
    for (size_t row = 0; row < granary_table_rows(table); row++) {
        int64_t pid = granary_table_int(table, row, "pid");
        int64_t node = granary_table_int(table, row, "node");
        size_t private[NODES_MAX] = {0};
        char path[96], cpus[256], node_cpus[256], maps[4096], policy[64] = "", wish[64];

        (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
        line_of(path, "Cpus_allowed_list:", cpus, sizeof cpus);
        (void)snprintf(path, sizeof path, "/sys/devices/system/node/node%" PRId64 "/cpulist", node);
        line_of(path, "", node_cpus, sizeof node_cpus);
        (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/numa_maps", pid);
        line_of(path, "", maps, sizeof maps);
        (void)sscanf(maps, "%*s %63s", policy);
        (void)snprintf(wish, sizeof wish, "prefer:%" PRId64, node);
        count_private(pid, private);
        (void)printf("%8" PRId64 " %6" PRId64 " %4" PRId64 "  %-12s  %-12s  %-13s  %6zu  %6zu ",
                     granary_table_int(table, row, "number"), pid, node, cpus, node_cpus, policy, private[0],
                     private[1]);
        of_node[node >= 0 && node < NODES_MAX ? node : 0]++;
        check(cpus[0] != '\0' && strcmp(cpus, node_cpus) == 0 && strcmp(policy, wish) == 0 &&
                  private[node & 1] >= 9 * private[~node & 1],
              "it is not bound to its node");
    }
    granary_table_free(table);
    (void)printf("executors of node 0: %d, of node 1: %d", of_node[0], of_node[1]);
    check(of_node[0] == 2 && of_node[1] == 2, "they are not spread evenly");
}

/* ---- pages ---- */

/* Count the pages of a mapped object by node. */
static size_t
count_pages(const void *data, size_t size, size_t of_node[NODES_MAX])
{
    uintptr_t first = (uintptr_t)data / PAGE;
    size_t count = ((uintptr_t)data + size + PAGE - 1) / PAGE - first;
    void **pages = calloc(count, sizeof *pages);
    int *status = calloc(count, sizeof *status);
    volatile unsigned char sum = 0;

    for (size_t i = 0; i < count; i++) {
        const unsigned char *page = (const unsigned char *)((first + i) * PAGE); /* NOLINT: it is mapped */

        sum = (unsigned char)(sum + *page); /* only what was touched has a page here */
        pages[i] = (void *)(uintptr_t)page;
    }
    if (move_pages(0, count, pages, NULL, status, 0) != 0) {
        perror("move_pages");
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        if (status[i] >= 0 && status[i] < NODES_MAX) {
            of_node[status[i]]++;
        }
    }
    free(pages);
    free(status);
    return count;
}

/* The node on which chunk `index` of a target was made. */
static int64_t
band_of(const granary_table *chunks, granary_id id)
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(id, text);
    for (size_t row = 0; row < granary_table_rows(chunks); row++) {
        if (strcmp(granary_table_text(chunks, row, "id"), text) == 0) {
            return granary_table_int(chunks, row, "band");
        }
    }
    return -1;
}

/* Where a subtask with this operator and place among those ran; -1: nowhere. */
static int64_t
band_of_run(const granary_table *runs, const char *op, size_t place)
{
    long numbers[64];
    int64_t bands[64];
    size_t count = 0;

    for (size_t row = 0; row < granary_table_rows(runs) && count < 64; row++) {
        const char *slash = strrchr(granary_table_text(runs, row, "run"), '/');

        if (strcmp(granary_table_text(runs, row, "ops"), op) == 0 && slash != NULL) {
            numbers[count] = strtol(slash + 1, NULL, 10);
            bands[count++] = granary_table_int(runs, row, "band");
        }
    }
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;

        for (size_t k = 0; k < count; k++) {
            before += numbers[k] < numbers[i];
        }
        if (before == place) {
            return bands[i];
        }
    }
    return -1;
}

struct outcome {
    size_t near, all;
    size_t made[NODES_MAX]; /* chunks, by node */
};

/* Multiply a large matrix, in chunks of 1000 rows, by a small one: each product reads one large chunk. */
static void
multiply(granary_client *client, int rows, bool print, struct outcome *outcome)
{
    char json[1024], key[GRANARY_KEY_MAX], target[GRANARY_KEY_MAX + 2];
    granary_table *chunks, *runs;
    granary_result result;

    (void)snprintf(json, sizeof json,
                   "{\"nodes\": ["
                   "{\"name\": \"a\", \"op\": \"random\", \"shape\": [%d, 250], \"chunk\": [1000, 250], \"seed\": 1}, "
                   "{\"name\": \"b\", \"op\": \"random\", \"shape\": [250, 2], \"seed\": 2}, "
                   "{\"name\": \"m\", \"op\": \"matmul\", \"inputs\": [\"a\", \"b\"]}], \"targets\": [\"a\", \"m\"]}",
                   rows);
    must(granary_graph_submit_json(client, json, strlen(json), NULL, key), "submit");
    must(granary_graph_wait(client, key, TIMEOUT_MS, NULL), "graph");
    must(granary_graph_result(client, key, "a", &result), "result");
    (void)snprintf(target, sizeof target, "%s/a", key);
    chunks = ask(client, "chunks", target);
    runs = ask(client, "runs", key);
    for (size_t i = 0; i < result.chunk_count; i++) {
        int64_t band = band_of(chunks, result.chunks[i]);
        int64_t consumer = band_of_run(runs, "matmul", i);
        size_t of_node[NODES_MAX] = {0};
        granary_view view;
        size_t pages;

        must(granary_object_get(client, result.chunks[i], 0, &view), "get");
        pages = count_pages(view.data, view.data_size, of_node);
        granary_object_release(client, &view);
        if (print) {
            (void)printf("%5zu  %7" PRId64 "  %8" PRId64 "  %5zu  %6zu  %6zu ", i, band, consumer, pages, of_node[0],
                         of_node[1]);
            /* The node may have run out; a wish is all it is. */
            check(band >= 0 && band < NODES_MAX && of_node[band] * 100 >= pages * 95, "its pages are elsewhere");
        }
        outcome->near += band == consumer;
        outcome->all++;
        outcome->made[band >= 0 && band < NODES_MAX ? band : 0]++;
    }
    granary_table_free(chunks);
    granary_table_free(runs);
    granary_result_free(&result);
    must(granary_graph_delete(client, key), "delete");
}

int
main(void)
{
    granary_client *client;
    struct outcome many = {0}, single = {0};

    must(granary_connect(NULL, &client), "connect");
    check_executors(client);
    (void)printf("chunk  made on  consumer  pages  node 0  node 1\n");
    multiply(client, 1000 * CONSUMERS, true, &many);
    (void)printf("chunks made on node 0: %zu, on node 1: %zu", many.made[0], many.made[1]);
    check(many.made[0] > 0 && many.made[1] > 0, "one node did nothing");
    (void)printf("%zu of %zu consumers ran beside their input while all executors were busy\n", many.near, many.all);
    for (int i = 0; i < GRAPHS; i++) {
        multiply(client, 3000, false, &single);
    }
    (void)printf("with idle executors: %zu of %zu, inputs on node 0: %zu, on node 1: %zu", single.near, single.all,
                 single.made[0], single.made[1]);
    check(single.near == single.all && single.made[0] > 0 && single.made[1] > 0,
          "a consumer ran elsewhere than its input, with idle executors there, or all inputs lay on one node");
    granary_disconnect(client);
    (void)printf("NUMA %s\n", wrong == 0 ? "as it should be" : "WRONG");
    return wrong == 0 ? 0 : 1;
}
