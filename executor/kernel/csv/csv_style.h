/* Numbers, dates and timestamps that are written in another way than most. */
#ifndef KERNEL_CSV_CSV_STYLE_H
#define KERNEL_CSV_CSV_STYLE_H

#include "graph/params.h"
#include "kernel/csv/csv_put.h"

/* Of an operator's parameters. Errors: EINVAL names the one that is wrong */
granary_err csv_style_init(const struct gr_csv_params *params, struct csv_style *ret_style);

/* As csv_kind_of(). */
uint32_t csv_style_kind(const struct csv_style *style, const char *bytes, size_t size);
/* As csv_put_value(). */
bool csv_style_put(const struct csv_style *style, const struct csv_builder *builder, int64_t row, const char *bytes,
                   size_t size);

#endif
