/* The columns of a frame object, by its directory, and which of them a subtask's operators read. */
#ifndef EXECUTOR_SUBTASK_WANTED_H
#define EXECUTOR_SUBTASK_WANTED_H

#include "data/layout/directory.h"
#include "executor/subtask/private.h"
#include "graph/schema.h"

struct wanted {
    struct gr_schema schema; /* names alone */
    struct gr_directory_column *entries;
    bool *wanted;
};

/* All columns, of which none is wanted yet. wanted_fini() is due either way. Errors: ECORRUPT the directory does not fit
 * an object of data_size bytes · ENOMEM */
granary_err wanted_init(struct wanted *columns, const void *meta, uint64_t meta_size, uint64_t data_size);
void wanted_fini(struct wanted *columns);

/* Mark what the operators read of an input. */
void wanted_by_all(const struct run *run, size_t position, struct wanted *columns);
bool wanted_is_all(const struct wanted *columns);

/* Of what a reader of Parquet files reads, one a column: what the join that alone reads it needs to find its rows. To be freed;
 * NULL: all is wanted at once. */
bool *wanted_first(const struct run *run, size_t position);

#endif
