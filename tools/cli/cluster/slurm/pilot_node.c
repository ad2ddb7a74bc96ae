/*
 * granary cluster node: one machine of a pilot job. It is the supervisor of an instance, and its file in the job's directory
 * says that it is there. The instance's directory has job and machine in its name, for two nodes may be one host.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process/limits.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/slurm/node.h"
#include "cli/instance/supervisor/supervisor.h"

#define PLACE "/tmp"

struct pilot_self {
    const char *directory;
    struct supervisor_options options;
    char name[CHUNKS_NODE];
    char path[PATH_MAX]; /* of its file */
};

/* What jobs of this user have left here that were killed, and not told to end. Instances that are up are left alone, and so
 * are those of this job: another step may be about to take one over. */
static void
clear_others(const char *prefix, const char *own)
{
    DIR *stream = opendir(PLACE);
    const struct dirent *entry;

    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        struct gr_instance instance;
        char path[PATH_MAX];
        struct stat st;

        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || strncmp(entry->d_name, own, strlen(own)) == 0) {
            continue;
        }
        (void)snprintf(path, sizeof path, PLACE "/%s", entry->d_name);
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
            gr_instance_resolve(path, &instance) == GRANARY_OK &&
            gr_instance_check_own(instance.runtime) == GRANARY_OK && supervisor_running(&instance) == 0) {
            (void)supervisor_stop(&instance, NULL);
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
}

static granary_err
write_file(const struct pilot_self *self, const char *text, size_t size)
{
    char made[PATH_MAX];
    FILE *file;
    granary_err err = GRANARY_OK;

    (void)snprintf(made, sizeof made, "%s/nodes/.%s.new", self->directory, self->name);
    file = fopen(made, "we");
    if (file == NULL) {
        return gr_fail_errno("%s", made);
    }
    if (fwrite(text, 1, size, file) != size) {
        err = gr_fail_errno("%s", made);
    }
    if (fclose(file) != 0 && err == GRANARY_OK) {
        err = gr_fail_errno("%s", made);
    }
    return err == GRANARY_OK && rename(made, self->path) < 0 ? gr_fail_errno("%s", self->path) : err;
}

/* The instance is up: whoever reads the file may use it. */
static void
tell_ready(void *context)
{
    struct pilot_self *self = context;
    granary_connect_options options = {.instance = self->options.instance.runtime, .tag = "node"};
    granary_client *client = NULL;
    granary_store_stat stat = {.capacity_bytes = 0};
    char text[512];
    int length;

    if (granary_connect(&options, &client) == GRANARY_OK) {
        (void)granary_store_stat_get(client, &stat);
    }
    granary_disconnect(client);
    length = snprintf(text, sizeof text, "version %s\nexecutors %d\nmemory %llu\ninstance %s\n", granary_version(),
                      self->options.executors, (unsigned long long)stat.capacity_bytes, self->options.instance.runtime);
    if (write_file(self, text, (size_t)length) != GRANARY_OK) {
        (void)cli_fail(GRANARY_EIO, "cluster node");
    }
}

static int
run_node(struct cli *cli)
{
    struct pilot_self *self = cli->self;
    const char *job = getenv("SLURM_JOB_ID");
    char prefix[64], own[80], instance[PATH_MAX];
    granary_err err;

    if (self->directory == NULL || job == NULL || strspn(job, "0123456789") != strlen(job) || strlen(job) > 20) {
        return gr_fail(GRANARY_EINVAL, "this is what a job of `granary cluster up` runs on its machines");
    }
    (void)node_name(self->name);
    (void)snprintf(self->path, sizeof self->path, "%s/nodes/%s", self->directory, self->name);
    (void)snprintf(prefix, sizeof prefix, "granary-slurm-%u-", (unsigned)getuid());
    (void)snprintf(own, sizeof own, "%s%s-", prefix, job);
    (void)snprintf(instance, sizeof instance, PLACE "/%s%s", own, self->name);
    clear_others(prefix, own);
    err = gr_instance_resolve(instance, &self->options.instance);
    if (err == GRANARY_OK) {
        self->options.executors = self->options.executors > 0 ? self->options.executors : gr_usable_cpus();
        self->options.state = "sqlite";
        self->options.foreground = true;
        self->options.ready = tell_ready;
        self->options.context = self;
        err = supervisor_start(&self->options, NULL);
    }
    (void)unlink(self->path);
    return err == GRANARY_ECANCELLED ? GRANARY_OK : err;
}

static const struct gr_option node_options[] = {
    {"directory", 0, "DIR", "of the job", GR_OPTION_TEXT(struct pilot_self, directory)},
    {"memory", 0, "SIZE", "give the instance this much memory", GR_OPTION_SIZE(struct pilot_self, options.memory, 1),
     .as_text = true},
    {"executors", 'e', "N", "start N executors; default: one for each processor",
     GR_OPTION_NUMBER(struct pilot_self, options.executors, 1, 1024)},
    {0}};

const struct command cluster_node = {.options = node_options, COMMAND_ZERO(struct pilot_self), .run = run_node};
