/* Sizes from text and back: a number and a unit of 1024s. */
#include "base/text/size.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

granary_err
gr_size_parse(const char *text, uint64_t *ret_bytes)
{
    static const char units[] = "KMGT";
    const char *unit;
    double number;
    char *end;

    errno = 0;
    number = strtod(text, &end);
    /* strtod() takes more than people mean: blanks, signs, hexadecimal, nan, inf. */
    if (!isdigit((unsigned char)text[0]) || errno != 0 || !isfinite(number) || strpbrk(text, "xXnN") != NULL) {
        goto bad;
    }
    if (*end != '\0') {
        unit = strchr(units, toupper((unsigned char)*end));
        if (unit == NULL) {
            goto bad;
        }
        number = ldexp(number, 10 * (int)(unit - units + 1));
        end++;
        end += *end == 'i';
        end += toupper((unsigned char)*end) == 'B';
    }
    if (*end != '\0' || number >= 0x1p63) {
        goto bad;
    }
    *ret_bytes = (uint64_t)number;
    return GRANARY_OK;
bad:
    return gr_fail(GRANARY_EINVAL, "'%s' is no size: write bytes, or a number with K, M, G or T", text);
}

char *
gr_size_format(uint64_t bytes, char buffer[GR_SIZE_TEXT])
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 1024 && unit + 1 < sizeof names / sizeof names[0]) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(buffer, GR_SIZE_TEXT, unit == 0 ? "%.0f %s" : "%.1f %s", value, names[unit]);
    return buffer;
}
