/* What the store and its clients have timed (contract/latencies.def), those included that have gone. */
#ifndef INSPECT_LATENCY_H
#define INSPECT_LATENCY_H

#include "contract/latency.h"
#include "granary/inspect.h"

/* Errors: EUNSUPPORTED an earlier release made the instance, which times nothing · ECORRUPT · EIO · ENOMEM */
granary_err gr_inspect_latencies(granary_inspector *inspector, struct gr_latency ret_latencies[GR_LATENCY_COUNT]);

#endif
