/*
 * Files that operators read and write. A source is how one format is cut: it looks at a file when the graph comes, and
 * either knows then what is in it (Arrow, NPY), or asks executors first, in stages (CSV, whose types are found by
 * looking). gr_source_NAME stands in the file of its format, for each FORMAT_READ row of contract/formats.def, beside
 * its tile rule. A row without one does not link. Files that are to be written are known to be possible.
 */
#ifndef TILE_FILE_FILE_H
#define TILE_FILE_FILE_H

#include "base/text/buf.h"
#include "graph/graph.h"
#include "tile/core/chunk.h"

struct tiling;
struct gr_step;
struct gr_tiled;

struct gr_file_options {
    const struct gr_graph *graph; /* whose conditions may leave out files of many; NULL: all are read */
    const char *directory;        /* relative names start here */
    int64_t chunk_bytes;          /* 0: automatic */
    int slots;
    uint64_t memory_bytes; /* 0: unknown */
    bool again;            /* folders that are written may be there, written by the same graph */
    int64_t bytes_before;  /* of one of many files, of which a part is read: in those before it, */
    int64_t all_bytes;     /* ... and in all of them */
};

/* Record batches that become a chunk. */
struct gr_file_part {
    size_t first;
    size_t count;
    int64_t rows;
    uint64_t bytes;
};

struct gr_file {
    const struct gr_source *source; /* NULL: it is written */
    const Granary__Node *node;      /* borrowed */
    const char *name;               /* as the user wrote it, for messages; borrowed from node */
    char *path;                     /* absolute */
    int64_t file_bytes;
    int64_t modified_ns;
    int64_t inode;
    int64_t block_bytes; /* that a chunk should have, about */
    bool is_part;        /* what begins in these of its bytes is read alone: */
    int64_t from;
    int64_t to;
    uint64_t memory_bytes; /* of the store; 0: unknown */

    bool of_many; /* it is one of the files that another one stands for (many.h) */
    uint64_t
        subset;     /* which of the files that it stands for are left, if some are not; else 0: its type may not be that
                        of all */
    bool is_recast; /* its dtypes are not those of the table that it is a part of: its statistics say nothing */

    bool known;
    bool believed;              /* its columns are from another time when it was the same; nothing else is known */
    struct gr_node_type type;   /* when known; a file that is written has none */
    uint32_t *kinds;            /* of text: what was seen of each column (enum gr_kind), when known; else NULL */
    struct gr_file_part *parts; /* of batches */
    size_t part_count;
    uint64_t values_at; /* tensors: where the elements begin */
    bool is_half;       /* they are float16, which become float32 */

    /* While it is not known: operators that tell more, in stages. */
    const char *stage; /* for people */
    bool asks;         /* the stage's operators are to be added */
    size_t jobs;       /* of the stage */
    size_t waiting;    /* of them, those without an answer */
    uint32_t first_op; /* once they were added, they follow one another from here on */
    uint32_t made;     /* pieces of text that the first one yields: they are to stay until the file is cut */
    uint32_t made_by;  /* the operator that yields them; valid when made > 0 */
    void *own;         /* the source's */
};

/* An operator of a file yields so many pieces of text, which are to stay until the file is cut. */
typedef void gr_file_maker(void *context, uint32_t op, uint32_t count);

struct gr_source {
    /* Look at a file that is open: it is known then, or asks. Errors: EINVAL, ETYPE, ...; with the path */
    granary_err (*look)(struct gr_file *file, int fd);
    /* Tile step i, or as much of it as `step` says, which yields columns of this file. Errors: as a tile rule */
    granary_err (*tile)(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step,
                        struct gr_tiled *out);

    /* As gr_file_distinct(). NULL: it never knows. */
    uint64_t (*distinct)(const struct gr_file *file, const char *column);
    /* Of a source of many files: tell of each (gr_file_makers()). NULL: it is of one. */
    void (*makers)(const struct gr_file *file, gr_file_maker *tell, void *context);

    /* NULL, all of these, when a look is enough. */
    void (*start)(struct gr_file *file, uint32_t step, struct gr_chunks *chunks);             /* add jobs operators */
    granary_err (*feed)(struct gr_file *file, size_t job, const ProtobufCBinaryData *answer); /* as gr_file_feed() */
    bool (*tell_odd)(const struct gr_file *file, size_t column, struct gr_buf *out); /* as gr_file_tell_odd() */
    void (*free_own)(struct gr_file *file);
};

#define FORMAT_READ(name, kind) extern const struct gr_source gr_source_##name;
#include "contract/formats.def"

/* Whether an operator is on a file. */
bool gr_file_is(enum gr_tile_op op);

/* Whether an operator (-1: none) is on files of which executors are asked before they are cut. */
bool gr_file_asks(int op);

/*
 * Look at the file of a node.
 * Errors: ENOENT, EPERM, EIO · EINVAL no regular file, empty, too short, columns of one name; the folder is none · as
 * gr_arrow_file_open() and gr_npy_head(); ENOMEM. The message names node and file
 */
granary_err
gr_file_create(const struct gr_node *node, const struct gr_file_options *options, struct gr_file **ret_file);
/* At most about so many different values are in a column of a file that is known; null is none. 0: nobody knows. */
uint64_t gr_file_distinct(const struct gr_file *file, const char *column);
/* It has these columns, as somebody has learnt. Only its type is known then. Errors: ENOMEM */
granary_err gr_file_believe(struct gr_file *file, const struct gr_schema *schema);
void gr_file_doubt(struct gr_file *file);   /* as if it had not been */
void gr_file_destroy(struct gr_file *file); /* NULL is fine */

/* Which of so many things, which lie in the file one behind the other and are as long, are read: [*ret_first, *ret_end) */
void gr_file_part(const struct gr_file *file, uint64_t count, uint64_t *ret_first, uint64_t *ret_end);
/* Of a file that is not cut: whether its rows are read, for they belong to the part that has its first byte. */
static inline bool
gr_file_is_read(const struct gr_file *file)
{
    return !file->is_part || (file->from == 0 && file->to > 0);
}

/* Tell the operators of the stages so far that yield pieces of text, in their order. */
void gr_file_makers(const struct gr_file *file, gr_file_maker *tell, void *context);
/* Of a file that asks: add the stage's operators, one after the other. */
void gr_file_start(struct gr_file *file, uint32_t step, struct gr_chunks *chunks);

/*
 * Take the answer to one of the stage's operators (0 to jobs - 1); with the last one the file is known, or asks again.
 * A second answer to the same one is ignored.
 *
 * Errors: EPROTO · EINVAL the file: ragged records, a header that names a column twice, ...; of several the first in
 * the file; message "node 'NAME': FILE:LINE: ..." · ENOENT, ETYPE a wrong entry of dtypes
 */
granary_err gr_file_feed(struct gr_file *file, size_t job, const ProtobufCBinaryData *answer);

/*
 * Known: append why a column is a string, "FILE:LINE: 'VALUE' makes column 'NAME' a string", if that is because of a
 * value that is odd among the others. Returns whether it is.
 */
bool gr_file_tell_odd(const struct gr_file *file, size_t column, struct gr_buf *out);

#endif
