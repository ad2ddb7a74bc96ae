/* wish: how durable a table is to be, as text. */
#ifndef MUTABLE_WISH_H
#define MUTABLE_WISH_H

#include "granary/mutable.h"

/* "none", "commit", or an interval as "100ms". Errors: EINVAL */
granary_err durable_wish(const char *text, granary_mutable_options *options);

#endif
