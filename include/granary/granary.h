/*
 * granary: single-node object store and executor pool. This header includes the whole public API.
 *
 * Link with `pkg-config --cflags --libs granary` (everything) or `granary-store` (store.h, hold.h, session.h, stream.h
 * and inspect.h, needs libc only).
 */
#ifndef GRANARY_GRANARY_H
#define GRANARY_GRANARY_H

#include "granary/call.h"
#include "granary/frame.h"
#include "granary/graph.h"
#include "granary/hold.h"
#include "granary/info.h"
#include "granary/pool.h"
#include "granary/read.h"
#include "granary/session.h"
#include "granary/store.h"
#include "granary/stream.h"
#include "granary/types.h"

#endif
