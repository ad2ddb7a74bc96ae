/*
 * The one byte account of the store: free + reserved + writing + sealed + retiring + pooled = capacity, always.
 *
 *   free      no memory behind it
 *   reserved  segments the store itself fills: objects on their way back from disk
 *   writing   the part of clients' rooms that is not sealed yet
 *   sealed    objects
 *   retiring  objects that are deleted but still leased
 *   pooled    dead bytes between objects, and warm segments that wait for their next use
 *
 * Bytes only ever move from one to another, so the sum cannot drift.
 */
#ifndef STORE_ACCOUNT_H
#define STORE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/shm.h"

struct account {
    uint64_t bytes[GR_ACCOUNT_COUNT]; /* as published; the first seven are the identity */
    uint64_t idle;                    /* part of pooled: in segments without any object */
    uint64_t clean;                   /* part of sealed: a copy is on disk */
    uint64_t pinned;                  /* part of sealed */
    uint64_t changes;                 /* how often it changed: tells whether it must be published */
};

void account_init(struct account *account, uint64_t capacity);

/* Move bytes between two parts of the identity. */
void account_move(struct account *account, enum gr_account from, enum gr_account to, uint64_t bytes);

/* What is not in use is free, whatever there was before. capacity is at least what is in use. */
void account_resize(struct account *account, uint64_t capacity);

/* Change a number outside of the identity (spilled, disk, objects, ...). */
void account_add(struct account *account, enum gr_account which, uint64_t more);
void account_take(struct account *account, enum gr_account which, uint64_t less);

bool account_balances(const struct account *account);

/* Write the account where the session's clients read it, as one consistent set. */
void account_publish(const struct account *account, struct gr_control *control);

#endif
