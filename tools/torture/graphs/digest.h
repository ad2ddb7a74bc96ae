/*
 * What a result says: the same text for the same values. Bytes of frames would not do: columns stand in the order in
 * which they were made, which depends on whether there was room to make them in place.
 */
#ifndef TORTURE_DIGEST_H
#define TORTURE_DIGEST_H

#include "granary/graph.h"
#include "granary/store.h"

#define DIGEST_MOST  (32 * 1024) /* bytes of a result's digests, with a NUL; of what is longer, only the beginning */
#define DIGEST_CHUNK 32          /* ... of one chunk's */

/* The digest of target "result": one of a frame; of tensors one a chunk, one after the other. */
granary_err digest_result(granary_client *client, const char *key, int timeout_ms, char ret_text[static DIGEST_MOST]);

#endif
