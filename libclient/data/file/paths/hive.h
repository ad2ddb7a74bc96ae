/*
 * Folders named KEY=VALUE, as Hive, Spark and DuckDB write them: each key is a column, with one value for all rows of a
 * file. Both are percent-decoded; __HIVE_DEFAULT_PARTITION__ is null.
 */
#ifndef DATA_FILE_HIVE_H
#define DATA_FILE_HIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/buf.h"
#include "granary/types.h"

struct gr_hive {
    size_t count; /* of keys */
    char **keys;  /* in the order of the folders */
    size_t files;
    char **values; /* of file f: values[f * count + key]; NULL: null */
};

/*
 * What folders tell of files; all must have the same keys, in any order.
 *
 * must    that they do is an error otherwise; else there are no keys
 * Errors  EINVAL a file has other keys than the first, a key twice, or text that is not UTF-8; the message names it · ENOMEM
 */
granary_err gr_hive_read(char *const *names, size_t count, bool must, struct gr_hive *ret_hive);
void gr_hive_free(struct gr_hive *hive);

/* ---- written ---- */

/* Append a folder's name, "KEY=VALUE", without a slash. value NULL: it is null. Errors: EINVAL a zero byte in the value */
granary_err gr_hive_put(const char *key, const char *value, size_t size, struct gr_buf *out);

#endif
