/* A file is named by the ending that --from says: DIRECTORY/from/lineitem.parquet. */
#include "bench/frame/from.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/buf.h"
#include "bench/frame/questions.h"

#define TABLE "{\"op\": \"table\", \"name\": \""

bool
from_files(const struct analytics *analytics)
{
    return analytics->options->from != NULL;
}

int
from_refuse(const struct analytics_options *options)
{
    if (options->from != NULL) {
        (void)fprintf(stderr, "granary: bench: --from is of the suites of `granary bench frame` and `spilled`\n");
        return 2;
    }
    return 0;
}

static bool
is_text(const struct analytics *analytics)
{
    return strncmp(analytics->options->from, "csv", 3) == 0;
}

static void
file_path(const struct analytics *analytics, const char *table, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/from/%s.%s", analytics->data, table, analytics->options->from);
}

/* The node of an operator on a table's file. */
static void
add_node(const struct analytics *analytics, struct gr_buf *out, const char *verb, const char *input, const char *table)
{
    char path[PATH_MAX];

    file_path(analytics, table, path);
    gr_buf_addf(out, "{\"op\": \"%s_%s\", \"path\": \"%s\"", verb,
                is_text(analytics) ? "csv" : analytics->options->from, path);
    if (input != NULL) {
        gr_buf_addf(out, ", \"input\": \"%s\"", input);
    } else if (is_text(analytics)) {
        gr_buf_addf(out, ", \"dtypes\": %s", questions_dtypes(table));
    }
    gr_buf_addf(out, "}");
}

bool
from_provide(struct analytics *analytics, const char *table)
{
    struct gr_buf graph = {0};
    char path[PATH_MAX];
    bool good;

    if (!from_files(analytics)) {
        return questions_load(analytics, table);
    }

    (void)snprintf(path, sizeof path, "%s/from", analytics->data);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        (void)fprintf(stderr, "granary: bench: %s: %s\n", path, strerror(errno));
        return false;
    }
    file_path(analytics, table, path);
    if (access(path, R_OK) == 0) {
        return true;
    }
    gr_buf_addf(&graph,
                "{\"nodes\": {\"rows\": {\"op\": \"read_csv\", \"path\": \"%s/%s.csv\", \"dtypes\": %s}, \"answer\": ",
                analytics->data, table, questions_dtypes(table));
    add_node(analytics, &graph, "write", "rows", table);
    gr_buf_addf(&graph, "}, \"targets\": [\"answer\"]}");
    good = gr_buf_ok(&graph) && analytics_keep(analytics, "file", graph.bytes);
    if (good) {
        analytics_forget(analytics, "file");
    }
    gr_buf_free(&graph);
    return good;
}

bool
from_enter(struct analytics *analytics)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/from", analytics->data);
    if (chdir(path) != 0) {
        (void)fprintf(stderr, "granary: bench: %s: %s\n", path, strerror(errno));
        return false;
    }
    return true;
}

char *
from_graph(const struct analytics *analytics, const char *graph)
{
    struct gr_buf out = {0};
    const char *at;

    while ((at = strstr(graph, TABLE)) != NULL) {
        const char *name = at + strlen(TABLE);
        const char *end = strchr(name, '"');
        char table[64];

        (void)snprintf(table, sizeof table, "%.*s", (int)(end - name), name);
        gr_buf_add(&out, graph, (size_t)(at - graph));
        add_node(analytics, &out, "read", NULL, table);
        graph = end + 2; /* and the bracket */
    }
    gr_buf_addf(&out, "%s", graph);
    return gr_buf_take(&out);
}

void
from_ask_write(struct analytics *analytics, const char *suite, const char *table)
{
    struct gr_buf graph = {0};

    gr_buf_addf(&graph, "{\"nodes\": {\"rows\": {\"op\": \"table\", \"name\": \"%s\"}, \"answer\": ", table);
    add_node(analytics, &graph, "write", "rows", "granary");
    gr_buf_addf(&graph, "}, \"targets\": [\"answer\"]}");
    if (gr_buf_ok(&graph) && questions_load(analytics, table)) {
        analytics_ask(analytics, suite, &(struct question){.key = "write", .graph = graph.bytes, .is_written = true});
        analytics_forget(analytics, table);
    }
    gr_buf_free(&graph);
}
