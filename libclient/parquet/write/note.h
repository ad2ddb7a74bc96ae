/*
 * The note behind row groups, within one version of the program:
 *
 *   struct note_head
 *   each column: struct note_column, the name
 *   each row group: struct note_group; each column: struct put_chunk, the bounds, struct put_page of each page, the
 *   column index
 *   struct note_end: the file's last bytes
 */
#ifndef PARQUET_WRITE_NOTE_H
#define PARQUET_WRITE_NOTE_H

#include <stdint.h>

#define NOTE_MAGIC UINT64_C(0x33657175726170) /* "parque3" */

struct note_head {
    uint32_t columns;
    uint32_t groups;
};

struct note_column {
    uint32_t dtype;
    uint32_t size; /* of the name */
    uint32_t wide; /* decimals of 16 bytes, else 0 */
};

struct note_group {
    int64_t rows;
    int64_t size;   /* of all its pages */
    int64_t blooms; /* bytes of Bloom filters behind them */
};

struct note_end {
    uint64_t size; /* of the note, without this */
    uint64_t magic;
};

#endif
