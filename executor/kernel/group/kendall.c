/*
 * Kendall's tau-b. Pairs in order of their first ranks are put into that of the second ones by merging, which counts the
 * exchanges (Knight, A Computer Method for Calculating Kendall's Tau with Ungrouped Data, 1966).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/group/result_parts.h"

#define SECOND 67108864.0 /* 2^26: a pair is its first rank times this, and its second */

static int
by_pair(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
pairs_of(size_t count)
{
    return (double)count * ((double)count - 1) / 2;
}

/* How many pairs of equal values there are among sorted ones; of their first ranks alone, if whole is false. */
static double
ties(const double *sorted, size_t count, bool whole)
{
    double result = 0;

    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && (whole ? sorted[to] == sorted[from]
                                                 : floor(sorted[to] / SECOND) == floor(sorted[from] / SECOND));
             to++) {
        }
        result += pairs_of(to - from);
    }
    return result;
}

/* Merge two sorted halves; returns how many values of the first are larger than one of the second. */
static double
merge(double *values, size_t middle, size_t count, double *room)
{
    size_t i = 0;
    size_t k = middle;
    double exchanges = 0;

    for (size_t at = 0; at < count; at++) {
        if (k == count || (i < middle && values[i] <= values[k])) {
            room[at] = values[i++];
        } else {
            exchanges += (double)(middle - i);
            room[at] = values[k++];
        }
    }
    memcpy(values, room, count * sizeof *values);
    return exchanges;
}

static double
sort_counting(double *values, size_t count, double *room)
{
    double exchanges = 0;

    for (size_t width = 1; width < count; width *= 2) {
        for (size_t from = 0; from + width < count; from += 2 * width) {
            size_t size = count - from < 2 * width ? count - from : 2 * width;

            exchanges += merge(values + from, width, size, room);
        }
    }
    return exchanges;
}

/* There is room for as many values behind them. */
bool
list_kendall(double *values, size_t count, double number, double *ret_value)
{
    double all = pairs_of(count);
    double first, second, both, discordant;

    (void)number;
    if (count < 2) {
        return false;
    }
    qsort(values, count, sizeof *values, by_pair);
    first = ties(values, count, false);
    both = ties(values, count, true);
    for (size_t i = 0; i < count; i++) {
        values[i] -= floor(values[i] / SECOND) * SECOND;
    }
    discordant = sort_counting(values, count, values + count);
    second = ties(values, count, true);
    if (first == all || second == all) {
        return false;
    }
    *ret_value = (all - first - second + both - 2 * discordant) / sqrt(all - first) / sqrt(all - second);
    *ret_value = *ret_value > 1 ? 1 : *ret_value < -1 ? -1 : *ret_value;
    return true;
}
