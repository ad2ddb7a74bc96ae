/* history: giving it up. */
#ifndef MUTABLE_HISTORY_H
#define MUTABLE_HISTORY_H

#include "mutable/table.h"

/* A table that was restored and had given up history gives it up again; nobody has read the table yet. Errors: as
 * granary_mutable_retain() */
granary_err table_finish_restore(granary_mutable *table);

#endif
