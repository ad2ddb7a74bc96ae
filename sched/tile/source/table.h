/*
 * A stored table on its way to be read: objects whose columns, rows and zones are known, or are being asked for. Of a
 * table that changes an executor first tells which objects the snapshot has. It makes it when no client did.
 */
#ifndef TILE_SOURCE_TABLE_H
#define TILE_SOURCE_TABLE_H

#include "base/text/buf.h"
#include "graph/graph.h"
#include "tile/core/chunk.h"

struct gr_table {
    const Granary__Node *node; /* borrowed */
    size_t count;              /* objects, at least 1; 0: a snapshot is to tell them */
    char (*ids)[GRANARY_ID_TEXT + 1];
    const Granary__FrameInfo **infos; /* by object; NULL: not known yet */
    size_t unknown;
    Granary__FrameInfos **answers; /* owned; infos lead into them */
    size_t answer_count;
    uint32_t first_op; /* the operators that ask follow one another from here on, each for as many objects */
    size_t jobs;
    struct gr_schema schema; /* when all is known */
    granary_id snapshot;     /* keeps the objects until the graph has ended; zero: there is none */
    bool makes_snapshot;     /* no client did */
    bool recalled;           /* not the node's own objects, but what a step yielded before */
    bool gone;               /* ... some of which is not there any more */
};

/*
 * bound: what a scheduler found under the node's name, or the client's snapshot; NULL: the node has ids, or names a table that changes.
 * Errors: EINVAL bad ids, or a name nobody has bound · ETYPE as gr_table_feed() · ENOMEM
 */
granary_err gr_table_create(const Granary__Node *node, const Granary__StoredTable *bound, struct gr_table **ret_table);
/* What a step has yielded before, in these objects. When all is known it may be `gone`. Errors: ENOMEM */
granary_err
gr_table_recall(const Granary__Node *node, const granary_id *ids, size_t count, struct gr_table **ret_table);
/* When all is known: from now on it has the columns of that schema, some of which are in no object and must not be read.
 * Errors: ENOMEM */
granary_err gr_table_spread(struct gr_table *table, const struct gr_schema *schema);
void gr_table_destroy(struct gr_table *table); /* NULL is fine */

static inline bool
gr_table_is_known(const struct gr_table *table)
{
    return table->unknown == 0;
}

/* The objects as an operator that is there already, those of the flagged positions (NULL: all). */
struct gr_piece
gr_table_objects(const struct gr_table *table, uint32_t step, const bool *chosen, struct gr_chunks *chunks);
/* Add operators that ask for what is not known: table->jobs of them from table->first_op on. A snapshot that no
 * client made gets its id of the plan's number. */
void gr_table_start(struct gr_table *table, uint32_t step, uint64_t plan, struct gr_chunks *chunks);
/* Take the answer of one of them (0 to jobs - 1). A second one is ignored. Once a snapshot was told, it is to be started
 * again. Errors: EPROTO · ETYPE an object is no
 * frame, or has other columns than the first; messages name the node and the object */
granary_err gr_table_feed(struct gr_table *table, size_t job, const ProtobufCBinaryData *answer);

/* Packed FrameInfos of all objects; only when all is known. Errors: ENOMEM */
granary_err gr_table_pack(const struct gr_table *table, struct gr_buf *out);

#endif
