/* Row groups whose decimals turned out to be too narrow for the file. */
#ifndef KERNEL_PARQUET_WIDEN_H
#define KERNEL_PARQUET_WIDEN_H

#include "parquet/write/write.h"

/* What gr_parquet_put_groups() made, made anew in another style. Errors: as its own */
granary_err parquet_widen(const void *bytes, size_t size, const struct gr_parquet_style *style, struct gr_buf *out);

#endif
