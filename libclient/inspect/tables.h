/* tables: the pages of mutable tables as their clients wrote them, read by name. What is in them is not believed. */
#ifndef INSPECT_TABLES_H
#define INSPECT_TABLES_H

#include "contract/mutable.h"
#include "inspect/inspector.h"

/* So many ids of parts are tried for one answer: what clients wrote may ask for any number. */
#define TABLES_TRIES ((uint64_t)1 << 22)

struct lane_copy {
    uint64_t word;
    int64_t newest;
    uint32_t chunks;
    uint32_t blocks;
    uint32_t open[GR_MUTABLE_SLAB + 1];
};

/* A page that is, or was, a table's. */
struct table_page {
    uint32_t number;
    granary_id id;
    int64_t sealed;
    int64_t frontier;
    uint64_t rows;
    uint64_t root; /* of a durable table: the hash of its name */
    uint32_t durability;
    uint32_t base;
    uint32_t lanes;   /* at most GR_MUTABLE_LANES */
    uint32_t writers; /* lanes that are locked now; of a copy: 0 */
    struct lane_copy lane[GR_MUTABLE_LANES];
};

/*
 * Pages of a session with an id, in order of numbers; to be freed with free(). No file is no pages.
 *
 * Errors  ECORRUPT it is no file of pages · EVERSION
 */
granary_err tables_read(const struct granary_inspector *inspector, uint32_t session, struct table_page **ret_pages,
                        size_t *ret_count);

/* Whether a ledger record is the reference of a table to one of its objects; *ret_table tells which table's. */
bool tables_refers(const struct ledger_copy *record, granary_id *ret_table);

#endif
