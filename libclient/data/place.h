/*
 * Where the values of columns lie that a thread makes. That is on the heap, or, for a frame that is to stay, where it
 * will stay, so that nothing is copied. The runner of a kernel offers a place, and the kernel says when it is about
 * to make the frame. gr_column_alloc() takes from there everything that has a size of its own, while it lasts.
 * Strings, bitmaps and small columns are on the heap as ever.
 */
#ifndef DATA_PLACE_H
#define DATA_PLACE_H

#include "data/frame.h"

struct gr_place {
    /* Room for a file of that many bytes, 64-byte aligned; NULL: there is none now. Called once at most. */
    void *(*room)(struct gr_place *place, uint64_t size);
    char *file;    /* what it gave */
    uint64_t size; /* of it */
    uint64_t used; /* where the next values go */
    uint64_t last; /* where those before begin */
    bool closed;   /* no more come */
};

/* The thread's from now on; NULL: none. Values that lie in it are to be freed before it goes. */
void gr_place_set(struct gr_place *place);

/* What is made until the place is closed is a frame of that many columns, which stays; bytes: gr_place_need() of its
 * columns together. An error of the guess costs a copy, no more. Without a place nothing happens. */
void gr_place_expect(size_t columns, uint64_t bytes);
/* The same for so many rows of a frame's columns, and for all rows of several frames of the same columns. */
void gr_place_expect_rows(const granary_frame *frame, int64_t rows);
void gr_place_expect_all(const granary_frame *const *frames, size_t count);
/* What so many rows of a column take, or of a column like it. */
uint64_t gr_place_need(const granary_column *column, int64_t rows);

/* Bytes that are to stay as they are, 64-byte aligned, not set, from where they will stay or from the heap; NULL: out
 * of memory. To be freed with gr_bytes_free() by the same thread. */
void *gr_bytes_alloc(uint64_t size);
void gr_bytes_free(void *bytes); /* NULL is fine */

/* The thread's place, which is none until gr_place_set() gives it back: what is made meanwhile is on the heap. */
struct gr_place *place_leave(void);
/* For column.c. NULL: the heap's. */
void *place_alloc(size_t size);
/* Whether it is the place's: not to be freed, but what was taken last may be taken again. */
bool place_give(const void *bytes);

/* ---- the file around what lies in a place (arrow/place.c) ---- */

/* Bytes in front of the columns, and behind them, for what tells of them. */
uint64_t gr_arrow_place_head(size_t columns);
uint64_t gr_arrow_place_tail(size_t columns);

/*
 * Complete the Arrow file of a frame in whose place values of its lie; everything else of it is copied in. Other
 * offsets than gr_arrow_write() gives, and a dictionary behind the batch; else the same.
 *
 * ret_places     where each column lies, for gr_arrow_place_directory(); to be freed
 * Errors         EFULL it does not fit, and nothing of the frame has changed · ENOMEM
 */
struct gr_directory_column;
granary_err gr_arrow_place_write(const granary_frame *frame, const struct gr_place *place,
                                 struct gr_directory_column **ret_places, uint64_t *ret_data_size);
/* meta: gr_directory_size() bytes */
void gr_arrow_place_directory(const granary_frame *frame, const struct gr_directory_column *places, uint64_t data_size,
                              void *meta);

#endif
