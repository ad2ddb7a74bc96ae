/* One floor as it is measured: columns as a C program would keep them, and memory for what the threads make. */
#ifndef FRAME_FLOOR_JOB_H
#define FRAME_FLOOR_JOB_H

#include <stddef.h>
#include <stdint.h>

#define FLOOR_COLUMNS 16
#define FLOOR_THREADS 64
#define FLOOR_PHASES  3

/* Strings are int32 codes, decimals their int64 digits; all else as stored. No value is missing. */
struct floor_column {
    void *values;
    size_t width;
    int64_t rows;
    int64_t bound; /* int32 only: no value is above or equal */
};

struct floor_job {
    struct floor_column columns[FLOOR_COLUMNS];
    size_t column_count;
    int64_t rows; /* of the first table */
    int threads;
    int64_t groups;           /* that its dense keys can make */
    void *own[FLOOR_THREADS]; /* zeroed memory of each thread, as large as the floor asks for */
    size_t own_bytes;         /* of each */
    void *shared;             /* of all of them */
    size_t shared_bytes;
    double sink[FLOOR_THREADS]; /* so that no work is left out */
    int64_t found;              /* rows of the answer, and the sum of its column */
    double check;
};

/* A phase is run by every thread; the next one begins when all are through. The end is the caller's alone. */
typedef void floor_phase(struct floor_job *job, int thread);
typedef void floor_end(struct floor_job *job);

struct floor_kernel {
    floor_phase *phases[FLOOR_PHASES];
    floor_end *between; /* after the first phase; NULL: nothing */
    floor_end *end;
    int keys;                   /* the first columns, which number the groups; 0: no dense groups */
    size_t own_bytes_per_group; /* of a thread's memory */
    size_t own_bytes;           /* ... beside that */
    size_t shared_bytes_per_row;
};

extern const struct floor_kernel floor_q1, floor_q2, floor_q3, floor_q4, floor_q5, floor_q6, floor_q7, floor_q8,
    floor_q9, floor_q10, floor_tpch_q01, floor_tpch_q06;

/* Rows (or whatever there is) of a thread: from the first to before that of the next thread. */
static inline int64_t
floor_from(const struct floor_job *job, int64_t count, int thread)
{
    return (int64_t)((double)count / job->threads * thread);
}
static inline int64_t
floor_to(const struct floor_job *job, int64_t count, int thread)
{
    return thread + 1 == job->threads ? count : floor_from(job, count, thread + 1);
}

#endif
