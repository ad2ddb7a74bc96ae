/* What the directory tells of a column's values: the least, the most, and how many different ones there are. */
#ifndef DATA_ZONE_H
#define DATA_ZONE_H

#include "data/directory.h"

/* Min, max and flags of a column that has a value. */
void zone_of_column(const granary_column *column, struct gr_directory_column *entry);
/* How many different values there are, from a sample; entry has the zone. 0: unknown. */
int64_t distinct_of_column(const granary_column *column, const struct gr_directory_column *entry);

#endif
