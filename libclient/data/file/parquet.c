/* Parquet files, which are known by name alone. */
#include "data/file/format.h"

const struct gr_format gr_format_parquet = {
    .name = "parquet",
    .what = "a Parquet file",
    .endings = {{.text = ".parquet"}},
    .refusal = "Parquet files cannot be read yet: write the data as an Arrow file",
    .magic = "PAR1",
    .mistaken = GR_FORMAT_MISTAKEN "a Parquet file: convert it to Arrow or CSV",
};
