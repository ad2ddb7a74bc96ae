/* read: the times at which a table is looked at. The table is locked by the caller. */
#ifndef MUTABLE_READ_H
#define MUTABLE_READ_H

#include "mutable/table.h"

/* Make a time final (GRANARY_NOW: that of the newest write), and learn all that was committed up to it. Errors: as
 * granary_cut(), index_update() */
granary_err table_cut(granary_mutable *table, int64_t *time);

/* Learn all that was committed, whatever its time, without making anything final. Errors: as index_update() */
granary_err table_look(granary_mutable *table);

#endif
