/*
 * An instance under mixed load that is struck. There are clients of the store and clients with graphs, blows at them
 * and at every process of the instance, and rests. At a rest everything that was seen must be possible, and
 * everything that was taken must be back.
 */
#ifndef TORTURE_SIEGE_H
#define TORTURE_SIEGE_H

#include <stdbool.h>
#include <stdint.h>

#include "torture/graphs/graphers.h"
#include "torture/instance/blows.h"
#include "torture/instance/level.h"
#include "torture/instance/logs.h"
#include "torture/instance/realm.h"
#include "torture/objects/crowd.h"
#include "torture/work/work.h"

#define SIEGE_STOPPED_MOST 16u

struct stopped {
    int pidfd;
    int64_t until_ns;
};

struct siege {
    struct realm realm;
    struct crowd crowd;
    struct graphers graphers;
    struct works works;
    struct logs logs;
    struct level level; /* of the beginning */
    struct stopped stopped[SIEGE_STOPPED_MOST];
    size_t stopped_count;
    uint64_t kills[ROLES], stops[ROLES], ends[ROLES]; /* killed, stopped for a while, told to end */
    uint64_t missed;                                  /* blows whose victim was not there */
    uint64_t rests;
    uint64_t leaked, damaged, complaints, outdated;
    bool broken;      /* the instance does not come back */
    const char *keep; /* a directory for a copy of the instance, as it is when the first thing is wrong; NULL: none */
};

/*
 * Make a directory, and have an instance come up in it.
 *
 * data     bytes of all objects together
 * graphs   how many different ones
 * kinds    bits of workers (torture/work)
 * python   the program of those in Python; NULL: there are none
 * Returns  false: nothing is left; why was said on stderr
 */
bool siege_begin(struct siege *siege, const struct options *options, unsigned graphers, unsigned graphs, uint64_t data,
                 unsigned kinds, const char *python);
/* The roles that are not there, as bits. */
uint32_t siege_absent(const struct siege *siege);
/* Have the instance go down. False: that failed, or something was left; said on stderr. */
bool siege_end(struct siege *siege);
void siege_destroy(struct siege *siege);

/* Start the load. */
void siege_load(struct siege *siege);

/* Learn what graphs give, and take the level of the beginning after a moment of load. False: something is wrong. */
bool siege_calm(struct siege *siege);

/* See to what is due, and sleep for a moment. */
void siege_tick(struct siege *siege);

/* Whether there is a process of that role now: a dealer's is_there. */
bool siege_has(void *siege, enum role role);

/* Anything but BLOW_REST. */
void siege_strike(struct siege *siege, const struct blow *blow);

/* Stop the load. False: the instance does not come back. */
bool siege_quiet(struct siege *siege);
/* It is quiet: look at what was seen, and at the instance. */
void siege_inspect(struct siege *siege);
/* ... and whether what was taken is back. */
void siege_check_level(struct siege *siege);
/* All three. */
void siege_rest(struct siege *siege);

bool siege_is_clean(const struct siege *siege);
/* Figures on stdout. */
bool siege_report(const struct siege *siege);

#endif
