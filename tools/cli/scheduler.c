#include "scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

/* Its lock tells which process it is. */
const char *
scheduler_trouble(const struct gr_instance *instance)
{
    char path[160];
    char *text = NULL;
    size_t size;
    long pid = 0;
    unsigned long long started = 0;
    char state = '?';

    (void)snprintf(path, sizeof path, "%s/sched.lock", instance->runtime);
    if (gr_file_read(path, 4096, &text, &size) == GRANARY_OK && sscanf(text, "%ld %llu", &pid, &started) != 2) {
        pid = 0;
    }
    free(text);
    text = NULL;
    if (pid <= 0 || gr_process_start_time((pid_t)pid) != started) {
        return "no scheduler runs";
    }
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if (gr_file_read(path, 4096, &text, &size) == GRANARY_OK && strrchr(text, ')') != NULL) {
        (void)sscanf(strrchr(text, ')'), ") %c", &state);
    }
    free(text);
    return state == 'T' || state == 't' ? "the scheduler is stopped" : state == 'Z' ? "no scheduler runs" : NULL;
}
