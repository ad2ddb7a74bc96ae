/*
 * A file format as an object: by which endings a file has it, how it begins, what a question must know of a file before
 * it is asked, and what a file of rows or of an array looks like. gr_format_NAME stands in the file of its format, for
 * each row of contract/formats.def; a row without one does not link.
 *
 * How files are cut is the scheduler's (tile/file/file.h), chunks are read and written by kernels (kernel/file).
 */
#ifndef DATA_FILE_FORMAT_H
#define DATA_FILE_FORMAT_H

#include <stdbool.h>

#include "base/text/buf.h"
#include "data/text/sniff.h"
#include "granary/frame.h"

/* The end of a file's name, and what it says. */
struct gr_format_ending {
    const char *text;
    const char *delimiter; /* parameter of read_NAME; NULL: it has none */
    bool is_vague;         /* files of other kinds have it, too: only who loads a table means this */
};

enum { GR_FORMAT_ENDINGS = 4 };

#define GR_FORMAT_MISTAKEN "not text in columns but "

struct gr_dialect;
struct gr_header_style;

enum gr_header { GR_HEADER_GUESS, GR_HEADER_YES, GR_HEADER_NO };

/* What is told of a file before it is read. */
struct gr_sketch {
    granary_err (*column)(struct gr_sketch *sketch, const char *name); /* called with each, in order */
    double rows;                                                       /* about so many */
    const struct gr_dialect *dialect;    /* of CSV; NULL: the delimiter, or what is found when there are no commas */
    bool sniffed;                        /* it was found: the file is to be read with `sniff` */
    const struct gr_header_style *style; /* of CSV: how fields are written; NULL: as most are */
    enum gr_header header;               /* of CSV: whether the first record has names */
    bool lists;                          /* of CSV: told are the columns of a list of what does not fit */
    enum gr_sniff how;                   /* of CSV: what may be found */
    const char *table;                   /* of a database; NULL: its only one */
    bool is_numbered;                    /* it has none: c0, c1 and so on were told */
};

/* Whether a CSV file is no table by commas, but by something else: it has other delimiters, or lines before its header.
 * delimiter: as its name tells */
bool gr_csv_is_other(const char *path, const char *delimiter, enum gr_sniff how);

struct gr_format {
    const char *name;                                   /* as in read_NAME */
    const char *what;                                   /* "an NPY file" */
    struct gr_format_ending endings[GR_FORMAT_ENDINGS]; /* .NAME first, if it has any */
    const char *refusal;                                /* why its files cannot be read; NULL: they can */
    const char *magic;                                  /* with which each file begins; NULL: nothing special */
    const char *mistaken;                               /* said of such a file that was taken for text in columns */
    bool is_text;

    /* Frames. NULL: its files hold none. ENOENT, EIO, ... · EINVAL, ETYPE, ECORRUPT it is none. With the path */
    granary_err (*sketch)(const char *path, const char *delimiter, struct gr_sketch *sketch);
    /* Append a file of all rows or elements. NULL: there are no such files. Errors: ENOMEM · EFULL */
    granary_err (*print_frame)(const granary_frame *frame, struct gr_buf *out);
    granary_err (*print_tensor)(const granary_tensor *tensor, struct gr_buf *out);
};

#define FORMAT(name) extern const struct gr_format gr_format_##name;
#include "contract/formats.def"

/* Each of them; NULL behind the last. */
extern const struct gr_format *const gr_formats[];

/* By the ending of a name, in capitals or not; of text behind it that of a packing (.csv.gz). ret_ending may be NULL.
 * Returns NULL when no format has it. */
const struct gr_format *gr_format_of_path(const char *path, const struct gr_format_ending **ret_ending);

/* Append the endings of formats that pass: ".csv, .tsv or .arrow". vague: those that others have, too. */
void gr_format_list(bool (*passes)(const struct gr_format *format), bool vague, struct gr_buf *out);

/*
 * A regular file's first bytes, at most `most` of them, to be freed.
 * Errors: ENOENT, EPERM, EIO · EINVAL no regular file · ENOMEM
 */
granary_err gr_format_begin(const char *path, size_t most, char **ret_bytes, size_t *ret_size, uint64_t *ret_file_size);

#endif
