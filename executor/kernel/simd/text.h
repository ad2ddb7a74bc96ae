/* Searching text. */
#ifndef KERNEL_SIMD_TEXT_H
#define KERNEL_SIMD_TEXT_H

#include <stddef.h>

#include "kernel/simd/simd.h"

/*
 * Where the wanted bytes (at least one) stand first in the text; its size: nowhere. Reads no byte behind either.
 * After W. Mula, "SIMD-friendly algorithms for substring searching": a place is looked at when the first and the last
 * byte are right.
 */
SIMD_DECLARE(size_t, text_find, (const char *text, size_t size, const char *wanted, size_t wanted_size));

#endif
