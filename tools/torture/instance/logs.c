/* Of each log the lines that are new since the last look are searched for ends and words that no blow explains. */
#include "torture/instance/logs.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define LOG_MOST ((size_t)256 << 20)

static const char *const names[LOGS] = {"supervisor", "store", "sched", "pool", "web"};

static const char *const bad[] = {"AUDIT-FAILED",       "OBJECT-LOST",     "OBJECT-DAMAGED", "SESSION-LOST",
                                  "SPILL-FILE-DAMAGED", "SEGMENT-SPOILED", "LEDGER-LOST",    "INDEX-SLOT-DROPPED",
                                  "PERSISTENT-LEFT",    "SLOT-LOST",       "EVENTS-DROPPED", "STATE-ENTRY",
                                  "CLIENT-PROTOCOL",    "OUT-OF-MEMORY",   "DAEMON-DIES",    "STORE-FAILED",
                                  "Sanitizer",          "Assertion",       "runtime error"};

/* An end of another kind than those that blows have: killed, told to end, in good order, or as there is no store. */
static bool
ended_badly(const char *line)
{
    const char *signal = strstr(line, " signal=");
    const char *status = strstr(line, " exit=");
    long number;

    if (strstr(line, "DAEMON-DIED") == NULL && strstr(line, "EXECUTOR-DIED") == NULL) {
        return false;
    }
    number = signal != NULL ? strtol(signal + 8, NULL, 10) : status != NULL ? strtol(status + 6, NULL, 10) : 0;
    return signal != NULL ? number != 9 && number != 15 : number != 0 && number != 3;
}

static bool
is_bad(const struct logs *logs, const char *line)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (strstr(line, bad[i]) != NULL && !(logs->files_change && strcmp(bad[i], "EVENTS-DROPPED") == 0)) {
            return true;
        }
    }
    return ended_badly(line);
}

unsigned
logs_look(struct logs *logs, const struct realm *realm, FILE *out)
{
    unsigned count = 0;

    for (size_t i = 0; i < LOGS; i++) {
        char path[PATH_MAX];
        char *text = NULL;
        char *rest = NULL;
        size_t size = 0;

        (void)snprintf(path, sizeof path, "%s/log/%s.log", realm->instance, names[i]);
        if (gr_file_read(path, LOG_MOST, &text, &size) != GRANARY_OK || size <= logs->seen[i]) {
            free(text);
            continue;
        }
        for (char *line = strtok_r(text + logs->seen[i], "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            if (is_bad(logs, line)) {
                (void)fprintf(out, "torture: %s.log: %s\n", names[i], line);
                count++;
            }
        }
        logs->seen[i] = size;
        free(text);
    }
    return count;
}
