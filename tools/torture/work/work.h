/*
 * Workers of several kinds (works.def). Each is a process that does the same thing again and again, checks what it is told,
 * and notes what it saw in memory that outlives it. At a rest all have ended: then what they noted must be possible.
 */
#ifndef TORTURE_WORK_H
#define TORTURE_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "granary/frame.h"
#include "granary/store.h"
#include "torture/common/pack.h"

enum work_name {
#define WORK(NAME, name, processes, checked) WORK_##NAME,
#include "torture/work/works.def"
#undef WORK
    WORKS,
};

/* What all workers of a run are told. */
struct work_site {
    const char *instance;  /* kept by pointer */
    const char *directory; /* for files */
    uint64_t memory;       /* of the store */
    const char *python;    /* the program that Python runs; NULL: none does */
    uint64_t seed;
};

/* What processes of one kind share. */
struct work_board {
    atomic_bool stop;
    atomic_uint_least64_t done, undone; /* pieces of work; those that a kill of others undid */
    atomic_uint_least64_t wrong;        /* answers; each was said on stderr */
    atomic_uint_least64_t failed;       /* calls that failed as none should, or answers that never came */
    atomic_uint_least64_t special;      /* of the kind: see its report */
};

struct work {
    const struct work_kind *kind;
    const struct work_site *site;
    struct work_board *board;
    void *journal; /* of the kind, shared */
    void *own;     /* of the kind, of the run */
    struct pack pack;
    uint64_t judged, impossible; /* histories */
};

struct work_kind {
    const char *special; /* what board->special counts; NULL: nothing */
    size_t journal_bytes;
    /* Nobody works. Make what the workers need, for the time up to the next rest. */
    bool (*set)(struct work *work, granary_client *client);
    /* What number `number` does until work_goes_on() ends it. */
    void (*run)(struct work *work, granary_client *client, unsigned number, uint64_t seed);
    /* All have ended. Say what is impossible on `out`, delete all there is. Returns how much was impossible. */
    size_t (*judge)(struct work *work, granary_client *client, FILE *out);
    bool (*has_begun)(const struct work *work); /* NULL: as soon as something is done */
    void (*stop)(struct work *work);            /* when they are told to end; may be NULL */
    bool (*create)(struct work *work);          /* once; may be NULL */
    void (*end)(struct work *work); /* once, when all is over: what it kept from rest to rest ends; may be NULL */
    void (*destroy)(struct work *work);
    bool by_itself; /* its workers and its judge connect by themselves: client is NULL */
};

extern const struct work_kind work_tables, work_channels, work_recall, work_parquet, work_live, work_spill, work_pages,
    work_python, work_dask;

/* The name of a kind, such as "tables". */
const char *work_text(enum work_name name);

/* Those kinds whose bits are set. False: why was said on stderr. */
struct works {
    struct work_site site;
    struct work all[WORKS];
    unsigned kinds; /* bits */
};
bool works_create(struct works *works, const struct work_site *site, unsigned kinds);
void works_destroy(struct works *works);
void works_end(struct works *works);

/* Whether there is Dask, and beside that program of workers one that keeps nodes. */
bool work_has_dask(const char *python);

void works_start(struct works *works);
/* Tell them to stop, and wait until they have. */
void works_stop(struct works *works);
void works_inspect(struct works *works);
bool works_are_clean(const struct works *works);
/* Whether each kind has done something, or has failed. */
bool works_have_begun(const struct works *works);
/* Figures on stdout. Returns whether nothing at all was wrong. */
bool works_report(const struct works *works);

/* ---- for kinds ---- */

#define WORK_PATIENCE_MS 180000 /* for whatever a blow may delay */

static inline bool
work_goes_on(const struct work *work)
{
    return !atomic_load(&work->board->stop) && atomic_load(&work->board->wrong) == 0;
}

/* Count what became of a call: done, undone by a blow at others, or failed as none should. Returns whether it was done. */
bool work_count(struct work *work, granary_err err, const char *what);
/* The same of a query over a file, which may have been replaced meanwhile: the error says so. */
bool work_count_read(struct work *work, granary_err err, const char *what);
/* An answer is wrong: say so, and count it. */
void work_wrong(struct work *work, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The parts of a graph's result. Errors: as of the graph */
granary_err work_take(granary_client *client, const char *key, void (*take)(void *context, const granary_frame *frame),
                      void *context);
/*
 * The first row of a SELECT's result, of whole numbers: as many as there are columns, WORK_ROW at most; nulls are 0.
 *
 * may_recall    whether it need not be computed again
 * ret_recalled  whether it was not; may be NULL
 * Errors        as of the graph
 */
#define WORK_ROW 8u
granary_err work_row(granary_client *client, const char *sql, bool may_recall, int64_t ret_row[static WORK_ROW],
                     bool *ret_recalled);

#endif
