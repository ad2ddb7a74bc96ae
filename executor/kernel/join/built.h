/*
 * What join_build makes of the key columns of one side: an index from keys to rows, as bytes that every executor maps
 * (docs/formats.md, "Built sides of joins"). Little-endian; offsets count from the beginning, sections are 64-byte
 * aligned.
 *
 * Every key column gives a word: numbers by themselves, strings by their place in a table of strings
 * (kernel/join/intern.h). Several words are packed into one by their ranges or, where those are too wide, numbered as
 * tuples. The index over that one word is
 *
 *   BUILT_DENSE   a table over the range of the words: the row, or (not unique) where the rows of a word begin
 *   BUILT_HASH    a directory over the upper bits of the hash: where the entries of a bucket begin, and 16 bits of
 * which one a key is set: a Bloom filter. Entries of a bucket lie together, in the order of the rows
 *                 ("unchained" hash table: Birler, Schmidt, Fent, Neumann, DaMoN 2024).
 *                 When the range of the words is not too wide, the first part also has a bit for each word of it.
 * Most rows without a match are recognised there, in the cache, before anything is hashed
 *
 * A row is a reference: the number of its piece above `shift` bits, the row in the piece below. A build may be cut into
 * parts, by slices of the range or by the first bits of the hash; a part is an object of its own.
 */
#ifndef KERNEL_JOIN_BUILT_H
#define KERNEL_JOIN_BUILT_H

#include "kernel/join/intern.h"
#include "kernel/join/words.h"

#define BUILT_MAGIC   0x626a7267u /* "grjb" */
#define BUILT_VERSION 2u
#define BUILT_NONE    UINT32_MAX /* no row: not a reference */

enum built_index { BUILT_DENSE = 1, BUILT_HASH = 2 };

struct built_section {
    uint64_t offset;
    uint64_t size;
};

struct built_key {
    uint32_t dtype; /* that keys are compared in */
    uint32_t is_bytes;
    int64_t base; /* words are base .. base + range - 1; range 0: no row has a key */
    uint64_t range;
    uint64_t stride; /* when words are packed */
    struct built_section strings;
};

struct built_head {
    uint32_t magic;
    uint16_t version;
    uint16_t key_count; /* struct built_key, behind the head */
    uint32_t index;     /* enum built_index */
    uint32_t shift;     /* of references */
    uint32_t part;
    uint32_t part_bits; /* there are 1 << part_bits parts */
    uint32_t unique;    /* no key of this part has two rows */
    uint32_t pieces;
    uint64_t rows;  /* of the built side, all parts, those without key, too */
    uint64_t nulls; /* of them, those whose first key is null */
    int64_t base;   /* of the words of all parts; DENSE, and HASH with bits */
    uint64_t range;
    uint32_t slice_bits;          /* DENSE: a part has 1 << slice_bits words */
    uint32_t directory_bits;      /* HASH */
    struct built_section tuples;  /* size 0: words are packed */
    struct built_section table;   /* DENSE: uint32 each word: reference + 1, 0 none; not unique: begin in entries, and
                                     one more. HASH: uint64 each bucket: begin << 16 | filter, and one more */
    struct built_section entries; /* DENSE: uint32 references; HASH: struct built_entry */
    struct built_section bits;    /* HASH, part 0: a bit each word of the range, in uint64; size 0: there are none */
};

struct built_entry {
    int64_t word;
    uint32_t ref;
    uint32_t zero;
};

_Static_assert(sizeof(struct built_key) == 48, "layout");
_Static_assert(sizeof(struct built_head) == 136, "layout");

/* Which part a hash is of, the bucket there, and the bit of the filter. */
static inline uint64_t
built_part_of(uint64_t hash, uint32_t part_bits)
{
    return part_bits == 0 ? 0 : hash >> (64 - part_bits);
}
static inline uint64_t
built_bucket_of(uint64_t hash, uint32_t part_bits, uint32_t directory_bits)
{
    return directory_bits == 0 ? 0 : hash << part_bits >> (64 - directory_bits);
}
static inline uint64_t
built_filter_of(uint64_t hash)
{
    return UINT64_C(1) << (hash & 15);
}

/* One part, opened: pointers into its bytes. */
struct built_part {
    struct built_head head;
    const uint32_t *words;     /* DENSE table */
    uint64_t word_count;       /* without the one more */
    const uint64_t *directory; /* HASH table */
    const uint32_t *refs;      /* DENSE entries */
    const struct built_entry *entries;
    uint64_t entry_count;
};

/* All parts of a build, opened. */
struct built {
    size_t part_count;
    struct built_part *parts;
    size_t key_count;
    struct built_key *keys;
    struct intern_view *strings; /* by key */
    struct intern_view tuples;
    bool unique;          /* in all parts */
    const uint64_t *bits; /* of the words there are, from parts[0].head.base on; or NULL */
};

struct built_bytes {
    const void *bytes;
    uint64_t size;
};

/* Check and open. built is to be given to built_close(). Errors: ECORRUPT names what does not fit · ENOMEM */
granary_err built_open(const struct built_bytes *parts, size_t count, struct built *ret_built);
void built_close(struct built *built);

#endif
