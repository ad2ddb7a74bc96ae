/* restore: durable tables of which only the disk knows come back, with their names; and they end. */
#ifndef MUTABLE_DURABLE_RESTORE_H
#define MUTABLE_DURABLE_RESTORE_H

#include "mutable/core/page.h"
#include "mutable/durable/root.h"

/*
 * Bring the table of a name back, if the disk knows one and the name is not bound: one process does, others wait.
 *
 * Errors  ENOENT there is none · EEXIST the name is bound to something else by now · ECORRUPT names the object that is damaged or
 *         missing · as granary_object_create_with(), page_take()
 */
granary_err durable_restore(granary_client *client, const char *name);

/* The same while the caller has the lock of the name. */
granary_err durable_restore_locked(granary_client *client, const char *name);

/* As the table was before the first piece that is damaged or missing: what comes behind is deleted. Errors: ESTATE the name is
 * bound · as durable_restore() */
granary_err durable_recover(granary_client *client, const char *name);

/* All tables that the disk knows. One that cannot be brought back is left out. Errors: ENOMEM · EUNREACHABLE */
granary_err durable_restore_all(granary_client *client);

/* The table is gone from the disk when this returns, then its pieces go. No such table is fine. Errors: as root_end() */
granary_err durable_end(granary_client *client, uint64_t hash, granary_id table);

#endif
