/* What lies beside these programs: the daemons in the folder next to theirs, libraries to preload in their own. */
#ifndef POWER_BESIDE_H
#define POWER_BESIDE_H

/* $GRANARY_BIN, unless it is set. */
void beside_find_daemons(void);
/* Programs started from now on get this library; NULL: none any more. */
void beside_preload(const char *library);

#endif
