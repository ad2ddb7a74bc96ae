/* ids: objects whose ids begin alike, found by that. */
#ifndef MUTABLE_DURABLE_IDS_H
#define MUTABLE_DURABLE_IDS_H

#include "granary/store.h"

/* Call take for each object of the session whose id has this first word; once at least. Errors: those of take · ENOMEM */
typedef granary_err ids_take(void *context, granary_id id);
granary_err ids_walk(granary_client *client, uint64_t word, ids_take *take, void *context);

#endif
