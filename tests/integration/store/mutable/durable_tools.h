/* What tests of durable tables share: tables of numbers that survive, and power that goes and comes back. */
#ifndef STORE_DURABLE_TOOLS_H
#define STORE_DURABLE_TOOLS_H

#include "mutable_tools.h"

extern const granary_mutable_options on_commit;

granary_mutable *make_durable(granary_client *client, const char *name, const granary_mutable_options *options);
/* So many numbers from first on, as one write. */
granary_err append_numbers(granary_mutable *table, int64_t first, int64_t rows, int64_t time, int64_t *ret_time);
/* The numbers at a time are from, from + 1, ... in any order. */
void check_run(granary_mutable *table, int64_t time, int64_t from, int64_t count);

/* ---- power cuts ---- */

/* Give up a client and its table (NULL: none), and begin again after fixture_power_off(), or after stop_orderly(). */
granary_client *power_on(void **state, granary_client *client, granary_mutable *table);
granary_client *cut_power(void **state, granary_client *client, granary_mutable *table);
/* The store ends in order, with all that it has to do. */
void stop_orderly(void **state);

/* Delete a persistent object, and wait until its file is gone. */
void delete_from_disk(void **state, granary_client *client, granary_id id);

#endif
