/*
 * Whether histories can be true: is there, for each object, an order of the operations on it, each within its time,
 * in which every one saw what it saw? (Linearizability.) Operations without an end may have happened at any later
 * time, or never.
 */
#ifndef TORTURE_CHECK_H
#define TORTURE_CHECK_H

#include <stdio.h>

#include "torture/objects/history.h"

/* Objects are 0 .. objects - 1. Each whose history cannot be true is described on `complaints`. Returns how many there
 * were; SIZE_MAX: out of memory. */
size_t check_histories(struct history *const *histories, size_t count, uint32_t objects, FILE *complaints);

#endif
