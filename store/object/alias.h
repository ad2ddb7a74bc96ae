/*
 * Aliases: ids that stand for other objects. An alias is a slot of the index. It leads to an id that is no alias
 * itself; its object may come later. When that id becomes an alias, those that lead to it are led on.
 */
#ifndef STORE_ALIAS_H
#define STORE_ALIAS_H

#include "store/core/core.h"

/*
 * Let alias stand for target from now on; that it does already is fine.
 * Errors: EEXIST alias is an object, or stands for another · EINVAL it would lead to itself · EFULL · ENOMEM
 */
granary_err alias_add(struct session *session, granary_id alias, granary_id target);

/* Delete the alias, not what it stands for. False: there is none. */
bool alias_remove(struct session *session, granary_id alias);

/* The index was adopted: find again who leads where, and finish what was going on. Errors: ENOMEM · EFULL */
granary_err alias_adopt(struct session *session);

void alias_fini(struct session *session);

#endif
