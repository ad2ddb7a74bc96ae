/* A target's result as a table, as JSON, in a file format, or its columns and their dtypes as a table. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/text/buf.h"
#include "data/file/format.h"
#include "data/tensor.h"
#include "granary/granary.h"

/* What is no file format: a table of the ends, a list of records, columns with their dtypes. */
extern const struct gr_format output_table;
extern const struct gr_format output_json;
extern const struct gr_format output_schema;
/* A table with borders that fits the terminal. */
extern const struct gr_format output_box;

/* How a box is drawn, and what null is in it. */
struct output_style {
    int64_t max_rows; /* 0: all */
    int width;        /* 0: no limit; -1: the terminal's, where there is one */
    const char *null_value;
};
extern struct output_style output_style;

/* The formats that --mode names; NULL: it is none of OUTPUT_MODES. */
#define OUTPUT_MODES "box|markdown|csv|json|ndjson|line|table"
const struct gr_format *output_mode(const char *name);
/* The format of --mode, which may be NULL: then it stays. Errors: EINVAL it is none of these */
granary_err output_take_mode(const char *mode, const struct gr_format **format);
#define OUTPUT_MODE_HELP "print rows in this form: box, markdown, csv, json, ndjson, line, table"
/* The format of --plot. NULL: it is none of OUTPUT_PLOTS */
#define OUTPUT_PLOTS "bar|line|hist"
const struct gr_format *output_plot(const char *name);
/* Whether characters beyond ASCII are shown, as the locale of the environment says. */
bool output_is_utf8(void);
/* Columns of the terminal that stdout is; 0: it is none, or does not tell. */
int output_terminal_width(void);

/* Help of an option: the endings that output_format_of() knows. */
extern const char output_help[];

/* The format a file name asks for by its ending: .NAME of one that is written, .json, .txt; of text one of a packing may be
 * behind it (.csv.gz). Errors: EINVAL */
granary_err output_format_of(const char *path, const struct gr_format **ret_format);
/* What is to be written there becomes packed, as the ending says. Errors: ENOMEM */
granary_err output_pack(const char *path, struct gr_buf *out);

/* Append a frame or a tensor to out. Errors: ETYPE it cannot be had in that format */
granary_err output_add_frame(const granary_frame *frame, const struct gr_format *format, struct gr_buf *out);
granary_err output_add_tensor(const granary_tensor *tensor, const struct gr_format *format, struct gr_buf *out);

/* The error that rows, or a tensor, cannot be had in that format, with the endings of those that can. */
granary_err output_refuse(const struct gr_format *format, bool rows);

/* Copy a chunk to where it lies in the whole: `offset` along each dimension. */
void output_place(const granary_tensor *chunk, struct gr_tensor *whole, const int64_t *offset);

/*
 * Append a target's result to out.
 *
 * Errors  ETYPE an Arrow file of a tensor, an NPY file of a frame · what mapping the chunks gives
 */
granary_err output_result(granary_client *client, const char *key, const char *target, const struct gr_format *format,
                          struct gr_buf *out);

#endif
