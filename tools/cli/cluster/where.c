/* A record that vanishes while it is looked for is of a run that has ended. */
#include "cli/cluster/where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/cluster/child.h"
#include "cli/cluster/dask.h"
#include "cli/command/cli.h"

struct runs {
    struct record_view *list;
    size_t count;
};

static bool
has_run(const struct runs *runs, const char *path)
{
    for (size_t i = 0; i < runs->count; i++) {
        if (strcmp(runs->list[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Read those that are new. kind: NULL: whichever. One that is damaged is said to be. */
static granary_err
add_runs(struct runs *runs, char **paths, size_t count, const char *kind)
{
    for (size_t i = 0; i < count; i++) {
        struct record_view *more;
        granary_err err;

        if (has_run(runs, paths[i])) {
            continue;
        }
        more = realloc(runs->list, (runs->count + 1) * sizeof *more);
        if (more == NULL) {
            return gr_no_memory("runs");
        }
        runs->list = more;
        err = record_read(paths[i], &more[runs->count]);
        if (err == GRANARY_ENOMEM) {
            return err;
        }
        if (err != GRANARY_OK && err != GRANARY_ENOENT) {
            cli_note("%s", granary_error_message());
        } else if (err == GRANARY_OK && kind != NULL && strcmp(places_kind(&more[runs->count].places), kind) != 0) {
            record_free(&more[runs->count]);
        } else if (err == GRANARY_OK) {
            runs->count++;
        }
    }
    return GRANARY_OK;
}

static granary_err
add_directory(struct runs *runs, const char *directory)
{
    char whole[PATH_MAX];
    char **paths = NULL;
    size_t count = 0;
    granary_err err = realpath(directory, whole) == NULL ? gr_fail_errno("--directory %s", directory)
                                                         : record_list(whole, &paths, &count);

    err = err == GRANARY_OK ? add_runs(runs, paths, count, NULL) : err;
    record_list_free(paths, count);
    return err;
}

static granary_err
add_running(struct runs *runs, const char *kind)
{
    char **paths = NULL;
    size_t count = 0;
    granary_err err = record_list_running(&paths, &count);

    err = err == GRANARY_OK ? add_runs(runs, paths, count, kind) : err;
    record_list_free(paths, count);
    return err;
}

granary_err
where_runs(const struct where *where, const char *instance, struct record_view **ret_runs, size_t *ret_count)
{
    struct runs runs = {.count = 0};
    struct pilot pilot;
    bool is_slurm = where->on != NULL && strcmp(where->on, "slurm") == 0;
    granary_err err = GRANARY_OK;

    if (where->directory != NULL) {
        err = add_directory(&runs, where->directory);
    } else if (where->on == NULL || is_slurm) {
        err = pilot_find(instance, &pilot);
        err = err == GRANARY_OK                   ? add_directory(&runs, pilot.directory)
              : is_slurm || err != GRANARY_ENOENT ? err
                                                  : GRANARY_OK;
        err = err == GRANARY_OK && !is_slurm ? add_running(&runs, NULL) : err;
    } else if (strncmp(where->on, "local", 5) == 0 || strncmp(where->on, "ssh", 3) == 0) {
        err = add_running(&runs, where->on[0] == 'l' ? "local" : "ssh");
    } else {
        err = gr_fail(GRANARY_EINVAL, "--on %.60s: there is only " PLACES_HELP, where->on);
    }
    if (err != GRANARY_OK) {
        where_runs_free(runs.list, runs.count);
        return err;
    }
    *ret_runs = runs.list;
    *ret_count = runs.count;
    return GRANARY_OK;
}

void
where_runs_free(struct record_view *runs, size_t count)
{
    while (count > 0) {
        record_free(&runs[--count]);
    }
    free(runs);
}
