/* Pages unpacked. */
#ifndef KERNEL_PARQUET_CODEC_H
#define KERNEL_PARQUET_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

/* Unpack into exactly raw_size bytes. codec: enum gr_parquet_codec. Errors: ECORRUPT · EUNSUPPORTED · ENOMEM */
granary_err codec_unpack(int32_t codec, const uint8_t *bytes, size_t size, uint8_t *raw, size_t raw_size);
/* That there is such a codec. Errors: EUNSUPPORTED */
granary_err codec_check(int32_t codec);
uint32_t codec_crc(const uint8_t *bytes, size_t size);

#endif
