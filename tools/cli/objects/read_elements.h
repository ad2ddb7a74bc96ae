/* Elements of a tensor that lies in several chunks, read as one. */
#ifndef CLI_READ_ELEMENTS_H
#define CLI_READ_ELEMENTS_H

#include "data/tensor.h"
#include "granary/graph.h"
#include "granary/read.h"

/* Of each chunk no more is read than was selected. Errors: EINVAL the selection · ENOMEM · as granary_chunk_read_many() */
granary_err elements_read(granary_client *client, const granary_result *result, const granary_selection *select,
                          const granary_read_options *options, struct gr_tensor *ret_tensor);

#endif
