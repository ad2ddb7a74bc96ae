/* How a value is written as text: the part of a format behind a colon, as in Python and fmt. */
#ifndef DATA_VALUE_SPEC_H
#define DATA_VALUE_SPEC_H

#include <stdbool.h>
#include <stddef.h>

enum { GR_SPEC_WIDTH_MOST = 1000, GR_SPEC_PRECISION_MOST = 100 };

struct gr_spec {
    char align;    /* < > ^; 0: as the type has it */
    char sign;     /* + or blank: before positive numbers; 0: nothing */
    bool zeros;    /* between the sign and the digits, up to the width */
    int width;     /* characters at least */
    char group;    /* between thousands; 0: nothing. Then there is no width */
    int precision; /* -1: none */
    char type;     /* s d x X o b f F e E g G, and h H: x and X of the bits of an int64; 0: none */
};

/* [<>^] [+ ] [0] [width] or , _ ' or t and any character, then [.precision] [type]. false: it is none */
bool gr_spec_parse(const char *text, size_t size, struct gr_spec *ret_spec);

#endif
