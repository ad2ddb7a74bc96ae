/*
 * root: the persistent object by which a durable table is found again by its name, and which has what the table's object
 * was. A change of it is a newer one; the older one goes once that is on disk.
 */
#ifndef MUTABLE_DURABLE_ROOT_H
#define MUTABLE_DURABLE_ROOT_H

#include <stdbool.h>

#include "contract/mutable.h"
#include "granary/store.h"

/* One that was read. */
struct root {
    struct gr_mutable_root head;
    char *bytes; /* of the table's object: data, then metadata at root_meta() */
};

/* What the table's object is, copied. Errors: ENOMEM */
granary_err root_set_object(struct root *root, const granary_view *view);

/* The hash of a table's name. */
uint64_t root_hash(const char *name);
granary_id root_table(const struct root *root);
/* The table of that name before, which had ended; zero: there was none. */
granary_id root_before(const struct root *root);
const void *root_meta(const struct root *root);
void root_free(struct root *root);

/*
 * Read the newest root of a hash.
 *
 * Errors  ENOENT there is none, or its table was ended · ECORRUPT names the object · EVERSION · as granary_object_get() · ENOMEM
 */
granary_err root_get(granary_client *client, uint64_t hash, struct root *ret_root);

/* The same, of a table that was ended, too. root_free() follows, whatever is returned. */
granary_err root_get_newest(granary_client *client, uint64_t hash, struct root *ret_root);

/*
 * One that says that its table was ended goes, unless this is still the memory in which that was: what it ended may not
 * have gone from the disk before it.
 *
 * is_clean  nothing else of the table is there
 * Errors    as granary_object_delete(), gr_mutables_map()
 */
granary_err root_collect(granary_client *client, uint64_t hash, const struct root *root, bool is_clean);

/* Whether there is one, ended or not. No message. */
bool root_is_there(granary_client *client, uint64_t hash);

/* Put a root whose sequence, incarnation and lengths are filled in here, in place of those that are there. Errors: as
 * granary_object_put_with(); ENOMEM */
granary_err root_put(granary_client *client, uint64_t hash, struct root *root);

/*
 * The root says that its table was ended; then it may go. Where the disk has no room for that, the root is deleted, which
 * is on disk soon after.
 *
 * Errors  as granary_object_delete()
 */
granary_err root_end(granary_client *client, uint64_t hash);

/* Call take for the name of each table that has a root. What cannot be read is left out. Errors: those of take · ENOMEM */
typedef granary_err root_take(void *context, const char *name);
granary_err roots_walk(granary_client *client, root_take *take, void *context);

#endif
