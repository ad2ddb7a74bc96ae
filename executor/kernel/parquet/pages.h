/* The pages of a column chunk, one after another. */
#ifndef KERNEL_PARQUET_PAGES_H
#define KERNEL_PARQUET_PAGES_H

#include "kernel/parquet/bits.h"
#include "parquet/parquet.h"

struct pages {
    const uint8_t *bytes; /* PAGE_SLACK more can be read behind them */
    size_t size;
    size_t at;
    int32_t codec;
    uint32_t full; /* definition level of a value that is there */
    bool repeats;  /* they are of lists: repetition levels stand before definition levels */
    uint8_t *raw;  /* of the page that was opened last; owned */
    size_t raw_room;
    uint8_t *runs[2]; /* levels of it that were packed in another way; owned */
};

/* A page, unpacked. */
struct page {
    struct gr_parquet_page head;
    const uint8_t *repeats; /* repetition levels */
    size_t repeats_size;
    const uint8_t *levels; /* definition levels */
    size_t levels_size;
    const uint8_t *body; /* values */
    size_t body_size;
};

void pages_free(struct pages *pages);
/* The next page's head, or none: *ret_any. It stays the next until it is opened or passed over. Errors: ECORRUPT */
granary_err pages_peek(const struct pages *pages, struct gr_parquet_page *ret_head, bool *ret_any);
void pages_pass(struct pages *pages, const struct gr_parquet_page *head);
/* Unpack it, and go on. Valid until the next one is opened. Errors: ECORRUPT · EUNSUPPORTED · ENOMEM */
granary_err pages_open(struct pages *pages, const struct gr_parquet_page *head, struct page *ret_page);

#endif
