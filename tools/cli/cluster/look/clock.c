/* All machines are asked to get ready first; then they answer one after the other, for a busy driver measures badly. */
#include "cli/cluster/look/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cluster/child.h"

#define PATIENCE_MS 5000 /* for all of them together */
#define END_MS      500  /* for them to end by themselves */
#define QUESTIONS   9    /* of each machine; the first one waits until it is ready */

void
clock_answer(void)
{
    char byte;

    while (read(STDIN_FILENO, &byte, 1) == 1) {
        (void)printf("%" PRId64 "\n", gr_now_ns());
        (void)fflush(stdout);
    }
}

/* A number, to the end of its line. */
static bool
read_number(int fd, int64_t deadline_ns, int64_t *ret_number)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    int64_t number = 0;
    char byte = '\0';

    for (int digits = 0; digits < 19; digits++) {
        if (poll(&poller, 1, gr_left_ms(deadline_ns)) <= 0 || read(fd, &byte, 1) != 1) {
            return false;
        }
        if (byte == '\n') {
            *ret_number = number;
            return digits > 0;
        }
        if (byte < '0' || byte > '9') {
            return false;
        }
        number = 10 * number + (byte - '0');
    }
    return false;
}

static void
ask(int fd, int64_t deadline_ns, struct trace_clock *clock)
{
    for (int i = 0; i < QUESTIONS; i++) {
        int64_t asked_ns = gr_now_ns();
        int64_t theirs_ns, took_ns;

        if (send(fd, "?", 1, MSG_NOSIGNAL) != 1 || !read_number(fd, deadline_ns, &theirs_ns)) {
            return;
        }
        took_ns = gr_now_ns() - asked_ns;
        if (i > 0 && (!clock->known || took_ns / 2 < clock->within_ns)) {
            *clock = (struct trace_clock){true, theirs_ns - (asked_ns + took_ns / 2), took_ns / 2};
        }
    }
}

granary_err
clock_ask(const struct places *places, struct trace_clock **ret_clocks)
{
    struct child {
        pid_t pid;
        int fd;
    } *children = calloc(places->count + 1, sizeof *children);
    struct trace_clock *clocks = calloc(places->count + 1, sizeof *clocks);
    int64_t deadline_ns = gr_deadline_ns(PATIENCE_MS);

    if (children == NULL || clocks == NULL) {
        free(children);
        free(clocks);
        return gr_no_memory("clocks");
    }
    for (size_t p = 0; p < places->count; p++) {
        struct places_command command;

        places_look(places, p, "--clock", &command);
        if (child_talk(command.argv, &children[p].pid, &children[p].fd) != GRANARY_OK) {
            children[p].pid = 0;
        }
    }
    for (size_t p = 0; p < places->count; p++) {
        if (children[p].pid > 0) {
            ask(children[p].fd, deadline_ns, &clocks[p]);
            gr_fd_close(&children[p].fd); /* so it ends, too */
        }
    }
    deadline_ns = gr_deadline_ns(END_MS);
    for (size_t p = 0; p < places->count; p++) {
        if (children[p].pid > 0) {
            child_end(children[p].pid, deadline_ns);
        }
    }
    clocks[places->count].known = true; /* home's is ours */
    free(children);
    *ret_clocks = clocks;
    return GRANARY_OK;
}
