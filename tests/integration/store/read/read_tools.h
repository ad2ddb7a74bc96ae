/* Chunks for tests of reading: put, spilled, and read by parts. Number n is fixture_id(n). */
#ifndef TEST_READ_TOOLS_H
#define TEST_READ_TOOLS_H

#include "data/frame.h"
#include "granary/read.h"
#include "integration/store/fixture.h"

void read_spill(granary_client *client, uint64_t n);
void read_put_frame(granary_client *client, uint64_t n, const granary_frame *frame);
/* Element i of tensor n is n * 1000000 + i. */
void read_put_tensor(granary_client *client, uint64_t n, int dims, const int64_t *shape);

/* options may be NULL. To be released. */
granary_chunk
read_part(granary_client *client, uint64_t n, granary_selection select, const granary_read_options *options);
/* It fails with that error, and the chunk says so, too. */
void read_refuse(granary_client *client, uint64_t n, granary_selection select, granary_err err);

#endif
