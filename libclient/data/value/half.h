/* Floats of 16 bits, as files have them (IEEE 754, binary16). */
#ifndef DATA_VALUE_HALF_H
#define DATA_VALUE_HALF_H

/* At any alignment; exact, also of what is smaller than normal, and with the bits of a NaN. */
float gr_half(const void *at);

#endif
