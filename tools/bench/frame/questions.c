/* The file is read once: its paragraphs are cut where they stand, into a head of three words and a text. */
#include "bench/frame/questions.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench/frame/from.h"
#include "bench/frame/include_file.h"

INCLUDE_FILE(bench_questions, QUESTIONS_FILE);

#define QUESTIONS_MOST 64
#define COMMENT        '#'

struct entry {
    char part[24];
    char key[24];
    char column[24];
    const char *text;
};

/* All of them, behind which one is empty. They live as long as the program. */
static const struct entry *
questions_all(void)
{
    static struct entry entries[QUESTIONS_MOST + 1];
    char *at = entries[0].text != NULL ? NULL : strdup(bench_questions);

    for (size_t i = 0; at != NULL && i < QUESTIONS_MOST;) {
        char *end = strstr(at, "\n\n");
        char *text = strchr(at, '\n');

        if (end != NULL) {
            *end = '\0';
        }
        if (*at != COMMENT && text != NULL &&
            sscanf(at, "%23s %23s %23s", entries[i].part, entries[i].key, entries[i].column) == 3) {
            entries[i++].text = text + 1;
        }
        at = end == NULL ? NULL : end + 2;
    }
    return entries;
}

void
questions_ask(struct analytics *analytics, const char *part, const char *suite)
{
    for (const struct entry *entry = questions_all(); entry->text != NULL; entry++) {
        char *of_files = NULL;

        if (strcmp(entry->part, part) == 0) {
            of_files = from_files(analytics) ? from_graph(analytics, entry->text) : NULL;
            analytics_ask(analytics, suite,
                          &(struct question){.key = entry->key,
                                             .graph = of_files != NULL ? of_files : entry->text,
                                             .column = strcmp(entry->column, "-") == 0 ? NULL : entry->column});
        }
        free(of_files);
    }
}

const char *
questions_dtypes(const char *table)
{
    const struct entry *entry = questions_all();

    while (entry->text != NULL && (strcmp(entry->part, "dtypes") != 0 || strcmp(entry->key, table) != 0)) {
        entry++;
    }
    return entry->text != NULL ? entry->text : "{}";
}

void
questions_csv_graph(const struct analytics *analytics, const char *file, bool kept, char *graph, size_t size)
{
    (void)snprintf(graph, size,
                   "{\"nodes\": {\"%s\": {\"op\": \"read_csv\", \"path\": \"%s/%s.csv\", \"dtypes\": %s}%s}, "
                   "\"targets\": [\"answer\"]}",
                   kept ? "rows" : "answer", analytics->data, file, questions_dtypes(file),
                   kept ? ", \"answer\": {\"op\": \"encode\", \"input\": \"rows\"}" : "");
}

bool
questions_load(struct analytics *analytics, const char *name)
{
    char graph[2 * PATH_MAX];

    questions_csv_graph(analytics, name, true, graph, sizeof graph);
    return analytics_keep(analytics, name, graph);
}
