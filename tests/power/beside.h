/* What lies beside these programs: the daemons in the folder next to theirs, libraries to preload in their own. */
#ifndef POWER_BESIDE_H
#define POWER_BESIDE_H

/* $GRANARY_BIN, unless it is set. Before anything else: where this program lies cannot be read any more in a mount
 * namespace of its own, when the root is not the machine's. */
void beside_find_daemons(void);
/* Programs started from now on get this library; NULL: none any more. */
void beside_preload(const char *library);

#endif
