/*
 * Results of fragments as files in a directory that all machines see:
 *
 *      DIGEST-P.K.object   chunk K of partition P, as `granary export` writes it
 *      DIGEST-P.done       which chunks there are; it comes last, so results without it are not whole
 *
 * Each file is written under another name first, and renamed. Two writers of one fragment do no harm: they write the same bytes.
 */
#ifndef CLI_CLUSTER_CHUNKS_H
#define CLI_CLUSTER_CHUNKS_H

#include "granary/granary.h"

#define CHUNKS_DIMS 8
#define CHUNKS_NODE 65 /* the name of a machine */

/* Whose results. All borrowed. */
struct chunks_of {
    const char *directory;
    const char *digest; /* of the stage */
    uint32_t partition;
};

struct chunk_file {
    uint64_t bytes; /* of the file */
    uint64_t chain; /* its checksum, at its end */
};

/* What a file DIGEST-P.done tells. */
struct chunks {
    char node[CHUNKS_NODE]; /* where they were made */
    bool is_tensor, is_objects;
    int dims;
    int64_t shape[CHUNKS_DIMS]; /* tensors: of the whole result */
    size_t count;
    struct chunk_file *files;
};

/* What is there of a fragment. Errors: ENOENT nothing whole · ECORRUPT, naming the file · ENOMEM */
granary_err chunks_read(const struct chunks_of *of, struct chunks *ret_chunks);
void chunks_free(struct chunks *chunks);

/* Read all of the files that chunks tells of. Errors: ECORRUPT, naming the file; also when it is gone · EIO */
granary_err chunks_verify(const struct chunks_of *of, const struct chunks *chunks);

/* Write a graph's result as the fragment's. node: this machine. Errors: naming the file: EFULL, EIO, EPERM ... */
granary_err chunks_write(const struct chunks_of *of, granary_client *client, const granary_result *result,
                         const char *node, uint64_t *ret_bytes);

/*
 * Take chunk k into the store, under a fresh id, for as long as the client lives. Errors: ECORRUPT, naming the file: it is
 * not what chunks tells · what importing gives
 */
granary_err chunks_take(const struct chunks_of *of, const struct chunks *chunks, size_t k, granary_client *client,
                        granary_id *ret_id);

/* From now on the results are not whole: somebody has found damage. */
void chunks_spoil(const struct chunks_of *of);

/* Remove all that is there of these stages, and what killed writers left. */
void chunks_sweep(const char *directory, const char *const *digests, size_t count);

#endif
