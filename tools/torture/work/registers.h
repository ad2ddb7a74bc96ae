/*
 * Registers: things whose content has a version, which one process at a time makes newer, while others read it. What was
 * changed before a read began must be in what it gave. A number from one clock of the run stands with each note.
 */
#ifndef TORTURE_REGISTERS_H
#define TORTURE_REGISTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define REGISTERS_MOST  1024u
#define REGISTERS_READS 16384u /* in one round */

struct version {
    _Atomic uint64_t begun, done; /* 0: nothing was ever there */
};

struct look {
    uint32_t which;
    _Atomic bool noted;
    bool recalled;
    uint64_t began, ended; /* by the clock */
    uint64_t least, most;  /* done when it began, begun when it ended */
    uint64_t seen;         /* version; 0: none */
    bool torn;             /* of several versions */
};

struct registers {
    _Atomic uint64_t clock;
    _Atomic uint32_t count; /* in use */
    _Atomic uint32_t looks;
    struct version versions[REGISTERS_MOST];
    struct look list[REGISTERS_READS];
};

void registers_clear(struct registers *registers);
/* Another one. Its number; REGISTERS_MOST: there is no room. */
uint32_t registers_add(struct registers *registers);

/* The next version of a register is being made. */
uint64_t registers_change(struct registers *registers, uint32_t which);
void registers_changed(struct registers *registers, uint32_t which, uint64_t version);

/* What is known before a read. */
struct look registers_look(struct registers *registers, uint32_t which);
/* ... and note it. It is left out when there is no room. */
void registers_seen(struct registers *registers, struct look look, uint64_t version, bool torn);

/*
 * It is impossible that a read gives
 *
 *   - an older version than one that was complete before it began, or that another read had given by then: it is stale
 *   - a version that nobody had begun when it ended
 *   - parts of several versions
 *
 * Returns how many do; the first ones are said on `out`. SIZE_MAX: out of memory.
 */
size_t registers_verdict(const struct registers *registers, FILE *out);

#endif
