/* Signals end it at the next wait, so that the terminal is put back. */
#include "cli/print/again.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

static volatile sig_atomic_t stopped;

static void
stop(int signal)
{
    (void)signal;
    stopped = 1;
}

/* A terminal that gives keys at once. False: there is none, or it is another job's. */
static bool
keys_begin(struct termios *ret_before)
{
    struct termios keys;

    if (tcgetpgrp(STDIN_FILENO) != getpgrp() || tcgetattr(STDIN_FILENO, ret_before) < 0) {
        return false;
    }
    keys = *ret_before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    return tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
}

void
again_begin(struct again *again, bool clears)
{
    struct sigaction action = {.sa_handler = stop};

    again->is_terminal = isatty(STDOUT_FILENO) && !again->once && clears;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL); /* the terminal is to be as it was */
    again->keys = again->is_terminal && keys_begin(&again->before);
}

void
again_clear(const struct again *again)
{
    if (again->is_terminal) {
        (void)fputs("\033[H\033[J", stdout);
    }
}

/* Until the next screen, a signal, or (keys: the terminal gives them) a `q`. */
static void
pause_ms(int ms, bool keys)
{
    int64_t deadline_ns = gr_deadline_ns(ms);
    struct pollfd key = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
    char byte = '\0';

    while (stopped == 0 && poll(&key, 1, gr_left_ms(deadline_ns)) > 0) {
        if (read(STDIN_FILENO, &byte, 1) != 1 || byte == 'q' || byte == 'Q') {
            stopped = 1; /* the terminal is gone, or asked to */
        }
    }
}

bool
again_next(const struct again *again)
{
    (void)fflush(stdout);
    if (!again->once && stopped == 0) {
        pause_ms(again->interval_ms, again->keys);
    }
    return !again->once && stopped == 0 && ferror(stdout) == 0;
}

void
again_end(const struct again *again)
{
    if (again->keys) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &again->before);
    }
}
