/* How pages of files that are written are packed. */
#ifndef KERNEL_PARQUET_PACK_H
#define KERNEL_PARQUET_PACK_H

#include "data/frame.h"
#include "parquet/write/write.h"
#include "schema/granary.pb-c.h"

/* By the name that write_parquet has. level 0: the codec's own choice. Errors: EINVAL there is no such codec · ENOMEM */
granary_err pack_open(const char *name, int64_t level, struct gr_parquet_packer *ret_packer);
void pack_close(struct gr_parquet_packer *packer);

/* A frame's columns for gr_parquet_put_groups(), and which of them are to have Bloom filters. */
struct pack_columns {
    const granary_column **columns;
    bool *bloom; /* NULL: the writer chooses */
};

/* bloom: names of columns, or NULL. The frame outlives it. Errors: EINVAL a name that it does not have · ENOMEM */
granary_err pack_columns_open(const granary_frame *frame, const Granary__Attr *bloom, struct pack_columns *ret_columns);
void pack_columns_close(struct pack_columns *columns); /* also of one that was not opened: {0} */

#endif
