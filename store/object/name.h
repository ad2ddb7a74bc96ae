/* Names: text that stands for an object and keeps it obtainable. A name is a record of the ledger. */
#ifndef STORE_NAME_H
#define STORE_NAME_H

#include "store/core/core.h"

/*
 * Bind or drop a name, in one step for everybody. *ret_previous: what it was bound to; all zero: nothing.
 * Errors: EEXIST · ESTATE · ENOENT no such object · EINVAL · EFULL · ENOMEM
 */
granary_err name_set(struct client *client, const struct gr_name *request, granary_id *ret_previous);

/* Errors: ENOENT · EINVAL */
granary_err name_get(const struct session *session, const char name[GR_LEDGER_TEXT], granary_id *ret_id);

/* Names behind one in the order of bytes, at most `most`. Returns how many. */
size_t
name_list(const struct session *session, const char after[GR_LEDGER_TEXT], struct gr_name *ret_names, size_t most);

/* How a session's names are ordered; context is its ledger. */
extern const struct tree_kind name_order;

/* A record that was found in the ledger. False: the name was bound again later, the record says nothing. */
bool name_adopt(struct session *session, uint32_t number);

#endif
