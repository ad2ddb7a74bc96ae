/* append: rows put into a write. */
#ifndef MUTABLE_APPEND_H
#define MUTABLE_APPEND_H

#include "mutable/write.h"

/* Put rows behind those that a write has already. columns: all of the table's, with plain values. Errors: EFULL · as
 * log_put() */
granary_err append_rows(struct write *write, const granary_column *columns, int64_t rows);

#endif
