/* Values of a list by rank and frequency. */
#ifndef KERNEL_CORE_SELECT_H
#define KERNEL_CORE_SELECT_H

#include "contract/dtypes.h"
#include "data/frame.h"

/* Value i of a column of integers of any width, instants, bools or decimals, as an integer. */
static inline gr_int128
select_int(const granary_column *column, int64_t i)
{
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_BOOL:
        return gr_bit(column->values, i);
#define CASE(name, type, ...)                                                                                          \
    case GRANARY_##name:                                                                                               \
        return ((const type *)column->values)[i];
        GR_WORD_DTYPES(CASE)
        CASE(DECIMAL, gr_int128)
#undef CASE
    default:
        return 0;
    }
}

/* Value i of a column of numbers as a double; decimals: divided by divisor. */
static inline double
select_real(const granary_column *column, int64_t i, double divisor)
{
    if (column->dtype == GRANARY_FLOAT64) {
        return ((const double *)column->values)[i];
    }
    if (column->dtype == GRANARY_FLOAT32) {
        return (double)((const float *)column->values)[i];
    }
    return (double)select_int(column, i) / divisor;
}

/* The value so large a part of the way from low to high. As in NumPy it is computed from the nearer one, so that it
 * rounds alike in both directions and never goes beyond them. */
double select_between(double low, double high, double part);

/* The quantile at a fraction from 0 to 1 of count > 0 values, interpolated between its neighbours (as NumPy's and
 * pandas' "linear"). Values are put in another order, and there is room for as many behind them. */
double select_quantile(double *values, size_t count, double fraction);

/* The same of integers, each of so many units, cut off to whole units. Values are put in another order. */
gr_int128 select_quantile_int(int64_t *values, size_t count, double fraction, gr_int128 unit);

/* Below 0, 0 or above 0: two strings, of either kind of column, by their bytes. */
int select_texts(const granary_column *a, int64_t row_a, const granary_column *b, int64_t row_b);
/* The same: row a against row b of a column without nulls and NaN; -0.0 is less than 0.0. */
int select_compare(const granary_column *column, int64_t a, int64_t b);

/* The row of the most frequent value among some rows, of equally frequent ones that of the least; -1 of none. Rows are
 * put in another order. */
int64_t select_mode(const granary_column *column, uint32_t *rows, size_t count);

#endif
