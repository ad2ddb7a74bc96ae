/* Counts and sizes come from /proc, shared memory and directories; two measurements are compared figure by figure. */
#include "torture/instance/level.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/instance.h"
#include "base/process/executor_page.h"
#include "granary/inspect.h"
#include "granary/session.h"

/* Names and files that are there for a while: the next start or client clears them up. What leaks grows beyond it. */
#define SLACK 4
/* What the store has open for a client: a socket, a pidfd and the doorbell. */
#define CLIENT_DESCRIPTORS 3
/* ... and the client: a socket and the doorbell. */
#define OWN_DESCRIPTORS 2

static unsigned
count_entries(const char *format, pid_t pid)
{
    char path[64];
    unsigned count = 0;
    DIR *directory;

    (void)snprintf(path, sizeof path, format, (int)pid);
    directory = opendir(path);
    while (directory != NULL && readdir(directory) != NULL) {
        count++;
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return count < 2 ? 0 : count - 2; /* . and .. */
}

static uint64_t
kilobytes(const char *text, const char *field)
{
    const char *at = strstr(text, field);

    return at == NULL ? 0 : strtoull(at + strlen(field), NULL, 10) * 1024;
}

/* Connections to the store, as it counts them. */
struct connections {
    granary_client_info *clients;
    size_t count;
};

static unsigned
connections_of(const struct connections *connections, pid_t pid)
{
    unsigned count = 0;

    for (size_t i = 0; i < connections->count; i++) {
        count += connections->clients[i].pid == (uint32_t)pid && !connections->clients[i].leaving;
    }
    return count;
}

static void
add_process(struct footprint *footprint, pid_t pid, unsigned connections)
{
    char path[64];
    char *text = NULL;
    size_t size;
    unsigned fds = count_entries("/proc/%d/fd", pid) - OWN_DESCRIPTORS * connections;
    unsigned threads = count_entries("/proc/%d/task", pid);

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (gr_file_read(path, 1 << 16, &text, &size) == GRANARY_OK) {
        footprint->processes++;
        footprint->widest = fds > footprint->fds ? pid : footprint->widest;
        footprint->fds = fds > footprint->fds ? fds : footprint->fds;
        footprint->threads = threads > footprint->threads ? threads : footprint->threads;
        footprint->anon += kilobytes(text, "RssAnon:");
        footprint->shared += kilobytes(text, "RssShmem:");
    }
    free(text);
}

typedef void take_file(void *own, const char *path, const char *name, const struct stat *stat);

/* Each regular file below a directory. */
static void
each_file(const char *directory, take_file *take, void *own)
{
    char path[PATH_MAX];
    struct dirent *entry;
    struct stat stat;
    DIR *stream = opendir(directory);

    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (lstat(path, &stat) < 0) {
            continue;
        }
        if (S_ISDIR(stat.st_mode)) {
            each_file(path, take, own);
        } else if (S_ISREG(stat.st_mode)) {
            take(own, path, entry->d_name, &stat);
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
}

struct tally {
    const char *some;
    unsigned *count;
    uint64_t *bytes, *of_some;
};

static void
count_file(void *own, const char *path, const char *name, const struct stat *stat)
{
    const struct tally *tally = own;
    const uint64_t bytes = (uint64_t)stat->st_blocks * 512;

    (void)path;
    ++*tally->count;
    *tally->bytes += bytes;
    if (tally->some != NULL && strncmp(name, tally->some, strlen(tally->some)) == 0) {
        *tally->of_some += bytes;
    }
}

/* Files below a directory: how many, and their bytes; of those whose name begins so, in *ret_some, too. */
static void
measure_files(const char *directory, const char *some, unsigned *count, uint64_t *bytes, uint64_t *ret_some)
{
    each_file(directory, count_file, &(struct tally){some, count, bytes, ret_some});
}

static void
show_file(void *out, const char *path, const char *name, const struct stat *stat)
{
    (void)name;
    (void)fprintf(out, "torture:   %s, %lld bytes\n", path, (long long)stat->st_size);
}

static void
measure_shared(const struct realm *realm, struct level *level)
{
    struct gr_instance instance;
    char path[PATH_MAX];
    struct dirent *entry;
    struct stat stat;
    DIR *stream = opendir("/dev/shm");

    if (gr_instance_resolve(realm->instance, &instance) != GRANARY_OK) {
        instance.shm_prefix[0] = '\0';
    }
    while (stream != NULL && instance.shm_prefix[0] != '\0' && (entry = readdir(stream)) != NULL) {
        (void)snprintf(path, sizeof path, "/dev/shm/%s", entry->d_name);
        if (strncmp(entry->d_name, instance.shm_prefix + 1, strlen(instance.shm_prefix) - 1) != 0 ||
            lstat(path, &stat) < 0) {
            continue;
        }
        if (strstr(entry->d_name, ".data") != NULL) {
            level->segments++;
            level->segments_bytes += (uint64_t)stat.st_blocks * 512;
        } else {
            level->names++;
            /* Rings of events, and the root's records of segments, get their pages as they are used for the first time.
             */
            level->names_bytes += strstr(entry->d_name, ".events") != NULL || strstr(entry->d_name, ".root") != NULL
                                      ? (uint64_t)stat.st_size
                                      : (uint64_t)stat.st_blocks * 512;
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
}

static void
ask_store(const struct realm *realm, struct level *level, struct connections *ret_connections)
{
    granary_connect_options options = {.instance = realm->instance, .tag = "torture"};
    granary_session_info *sessions = NULL;
    granary_inspector *inspector = NULL;
    granary_client *client = NULL;
    size_t count = 0;

    if (granary_connect(&options, &client) == GRANARY_OK) {
        (void)granary_store_stat_get(client, &level->account);
        (void)granary_session_list(client, &sessions, &count);
        level->sessions = (unsigned)count;
        free(sessions);
        granary_disconnect(client);
    }
    if (granary_inspect_open(realm->instance, &inspector) == GRANARY_OK) {
        (void)granary_inspect_clients(inspector, &ret_connections->clients, &ret_connections->count);
        granary_inspect_close(inspector);
    }
}

void
level_measure(const struct realm *realm, struct level *ret_level)
{
    struct process processes[REALM_PROCESSES];
    size_t count = realm_processes(realm, processes);
    char path[PATH_MAX];
    struct connections connections = {.count = 0};
    unsigned logs = 0;
    uint64_t pages_bytes = 0;

    *ret_level = (struct level){.realm = realm};
    ask_store(realm, ret_level, &connections);
    for (size_t i = 0; i < count; i++) {
        enum role role = processes[i].role;
        unsigned its = role == ROLE_EXECUTOR ? connections_of(&connections, processes[i].pid) : 0;

        if (role < REALM_ROLES) { /* slots come and go with executors */
            add_process(&ret_level->roles[role], processes[i].pid, its);
        }
        ret_level->connections += its;
        ret_level->slots += role == ROLE_SLOT;
    }
    free(connections.clients);
    measure_shared(realm, ret_level);
    measure_files(realm->instance, "state.", &ret_level->runtime_files, &ret_level->runtime_bytes,
                  &ret_level->state_bytes);
    measure_files(realm->spill, NULL, &ret_level->spill_files, &ret_level->spill_bytes, NULL);
    measure_files(realm->beside, NULL, &ret_level->spill_files, &ret_level->spill_bytes, NULL);
    (void)snprintf(path, sizeof path, "%s/log", realm->instance);
    measure_files(path, NULL, &logs, &ret_level->log_bytes, NULL);
    (void)snprintf(path, sizeof path, "%s/" GR_EXECUTOR_PAGES, realm->instance);
    measure_files(path, NULL, &ret_level->pages, &pages_bytes, NULL);
    ret_level->runtime_files -= ret_level->pages;
}

unsigned
level_descriptors(const struct level *level, enum role role)
{
    unsigned fds = level->roles[role].fds;
    unsigned others = level->segments + CLIENT_DESCRIPTORS * level->connections;

    return role != ROLE_STORE ? fds : fds > others ? fds - others : 0;
}

static unsigned
exceeds(FILE *out, const char *who, const char *what, uint64_t begin, uint64_t now)
{
    if (now > begin && out != NULL) {
        (void)fprintf(out, "torture: %s%s%s: %" PRIu64 ", at the beginning %" PRIu64 "\n", who,
                      *who == '\0' ? "" : ": ", what, now, begin);
    }
    return now > begin;
}

/* What they are open on. */
static void
show_descriptors(FILE *out, pid_t pid)
{
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *directory;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    directory = opendir(path);
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char target[PATH_MAX];
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof target);

        if (length > 0) {
            (void)fprintf(out, "torture:   %s -> %.*s\n", entry->d_name, (int)length, target);
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
}

/* Slots begin and end as there are calls. */
static unsigned
allowance(const struct level *now, enum role role)
{
    return role == ROLE_EXECUTOR ? now->slots : role == ROLE_STORE ? CLIENT_DESCRIPTORS * now->slots : 0;
}

unsigned
level_compare(const struct level *begin, const struct level *now, FILE *out)
{
    unsigned above = 0;

    for (enum role role = 0; role < REALM_ROLES; role++) {
        const struct footprint *a = &begin->roles[role];
        const struct footprint *b = &now->roles[role];

        above += exceeds(out, role_name(role), "processes", a->processes, b->processes);
        if (exceeds(out, role_name(role), "descriptors", level_descriptors(begin, role) + allowance(now, role),
                    level_descriptors(now, role)) > 0) {
            above++;
            if (out != NULL) {
                show_descriptors(out, b->widest);
            }
        }
        above += exceeds(out, role_name(role), "threads", a->threads, b->threads);
    }
    above += exceeds(out, "executor", "connections to sessions",
                     (uint64_t)now->roles[ROLE_EXECUTOR].processes * now->sessions, now->connections);
    above += exceeds(out, "store", "clients but for executors",
                     begin->account.clients - begin->connections + now->slots, now->account.clients - now->connections);
    /* Who lives keeps a room to write in; of those, the largest are a sixteenth of the memory. */
    above += exceeds(out, "store", "bytes being written", now->account.clients * (now->account.capacity_bytes / 16),
                     now->account.writing_bytes);
    above += exceeds(out, "store", "bytes retiring", begin->account.retiring_bytes, now->account.retiring_bytes);
    above += exceeds(out, "", "names in shared memory", begin->names + SLACK, now->names);
    above += exceeds(out, "executor", "pages", 3 * begin->roles[ROLE_EXECUTOR].processes + GR_EXECUTOR_PAGES_DEAD,
                     now->pages);
    above += exceeds(out, "", "files of the instance", begin->runtime_files + SLACK, now->runtime_files);
    if (exceeds(out, "", "files of objects and logs", begin->spill_files, now->spill_files) > 0) {
        above++;
        if (out != NULL) {
            each_file(now->realm->spill, show_file, out);
            each_file(now->realm->beside, show_file, out);
        }
    }
    return above;
}
