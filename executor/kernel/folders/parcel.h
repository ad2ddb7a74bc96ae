/*
 * Pieces of files, as one run of bytes: what folders_format makes of a chunk, and folders_write puts into files. A piece has
 * the folder that its file is in. Pieces of one folder follow one another in the file.
 *
 *   head   magic, version, how many pieces, bytes of what each file begins with; 64 bytes
 *   piece  its bytes, rows, bytes of the folder's name; 64 bytes
 *
 * Texts and bytes follow what tells them, each at a multiple of 64.
 */
#ifndef KERNEL_FOLDERS_PARCEL_H
#define KERNEL_FOLDERS_PARCEL_H

#include "base/text/buf.h"
#include "granary/types.h"

/* Append a head; it is told how many pieces there are at the end. Memory sticks in the buffer. */
void parcel_begin(struct gr_buf *out, const void *begins, size_t size);
void parcel_add(struct gr_buf *out, const char *folder, const void *bytes, size_t size, int64_t rows);
void parcel_end(struct gr_buf *out, uint32_t count);

struct parcel_piece {
    const char *folder; /* not NUL-terminated */
    size_t folder_size;
    const uint8_t *bytes;
    size_t size;
    int64_t rows;
};

struct parcel {
    const uint8_t *at;
    const uint8_t *end;
    uint32_t left;         /* pieces */
    const uint8_t *begins; /* with which each file begins */
    size_t begins_size;
};

/* Errors: ECORRUPT it is none, or of another version */
granary_err parcel_open(const void *bytes, size_t size, struct parcel *ret_parcel);
/* The next one of those that are left. Errors: ECORRUPT */
granary_err parcel_next(struct parcel *parcel, struct parcel_piece *ret_piece);

#endif
