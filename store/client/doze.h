/*
 * Going to sleep and waking up, at a cost that follows what is in use and not what there is.
 *
 * A session is awake while its clients' rings are looked at without being asked: its control says so, and its clients
 * ring no doorbell. Every other session's clients ring it at their first entry. So the store need not tell each
 * session each time it sleeps. Before it sleeps it looks once more only at the rings of clients that were told not to
 * ring.
 */
#ifndef STORE_DOZE_H
#define STORE_DOZE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/list.h"

struct session;
struct store;

/* What the store holds of it. */
struct doze {
    struct list awake;  /* sessions whose clients ring no doorbell */
    struct list active; /* clients whose rings were used lately */
    bool bell_rang;     /* some client's ring may have entries, and nobody knows whose */
};

void doze_init(struct doze *doze);

/* Some client's ring may have entries. */
void doze_note_bell(struct store *store);

/*
 * Look at every ring when a bell rang; else at those of the sessions that are awake, or only at those used lately.
 * Returns how many entries were answered.
 */
unsigned doze_drain(struct store *store, int64_t now_ns, bool lately);

/*
 * From now on every client rings. Returns the entries that came before it knew: then the store is awake still, and
 * whoever was.
 */
unsigned doze_sleep(struct store *store, int64_t now_ns);

/* Show the account to the sessions that are awake, and to a few others in turn. True: there are others left. */
bool doze_publish(struct store *store);

#endif
