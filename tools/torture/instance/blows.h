/*
 * Blows: what is done to whom, and when. They are drawn from a seed, or read from a file where they stand a line each:
 *
 *   <ms since the one before> kill|term <role> <which>
 *   <ms since the one before> stop <role> <which> <ms>
 *   <ms since the one before> rest
 *   <ms since the one before> upgrade|replace
 */
#ifndef TORTURE_BLOWS_H
#define TORTURE_BLOWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "torture/instance/realm.h"

enum blow_kind {
    BLOW_KILL,    /* SIGKILL */
    BLOW_TERM,    /* SIGTERM */
    BLOW_STOP,    /* SIGSTOP, and SIGCONT later, while others fall */
    BLOW_REST,    /* none: everybody stops, and what they saw and what is left is looked at */
    BLOW_UPGRADE, /* the programs' files are replaced, and `granary upgrade` */
    BLOW_REPLACE, /* ... and `granary up --replace` */
    BLOW_KINDS,
};

#define BLOWS_KILL_SHARE 82 /* of a hundred blows at processes */

struct blow {
    int64_t after_ms; /* since the one before, and since a rest has ended */
    enum blow_kind kind;
    enum role victim;
    uint32_t which;  /* of that role, modulo how many there are */
    int64_t stop_ms; /* a stop's length */
};

/*
 * Draws. Victims come in decks: each role once, in random order, so that none is spared. Of a role that has fallen fewer
 * times than the average one there are two cards.
 */
struct dealer {
    uint64_t seed;
    int64_t pause_ms;      /* between two, on average; some come together */
    int64_t rest_ms;       /* between two rests */
    int64_t upgrade_ms;    /* between two upgrades, of this way and of that in turn; 0: there is none */
    const uint64_t *kills; /* so far, by role; NULL: all are treated alike */
    int64_t stop_least_ms; /* a stop's length */
    int64_t stop_most_ms;
    bool standby;    /* there is a scheduler that waits */
    uint32_t absent; /* bits of roles that are not there */
    bool gentle;     /* daemons and the supervisor are left alone: what is watched over hours is to live */
    /* private */
    enum role deck[2 * ROLES];
    unsigned left, upgrades;
    int64_t since_rest_ms, since_upgrade_ms;
};

struct blow blows_draw(struct dealer *dealer);

/* One line. */
void blows_write(FILE *file, const struct blow *blow);
/* False: the line is none. */
bool blows_read(const char *line, struct blow *ret_blow);

#endif
