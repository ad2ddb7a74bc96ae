/*
 * What is known of a pilot job: a file beside the instance's runtime directory names the job and its directory, and files in
 * that directory tell which nodes are up.
 */
#include "cli/cluster/slurm/pilot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "cli/cluster/child.h"
#include "cli/command/cli.h"
#include "cli/print/listing.h"

/* What its nodes wrote counts, and all of it is removed in the end. */
static granary_err
check_directory(const struct pilot *pilot)
{
    int fd = open(pilot->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    granary_err err = fd >= 0           ? gr_fd_check_own(fd, pilot->directory)
                      : errno == ENOENT ? GRANARY_OK /* it has been removed */
                                        : gr_fail_errno("%s", pilot->directory);

    gr_fd_close(&fd);
    return err;
}

granary_err
pilot_find(const char *instance, struct pilot *ret_pilot)
{
    struct gr_instance resolved;
    char *text = NULL;
    size_t size;
    granary_err err = gr_instance_resolve(instance, &resolved);

    if (err != GRANARY_OK) {
        return err;
    }
    (void)snprintf(ret_pilot->state, sizeof ret_pilot->state, "%s.cluster", resolved.runtime);
    err = gr_file_read_own(ret_pilot->state, 2 * PATH_MAX, &text, &size);
    if (err == GRANARY_ENOENT) {
        err = gr_fail(err, "no cluster is up: `granary cluster up --slurm -N 4` starts one");
    } else if (err == GRANARY_OK && sscanf(text, "job %31s\nnodes %u\ndirectory %4095[^\n]", ret_pilot->job,
                                           &ret_pilot->nodes, ret_pilot->directory) != 3) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: is damaged: remove it, and end its job with scancel", ret_pilot->state);
    }
    free(text);
    return err == GRANARY_OK ? check_directory(ret_pilot) : err;
}

/* ---- what Slurm says ---- */

granary_err
pilot_ask(const struct pilot *pilot, char ret_state[32])
{
    const char *const argv[] = {"squeue", "--noheader", "--format=%T", "--jobs", pilot->job, NULL};
    struct gr_buf out = {0};
    granary_err err = child_run(argv, NULL, true, &out);

    ret_state[0] = '\0';
    if (err == GRANARY_EFAILED && strstr(granary_error_message(), "Invalid job id") != NULL) {
        err = GRANARY_OK;
    } else if (err == GRANARY_OK && out.size > 0) {
        (void)sscanf(out.bytes, "%31s", ret_state);
    }
    gr_buf_free(&out);
    return err;
}

granary_err
pilot_failure(const struct pilot *pilot)
{
    char path[PATH_MAX + 16];
    char *text = NULL;
    char *line;
    size_t size;
    granary_err err;

    (void)snprintf(path, sizeof path, "%s/job.log", pilot->directory);
    if (gr_file_read(path, (size_t)1 << 20, &text, &size) != GRANARY_OK) {
        return gr_fail(GRANARY_EFAILED, "job %s has ended", pilot->job);
    }
    line = strstr(text, "granary: ");
    line = line != NULL ? line : text;
    line[strcspn(line, "\n")] = '\0';
    err = gr_fail(GRANARY_EFAILED, "job %s has ended: %.400s", pilot->job, line);
    free(text);
    return err;
}

/* ---- nodes ---- */

static granary_err
read_node(const struct pilot *pilot, const char *name, struct pilot_node *ret_node)
{
    struct pilot_node node = {.executors = 0};
    char path[PATH_MAX + 300];
    char *text = NULL;
    size_t size;
    struct stat st;
    granary_err err;

    (void)snprintf(path, sizeof path, "%s/nodes/%s", pilot->directory, name);
    err = gr_file_read(path, 4096, &text, &size);
    if (err == GRANARY_OK && sscanf(text, "version %31s\nexecutors %u\nmemory %" SCNu64 "\ninstance %107[^\n]",
                                    node.version, &node.executors, &node.memory, node.instance) != 4) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: is damaged", path);
    }
    free(text);
    (void)snprintf(node.name, sizeof node.name, "%s", name);
    (void)snprintf(path, sizeof path, "%s/counts/%s", pilot->directory, name);
    node.fragments = stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
    *ret_node = node;
    return err;
}

static int
compare_nodes(const void *a, const void *b)
{
    return strcmp(((const struct pilot_node *)a)->name, ((const struct pilot_node *)b)->name);
}

granary_err
pilot_nodes(const struct pilot *pilot, struct pilot_node **ret_nodes, size_t *ret_count)
{
    struct pilot_node *nodes = NULL;
    size_t count = 0;
    char path[PATH_MAX + 8];
    DIR *stream;
    const struct dirent *entry;
    granary_err err = GRANARY_OK;

    (void)snprintf(path, sizeof path, "%s/nodes", pilot->directory);
    stream = opendir(path);
    while (stream != NULL && err == GRANARY_OK && (entry = readdir(stream)) != NULL) {
        struct pilot_node *more;

        if (entry->d_name[0] == '.') {
            continue;
        }
        more = realloc(nodes, (count + 1) * sizeof *nodes);
        if (more == NULL) {
            err = gr_no_memory("nodes");
            break;
        }
        nodes = more;
        err = read_node(pilot, entry->d_name, &nodes[count]);
        count += err == GRANARY_OK;
        err = err == GRANARY_ENOENT ? GRANARY_OK : err; /* it went meanwhile */
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    if (err == GRANARY_OK && count == 0) {
        err = gr_fail(GRANARY_EUNREACHABLE, "job %s: none of its nodes is up yet: `granary cluster status` tells more",
                      pilot->job);
    }
    if (err != GRANARY_OK) {
        free(nodes);
        return err;
    }
    qsort(nodes, count, sizeof *nodes, compare_nodes);
    *ret_nodes = nodes;
    *ret_count = count;
    return GRANARY_OK;
}

granary_err
pilot_check_versions(const struct pilot_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(nodes[i].version, granary_version()) != 0) {
            return gr_fail(GRANARY_EVERSION,
                           "node %s has granary %s, and this machine %s: install the same version on all machines",
                           nodes[i].name, nodes[i].version, granary_version());
        }
    }
    return GRANARY_OK;
}

void
pilot_count(const char *directory, const char *node)
{
    char path[PATH_MAX];
    int folder, fd = -1;

    (void)snprintf(path, sizeof path, "%s/counts", directory);
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW); /* elsewhere there is no such folder */
    if (folder >= 0 && gr_fd_check_own(folder, path) == GRANARY_OK) {
        fd = openat(folder, node, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    if (fd >= 0) {
        (void)gr_write_all(fd, ".", 1);
    }
    gr_fd_close(&fd);
    gr_fd_close(&folder);
}

/* ---- what is told of it ---- */

static const struct column node_columns[] = {
    {"node", "node", -16, COLUMN(struct pilot_node, name)},
    {"version", "version", -10, COLUMN(struct pilot_node, version)},
    {"executors", "executors", 9, COLUMN(struct pilot_node, executors)},
    {"memory_bytes", "memory", 10, COLUMN(struct pilot_node, memory), .as = COLUMN_AS_SIZE},
    {"fragments", "fragments", 9, COLUMN(struct pilot_node, fragments)},
    {"instance", "instance", 0, COLUMN(struct pilot_node, instance)},
    {0}};

void
pilot_print(const struct pilot *pilot, const char *state, size_t up)
{
    (void)printf("job %s is %s: %zu of %u node%s up\n", pilot->job, state, up, pilot->nodes, cli_plural(pilot->nodes));
    (void)printf("directory %s\n", pilot->directory);
}

void
pilot_write(const struct pilot *pilot, const char *state, struct json *json)
{
    json_text(json, "job", pilot->job);
    json_text(json, "state", state);
    json_unsigned(json, "nodes_wanted", pilot->nodes);
    json_text(json, "directory", pilot->directory);
}

void
pilot_tell(const struct pilot *pilot, const char *state, const struct pilot_node *nodes, size_t count, bool is_json)
{
    struct json json = {0};

    if (is_json) {
        json_open(&json, NULL, '{');
        pilot_write(pilot, state, &json);
        listing_array(&json, "nodes", node_columns, nodes, count, sizeof *nodes);
        json_close(&json);
        return;
    }
    pilot_print(pilot, state, count);
    if (count > 0) {
        listing_print(node_columns, false, nodes, count, sizeof *nodes);
    }
}
