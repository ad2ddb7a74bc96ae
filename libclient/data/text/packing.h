/* How text is packed in files: what tells it, and texts made so. */
#ifndef DATA_TEXT_PACKING_H
#define DATA_TEXT_PACKING_H

#include "base/text/buf.h"
#include "granary/types.h"

enum gr_packing { GR_PACKING_NONE, GR_PACKING_GZIP, GR_PACKING_ZSTD, GR_PACKING_LZ4, GR_PACKING_BZIP2, GR_PACKINGS };

enum { GR_PACKING_MAGIC = 4 }; /* so many first bytes tell it */

/* "gzip", ...; NONE: "none" */
const char *gr_packing_name(enum gr_packing packing);
/* Of such a name. False: there is none. */
bool gr_packing_parse(const char *name, enum gr_packing *ret_packing);
/* By a file's first bytes. */
enum gr_packing gr_packing_of_bytes(const char *bytes, size_t size);
/* By the ending of a name (.gz, .zst, .lz4, .bz2), in capitals or not. *ret_stem: the length of the name without it */
enum gr_packing gr_packing_of_path(const char *path, size_t *ret_stem);

/* Append a text as one member or frame of a file: such files one behind the other are one. Errors: ENOMEM */
granary_err gr_pack_text(enum gr_packing packing, const void *bytes, size_t size, struct gr_buf *out);

#endif
