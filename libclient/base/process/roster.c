/* The roster: one small file a scheduler, named by its process, which tells whether it is still there. */
#include "base/process/roster.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

/* What killed ones left goes with the next one's start. */
static void
sweep(const char *folder)
{
    struct dirent *file;
    DIR *dir = opendir(folder);

    while (dir != NULL && (file = readdir(dir)) != NULL) {
        long pid = strtol(file->d_name, NULL, 10);
        char path[512];

        if (pid > 0 && gr_process_start_time((pid_t)pid) == 0) {
            (void)snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
            (void)unlink(path);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

granary_err
gr_roster_enter(const struct gr_instance *instance, bool active, uint64_t epoch)
{
    char path[160];
    char partial[176];
    char text[96];
    granary_err err;
    int fd;

    (void)snprintf(path, sizeof path, "%s/" GR_ROSTER, instance->runtime);
    err = gr_mkdir_private(path);
    if (err != GRANARY_OK) {
        return err;
    }
    sweep(path);
    (void)snprintf(path, sizeof path, "%s/" GR_ROSTER "/%d", instance->runtime, (int)getpid());
    (void)snprintf(partial, sizeof partial, "%s.partial", path);
    (void)snprintf(text, sizeof text, "%d %llu %s %llu\n", (int)getpid(),
                   (unsigned long long)gr_process_start_time(getpid()), active ? "active" : "standby",
                   (unsigned long long)epoch);
    fd = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return gr_fail_errno("%s", partial);
    }
    err = gr_write_all(fd, text, strlen(text));
    gr_fd_close(&fd);
    if (err == GRANARY_OK && rename(partial, path) < 0) {
        err = gr_fail_errno("%s", path);
    }
    return err;
}

void
gr_roster_leave(const struct gr_instance *instance)
{
    char path[160];

    (void)snprintf(path, sizeof path, "%s/" GR_ROSTER "/%d", instance->runtime, (int)getpid());
    (void)unlink(path);
}

static bool
read_entry(const char *path, struct gr_roster_entry *ret_entry)
{
    char *text = NULL;
    char state[16];
    size_t size;
    long long pid;
    unsigned long long start_time;
    unsigned long long epoch;
    bool good = gr_file_read(path, 4096, &text, &size) == GRANARY_OK &&
                sscanf(text, "%lld %llu %15s %llu", &pid, &start_time, state, &epoch) == 4 && pid > 0 &&
                gr_process_start_time((pid_t)pid) == start_time;

    if (good) {
        *ret_entry = (struct gr_roster_entry){
            .pid = pid, .start_time = start_time, .active = strcmp(state, "active") == 0, .epoch = epoch};
    }
    free(text);
    return good;
}

size_t
gr_roster_read(const struct gr_instance *instance, struct gr_roster_entry *ret_entries, size_t room)
{
    char path[512];
    struct dirent *file;
    size_t count = 0;
    DIR *dir;

    (void)snprintf(path, sizeof path, "%s/" GR_ROSTER, instance->runtime);
    dir = opendir(path);
    while (dir != NULL && (file = readdir(dir)) != NULL) {
        struct gr_roster_entry entry;

        (void)snprintf(path, sizeof path, "%s/" GR_ROSTER "/%s", instance->runtime, file->d_name);
        if (strchr(file->d_name, '.') != NULL || !read_entry(path, &entry)) {
            continue;
        }
        if (count < room) {
            ret_entries[count] = entry;
        }
        if (entry.active && count > 0 && room > 0) {
            struct gr_roster_entry first = ret_entries[0];

            ret_entries[0] = entry;
            if (count < room) {
                ret_entries[count] = first;
            }
        }
        count++;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}
