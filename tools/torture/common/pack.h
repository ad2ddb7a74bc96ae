/* Client processes of a run: killed, stopped, started anew, and waited for. */
#ifndef TORTURE_PACK_H
#define TORTURE_PACK_H

#include <stdint.h>
#include <sys/types.h>

#define PACK_MOST 64u

struct pack {
    const char *what; /* they are, for messages */
    unsigned count;
    /* What number `number` does, until its process is killed or returns. */
    void (*run)(void *context, unsigned number, uint64_t seed);
    void *context;
    uint64_t seed;
    pid_t pids[PACK_MOST]; /* 0: none runs */
    uint64_t crashes;      /* ends that nobody had asked for: said on stderr */
};

/* Start all that do not run; they end with this process. */
void pack_start(struct pack *pack);

/* Send one of them a signal that ends it, and start another. */
void pack_replace(struct pack *pack, unsigned number, int signal);

/* Wait for the end of all. Those that have not ended after so long are killed: a crash, too. */
void pack_await(struct pack *pack, int64_t patience_ms);

/* Kill all. */
void pack_kill(struct pack *pack);

#endif
