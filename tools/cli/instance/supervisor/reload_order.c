/* granary reload: the supervisor is told to read the settings again, and what it answers is printed. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/command/command.h"
#include "cli/instance/reload.h"
#include "cli/print/listing.h"

#define ANSWER_MS 60000

/* A line of the answer. */
struct answered {
    const char *state;
    const char *name;
    const char *text;
};

static const char *
show_text_of(const void *row, char buffer[SHOW_TEXT])
{
    return show_text(((const struct answered *)row)->text, buffer);
}

static const struct column columns[] = {{"state", "state", -8, COLUMN(struct answered, state)},
                                        {"name", "name", -14, COLUMN(struct answered, name)},
                                        {"text", NULL, 0, COLUMN(struct answered, text)},
                                        {NULL, "value", 0, .show = show_text_of},
                                        {0}};

/* Wait for the file, or for the supervisor's end. */
static granary_err
await_answer(const char *path, int watch_fd, pid_t pid)
{
    struct pollfd fds[2] = {{.fd = watch_fd, .events = POLLIN}, {.fd = gr_pidfd_open(pid), .events = POLLIN}};
    int64_t deadline = gr_deadline_ns(ANSWER_MS);
    granary_err err = GRANARY_OK;
    char events[4096];

    while (access(path, F_OK) < 0 && err == GRANARY_OK) {
        int ready = poll(fds, 2, gr_left_ms(deadline));

        if (ready == 0) {
            err = gr_fail(GRANARY_ETIMEDOUT, "the supervisor (pid %d) does not answer: see its log", (int)pid);
        } else if (fds[1].fd < 0 || fds[1].revents != 0) {
            err = gr_fail(GRANARY_ELOST, "the supervisor (pid %d) has ended", (int)pid);
        } else if (fds[0].revents != 0) {
            (void)!read(watch_fd, events, sizeof events);
        }
    }
    gr_fd_close(&fds[1].fd);
    return err;
}

/* Errors: EINVAL the settings are wrong: nothing was changed · EFAILED one could not be changed */
static granary_err
print_answer(char *text, bool is_json)
{
    struct listing listing = {0};
    granary_err err = GRANARY_OK;
    char *rest = NULL;

    if (strncmp(text, "error\t\t", 7) == 0) {
        text[strcspn(text, "\n")] = '\0';
        return gr_fail(GRANARY_EINVAL, "%s", text + 7);
    }
    if (text[0] == '\0' && !is_json) {
        (void)puts("nothing has changed");
        return GRANARY_OK;
    }
    listing_begin(&listing, columns, is_json);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        struct answered row = {.state = strsep(&line, "\t")};

        row.name = line == NULL ? "" : strsep(&line, "\t");
        row.text = line == NULL ? "" : line;
        listing_row(&listing, &row);
        if (strcmp(row.state, "failed") == 0) {
            err = gr_fail(GRANARY_EFAILED, "%s: %s", row.name, row.text);
        }
    }
    listing_end(&listing);
    return err;
}

static int
run_reload(struct cli *cli)
{
    char path[PATH_MAX];
    struct gr_instance instance;
    char *text = NULL;
    size_t size;
    int watch_fd = -1;
    pid_t pid = 0;
    granary_err err = gr_instance_resolve(cli->instance, &instance);

    err = err == GRANARY_OK ? gr_instance_check_own(instance.runtime) : err;
    pid = err == GRANARY_OK ? supervisor_running(&instance) : 0;
    if (err == GRANARY_OK && pid <= 0) {
        err = gr_fail(GRANARY_EUNREACHABLE, "no instance is up at %s", instance.runtime);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    (void)snprintf(path, sizeof path, "%s/" RELOAD_FILE, instance.runtime);
    watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch_fd < 0 || inotify_add_watch(watch_fd, instance.runtime, IN_MOVED_TO) < 0 ||
        (unlink(path) < 0 && errno != ENOENT) || kill(pid, SIGHUP) < 0) {
        err = gr_fail_errno("supervisor %d", (int)pid);
    }
    err = err == GRANARY_OK ? await_answer(path, watch_fd, pid) : err;
    err = err == GRANARY_OK ? gr_file_read(path, 1 << 20, &text, &size) : err;
    err = err == GRANARY_OK ? print_answer(text, cli->json) : err;
    free(text);
    gr_fd_close(&watch_fd);
    return err;
}

const struct command command_reload = {.plain = true, .run = run_reload};
