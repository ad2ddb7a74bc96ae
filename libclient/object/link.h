/* The link to the store: made, lost, found again (link.c has the table of its states). */
#ifndef OBJECT_LINK_H
#define OBJECT_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "granary/store.h"

struct link {
    _Atomic uint64_t epoch; /* of the store that answered HELLO last */
    _Atomic bool dead;      /* for good, and why: */
    char why[320];
    _Atomic bool gave_up; /* a wait for the store ended in vain: no other one until life changes */
    _Atomic uint32_t gave_up_life;
    int reconnect_ms;
    /* with the ticket: */
    uint32_t number; /* of this client; 0 before the first HELLO was answered */
    bool greeting;   /* HELLO was sent and is not answered yet */
    char tag[32];
    struct stat control_file;
    struct stat page_file;
};

/* EUNREACHABLE when the store is gone for good; else OK. No system call. */
granary_err link_check(granary_client *client);
/* Whether what the index does not show does not exist: so it is, unless the store was stopped. Errors: EUNREACHABLE */
granary_err link_settled(granary_client *client);
/* False when the store hung up or another one serves; looks at the socket, so not for hot paths. */
bool client_alive(granary_client *client);
/* The first HELLO: on success control, page and doorbell are there. Errors: EUNREACHABLE · ETIMEDOUT · EVERSION · ...
 */
granary_err link_first(granary_client *client, int64_t deadline_ns);
/*
 * If the store is gone, wait until another one serves that knows this client; until the deadline, or as long as the
 * options say. Takes the ticket: hold no lock. Errors: EUNREACHABLE
 */
granary_err link_restore(granary_client *client, int64_t deadline_ns);
/* The same with the ticket held. */
granary_err link_hold(granary_client *client, int64_t deadline_ns);
/* The store makes no sense, as the thread's error says: the link is dead. Returns err. */
granary_err link_broken(granary_client *client, granary_err err);

#endif
