/*
 * granary: single-node object store and executor pool. This header includes the public API except two headers:
 * inspect.h (libgranary-store) and worker.h (libgranary-worker). Include those by themselves.
 *
 * Link with one of these, by `pkg-config --cflags --libs NAME`:
 *   granary         all that is included here; the functions of call.h are for libraries that executors load
 *   granary-store   store.h, hold.h, session.h, stream.h and inspect.h; needs libc only
 *   granary-worker  all of granary, and worker.h
 */
#ifndef GRANARY_GRANARY_H
#define GRANARY_GRANARY_H

#include "granary/arrow.h"
#include "granary/call.h"
#include "granary/channel.h"
#include "granary/cut.h"
#include "granary/frame.h"
#include "granary/graph.h"
#include "granary/hold.h"
#include "granary/info.h"
#include "granary/live.h"
#include "granary/pool.h"
#include "granary/read.h"
#include "granary/session.h"
#include "granary/sql.h"
#include "granary/store.h"
#include "granary/stream.h"
#include "granary/types.h"

#endif
