/*
 * A question's columns are copied out of the store before the clock starts, as a C program would keep them. Then two
 * things are measured. "floor": a loop that answers it (floor_kernels.c), where there is one. "scan": each byte of the
 * columns read once, and as many bytes written as granary's answer has.
 */
#include "bench/frame/floors.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/frame/floor_job.h"
#include "contract/int128.h"

#define TABLES 2

static const struct floor {
    const char *suite, *key;
    const char *column; /* of the answer, where the question does not say so itself */
    const struct floor_kernel *kernel;
    struct {
        const char *table, *columns; /* keys first, in the kernel's order */
    } inputs[TABLES];
} floors[] = {
    {"groupby", "q1", NULL, &floor_q1, {{"groupby", "id1 v1"}}},
    {"groupby", "q2", NULL, &floor_q2, {{"groupby", "id1 id2 v1"}}},
    {"groupby", "q3", NULL, &floor_q3, {{"groupby", "id3 v1 v3"}}},
    {"groupby", "q4", NULL, &floor_q4, {{"groupby", "id4 v1 v2 v3"}}},
    {"groupby", "q5", NULL, &floor_q5, {{"groupby", "id6 v1 v2 v3"}}},
    {"groupby", "q6", NULL, &floor_q6, {{"groupby", "id4 id5 v3"}}},
    {"groupby", "q7", NULL, &floor_q7, {{"groupby", "id3 v1 v2"}}},
    {"groupby", "q8", NULL, &floor_q8, {{"groupby", "id6 v3"}}},
    {"groupby", "q9", NULL, &floor_q9, {{"groupby", "id2 id4 v1 v2"}}},
    {"groupby", "q10", NULL, &floor_q10, {{"groupby", "id1 id2 id3 id4 id5 id6 v3"}}},
    {"join", "q1", NULL, NULL, {{"join_x", "id1 id2 id3 id4 id5 id6 v1"}, {"join_small", "id1 id4 v2"}}},
    {"join", "q2", NULL, NULL, {{"join_x", "id1 id2 id3 id4 id5 id6 v1"}, {"join_medium", "id1 id2 id4 id5 v2"}}},
    {"join", "q3", NULL, NULL, {{"join_x", "id1 id2 id3 id4 id5 id6 v1"}, {"join_medium", "id1 id2 id4 id5 v2"}}},
    {"join", "q4", NULL, NULL, {{"join_x", "id1 id2 id3 id4 id5 id6 v1"}, {"join_medium", "id1 id2 id4 id5 v2"}}},
    {"join", "q5", NULL, NULL, {{"join_x", "id1 id2 id3 id4 id5 id6 v1"}, {"join_big", "id1 id2 id3 id4 id5 id6 v2"}}},
    {"join", "q5sum", NULL, NULL, {{"join_x", "id3 v1"}, {"join_big", "id3 v2"}}},
    {"join", "q5ints", NULL, NULL, {{"join_x", "id3 v1"}, {"join_big", "id3 v2"}}},
    {"tpch",
     "q01",
     "sum_charge",
     &floor_tpch_q01,
     {{"lineitem", "l_returnflag l_linestatus l_shipdate l_quantity l_extendedprice l_discount l_tax"}}},
    {"tpch", "q06", "revenue", &floor_tpch_q06, {{"lineitem", "l_shipdate l_discount l_quantity l_extendedprice"}}},
};

const char *
floors_column(const char *suite, const char *key)
{
    for (size_t i = 0; i < sizeof floors / sizeof floors[0]; i++) {
        if (strcmp(floors[i].suite, suite) == 0 && strcmp(floors[i].key, key) == 0) {
            return floors[i].column;
        }
    }
    return NULL;
}

/* ---- memory ---- */

/* In huge pages if the machine likes; NULL: none. */
static void *
take_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

static void
give_memory(void *memory, size_t bytes)
{
    if (memory != NULL) {
        (void)munmap(memory, bytes + 1);
    }
}

/* ---- columns ---- */

static size_t
width_of(granary_dtype dtype)
{
    switch (dtype & 0xff) {
    case GRANARY_INT32:
    case GRANARY_DATE:
    case GRANARY_STRING:
    case GRANARY_BINARY:
        return sizeof(int32_t);
    default:
        return sizeof(int64_t);
    }
}

/* Add a chunk's values to a column. */
static void
append(struct floor_column *column, const granary_column *from)
{
    char *to = (char *)column->values + (size_t)column->rows * column->width;

    if ((from->dtype & 0xff) == GRANARY_DECIMAL) {
        for (int64_t i = 0; i < from->rows; i++) {
            ((int64_t *)to)[i] = (int64_t)((const gr_int128 *)from->values)[i];
        }
    } else {
        /* Strings that nearly all differ have no codes. Their offsets are as many bytes, and no kernel looks at them. */
        memcpy(to, from->offsets != NULL ? from->offsets : from->values, (size_t)from->rows * column->width);
    }
    for (int64_t i = 0; i < from->rows && column->width == sizeof(int32_t); i++) {
        int32_t value = ((const int32_t *)to)[i];

        column->bound = value >= column->bound ? (int64_t)value + 1 : column->bound;
    }
    column->rows += from->rows;
}

/* Add columns first to first + count - 1, named in order, of a chunk. False: it is not as tables of these suites are. */
static bool
append_chunk(struct floor_job *job, size_t first, char *const *names, size_t count, const granary_frame *frame,
             int64_t rows)
{
    for (size_t c = 0; c < count; c++) {
        const granary_column *from = granary_frame_column_named(frame, names[c]);
        struct floor_column *column = &job->columns[first + c];

        if (from == NULL || from->validity != NULL) {
            return false;
        }
        if (column->values == NULL) {
            column->width = width_of(from->dtype);
            column->values = take_memory((size_t)rows * column->width);
        }
        if (column->values == NULL || column->rows + from->rows > rows) {
            return false;
        }
        append(column, from);
    }
    return true;
}

/* All rows of some columns of a stored table. The store's dictionaries are the same in all chunks of a table that was
 * encoded, so codes need no translation. */
static bool
read_columns(struct analytics *analytics, struct floor_job *job, const char *table, const char *columns)
{
    char text[256];
    char *names[FLOOR_COLUMNS];
    char *rest = NULL;
    size_t count = 0;
    int64_t rows = 0;
    granary_result result;
    bool fine = granary_graph_result(analytics->client, table, "answer", &result) == GRANARY_OK;

    (void)snprintf(text, sizeof text, "%s", columns);
    for (char *name = strtok_r(text, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest)) {
        names[count++] = name;
    }
    for (int pass = 0; pass < 2; pass++) { /* rows are counted, then copied */
        for (size_t i = 0; fine && i < result.chunk_count; i++) {
            granary_view view;
            granary_frame *frame = NULL;

            fine = granary_object_get(analytics->client, result.chunks[i], GRANARY_FOREVER, &view) == GRANARY_OK;
            if (fine) {
                fine = granary_frame_open(&view, &frame) == GRANARY_OK;
                rows += fine && pass == 0 ? granary_frame_rows(frame) : 0;
                fine = fine && (pass == 0 || append_chunk(job, job->column_count, names, count, frame, rows));
                granary_frame_close(frame);
                granary_object_release(analytics->client, &view);
            }
        }
    }
    granary_result_free(&result);
    job->column_count += count;
    return fine;
}

/* ---- runs ---- */

struct worker {
    struct floor_job *job;
    floor_phase *phase;
    int thread;
};

static void *
work(void *argument)
{
    struct worker *worker = argument;

    worker->phase(worker->job, worker->thread);
    return NULL;
}

/* The caller is one of the threads. One that does not start is the caller's work. */
static void
run_phase(struct floor_job *job, floor_phase *phase)
{
    pthread_t threads[FLOOR_THREADS];
    struct worker workers[FLOOR_THREADS];
    bool started[FLOOR_THREADS] = {false};

    for (int t = 0; t < job->threads; t++) {
        workers[t] = (struct worker){job, phase, t};
        started[t] = t > 0 && pthread_create(&threads[t], NULL, work, &workers[t]) == 0;
    }
    for (int t = 0; t < job->threads; t++) {
        if (!started[t]) {
            phase(job, t);
        }
    }
    for (int t = 0; t < job->threads; t++) {
        if (started[t]) {
            (void)pthread_join(threads[t], NULL);
        }
    }
}

static void
run_kernel(struct floor_job *job, const struct floor_kernel *kernel)
{
    job->found = 0;
    job->check = 0;
    for (int p = 0; p < FLOOR_PHASES && kernel->phases[p] != NULL; p++) {
        run_phase(job, kernel->phases[p]);
        if (p == 0 && kernel->between != NULL) {
            kernel->between(job);
        }
    }
    if (kernel->end != NULL) {
        kernel->end(job);
    }
}

/* Every word of every column, and as many bytes as the answer has written. */
static void
scan(struct floor_job *job, int thread)
{
    uint64_t sums[8] = {0};
    const int64_t to = floor_to(job, (int64_t)job->shared_bytes, thread);
    const int64_t first = floor_from(job, (int64_t)job->shared_bytes, thread);

    for (size_t c = 0; c < job->column_count; c++) {
        const struct floor_column *column = &job->columns[c];
        const int64_t words = column->rows * (int64_t)column->width / (int64_t)sizeof(uint64_t);
        const uint64_t *values = column->values;
        const int64_t end = floor_to(job, words, thread);

        for (int64_t i = floor_from(job, words, thread); i + 8 <= end; i += 8) {
            for (int k = 0; k < 8; k++) {
                sums[k] += values[i + k];
            }
        }
    }
    for (int k = 0; k < 8; k++) {
        job->sink[thread] += (double)sums[k];
    }
    if (to > first) {
        memset((char *)job->shared + first, 1, (size_t)(to - first));
    }
}
static const struct floor_kernel scan_kernel = {.phases = {scan}};

/* Run it as often as the question was, and add the answer. shared_bytes: memory that the threads share. */
static void
measure(struct analytics *analytics, const struct floor *floor, struct floor_job *job, const char *engine,
        const struct floor_kernel *kernel, size_t shared_bytes)
{
    struct answer answer = {.seconds = 0};
    struct samples samples = {.count = 0};
    bool fine;

    job->groups = 1;
    for (int k = 0; k < kernel->keys; k++) {
        job->groups *= job->columns[k].bound;
    }
    job->own_bytes = kernel->own_bytes + (size_t)job->groups * kernel->own_bytes_per_group;
    job->shared_bytes = shared_bytes;
    job->shared = take_memory(shared_bytes);
    fine = job->shared != NULL;
    for (int t = 0; t < job->threads; t++) {
        job->own[t] = take_memory(job->own_bytes);
        fine = fine && job->own[t] != NULL;
    }
    for (int i = 0; i <= analytics->options->runs && fine; i++) { /* the first one warms memory up */
        int64_t began = bench_now_ns();

        run_kernel(job, kernel);
        if (i > 0) {
            samples_add(&samples, (double)(bench_now_ns() - began) / 1e9);
        }
    }
    if (fine) {
        answer.seconds = samples_quantile(&samples, 0.5);
        answer.rows = job->found;
        answer.check = job->check;
        (void)snprintf(answer.engine, sizeof answer.engine, "%s", engine);
        (void)snprintf(answer.suite, sizeof answer.suite, "%s", floor->suite);
        (void)snprintf(answer.key, sizeof answer.key, "%s", floor->key);
        answers_add(analytics->answers, &answer);
    }
    for (int t = 0; t < job->threads; t++) {
        give_memory(job->own[t], job->own_bytes);
    }
    give_memory(job->shared, shared_bytes);
    samples_free(&samples);
}

static void
measure_floor(struct analytics *analytics, const struct floor *floor, const struct answer *ours)
{
    struct floor_job job = {.threads = (int)strtol(analytics->options->executors, NULL, 10)};
    bool fine = true;

    job.threads = job.threads > FLOOR_THREADS ? FLOOR_THREADS : job.threads;
    for (int t = 0; t < TABLES && fine && floor->inputs[t].table != NULL; t++) {
        fine = read_columns(analytics, &job, floor->inputs[t].table, floor->inputs[t].columns);
    }
    job.rows = job.columns[0].rows;
    if (!fine) {
        (void)fprintf(stderr, "granary: bench: %s %s: its columns could not be read for the floor: %s\n", floor->suite,
                      floor->key, granary_error_message());
    } else {
        if (floor->kernel != NULL) {
            measure(analytics, floor, &job, "floor", floor->kernel,
                    (size_t)job.rows * floor->kernel->shared_bytes_per_row);
        }
        measure(analytics, floor, &job, "scan", &scan_kernel, (size_t)ours->bytes);
    }
    for (size_t c = 0; c < job.column_count; c++) {
        give_memory(job.columns[c].values, (size_t)job.columns[c].rows * job.columns[c].width);
    }
}

void
floors_measure(struct analytics *analytics, const char *suite)
{
    for (size_t i = 0; i < sizeof floors / sizeof floors[0] && analytics->options->floors; i++) {
        const struct answer *ours = answers_find(analytics->answers, suite, floors[i].key, "granary");

        if (strcmp(floors[i].suite, suite) == 0 && ours != NULL) {
            measure_floor(analytics, &floors[i], &(const struct answer){.bytes = ours->bytes});
        }
    }
}
