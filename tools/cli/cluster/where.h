/* Which machines, or which runs on several machines, a command is asked about: --on, --directory, or what there is. */
#ifndef CLI_CLUSTER_WHERE_H
#define CLI_CLUSTER_WHERE_H

#include "cli/cluster/record.h"
#include "cli/cluster/slurm/pilot.h"

struct where {
    const char *on;        /* --on; NULL: not given */
    const char *directory; /* --directory; NULL: not given */
};

/* What --on takes, for its help. */
#define WHERE_ON_HELP                                                                                                  \
    "these machines: ssh:HOST,..., slurm, dask:ADDRESS, or local for those of runs here; default: the pilot job's, "   \
    "and "                                                                                                             \
    "those of runs here"

/*
 * Runs that go on, or whose driver was killed: those of a directory, of a pilot job, and of drivers of this user here.
 *
 * instance  whose pilot job is meant; NULL: the default one's
 * ret_runs  to be freed by where_runs_free()
 * Errors    EINVAL · ENOENT the directory, no pilot job · ENOMEM. That there are none is no error
 */
granary_err
where_runs(const struct where *where, const char *instance, struct record_view **ret_runs, size_t *ret_count);
void where_runs_free(struct record_view *runs, size_t count);

#endif
