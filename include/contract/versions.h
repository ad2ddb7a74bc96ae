/*
 * Versions of what the processes of an instance share while it runs. While an instance is up its programs may be replaced
 * by those of another release, one after another, so each release knows a range: from the oldest that it works with to the
 * newest, which it makes itself.
 *
 * - Shared memory: an instance keeps the layout that it was made with; every file's head tells it. A store adopts what is
 *   in its range, and goes on in that layout. A client says the oldest that it knows, and looks at the head itself.
 * - Messages, by the store's socket and by ZeroMQ: each says the oldest version that understands it. Within a range,
 *   operations, messages and fields are added, and none gets another meaning.
 */
#ifndef GRANARY_CONTRACT_VERSIONS_H
#define GRANARY_CONTRACT_VERSIONS_H

#include <stdbool.h>
#include <stdint.h>

#define GR_SHM_VERSION   4u
#define GR_SHM_OLDEST    4u
#define GR_STORE_VERSION 2u
#define GR_STORE_OLDEST  2u
#define GR_WIRE_VERSION  2u /* PROTOCOL in granary.proto */
#define GR_WIRE_OLDEST   2u

static inline bool
gr_shm_known(uint32_t version)
{
    return version >= GR_SHM_OLDEST && version <= GR_SHM_VERSION;
}

static inline bool
gr_store_known(uint32_t version)
{
    return version >= GR_STORE_OLDEST && version <= GR_STORE_VERSION;
}

static inline bool
gr_wire_known(uint32_t version)
{
    return version >= GR_WIRE_OLDEST && version <= GR_WIRE_VERSION;
}

#endif
