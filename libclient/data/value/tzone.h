/*
 * Time zones: what the clocks of a place showed, and will show, by the machine's tzdata. Its files are TZif (RFC 9636),
 * which are believed nothing.
 */
#ifndef DATA_VALUE_TZONE_H
#define DATA_VALUE_TZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

struct gr_tzone;

/*
 * The zone of a name of tzdata, such as 'Europe/Berlin', which is read once and stays for the process; UTC is always
 * there. Any thread may ask.
 *
 * Errors  ENOENT there is no such zone · ECORRUPT its file is damaged · ENOMEM
 */
granary_err gr_tzone_find(const char *name, size_t size, const struct gr_tzone **ret_zone);

/* A zone out of the bytes of a file. Errors: ECORRUPT · ENOMEM */
granary_err gr_tzone_parse(const uint8_t *bytes, size_t size, struct gr_tzone **ret_zone);
void gr_tzone_free(struct gr_tzone *zone); /* NULL is fine */

/* Seconds that clocks are ahead of UTC, less than 2 days, at an instant (seconds since 1970 in UTC). */
int64_t gr_tzone_offset(const struct gr_tzone *zone, int64_t instant);
/* The same when clocks show so many seconds since 1970. What they show twice is the second time; what they leave out is
 * counted from before. */
int64_t gr_tzone_offset_of_clock(const struct gr_tzone *zone, int64_t clock);

#endif
