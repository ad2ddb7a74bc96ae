/* Any bytes as a time zone: what is taken has an offset of less than two days at any time, and clocks lead back to where they
 * came from, but for hours that they leave out or show twice. */
#include "data/value/tzone.h"
#include "fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const int64_t instants[] = {
        0,          1,          -1,          1700000000,    1711846800,     1711846799,
        1729990800, 4102444800, -2208988800, 9223372036854, -9223372036854, INT64_C(1) << 45};
    struct gr_tzone *zone;

    if (gr_tzone_parse(bytes, size, &zone) != GRANARY_OK) {
        return 0;
    }
    for (size_t i = 0; i < sizeof instants / sizeof instants[0]; i++) {
        int64_t offset = gr_tzone_offset(zone, instants[i]);
        int64_t back = gr_tzone_offset_of_clock(zone, instants[i] + offset);

        must(offset > -172800 && offset < 172800 && back > -172800 && back < 172800);
    }
    gr_tzone_free(zone);
    return 0;
}
