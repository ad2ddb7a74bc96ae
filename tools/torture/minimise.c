/* Ever smaller parts of a schedule are left out, the first blows before the last, until no single one can be. */
#include "torture/minimise.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/error.h"
#include "base/fd.h"
#include "spawn/spawn.h"
#include "torture/common/interrupt.h"

#define SCHEDULE_MOST ((size_t)64 << 20)

/* ---- which places ---- */

/* Without `size` of them from `at` on. */
static size_t
leave_out(const size_t *places, size_t count, size_t at, size_t size, size_t *ret_rest)
{
    size_t rest = 0;

    for (size_t i = 0; i < count; i++) {
        if (i < at || i >= at + size) {
            ret_rest[rest++] = places[i];
        }
    }
    return rest;
}

void
minimise_places(size_t *places, size_t *count, minimise_fails fails, void *context)
{
    size_t *rest = calloc(*count + 1, sizeof *rest);
    size_t size = *count;

    for (size_t i = 0; i < *count; i++) {
        places[i] = i;
    }
    while (rest != NULL && size > 0 && *count > 0) {
        bool smaller = false;

        size = size > *count ? *count : size;
        /* The last blows are the likeliest to matter, so the first are left out first. */
        for (size_t at = 0; at < *count;) {
            size_t left = leave_out(places, *count, at, size, rest);

            if (fails(context, rest, left)) {
                memcpy(places, rest, left * sizeof *places);
                *count = left;
                smaller = true;
            } else {
                at += size;
            }
        }
        size = smaller && size == 1 ? 1 : size / 2;
    }
    free(rest);
}

/* ---- schedules ---- */

struct schedule {
    const char *path; /* of candidates */
    const char *head; /* the first line */
    char **blows;     /* the others */
    size_t count;
    unsigned tries;
    unsigned runs;
};

static bool
write_schedule(const struct schedule *schedule, const char *path, const size_t *places, size_t count)
{
    FILE *file = fopen(path, "we");
    bool good = file != NULL && fprintf(file, "%s\n", schedule->head) > 0;

    for (size_t i = 0; good && i < count; i++) {
        good = fprintf(file, "%s\n", schedule->blows[places[i]]) > 0;
    }
    good = (file == NULL || fclose(file) == 0) && good;
    if (!good) {
        perror(path);
    }
    return good;
}

/* The exit status of a run; -1: none, or it was interrupted. */
static int
replay(const struct schedule *schedule)
{
    int status = 0;
    pid_t child =
        spawn_command((const char *const[]){"torture", "whole", "--replay", schedule->path, NULL}, "/dev/null");

    while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
        if (interrupted()) {
            (void)kill(child, SIGTERM); /* it is not in our process group */
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return child > 0 && WIFEXITED(status) && !interrupted() ? WEXITSTATUS(status) : -1;
}

static bool
fails(void *context, const size_t *places, size_t count)
{
    struct schedule *schedule = context;
    bool failed = false;

    if (interrupted() || !write_schedule(schedule, schedule->path, places, count)) {
        return false;
    }
    for (unsigned i = 0; i < schedule->tries && !failed; i++) {
        schedule->runs++;
        failed = replay(schedule) == 1;
    }
    (void)printf("%zu blows: %s\n", count, failed ? "fails" : "does not fail");
    (void)fflush(stdout);
    return failed;
}

/* The lines behind the first. */
static bool
split(struct schedule *schedule, char *text)
{
    size_t room = 1;
    char *rest = NULL;

    for (const char *at = text; *at != '\0'; at++) {
        room += *at == '\n';
    }
    schedule->blows = calloc(room, sizeof *schedule->blows);
    schedule->head = strtok_r(text, "\n", &rest);
    for (char *line = NULL; schedule->blows != NULL && (line = strtok_r(NULL, "\n", &rest)) != NULL;) {
        schedule->blows[schedule->count++] = line;
    }
    return schedule->blows != NULL && schedule->head != NULL;
}

static int
reduce(struct schedule *schedule, const char *path, const char *result)
{
    size_t *places = calloc(schedule->count + 1, sizeof *places);
    size_t count = schedule->count;
    int status = 1;

    for (size_t i = 0; places != NULL && i < count; i++) {
        places[i] = i;
    }
    if (places != NULL && fails(schedule, places, count)) {
        minimise_places(places, &count, fails, schedule);
        status = write_schedule(schedule, result, places, count) ? 0 : 1;
        (void)printf("%zu of %zu blows fail, after %u runs: %s\n", count, schedule->count, schedule->runs, result);
    } else if (places != NULL) {
        (void)printf("%s does not fail in %u runs\n", path, schedule->tries);
    }
    free(places);
    return status;
}

int
minimise(const char *path, unsigned tries)
{
    char candidate[512];
    char result[512];
    char *text = NULL;
    size_t size;
    struct schedule schedule = {.path = candidate, .tries = tries};
    int status = 1;

    interrupt_catch();
    (void)snprintf(candidate, sizeof candidate, "%s.try", path);
    (void)snprintf(result, sizeof result, "%s.min", path);
    if (gr_file_read(path, SCHEDULE_MOST, &text, &size) != GRANARY_OK) {
        (void)fprintf(stderr, "granary: torture: %s\n", granary_error_message());
    } else if (!split(&schedule, text)) {
        (void)fprintf(stderr, "granary: torture: %s: no schedule that can be read: give one that --record wrote\n",
                      path);
    } else {
        status = reduce(&schedule, path, result);
        (void)remove(candidate);
    }
    free(schedule.blows);
    free(text);
    return status;
}
