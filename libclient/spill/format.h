/* The layout of a spill file, version 3: docs/formats.md has the same in prose. Native (little-endian) byte order. */
#ifndef SPILL_FORMAT_H
#define SPILL_FORMAT_H

#include <stdint.h>

#define SPILL_MAGIC    0x6c6c697073726767ull /* "ggrspill" */
#define FOOTER_MAGIC   0x746f6f6672726767ull /* "ggrrfoot" */
#define SPILL_VERSION  3u
#define SPILL_OLDEST   2u    /* ... that is read: it has no FRAME_NUMBERS */
#define SPILL_BLOCK    4096u /* a file is a multiple of it, so that O_DIRECT can read and write all of it */
#define FRAME_RAW      0x80000000u
#define FRAME_NUMBERS  0x40000000u /* pack/numbers.h; neither bit: LZ4 */
#define FRAME_SIZE(of) ((of) & ~(FRAME_RAW | FRAME_NUMBERS))

struct spill_header {
    uint64_t magic;
    uint32_t version;
    uint32_t number;
    uint32_t flags; /* LEVEL_FILE_... */
    uint32_t reserved;
    uint64_t created_ms; /* since the Unix epoch */
    char session[64];
    uint32_t uid;           /* LEVEL_FILE_OWNED: whose the session is */
    uint32_t session_flags; /* ... and GR_CONTROL_... of it */
    uint64_t reserved1[2];
    uint64_t checksum; /* of all above */
};
_Static_assert(sizeof(struct spill_header) == 128, "part of the file format");

/*
 * An object in the index of its file. `frames` says what the checksum covers: one frame's stored bytes, or the table
 * of frames. Its seed is the hash of all fields before it, so a flip in any of them is noticed too.
 */
struct spill_record {
    unsigned char id[16];
    uint64_t stamp;
    uint64_t data_size;
    uint32_t meta_size;
    uint32_t frames;
    uint64_t at;    /* of the first frame; the others follow */
    uint64_t table; /* one frame: its size as stored (| FRAME_...); more: where struct spill_frame[frames] begins */
    uint64_t checksum;
};
_Static_assert(sizeof(struct spill_record) == 64, "part of the file format");

struct spill_frame {
    uint32_t stored; /* bytes; | FRAME_... */
    uint32_t reserved;
    uint64_t checksum; /* of the stored bytes */
};
_Static_assert(sizeof(struct spill_frame) == 16, "part of the file format");

/* The last bytes of the file. */
struct spill_footer {
    uint64_t magic;
    uint32_t version;
    uint32_t number;
    uint32_t flags;
    uint32_t reserved;
    uint64_t objects;
    uint64_t index_at; /* struct spill_record[objects] */
    uint64_t bytes;    /* of the whole file */
    uint64_t index_checksum;
    uint64_t reserved1[8];
    uint64_t checksum; /* of all above */
};
_Static_assert(sizeof(struct spill_footer) == 128, "part of the file format");

#endif
