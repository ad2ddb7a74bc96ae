/*
 * Blows: what is done to whom, and when. They are drawn from a seed, or read from a file where they stand a line each:
 *
 *   <ms since the one before> kill|term <role> <which>
 *   <ms since the one before> stop <role> <which> <ms>
 *   <ms since the one before> rest
 */
#ifndef TORTURE_BLOWS_H
#define TORTURE_BLOWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "torture/instance/realm.h"

enum blow_kind {
    BLOW_KILL, /* SIGKILL */
    BLOW_TERM, /* SIGTERM */
    BLOW_STOP, /* SIGSTOP, and SIGCONT later, while others fall */
    BLOW_REST, /* none: everybody stops, and what they saw and what is left is looked at */
};

struct blow {
    int64_t after_ms; /* since the one before, and since a rest has ended */
    enum blow_kind kind;
    enum role victim;
    uint32_t which;  /* of that role, modulo how many there are */
    int64_t stop_ms; /* a stop's length */
};

/* Draws. Victims come in decks: each role once, in random order, so that none is spared. */
struct dealer {
    uint64_t seed;
    int64_t pause_ms;      /* between two, on average; some come together */
    int64_t rest_ms;       /* between two rests */
    int64_t stop_least_ms; /* a stop's length */
    int64_t stop_most_ms;
    bool standby;    /* there is a scheduler that waits */
    uint32_t absent; /* bits of roles that are not there */
    bool gentle;     /* daemons and the supervisor are left alone: what is watched over hours is to live */
    /* private */
    enum role deck[ROLES];
    unsigned left;
    int64_t since_rest_ms;
};

struct blow blows_draw(struct dealer *dealer);

/* One line. */
void blows_write(FILE *file, const struct blow *blow);
/* False: the line is none. */
bool blows_read(const char *line, struct blow *ret_blow);

#endif
