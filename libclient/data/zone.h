/* What the directory tells of a column's values: the least, the most, and how many different ones there are. */
#ifndef DATA_ZONE_H
#define DATA_ZONE_H

#include "data/layout/directory.h"

/* Min, max and flags of a column that has a value. */
void zone_of_column(const granary_column *column, struct gr_directory_column *entry);
/* Whether the zone of a column's rows is that of one run of them and then the next: zone_add(). */
bool zone_adds(const granary_column *column);
/* Widen the entry's zone, none before the first, by those rows: a part of a column for which zone_adds(). */
void zone_add(const granary_column *rows, struct gr_directory_column *entry);
/* How many different values there are, from a sample; entry has the zone. 0: unknown. */
int64_t distinct_of_column(const granary_column *column, const struct gr_directory_column *entry);

#endif
