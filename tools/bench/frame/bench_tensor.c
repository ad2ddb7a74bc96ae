/* `granary bench tensor`: dense arrays of float64. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/frame/analytics.h"

#define TENSOR(node, name)   "\"" node "\": {\"op\": \"table\", \"name\": \"" name "\"}"
#define GRAPH(sources, rest) "{\"nodes\": {" sources ", " rest "}, \"targets\": [\"answer\"]}"
#define ABC                  TENSOR("a", "a") ", " TENSOR("b", "b") ", " TENSOR("c", "c")
#define PRODUCT              "\"p\": {\"op\": \"multiply\", \"inputs\": [\"a\", \"b\"]}, "

struct part {
    const char *names[3]; /* of the tensors it reads */
    const char *shape;
    struct question questions[2];
};

static const struct part parts[] = {
    {{"a", "b", "c"},
     "[100000000]",
     {{"fused_sum",
       GRAPH(ABC, PRODUCT
             "\"s\": {\"op\": \"add\", \"inputs\": [\"p\", \"c\"]}, \"answer\": {\"op\": \"sum\", \"input\": \"s\"}"),
       NULL, NULL},
      {"fused", GRAPH(ABC, PRODUCT "\"answer\": {\"op\": \"add\", \"inputs\": [\"p\", \"c\"]}"), NULL, NULL}}},
    {{"a", "b", NULL},
     "[4096, 4096]",
     {{"matmul",
       GRAPH(TENSOR("a", "a") ", " TENSOR("b", "b"), "\"answer\": {\"op\": \"matmul\", \"inputs\": [\"a\", \"b\"]}"),
       NULL, NULL}}},
    {{"a", NULL, NULL},
     "[100000, 1000]",
     {{"column_stats",
       "{\"nodes\": {" TENSOR("a", "a") ", \"m\": {\"op\": \"mean\", \"input\": \"a\", \"axes\": [0]}, \"answer\": "
                                        "{\"op\": \"std\", \"input\": "
                                        "\"a\", \"axes\": [0]}}, \"targets\": [\"m\", \"answer\"]}",
       NULL, NULL}}},
    {{"a", NULL, NULL},
     "[10000, 10000]",
     {{"transpose", GRAPH(TENSOR("a", "a"), "\"answer\": {\"op\": \"transpose\", \"input\": \"a\"}"), NULL, NULL}}},
    {{"a", NULL, NULL},
     "[1000000, 32]",
     {{"svd",
       "{\"nodes\": {" TENSOR("a",
                              "a") ", \"answer\": {\"op\": \"svd\", \"input\": \"a\"}}, \"targets\": [\"answer\"]}",
       NULL, NULL}}},
};

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
        analytics_ask(analytics, "tensor", &part->questions[i]);
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

    if (!analytics_options(argc, argv, &options)) {
        return 2;
    }
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
