/*
 * Daemons stand in the supervisor's notes, executors in their pages. A version is a mark in a program's or library's
 * file.
 */
#include "cli/instance/processes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process/executor_page.h"
#include "cli/instance/supervisor/daemons.h"

#define FILE_MAX_BYTES (256u << 20)

granary_err
processes_list(const struct gr_instance *instance, struct process **ret_processes, size_t *ret_count)
{
    struct daemon daemons[DAEMONS];
    struct gr_executor_state *pages = NULL;
    struct process *processes = NULL;
    size_t pages_count = 0;
    size_t count = 0;
    pid_t supervisor = supervisor_running(instance);
    granary_err err = gr_executor_pages_read(instance->runtime, &pages, &pages_count);

    if (err == GRANARY_OK) {
        processes = calloc(pages_count + DAEMONS + 1, sizeof *processes);
        err = processes == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        daemons_recall(instance, daemons);
        if (supervisor > 0) {
            processes[count++] = (struct process){"supervisor", supervisor};
        }
        for (size_t i = 0; i < DAEMONS; i++) {
            if (daemons[i].pid > 0 && gr_process_start_time(daemons[i].pid) != 0) {
                processes[count].pid = daemons[i].pid;
                (void)snprintf(processes[count++].name, sizeof processes->name, "%s", daemons[i].name);
            }
        }
        for (size_t i = 0; i < pages_count; i++) {
            if (gr_process_start_time((pid_t)pages[i].pid) == pages[i].start_time) {
                processes[count++] = (struct process){"executor", pages[i].pid};
            }
        }
        *ret_processes = processes;
        *ret_count = count;
    }
    free(pages);
    return err;
}

/* What stands behind the mark in a file. */
static void
find_mark(const char *path, char *ret_version, size_t size)
{
    static const char mark[] = GR_VERSION_MARK;
    const size_t length = sizeof mark - 1;
    char *file = NULL;
    size_t left = 0;
    const char *at = NULL;

    if (gr_file_read(path, FILE_MAX_BYTES, &file, &left) == GRANARY_OK) {
        at = file;
    }
    /* The mark alone, as in this program, is no version; a file that is read ends with a NUL. */
    while (at != NULL && (at = memmem(at, left - (size_t)(at - file), mark, length)) != NULL) {
        at += length;
        if (*at >= '0' && *at <= '9') {
            (void)snprintf(ret_version, size, "%s", at);
            break;
        }
    }
    free(file);
}

/* That of the first library of granary that is mapped. */
static void
find_library(const char *maps, char *ret_version, size_t size)
{
    char *text = NULL;
    size_t length;
    char *at;

    if (gr_file_read(maps, FILE_MAX_BYTES, &text, &length) == GRANARY_OK &&
        (at = strstr(text, "/libgranary")) != NULL) {
        at[strcspn(at, "\n")] = '\0';
        while (at > text && at[-1] != ' ') {
            at--;
        }
        find_mark(at, ret_version, size);
    }
    free(text);
}

void
process_version(int64_t pid, char *ret_version, size_t size)
{
    char path[64];

    ret_version[0] = '\0';
    (void)snprintf(path, sizeof path, "/proc/%lld/exe", (long long)pid); /* the very file, also when it was replaced */
    find_mark(path, ret_version, size);
    if (ret_version[0] == '\0') { /* another program, with one of our libraries */
        (void)snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
        find_library(path, ret_version, size);
    }
}

bool
process_is_pooled(int64_t pid)
{
    char path[64], program[PATH_MAX];
    ssize_t n;

    (void)snprintf(path, sizeof path, "/proc/%lld/exe", (long long)pid);
    n = readlink(path, program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    return strstr(program, "/granary-executor") != NULL;
}
