/*
 * granary: parts of chunks (libgranary). One call reads many parts, each by rows, columns, slices or bytes. Chunks in
 * memory are mapped where that is possible. Of a spilled chunk only the frames with the part are read.
 *
 *     granary_chunk_request requests[] = {
 *         {.graph = key, .target = "fares", .chunk = 3, .select = {.kind = GRANARY_SELECT_ROWS, .rows = {10, 20, 1}}},
 *         {.id = id, .select = {.kind = GRANARY_SELECT_ELEMENTS, .dims = {{-1, 0, 0}, GRANARY_SLICE_ALL},
 *                               .dim_count = 2}}, // tensor[-1, :]
 *     };
 *     granary_chunk chunks[2];
 *     granary_err err = granary_chunk_read_many(client, requests, 2, NULL, chunks);
 *     ...
 *     granary_chunk_release(client, chunks, 2);
 */
#ifndef GRANARY_READ_H
#define GRANARY_READ_H

#include "granary/frame.h"
#include "granary/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * start:stop:step as in NumPy: negative positions count from the end, what reaches beyond is clipped, a negative step
 * goes backwards. Step 0 is no slice but the one position `start`, which must be there.
 */
typedef struct granary_slice {
    int64_t start; /* GRANARY_OMITTED: from the first, or from the last when step is negative */
    int64_t stop;  /* not included; GRANARY_OMITTED: to the last, or to the first */
    int64_t step;
} granary_slice;

#define GRANARY_OMITTED INT64_MIN
#define GRANARY_SLICE_ALL                                                                                              \
    {                                                                                                                  \
        GRANARY_OMITTED, GRANARY_OMITTED, 1                                                                            \
    }

typedef enum granary_selection_kind {
    GRANARY_SELECT_ALL = 0,      /* all of it; of a frame the columns that are named */
    GRANARY_SELECT_ROWS = 1,     /* of a frame: rows; step 0: one row */
    GRANARY_SELECT_INDICES = 2,  /* of a frame: these rows in this order, the same one as often as it is named */
    GRANARY_SELECT_ELEMENTS = 3, /* of a tensor: dims; step 0: that dimension goes */
    GRANARY_SELECT_BYTES = 4,    /* of any object: bytes of its data; step 1, or 0 for one byte */
} granary_selection_kind;

typedef struct granary_selection {
    granary_selection_kind kind;
    granary_slice rows;     /* ROWS; BYTES */
    const int64_t *indices; /* INDICES: negative ones count from the end; each must be there */
    size_t index_count;
    granary_slice dims[8]; /* ELEMENTS: the first dim_count dimensions; all of the others */
    int dim_count;
    const char *const *columns; /* frames: in the order that is wanted, each once; NULL: all */
    size_t column_count;
} granary_selection;

/* Which chunk: an object, or one chunk of a graph's target. */
typedef struct granary_chunk_request {
    granary_id id;
    const char *graph; /* key; NULL: id says which object */
    const char *target;
    uint64_t chunk; /* of the target's result, from 0 */
    granary_selection select;
} granary_chunk_request;

typedef struct granary_read_options {
    /*
     * How the reader can take bytes, the one it likes best first: "none", "lz4" (an LZ4 frame). Names that are not
     * known here are passed over. NULL: "none", which maps.
     */
    const char *const *accept;
    size_t accept_count;
    bool as_file;   /* a part of a frame as an Arrow file, of a tensor as an NPY file; so it always is with "lz4" */
    bool checksum;  /* compute the checksum: every byte is touched */
    int timeout_ms; /* for chunks that are not there yet, all together; 0: do not wait; GRANARY_FOREVER */
} granary_read_options;

typedef enum granary_chunk_state {
    GRANARY_CHUNK_READ = 1,      /* err is OK */
    GRANARY_CHUNK_MISSING = 2,   /* ENOENT (ETIMEDOUT after waiting): there is no such object, graph or target */
    GRANARY_CHUNK_NOT_READY = 3, /* ESTATE (ETIMEDOUT after waiting): its graph still runs and has not made it */
    GRANARY_CHUNK_LOST = 4,      /* ELOST: its graph made it, and it is gone */
    GRANARY_CHUNK_DELETED = 5,   /* ENOENT: it was deleted, as far as the store remembers */
    GRANARY_CHUNK_FAILED = 6,    /* any other error: of its graph, of the selection, of reading */
} granary_chunk_state;

typedef enum granary_chunk_kind {
    GRANARY_CHUNK_BYTES = 1,
    GRANARY_CHUNK_FRAME = 2,
    GRANARY_CHUNK_TENSOR = 3,
} granary_chunk_kind;

/* The outcome of a request. Read-only, valid until granary_chunk_release(). */
typedef struct granary_chunk {
    granary_err err;
    granary_chunk_state state;
    char *message; /* of err; NULL when OK */
    granary_id id; /* of the object */
    granary_chunk_kind kind;
    /* Codec "none", and not as_file: one of these three, as kind says. */
    granary_frame *frame;
    granary_tensor tensor; /* C order */
    const void *data;      /* BYTES; and whatever the kind, bytes of an Arrow or NPY file or of an LZ4 frame of them */
    uint64_t data_size;
    const char *codec;   /* "none" or "lz4"; static storage */
    uint64_t raw_size;   /* bytes before they were encoded; of a frame or tensor that is not bytes 0 */
    uint64_t checksum;   /* XXH3-64 of data as it stands here, when it was asked for; else 0 */
    bool mapped;         /* in place: no byte of the chunk was copied */
    bool passed_through; /* the LZ4 blocks are the spill file's own */
    /* private */
    granary_view view;
    granary_frame *base;
    void *owned;
} granary_chunk;

/*
 * Read parts of many chunks. All are tried: one that is missing does not keep the others from being read.
 *
 * options    may be NULL
 * ret_chunks count results in the order of requests, to be given to granary_chunk_release() whatever is returned
 * Blocks     up to timeout_ms; longer while spilled bytes are read
 * Errors     the first one of a chunk. With EUNSUPPORTED (no codec of `accept` is known) and EFORKED no chunk was
 *            read, and all of them have that error. Of a chunk: see granary_chunk_state · EINVAL a position that is
 *            not there, a slice that makes no sense · ETYPE rows of what is no frame, elements of what is no tensor ·
 *            ENOENT a column · EFULL chunks that were read leave no room: read fewer at a time, and release them ·
 *            as granary_object_get()
 */
GRANARY_API granary_err granary_chunk_read_many(granary_client *client, const granary_chunk_request *requests,
                                                size_t count, const granary_read_options *options,
                                                granary_chunk *ret_chunks);

/* End leases and free memory of count results; what is all zero is ignored. */
GRANARY_API void granary_chunk_release(granary_client *client, granary_chunk *chunks, size_t count);

/*
 * Which positions a slice selects of `length`: the first, the distance to the next one, how many. Step 0 gives 1.
 *
 * Errors  EINVAL step 0 with a start that is not there
 */
GRANARY_API granary_err granary_slice_resolve(granary_slice slice, int64_t length, int64_t *ret_first,
                                              int64_t *ret_step, int64_t *ret_count);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_3(granary_err, granary_chunk_read_many,
                (granary_client * client, const granary_chunk_request *requests, size_t count,
                 const granary_read_options *options, granary_chunk *ret_chunks),
                (client, requests, count, options, ret_chunks), granary_chunk_request, granary_read_options,
                granary_chunk);
GRANARY_SIZED_0(granary_chunk_release, (granary_client * client, granary_chunk *chunks, size_t count),
                (client, chunks, count), granary_chunk);

#ifdef __cplusplus
}
#endif
#endif
