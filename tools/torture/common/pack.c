/* Clients are forked with a seed each; one that ends otherwise than it was made to is counted as a crash. */
#include "torture/common/pack.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

static uint64_t
next_seed(struct pack *pack)
{
    return pack->seed = pack->seed * 6364136223846793005ull + 1442695040888963407ull;
}

static void
start_one(struct pack *pack, unsigned number)
{
    uint64_t seed = next_seed(pack);
    pid_t parent = getpid();
    pid_t child = fork();

    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)signal(SIGTERM, SIG_DFL); /* a blow; */
        (void)signal(SIGINT, SIG_IGN);  /* of a terminal, it is for the parent, who tells them to stop */
        if (getppid() == parent) {
            pack->run(pack->context, number, seed);
        }
        _exit(0);
    }
    if (child < 0) {
        perror("granary: torture: fork");
        pack->crashes++;
    }
    pack->pids[number] = child < 0 ? 0 : child;
}

/* Take note of an end. signal: what was sent to have it end; 0: nothing was. */
static void
note_end(struct pack *pack, unsigned number, int status, int signal)
{
    bool good = WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == signal;

    if (!good) {
        (void)fprintf(stderr, "torture: %s %u (pid %d) %s %d\n", pack->what, number, (int)pack->pids[number],
                      WIFEXITED(status) ? "ended with status" : "was ended by signal",
                      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        pack->crashes++;
    }
    pack->pids[number] = 0;
}

static void
end_one(struct pack *pack, unsigned number, int signal)
{
    int status = 0;

    if (pack->pids[number] > 0) {
        (void)kill(pack->pids[number], signal);
        (void)kill(pack->pids[number], SIGCONT); /* a stopped one takes no other signal but SIGKILL */
        if (waitpid(pack->pids[number], &status, 0) == pack->pids[number]) {
            note_end(pack, number, status, signal);
        }
    }
}

void
pack_start(struct pack *pack)
{
    for (unsigned i = 0; i < pack->count; i++) {
        if (pack->pids[i] == 0) {
            start_one(pack, i);
        }
    }
}

void
pack_replace(struct pack *pack, unsigned number, int signal)
{
    end_one(pack, number, signal);
    start_one(pack, number);
}

void
pack_await(struct pack *pack, int64_t patience_ms)
{
    int64_t deadline = gr_deadline_ns(patience_ms);

    for (unsigned i = 0; i < pack->count; i++) {
        struct pollfd poller = {.fd = pack->pids[i] > 0 ? gr_pidfd_open(pack->pids[i]) : -1, .events = POLLIN};
        int status = 0;

        if (poller.fd >= 0 && poll(&poller, 1, gr_left_ms(deadline)) == 0) {
            (void)fprintf(stderr, "torture: %s %u (pid %d) does not end\n", pack->what, i, (int)pack->pids[i]);
            (void)kill(pack->pids[i], SIGKILL);
        }
        gr_fd_close(&poller.fd);
        if (pack->pids[i] > 0 && waitpid(pack->pids[i], &status, 0) == pack->pids[i]) {
            note_end(pack, i, status, 0);
        }
    }
}

void
pack_kill(struct pack *pack)
{
    for (unsigned i = 0; i < pack->count; i++) {
        end_one(pack, i, SIGKILL);
    }
}
