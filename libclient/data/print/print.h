/* Frames and tensors as text for people and programs. Errors: ENOMEM, which a void function leaves to gr_buf_ok() */
#ifndef DATA_PRINT_H
#define DATA_PRINT_H

#include "base/error.h"
#include "data/frame.h"
#include "data/tensor.h"

/* What became of a text that ends here. */
static inline granary_err
gr_print_end(const struct gr_buf *out)
{
    return gr_buf_ok(out) ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "out of memory for the text");
}

/*
 * A table with aligned columns, control characters escaped. Numbers stand right, text left, nulls are NULL, and a
 * string NULL is in quotes. It has at most max_rows rows (0: all), the first and the last halves when there are more.
 * When it is shortened, a last line says "12345 rows x 4 columns".
 */
void gr_print_table(const granary_frame *frame, int64_t max_rows, struct gr_buf *out);
/* The same of a frame of `rows` rows, of which those in the middle, that are not shown, may be missing. */
void gr_print_table_ends(const granary_frame *frame, int64_t rows, int64_t max_rows, struct gr_buf *out);
/* How a box is drawn. */
struct gr_box_style {
    int64_t max_rows; /* as gr_print_table(); 0: all */
    int width;        /* columns of the terminal; 0: as wide as the rows are */
    const char *null_value;
    bool markdown; /* a table of Markdown, with all rows and columns */
};
/*
 * A table with borders, names and dtypes in its head. Cells that are too wide end in an ellipsis, and columns in the middle are
 * left out, so that it fits the width. A last line counts rows and columns when some are not shown. rows: as
 * gr_print_table_ends() has it.
 */
void gr_print_box(const granary_frame *frame, int64_t rows, const struct gr_box_style *style, struct gr_buf *out);
enum gr_plot { GR_PLOT_BAR, GR_PLOT_LINE, GR_PLOT_HIST };
struct gr_plot_style {
    enum gr_plot kind;
    int64_t max_rows; /* with a bar; 0: all */
    int width;        /* columns of the terminal */
    bool ascii;       /* no other characters */
    const char *null_value;
};
/*
 * A picture of the numbers in all columns but the first, whose values are the labels of bars and stand along the axis of
 * lines. Nulls and what is not finite are left out.
 *
 * Errors  ETYPE a column that is no number · EINVAL more columns than lines can show · ENOMEM
 */
granary_err gr_print_plot(const granary_frame *frame, const struct gr_plot_style *style, struct gr_buf *out);
/* "column = value" on a line for each value, and an empty line between rows. */
void gr_print_lines(const granary_frame *frame, const char *null_value, struct gr_buf *out);
/* RFC 4180: header line, quotes where needed, "\n" line ends. Nulls are empty; in a frame of one column, where that
 * would be an empty line, they are GR_CSV_NULL. */
#define GR_CSV_NULL "\\N"
granary_err gr_print_csv(const granary_frame *frame, struct gr_buf *out);
struct gr_csv_style {
    char delimiter;
    bool header;
    const char *null_value; /* text that is the same is quoted */
};
void gr_print_csv_style(const granary_frame *frame, const struct gr_csv_style *style, struct gr_buf *out);
/*
 * Records, a row each on a line of its own: [{"NAME":VALUE,..},..]. Every record has every column, in the frame's
 * order; null is null, non-finite numbers, decimals, dates, times, timestamps and durations are strings.
 */
granary_err gr_print_json(const granary_frame *frame, struct gr_buf *out);
/* The same records, each with a line end and nothing else between them. */
granary_err gr_print_json_lines(const granary_frame *frame, struct gr_buf *out);
/* Nested brackets, shortened like numpy's over 1000 elements (max_elements; 0: all). */
void gr_print_tensor(const granary_tensor *tensor, int64_t max_elements, struct gr_buf *out);
/* {"dtype":..,"shape":[..],"values":[nested]} */
granary_err gr_print_tensor_json(const granary_tensor *tensor, struct gr_buf *out);
/* A JSON string with its quotes; invalid UTF-8 becomes U+FFFD. */
void gr_print_json_string(const char *text, size_t length, struct gr_buf *out);

#endif
