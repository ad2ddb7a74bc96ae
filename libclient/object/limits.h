/* The store's limits, changed while it serves: for the supervisor that started it. */
#ifndef OBJECT_LIMITS_H
#define OBJECT_LIMITS_H

#include "contract/store_proto.h"
#include "granary/store.h"

/* Errors: EPERM another process started the store · EFULL no such room in /dev/shm · EINVAL · EUNREACHABLE */
granary_err gr_store_limits(granary_client *client, const struct gr_limits *limits);

#endif
