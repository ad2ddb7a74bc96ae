/*
 * A function for frames with a column of knots:
 *
 *     cc -shared -fPIC -o libspeed.so speed.c $(pkg-config --cflags granary)
 *     granary export libspeed.so
 *     granary run speeds.json
 */
#include <granary/call.h>

GRANARY_FUNCTION(kmh, .summary = "speeds in km/h beside those in knots", .inputs_min = 1, .inputs_max = 1)
{
    int64_t rows;
    const int64_t *knots = granary_call_column(call, "Speed IAS in knots", GRANARY_INT64, &rows);
    double *speed = granary_call_new_column(call, "km/h", GRANARY_FLOAT64);

    for (int64_t i = 0; knots != NULL && speed != NULL && i < rows; i++) {
        speed[i] = (double)knots[i] * 1.852;
    }
    return GRANARY_OK;
}
