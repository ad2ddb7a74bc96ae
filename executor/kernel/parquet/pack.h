/* How pages of files that are written are packed. */
#ifndef KERNEL_PARQUET_PACK_H
#define KERNEL_PARQUET_PACK_H

#include "parquet/write/write.h"

/* By the name that write_parquet has. level 0: the codec's own choice. Errors: EINVAL there is no such codec · ENOMEM */
granary_err pack_open(const char *name, int64_t level, struct gr_parquet_packer *ret_packer);
void pack_close(struct gr_parquet_packer *packer);

#endif
