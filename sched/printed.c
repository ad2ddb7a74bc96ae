/* See printed.h. */
#include "sched/printed.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "sched/core/manager.h"

#define FOLDER_PATH (GR_LOGS_MAX + GR_LOG_FOLDER_MAX + 1)

struct folder {
    char name[GR_LOG_FOLDER_MAX];
};

/* false: the key could not be noted. */
static bool
folder_of(const struct gr_instance *instance, const struct gr_buf *key, char ret_path[FOLDER_PATH])
{
    char logs[GR_LOGS_MAX];
    struct folder folder;

    if (key->size == 0 || !gr_buf_ok(key)) {
        return false;
    }
    gr_instance_logs(instance, logs);
    gr_log_folder(key->bytes, folder.name);
    (void)snprintf(ret_path, FOLDER_PATH, "%s/%s", logs, folder.name);
    return true;
}

void
printed_remove(const struct gr_instance *instance, const struct gr_buf *key)
{
    char path[FOLDER_PATH];

    if (folder_of(instance, key, path)) {
        gr_remove_tree(path);
    }
}

void
printed_rename(const struct gr_instance *instance, const struct gr_buf *key, const struct gr_buf *new_key)
{
    char from[FOLDER_PATH];
    char to[FOLDER_PATH];

    if (folder_of(instance, key, from) && folder_of(instance, new_key, to) && rename(from, to) != 0 &&
        errno != ENOENT) {
        gr_log_warn("LOGS", "graph=%.80s its output stays at %s: %s", new_key->bytes, from, strerror(errno));
    }
}

/* ---- what was left ---- */

static int
by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Of each graph there is, in order. NULL: out of memory */
static struct folder *
known_folders(struct manager *manager, size_t *ret_count)
{
    const struct task_graph *graph;
    struct folder *folders;
    size_t count = 0;

    FOREACH_GRAPH(graph, manager)
    {
        count++;
    }
    folders = calloc(count + 1, sizeof *folders);
    *ret_count = 0;
    FOREACH_GRAPH(graph, manager)
    {
        if (folders != NULL) {
            gr_log_folder(graph->key, folders[(*ret_count)++].name);
        }
    }
    if (folders != NULL) {
        qsort(folders, *ret_count, sizeof *folders, by_name);
    }
    return folders;
}

void
printed_sweep(const struct gr_instance *instance, struct manager *manager)
{
    char logs[GR_LOGS_MAX];
    struct folder *known = NULL;
    size_t count = 0;
    struct dirent *entry;
    DIR *stream;

    gr_instance_logs(instance, logs);
    stream = opendir(logs);
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        char path[FOLDER_PATH + NAME_MAX];

        if (entry->d_name[0] == '.') { /* no graph's: executors' own */
            continue;
        }
        if (known == NULL && (known = known_folders(manager, &count)) == NULL) {
            break; /* the next scheduler will */
        }
        if (bsearch(entry->d_name, known, count, sizeof *known, by_name) == NULL) {
            (void)snprintf(path, sizeof path, "%s/%s", logs, entry->d_name);
            gr_log_info("PRINTED-LEFT", "folder=%.80s is of no graph, and was removed", entry->d_name);
            gr_remove_tree(path);
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    free(known);
}
