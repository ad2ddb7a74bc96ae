/* StarPU as a peer of the scheduler: the same null tasks on two threads of one process. Absent when it is not
 * installed. */
#include "bench/bench.h"

#include <starpu.h>
#include <stdlib.h>
#include <string.h>

static void
nothing(void *buffers[], void *argument)
{
    (void)buffers;
    (void)argument;
}

static struct starpu_codelet codelet = {.cpu_funcs = {nothing}, .nbuffers = 0};

/* A task behind others; destroyed by StarPU when it has run. */
static struct starpu_task *
submit(struct starpu_task **behind, unsigned count, int detached)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = &codelet;
    task->detach = (unsigned)detached;
    task->destroy = (unsigned)detached;
    if (count > 0) {
        starpu_task_declare_deps_array(task, count, behind);
    }
    if (starpu_task_submit(task) != 0) {
        exit(1);
    }
    return task;
}

static void
run_null(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)submit(NULL, 0, 1);
    }
    (void)starpu_task_wait_for_all();
}

/* Tasks others wait for are kept until all is done. */
static void
run_tree(size_t leaves, struct starpu_task **tasks)
{
    size_t made = 0;
    size_t below = 0;

    for (size_t width = leaves; width > 0; width = width == 1 ? 0 : width / 2) {
        for (size_t i = 0; i < width; i++) {
            tasks[made++] = submit(width == leaves ? NULL : tasks + below + 2 * i, width == leaves ? 0 : 2, 0);
        }
        below = width == leaves ? 0 : below + 2 * width;
    }
    (void)starpu_task_wait_for_all();
    for (size_t i = 0; i < made; i++) {
        starpu_task_destroy(tasks[i]);
    }
}

static void
run_chain(size_t count, struct starpu_task **tasks)
{
    for (size_t i = 0; i < count; i++) {
        tasks[i] = submit(i == 0 ? NULL : tasks + i - 1, i > 0, 0);
    }
    (void)starpu_task_wait_for_all();
    for (size_t i = 0; i < count; i++) {
        starpu_task_destroy(tasks[i]);
    }
}

static double
median(struct samples *samples)
{
    double value = samples_quantile(samples, 0.5);

    samples_free(samples);
    return value;
}

int
main(int argc, char **argv)
{
    struct samples null = {.count = 0}, one = {.count = 0}, chain = {.count = 0}, tree = {.count = 0};
    struct starpu_task **tasks = calloc(4096, sizeof(struct starpu_task *));
    size_t scale = argc > 1 && strcmp(argv[1], "quick") == 0 ? 10 : 1;
    size_t count = 200000 / scale;
    struct starpu_conf conf;

    (void)setenv("STARPU_SILENT", "1", 1);
    (void)setenv("STARPU_NCPU", "2", 1);
    (void)starpu_conf_init(&conf);
    conf.sched_policy_name = "eager";
    if (tasks == NULL || starpu_init(&conf) != 0) {
        free(tasks);
        return 1;
    }
    for (int i = 0; i < 5; i++) {
        int64_t began = bench_now_ns();

        run_null(count);
        samples_add(&null, (double)(bench_now_ns() - began));
        began = bench_now_ns();
        run_chain(1000, tasks);
        samples_add(&chain, (double)(bench_now_ns() - began) / 1e6);
        began = bench_now_ns();
        run_tree(1024, tasks);
        samples_add(&tree, (double)(bench_now_ns() - began) / 1e6);
    }
    for (size_t i = 0; i < 2000 / scale; i++) {
        int64_t began = bench_now_ns();

        run_null(1);
        samples_add(&one, (double)(bench_now_ns() - began) / 1e3);
    }
    (void)printf("starpu_null_per_s %g\nstarpu_submit_us %g\nstarpu_chain_us %g\nstarpu_tree_ms %g\n",
                 (double)count * 1e9 / median(&null), median(&one), median(&chain), median(&tree));
    starpu_shutdown();
    free(tasks);
    return 0;
}
