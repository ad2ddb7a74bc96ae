/* Row groups whose decimals turned out to be too narrow for the file. */
#ifndef KERNEL_PARQUET_WIDEN_H
#define KERNEL_PARQUET_WIDEN_H

#include "kernel/parquet/pack.h"

/* What gr_parquet_put_groups() made, made anew in another style; bloom: see pack_columns_open(). Errors: as its own */
granary_err parquet_widen(const void *bytes, size_t size, const struct gr_parquet_style *style,
                          const Granary__Attr *bloom, struct gr_buf *out);

#endif
