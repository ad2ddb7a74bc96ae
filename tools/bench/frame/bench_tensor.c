/* `granary bench tensor`: dense arrays of float64. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/frame/analytics.h"

#define PRODUCT    "\"p\": {\"op\": \"multiply\", \"inputs\": [\"a\", \"b\"]}, "
#define PART(part) "\"" part "\": {\"op\": \"svd\", \"input\": \"a\", \"part\": \"" part "\"}"

/* The nodes of a graph behind its sources, up to its end: of its targets one is "answer". */
struct tensor_question {
    const char *key;
    const char *rest;
};

struct part {
    const char *names[3]; /* of the tensors it reads */
    const char *shape;
    struct tensor_question questions[2];
};

static const struct part parts[] = {
    {{"a", "b", "c"},
     "[100000000]",
     {{"fused_sum", PRODUCT "\"s\": {\"op\": \"add\", \"inputs\": [\"p\", \"c\"]}, \"answer\": {\"op\": \"sum\", "
                            "\"input\": \"s\"}}, \"targets\": [\"answer\"]}"},
      {"fused", PRODUCT "\"answer\": {\"op\": \"add\", \"inputs\": [\"p\", \"c\"]}}, \"targets\": [\"answer\"]}"}}},
    {{"a", "b", NULL},
     "[4096, 4096]",
     {{"matmul", "\"answer\": {\"op\": \"matmul\", \"inputs\": [\"a\", \"b\"]}}, \"targets\": [\"answer\"]}"}}},
    {{"a", NULL, NULL},
     "[100000, 1000]",
     {{"column_stats", "\"m\": {\"op\": \"mean\", \"input\": \"a\", \"axes\": [0]}, \"answer\": {\"op\": \"std\", "
                       "\"input\": \"a\", \"axes\": [0]}}, \"targets\": [\"m\", \"answer\"]}"}}},
    {{"a", NULL, NULL},
     "[10000, 10000]",
     {{"transpose", "\"answer\": {\"op\": \"transpose\", \"input\": \"a\"}}, \"targets\": [\"answer\"]}"}}},
    {{"a", NULL, NULL},
     "[1000000, 32]",
     {{"svd",
       PART("u") ", " PART("vt") ", \"answer\": {\"op\": \"svd\", \"input\": \"a\", \"part\": \"s\"}}, \"targets\": "
                                 "[\"u\", \"answer\", \"vt\"]}"}}},
};

static void
ask(struct analytics *analytics, const struct part *part, const struct tensor_question *question)
{
    char *graph = NULL;
    size_t size;
    FILE *out = open_memstream(&graph, &size);

    if (out != NULL) {
        (void)fprintf(out, "{\"nodes\": {");
        for (size_t i = 0; i < 3 && part->names[i] != NULL; i++) { /* kept graphs, by name */
            (void)fprintf(out, "\"%s\": {\"op\": \"array\", \"name\": \"%s\"}, ", part->names[i], part->names[i]);
        }
        (void)fprintf(out, "%s", question->rest);
    }
    if (out != NULL && fclose(out) == 0) {
        analytics_ask(analytics, "tensor", &(struct question){.key = question->key, .graph = graph});
    }
    free(graph);
}

static void
run_part(struct analytics *analytics, const struct part *part)
{
    size_t kept = 0;
    bool fine = true;

    for (size_t i = 0; fine && i < 3 && part->names[i] != NULL; i++) {
        char graph[256];

        (void)snprintf(
            graph, sizeof graph,
            "{\"nodes\": {\"answer\": {\"op\": \"random\", \"shape\": %s, \"seed\": %zu}}, \"targets\": [\"answer\"]}",
            part->shape, i);
        fine = analytics_keep(analytics, part->names[i], graph);
        kept += fine;
    }
    for (size_t i = 0; fine && i < 2 && part->questions[i].key != NULL; i++) {
        ask(analytics, part, &part->questions[i]);
    }
    while (kept > 0) {
        analytics_forget(analytics, part->names[--kept]);
    }
}

int
bench_tensor(int argc, char **argv)
{
    struct analytics_options options;
    struct answers answers = {.count = 0};
    char own[] = "/tmp/granary-bench-data-XXXXXX";
    struct analytics analytics = {.options = &options, .answers = &answers, .data = own};

    analytics_options(argc, argv, &options);
    if (mkdtemp(own) == NULL) {
        (void)fprintf(stderr, "granary: bench: %s: %s\n", own, strerror(errno));
        return 1;
    }
    if (analytics_start(&analytics)) {
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            run_part(&analytics, &parts[i]);
        }
    }
    analytics_stop(&analytics);
    peers_run(&analytics, "tensor", options.runs);
    (void)answers_print(&answers, options.json);
    answers_free(&answers);
    spawn_remove_directory(own);
    return granary_error_exit_status(analytics.err);
}
