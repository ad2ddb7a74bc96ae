/*
 * What becomes of a command's graph when the command is interrupted. Before it submits, it starts a process beside it
 * and a pipe there: the pipe's end, also that of a killed command, lets that process forget the graph, unless the
 * command said before that it is done or keeps it. A handler of SIGINT and SIGTERM waits for that and says what came
 * of it, in sentences that were written before, for a handler may not format.
 */
#include "cli/work/run/discard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/scheduler/scheduler.h"
#include "granary/graph.h"

/* How long who interrupts waits at most to be told what became of the graph; a second Ctrl-C does not wait at all. */
#define PATIENCE_MS 10000

/* What the process beside reads behind the key; none is a letter of one. */
#define MARK_DONE        "\n" /* nothing is to be forgotten */
#define MARK_INTERRUPTED "\r" /* it is to be forgotten, and somebody waits for that */

/* The exit status of `granary forget` for a graph that was not there, or not any more. */
#define STATUS_NOT_FOUND 4

/* ---- when a signal interrupts the command ---- */

enum phase { NOTHING, SUBMITTING, RUNS, KEPT };

/* Written while no handler looks: sentences before the phase in which they are told. A handler may not format. */
static struct {
    volatile sig_atomic_t phase;
    volatile sig_atomic_t pending; /* the signal that came while a submission was not answered; 0: none */
    volatile sig_atomic_t begun;   /* a handler ends the process */
    bool told;                     /* the process beside knows the key */
    int fd;                        /* to the process beside; -1: none */
    pid_t cleaner;                 /* it, or the supervisor of a private instance; 0: neither */
    bool is_private;
    int cleaner_fd; /* a pidfd */
    char start[200];
    char nothing[32];
    char unsure[3 * GRANARY_KEY_MAX + 100];
    char kept[2 * GRANARY_KEY_MAX + 100];
    char cancelled[GRANARY_KEY_MAX + 150];
} interrupt = {.fd = -1, .cleaner_fd = -1, .nothing = "nothing was started\n"};

/* Whether the process that cleans up has ended in time; a signal that does not count is none that ends the wait. */
static bool
cleaner_ends(void)
{
    struct pollfd poller = {.fd = interrupt.cleaner_fd, .events = POLLIN};
    int ready;

    while ((ready = poll(&poller, 1, PATIENCE_MS)) < 0 && errno == EINTR) {
    }
    return ready == 1;
}

/* Whether whoever cleans up has done so. */
static bool
is_cleaned(void)
{
    int status = 0;

    if (interrupt.is_private) {
        (void)kill(interrupt.cleaner, SIGTERM);
        (void)cleaner_ends();
        return true; /* soon, if not now: nothing of it outlives this process */
    }
    if (interrupt.cleaner <= 0 || write(interrupt.fd, MARK_INTERRUPTED, 1) != 1) {
        return false;
    }
    (void)close(interrupt.fd);
    return cleaner_ends() && waitpid(interrupt.cleaner, &status, WNOHANG) > 0 && WIFEXITED(status) &&
           (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == STATUS_NOT_FOUND);
}

/* In one piece, for others may write to the same terminal. */
static void
say(char *start, char *end)
{
    const struct iovec line[] = {{start, strlen(start)}, {end, strlen(end)}};

    (void)!writev(STDERR_FILENO, line, 2);
}

/* Of what may be called here there is little; the library is not among it, for this thread may be in the midst of it. */
static void
act(int signal)
{
    enum phase phase = (enum phase)interrupt.phase;
    char *end = phase == NOTHING ? interrupt.nothing : phase == KEPT ? interrupt.kept : interrupt.unsure;

    if (phase == SUBMITTING && interrupt.pending == 0) {
        interrupt.pending = signal; /* until it is known what there is to cancel */
        (void)alarm(PATIENCE_MS / 1000);
        return;
    }
    if (!interrupt.begun) {
        interrupt.begun = true;
        if (phase == RUNS && is_cleaned()) {
            end = interrupt.cancelled;
        }
        say(interrupt.start, end);
    }
    _exit(128 + (interrupt.pending != 0 ? interrupt.pending : signal));
}

/*
 * What the prompt's process passes on (shell.c) with a number may have come to the whole group, and so here, too, before
 * it or behind it: the two are one.
 */
static void
on_signal(int signal, siginfo_t *info, void *context)
{
    static volatile sig_atomic_t direct, passed_on, counted;

    (void)context;
    if (signal == SIGINT) {
        if (info->si_code == SI_QUEUE && info->si_pid == getppid() && info->si_value.sival_int > 0) {
            passed_on = info->si_value.sival_int;
        } else {
            direct++;
        }
        if (direct <= counted && passed_on <= counted) {
            return;
        }
        counted++;
    }
    act(signal);
}

/* Who was told to ignore a signal, by nohup or as a shell's background job, goes on doing so. */
static void
set_handler(bool ours)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGALRM};
    struct sigaction action = {.sa_handler = SIG_DFL};
    struct sigaction before;

    if (ours) {
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_NODEFER | SA_RESTART | SA_SIGINFO;
    }

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            (void)sigaction(signals[i], &action, NULL);
        }
    }
}

static void
prepare(const struct discard_options *options, const struct discard *discard)
{
    interrupt.phase = NOTHING;
    interrupt.fd = discard->fd;
    interrupt.is_private = options->private_pid > 0;
    interrupt.cleaner = interrupt.is_private ? options->private_pid : discard->pid;
    interrupt.cleaner_fd = interrupt.cleaner > 0 ? gr_pidfd_open(interrupt.cleaner) : -1;
    /* What the terminal shows in this line: ^C, and the bar. */
    (void)snprintf(interrupt.start, sizeof interrupt.start,
                   "%sgranary: %.100s: interrupted: ", isatty(STDERR_FILENO) ? "\n" : "", options->what);
    (void)snprintf(interrupt.cancelled, sizeof interrupt.cancelled, "%s%s%s%s\n",
                   options->outcome != NULL ? options->outcome : "its graph is cancelled, and nothing of it is kept",
                   options->stays == NULL ? "" : "; '", options->stays == NULL ? "" : options->stays,
                   options->stays == NULL ? "" : "' is what it was");
    if (options->unsure != NULL) {
        (void)snprintf(interrupt.unsure, sizeof interrupt.unsure, "%s\n", options->unsure);
    }
    set_handler(true);
}

/* ---- the process beside ---- */

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

static int
forget_graph(struct cli *cli, const char *key)
{
    granary_err err = granary_graph_delete(cli->client, key);

    if (err == GRANARY_ENOENT) { /* the submission may be on its way: it comes before what follows an answer */
        err = granary_graph_delete(cli->client, key);
    }
    return err == GRANARY_OK ? 0 : cli_fail(err, "%s", key);
}

/* In the process beside, which has no threads and no connection: what is to be forgotten is. Returns its exit status. */
static int
wait_and_forget(struct cli cli, const struct discard_options *options, int fd)
{
    char key[GRANARY_KEY_MAX + 2] = "";
    size_t length;
    bool interrupted, is_done;
    int status;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)setsid(); /* what the terminal sends to the command is not for it */
    (void)signal(SIGTERM, SIG_IGN);
    /* Whoever reads what the command prints waits for the command alone. */
    for (int i = 0; null >= 0 && i < 3; i++) {
        (void)dup2(null, i);
    }
    length = read_all(fd, key, sizeof key - 1);
    interrupted = length > 0 && key[length - 1] == MARK_INTERRUPTED[0];
    length -= interrupted;
    is_done = length > 0 && key[length - 1] == MARK_DONE[0];
    if (options->file != NULL && !is_done) {
        (void)unlink(options->file);
    }
    if (length == 0 || is_done || (options->only_interrupted && !interrupted)) {
        return 0;
    }
    key[length] = '\0';
    status = options->forget == NULL ? scheduler_connect(&cli) : cli_connect_existing(&cli);
    status = status == 0 ? (options->forget == NULL ? forget_graph : options->forget)(&cli, key) : status;
    cli_disconnect(&cli);
    return status;
}

static void
start_beside(const struct cli *cli, const struct discard_options *options, struct discard *discard)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) == 0) {
        discard->pid = fork();
        if (discard->pid == 0) {
            (void)close(ends[1]);
            _exit(wait_and_forget(*cli, options, ends[0]));
        }
        (void)close(ends[0]);
        discard->fd = ends[1];
    }
    if (discard->pid <= 0) {
        (void)fprintf(stderr, "granary: no process can be started (%s): if this one is killed, its graph stays\n",
                      strerror(errno));
        gr_fd_close(&discard->fd);
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
discard_begin(const struct cli *cli, const struct discard_options *options, struct discard *ret_discard)
{
    *ret_discard = (struct discard){.fd = -1};
    if (options->private_pid <= 0) {
        start_beside(cli, options, ret_discard);
    }
    prepare(options, ret_discard);
}

void
discard_submitting(const struct discard *discard, const char *key, bool is_fresh)
{
    if (is_fresh) {
        tell(discard, key);
        interrupt.told = true;
    }
    (void)snprintf(interrupt.unsure, sizeof interrupt.unsure,
                   "its graph %s may go on: `granary graphs %s` tells, `granary forget %s` ends it\n", key, key, key);
    interrupt.phase = SUBMITTING;
}

void
discard_submitted(const struct discard *discard, const char *key)
{
    if (!interrupt.told) {
        tell(discard, key);
    }
    interrupt.phase = RUNS;
    (void)alarm(0);
    if (interrupt.pending != 0) {
        act(interrupt.pending);
    }
}

void
discard_keep(const struct discard *discard, const char *key)
{
    (void)snprintf(interrupt.kept, sizeof interrupt.kept,
                   "its result is kept as '%s': `granary forget %s` deletes it\n", key, key);
    interrupt.phase = KEPT;
    tell(discard, MARK_DONE);
}

void
discard_end(struct discard *discard)
{
    (void)alarm(0);
    set_handler(false);
    gr_fd_close(&interrupt.cleaner_fd);
    if (discard->fd >= 0) {
        tell(discard, MARK_DONE);
        gr_fd_close(&discard->fd);
    }
    if (discard->pid > 0) {
        (void)waitpid(discard->pid, NULL, 0);
    }
    discard->pid = 0;
}
