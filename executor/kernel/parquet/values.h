/* Values of fixed size in a page, as they lie there: bools as bytes, others as many bytes as their physical type has. */
#ifndef KERNEL_PARQUET_VALUES_H
#define KERNEL_PARQUET_VALUES_H

#include "kernel/parquet/column/text.h"
#include "kernel/parquet/delta.h"
#include "parquet/parquet.h"

struct values {
    enum gr_parquet_physical physical;
    int32_t encoding;
    size_t width;
    const uint8_t *bytes;
    size_t size;
    uint64_t count; /* that there can be */
    uint64_t at;    /* value */
    struct delta delta;
    struct hybrid hybrid;
    struct texts *texts;
};

/* Bytes of a value. */
size_t values_width(const struct gr_parquet_leaf *leaf);
/* count: as many as the page can have; texts: scratch that outlives the values. Errors: ECORRUPT · EUNSUPPORTED · ENOMEM */
granary_err values_open(struct values *values, const struct gr_parquet_leaf *leaf, int32_t encoding,
                        const uint8_t *bytes, size_t size, uint64_t count, struct texts *texts);
/* The next ones. Errors: ECORRUPT there are not so many */
granary_err values_take(struct values *values, uint8_t *to, size_t count);
/* The same, where they lie if the encoding lets them: PAGE_SLACK bytes can be read behind them. Otherwise in scratch. */
granary_err values_look(struct values *values, uint8_t *scratch, size_t count, const uint8_t **ret_values);
granary_err values_skip(struct values *values, uint64_t count);

#endif
