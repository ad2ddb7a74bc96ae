/*
 * The text of a file, from its beginning, whatever it is packed by: gzip of several members, zstd and lz4 of several
 * frames, bzip2 of several streams. First bytes tell, not the name. A file that is not packed is read as it is.
 */
#ifndef DATA_TEXT_UNPACK_H
#define DATA_TEXT_UNPACK_H

#include "data/text/packing.h"

struct gr_unpack;

/* Errors: ENOENT, EPERM, EIO · EINVAL no regular file · ENOMEM; the message has the path */
granary_err gr_unpack_open(const char *path, struct gr_unpack **ret_unpack);
void gr_unpack_close(struct gr_unpack *unpack); /* NULL is fine */

enum gr_packing gr_unpack_packing(const struct gr_unpack *unpack);

/*
 * The next bytes of the text, as many as are asked for, but for its end.
 *
 * *ret_size  fewer than size: that is all
 * Errors     EINVAL damaged, cut off, or in need of too much memory; the message has the path and the place in the file
 *            · EIO · ENOMEM
 */
granary_err gr_unpack_read(struct gr_unpack *unpack, void *bytes, size_t size, size_t *ret_size);

#endif
