#include "discard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "granary/graph.h"

/* What was written, up to the end. */
static size_t
read_all(int fd, char *buffer, size_t size)
{
    size_t filled = 0;
    ssize_t n;

    while (filled < size && ((n = read(fd, buffer + filled, size - filled)) > 0 || (n < 0 && errno == EINTR))) {
        filled += n > 0 ? (size_t)n : 0;
    }
    return filled;
}

/* In the process beside: a key of which no end follows is forgotten by the command for that. */
static void
wait_and_forget(const struct cli *cli, int fd)
{
    char key[GRANARY_KEY_MAX + 1] = "";
    const char *args[8] = {"granary", "forget"};
    size_t count = 2;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)setsid(); /* what the terminal sends to the command is not for it */
    (void)signal(SIGTERM, SIG_IGN);
    /* Whoever reads what the command prints waits for the command alone. */
    for (int i = 0; null >= 0 && i < 3; i++) {
        (void)dup2(null, i);
    }
    /* A key, and a line's end behind it when all is done. */
    if (read_all(fd, key, sizeof key - 1) == 0 || key[strlen(key) - 1] == '\n') {
        return;
    }
    if (cli->instance != NULL) {
        args[count++] = "--instance";
        args[count++] = cli->instance;
    }
    if (cli->session != NULL) {
        args[count++] = "--session";
        args[count++] = cli->session;
    }
    args[count] = key;
    (void)execv("/proc/self/exe", (char *const *)(uintptr_t)args);
}

void
discard_begin(const struct cli *cli, struct discard *ret_discard)
{
    int ends[2];

    *ret_discard = (struct discard){.fd = -1};
    if (pipe2(ends, O_CLOEXEC) == 0) {
        ret_discard->pid = fork();
        if (ret_discard->pid == 0) {
            (void)close(ends[1]);
            wait_and_forget(cli, ends[0]);
            _exit(0);
        }
        (void)close(ends[0]);
        ret_discard->fd = ends[1];
    }
    if (ret_discard->pid <= 0) {
        (void)fprintf(stderr, "granary: no process can be started (%s): if this one is killed, its graph stays\n",
                      strerror(errno));
        discard_end(ret_discard);
    }
}

static void
tell(const struct discard *discard, const char *text)
{
    if (discard->pid > 0 && write(discard->fd, text, strlen(text)) < 0) {
        (void)fprintf(stderr, "granary: if this process is killed, its graph stays: %s\n", strerror(errno));
    }
}

void
discard_graph(const struct discard *discard, const char *key)
{
    tell(discard, key);
}

void
discard_end(struct discard *discard)
{
    if (discard->fd >= 0) {
        tell(discard, "\n");
        (void)close(discard->fd);
        discard->fd = -1;
    }
    if (discard->pid > 0) {
        (void)waitpid(discard->pid, NULL, 0);
    }
    discard->pid = 0;
}
