/* Decimals that have no more digits than an int64 surely has. */
#include "parquet/write/private.h"

#define END INT64_C(1000000000000000000) /* 10^18: the first that is not narrow */

static bool
is_narrow(const struct put_wide *value)
{
    int64_t low = (int64_t)value->halves[0];

    return (int64_t)value->halves[1] == low >> 63 && low < END && low > -END;
}

bool
put_can_narrow(const granary_column *column, int64_t from, int64_t rows)
{
    const struct put_wide *values;

    if (((unsigned)column->dtype & 0xffU) == GRANARY_LIST) {
        int64_t first = rows > 0 ? column->offsets[from] : 0;

        return put_can_narrow(column->values, first, rows > 0 ? column->offsets[from + rows] - first : 0);
    }
    if ((unsigned)column->dtype >> 8 > PUT_NARROW) { /* a scale that its precision would not have */
        return false;
    }
    values = column->values;
    for (int64_t i = from; i < from + rows; i++) {
        if (!is_narrow(&values[i]) && (column->validity == NULL || put_bit(column->validity, i))) {
            return false;
        }
    }
    return true;
}
