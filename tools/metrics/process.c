/* A process as /proc has it: whether it is there and not stopped, its time of processors, memory and descriptors. */
#include "metrics/snapshot.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

/* NaN where this user may not look. */
static double
count_descriptors(pid_t pid)
{
    char path[64];
    double count = 0;
    DIR *folder;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    folder = opendir(path);
    if (folder == NULL) {
        return NAN;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return count;
}

/* A moment in ticks since boot as seconds since the Unix epoch. */
static double
moment_of(uint64_t ticks)
{
    struct timespec boot;

    (void)clock_gettime(CLOCK_BOOTTIME, &boot);
    return (double)gr_wall_ms() / 1e3 - ((double)boot.tv_sec + (double)boot.tv_nsec / 1e9) +
           (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

struct metrics_process
metrics_process_read(const char *name, pid_t pid, uint64_t start_time)
{
    struct metrics_process process = {name, 0, 0, NAN, NAN, NAN, NAN, NAN};
    unsigned long long user, system, began, pages;
    char text[GR_PROCESS_STAT];
    const char *fields = pid <= 0 ? NULL : gr_process_stat(pid, text);
    long threads;
    char state;

    if (fields != NULL &&
        sscanf(fields, "%c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %ld %*d %llu %*u %llu",
               &state, &user, &system, &threads, &began, &pages) == 6 &&
        (start_time == 0 || began == start_time) && state != 'Z' && state != 'X') {
        process.stopped = state == 'T' || state == 't';
        process.up = process.stopped == 0;
        process.start_time = moment_of(began);
        process.cpu = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
        process.resident = (double)pages * (double)sysconf(_SC_PAGESIZE);
        process.threads = (double)threads;
        process.descriptors = count_descriptors(pid);
    }
    return process;
}
