/*
 * Page supply: a worker fills segments with pages ahead of demand, so that a writer finds its room warm; and lets large
 * segments have huge pages, where the kernel can.
 *
 * What is supplied is idle memory like any other: the first to be given back when memory is short.
 */
#ifndef STORE_SUPPLY_H
#define STORE_SUPPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/list.h"

struct segment;
struct session;
struct store;

/* What the store holds of it. */
struct supply {
    struct list asked;     /* sessions that asked for room lately */
    bool running;          /* a job runs */
    _Atomic bool hurry;    /* ... and is to end */
    uint64_t calm_changes; /* account.changes at calm_ns */
    int64_t calm_ns;       /* from when on it is calm */
};

void supply_init(struct supply *supply);

/* A client got room of this size: the next one will ask for as much. from: the idle segment it got, or NULL. */
void supply_note(struct session *session, unsigned node, uint64_t bytes, const struct segment *from);

/* Begin what is due; cheap when nothing is. */
void supply_turn(struct store *store, int64_t now_ns);

/* When supply_turn() wants to be called although nothing happens; INT64_MAX: never. */
int64_t supply_next_ns(const struct store *store);

/* The session goes. */
void supply_forget(struct session *session);

#endif
