/*
 * kept: objects of a table that are sealed as they begin, and written on by the writer that made them. Readers look
 * at what the lane's log says is complete. The table has a reference to each, by its name for owners.
 */
#ifndef MUTABLE_KEPT_H
#define MUTABLE_KEPT_H

#include "contract/mutable.h"
#include "granary/hold.h"

struct kept {
    granary_client *client;
    granary_id id;
    void *data;
    void *meta;
    uint64_t size; /* of data */
    uint64_t meta_size;
    uint32_t segment;
    uint64_t pin;
    bool is_open;
};

/* The id of a table's object; lane and number as contract/mutable.h has them. */
granary_id kept_id(granary_id table, enum gr_mutable_object kind, uint32_t lane, uint64_t number);

/* Room for the object, to be filled; then kept_seal() or granary_object_abort(). Errors: as granary_object_create_with() */
granary_err kept_create(granary_client *client, granary_id id, uint64_t data_size, uint64_t meta_size, int timeout_ms,
                        granary_buffer *ret_buffer);
/* Sealed, referenced by the table, pinned, and still to be written. The buffer is spent. Errors: EUNSUPPORTED the
 * session is strict · as granary_object_seal(), granary_pin() */
granary_err kept_seal(granary_client *client, granary_id table, granary_buffer *buffer, struct kept *ret_kept);
/* Written no more: it may leave memory. One that is not open is fine. */
void kept_close(struct kept *kept);
/* The same of one whose writer was killed. */
void kept_let_leave(granary_client *client, granary_id id);

/* The table gets a reference to an object, or gives one up. Errors: as granary_reference() */
granary_err kept_refer(granary_client *client, granary_id table, granary_id id);
void kept_unrefer(granary_client *client, granary_id table, granary_id id);

/* Give up everything that a table's owner keeps. Errors: EUNREACHABLE · ENOMEM */
granary_err kept_drop_all(granary_client *client, granary_id table);

#endif
