/* A function for frames: half of what each strike cost. docs/tutorial.md shows how to use it. */
#include <granary/call.h>

GRANARY_FUNCTION(halve, .summary = "half of what a strike cost")
{
    int64_t rows;
    const int64_t *cost = granary_call_column(call, "Cost Total $", GRANARY_INT64, &rows);
    double *half = granary_call_new_column(call, "half", GRANARY_FLOAT64);

    for (int64_t i = 0; cost != NULL && half != NULL && i < rows; i++) {
        half[i] = (double)cost[i] / 2;
    }
    return GRANARY_OK;
}
