/* `granary bench tensor`: dense arrays of float64. */

#include "bench/frame/from.h"
#include "bench/frame/questions.h"

/* Questions of a part of the file, and the random tensors that they read, by name. */
struct section {
    const char *name;
    const char *tensors[3];
    const char *shape;
};

static const struct section parts[] = {
    {"tensor/fused", {"a", "b", "c"}, "[100000000]"},
    {"tensor/matmul", {"a", "b", NULL}, "[4096, 4096]"},
    {"tensor/column_stats", {"a", NULL, NULL}, "[100000, 1000]"},
    {"tensor/transpose", {"a", NULL, NULL}, "[10000, 10000]"},
    {"tensor/svd", {"a", NULL, NULL}, "[1000000, 32]"},
};

static void
run_part(struct analytics *analytics, const struct section *part)
{
    size_t kept = 0;
    bool fine = true;

    for (size_t i = 0; fine && i < 3 && part->tensors[i] != NULL; i++) {
        char graph[256];

        (void)snprintf(
            graph, sizeof graph,
            "{\"nodes\": {\"answer\": {\"op\": \"random\", \"shape\": %s, \"seed\": %zu}}, \"targets\": [\"answer\"]}",
            part->shape, i);
        fine = analytics_keep(analytics, part->tensors[i], graph);
        kept += fine;
    }
    if (fine) {
        questions_ask(analytics, part->name, "tensor");
    }
    while (kept > 0) {
        analytics_forget(analytics, part->tensors[--kept]);
    }
}

static int
run_tensor(struct cli *cli)
{
    const struct analytics_options *options = cli->self;
    struct answers answers = {.count = 0};
    struct analytics analytics = {.options = options, .answers = &answers};

    if (from_refuse(options) != 0) {
        return 2;
    }
    if (!analytics_open_data(&analytics)) {
        return 1;
    }
    if (analytics_start(&analytics)) {
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            run_part(&analytics, &parts[i]);
        }
    }
    analytics_stop(&analytics);
    peers_run(&analytics, "tensor", options->runs);
    (void)answers_print(&answers, options->json);
    answers_free(&answers);
    analytics_close_data(&analytics);
    return granary_error_exit_status(analytics.err);
}

const struct command bench_tensor = ANALYTICS_COMMAND(run_tensor);
