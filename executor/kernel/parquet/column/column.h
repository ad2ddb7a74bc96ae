/*
 * A column made of chunks, one row group after another. Values of fixed size are written where they stay. Text stays
 * codes as long as all pages of a row group are; with the first page that is not, it becomes plain.
 */
#ifndef KERNEL_PARQUET_COLUMN_H
#define KERNEL_PARQUET_COLUMN_H

#include "data/frame.h"
#include "kernel/parquet/column/text.h"
#include "kernel/parquet/levels.h"
#include "kernel/parquet/pages.h"
#include "kernel/parquet/picks.h"

#define COLUMN_BLOCK PICKS_BLOCK

/* The entries of a chunk's dictionary. */
struct dictionary {
    size_t count;
    uint8_t *values;          /* fixed size: ours */
    struct gr_column entries; /* text */
};

/* Text of one row group. */
struct text_group {
    struct gr_column codes; /* positions, and which rows have a value */
    bool plain;             /* then these: */
    int32_t *offsets;
    struct gr_buf bytes;
};

struct column {
    const struct gr_parquet_leaf *leaf;
    int64_t rows;          /* of all groups */
    int64_t at;            /* of the group: rows that are there */
    struct gr_column made; /* values of fixed size */
    int64_t made_at;
    struct gr_column *parts; /* text, a group each */
    size_t part_count;
    size_t part_room;
    struct dictionary dictionary;
    struct text_group text;
    struct texts texts; /* scratch */
    uint8_t *block;     /* scratch */
    uint8_t *picked;    /* values of a block that were picked, as they lie in the page */
    uint32_t *at_picks; /* positions of the values that are wanted of a page */
    size_t picks_room;
    bool plain; /* text becomes plain, whatever the pages are */
};

/* Errors: ENOMEM */
granary_err column_open(struct column *column, const struct gr_parquet_leaf *leaf, int64_t rows);
void column_close(struct column *column);
/* Where column_add() reads in a row group. */
struct stretch {
    int64_t group_rows;
    int64_t from;
    int64_t rows;
    const struct picks *picks; /* of these rows; NULL: all of them */
};

/* Rows of a row group, whose pages these are. Errors: ECORRUPT · EUNSUPPORTED · EFULL · ENOMEM */
granary_err column_add(struct column *column, struct pages *pages, const struct stretch *stretch);
/* A column part of which is made; *takes* it. Errors: ENOMEM */
granary_err column_add_part(struct column *column, struct gr_column *part);
/* All of it. */
granary_err column_finish(struct column *column, struct gr_column *ret_column);

/* ---- list_column.c ---- */

/* Columns of lists, whose items are made a page at a time. */
struct list_column {
    struct column items;
    const struct gr_parquet_leaf *leaf;
    int64_t rows;
    int64_t at;        /* rows so far */
    int64_t have;      /* items so far */
    int32_t *offsets;  /* ours */
    uint8_t *validity; /* ours */
};

/* As column_open() and its kin. */
granary_err list_column_open(struct list_column *lists, const struct gr_parquet_leaf *leaf, int64_t rows);
void list_column_close(struct list_column *lists);
granary_err
list_column_add(struct list_column *lists, struct pages *pages, int64_t group_rows, int64_t from, int64_t rows);
granary_err list_column_finish(struct list_column *lists, struct gr_column *ret_column);

/* ---- within: dictionary.c ---- */

granary_err dictionary_read(struct column *column, const struct page *page);
void dictionary_free(struct dictionary *dictionary);

/* That text is UTF-8, string by string; binaries need not be. */
granary_err text_check(granary_dtype dtype, const char *text, const int32_t *offsets, int64_t count);

/* ---- fixed_column.c ---- */

/* Where rows of a page go: those with a value were counted, and their bits set. */
struct part {
    const struct page *page;
    int64_t passed; /* values of rows before */
    int64_t rows;
    int64_t there;         /* of these rows with a value */
    const uint32_t *picks; /* where their values are in the page, and none is passed; NULL: one behind the other */
};

static inline struct pick_walk
part_walk(const struct part *part)
{
    return (struct pick_walk){.at = part->picks, .count = (size_t)part->there};
}

/* How many values of the page are passed over or taken. */
static inline uint64_t
part_values(const struct part *part)
{
    return part->picks == NULL ? (uint64_t)(part->passed + part->there)
           : part->there > 0   ? (uint64_t)part->picks[part->there - 1] + 1
                               : 0;
}

granary_err fixed_take(struct column *column, const struct part *part);
/* Values stand densely: each goes to its row, zeros to the others. */
void spread(void *values, size_t width, int64_t rows, int64_t there, const uint8_t *validity, int64_t at);

/* ---- text_column.c ---- */

/* Where the values of a page are, in column->texts. Errors: as texts_read() */
granary_err text_views(struct column *column, int32_t encoding, const struct page *page);
granary_err text_begin(struct column *column, int64_t rows);
granary_err text_take(struct column *column, const struct part *part);
granary_err text_end(struct column *column, int64_t rows);
void text_free(struct text_group *text);

static inline bool
page_is_codes(const struct page *page)
{
    return page->head.encoding == GR_PARQUET_PLAIN_DICTIONARY || page->head.encoding == GR_PARQUET_RLE_DICTIONARY;
}
/* The codes of a page behind those that are passed over. Errors: ECORRUPT */
granary_err page_codes(const struct part *part, struct hybrid *ret_codes);
/* Those of the walk's block that are picked, one behind the other. false: there are not so many */
bool pick_codes(struct hybrid *codes, const struct pick_walk *walk, uint32_t *to);

#endif
