/* Physical values become ours. */
#ifndef KERNEL_PARQUET_FIXED_H
#define KERNEL_PARQUET_FIXED_H

#include "kernel/parquet/column/text.h"
#include "parquet/parquet.h"

/* Whether values lie in the file as they do here. */
bool fixed_is_same(const struct gr_parquet_leaf *leaf);
/* Convert; PAGE_SLACK bytes can be read behind them. to: count values of the leaf's dtype (bools: bytes).
 * Errors: ECORRUPT · EUNSUPPORTED one that we cannot have */
granary_err fixed_convert(const struct gr_parquet_leaf *leaf, const uint8_t *from, size_t count, void *to);
/* The same of decimals of variable length. */
granary_err
fixed_convert_texts(const struct gr_parquet_leaf *leaf, const struct text_view *from, size_t count, void *to);

#endif
