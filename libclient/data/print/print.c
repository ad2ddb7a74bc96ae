/* Frames as aligned tables, CSV and JSON: cells are made column by column and written row by row. */
#include "data/print/print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/text.h"
#include "data/format.h"
#include "data/print/print_cell.h"
#include "data/value/utf8.h"

/* ---- tables ---- */

/* One cell's text within the table's. */
struct cell {
    size_t at;
    size_t size;
    int width; /* columns of a terminal */
};

/* The rows to show: the first `head` and the last `tail` of them. */
struct shown {
    int64_t head;
    int64_t tail;
    bool shortened;
};

bool
print_is_number(granary_dtype dtype)
{
    switch (gr_dtype_kind(dtype)) {
    case GRANARY_NULLTYPE:
    case GRANARY_BOOL:
    case GRANARY_STRING:
    case GRANARY_BINARY:
    case GRANARY_DATE:
    case GRANARY_TIMESTAMP:
    case GRANARY_TIMESTAMPTZ:
    case GRANARY_TIME:
    case GRANARY_DURATION:
    case GRANARY_LIST:
        return false;
    default:
        return true;
    }
}

/* Add text as it may be printed. */
void
print_visible(const char *text, size_t size, struct gr_buf *out)
{
    char shown[GR_TEXT_SHOWN];

    while (size > 0) {
        size_t length = gr_text_show(text, size, shown);

        gr_buf_add(out, shown, strlen(shown));
        text += length;
        size -= length;
    }
}

/* A string that reads NULL is told from a null by quotes, and one of quotes around it by more of them. */
static bool
reads_null(const char *text, size_t size)
{
    static const char word[] = "NULL";

    for (; size > sizeof word && text[0] == '"' && text[size - 1] == '"'; size -= 2) {
        text++;
    }
    return size == sizeof word - 1 && memcmp(text, word, size) == 0;
}

void
print_cell(const granary_column *column, int64_t row, const char *null, struct gr_buf *out)
{
    if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row)) {
        gr_buf_add(out, null, strlen(null));
    } else if (column->dtype == GRANARY_FLOAT64) {
        format_real_short(((const double *)column->values)[row], out);
    } else if (column->dtype == GRANARY_FLOAT32) {
        format_real_short((double)((const float *)column->values)[row], out);
    } else if (column->dtype == GRANARY_STRING) {
        size_t length;
        const char *text = gr_text_at(column, row, &length);
        bool quoted = reads_null(text, length);

        gr_buf_add(out, "\"", quoted);
        print_visible(text, length, out);
        gr_buf_add(out, "\"", quoted);
    } else if (gr_dtype_is_list(column->dtype)) {
        struct gr_buf text = {0};

        gr_value_format(column, row, &text);
        print_visible(text.bytes, text.size, out);
        out->failed = out->failed || text.failed;
        gr_buf_free(&text);
    } else {
        gr_value_format(column, row, out);
    }
}

int
print_width(const char *text, size_t size)
{
    int width = 0;

    while (size > 0) {
        uint32_t character = 0;
        size_t length = gr_utf8_decode(text, size, &character);

        width += utf8_width(character);
        length = length == 0 ? 1 : length;
        text += length;
        size -= length;
    }
    return width;
}

static void
end_cell(const struct gr_buf *text, size_t from, struct cell *cell)
{
    cell->at = from;
    cell->size = text->size - from;
    cell->width = gr_buf_ok(text) && cell->size > 0 ? print_width(text->bytes + from, cell->size) : 0;
}

/* Cells of a column, its name first; every stride-th of cells. Returns the width of the widest. */
static int
make_cells(const granary_column *column, const struct shown *shown, struct gr_buf *text, struct cell *cells,
           size_t stride)
{
    int64_t skipped = column->rows - shown->head - shown->tail;
    size_t from = text->size;
    int width;

    print_visible(column->name, strlen(column->name), text);
    end_cell(text, from, cells);
    width = cells->width;
    for (int64_t i = 0; i < shown->head + shown->tail; i++) {
        cells += stride;
        from = text->size;
        print_cell(column, i < shown->head ? i : i + skipped, "NULL", text);
        end_cell(text, from, cells);
        width = cells->width > width ? cells->width : width;
    }
    return shown->shortened && width < 3 ? 3 : width;
}

static void
add_cell(const char *text, size_t size, int gap, bool right, bool last, struct gr_buf *out)
{
    if (right) {
        gr_buf_addf(out, "%*s", gap, "");
    }
    gr_buf_add(out, text, size);
    if (!last) {
        gr_buf_addf(out, "%*s", right ? 2 : gap + 2, "");
    }
}

static void
add_lines(const granary_frame *frame, const struct shown *shown, const char *text, const struct cell *cells,
          const int *widths, struct gr_buf *out)
{
    for (int64_t line = 0; line <= shown->head + shown->tail; line++) {
        for (size_t c = 0; c < frame->count; c++) {
            const struct cell *cell = &cells[(size_t)line * frame->count + c];

            add_cell(text + cell->at, cell->size, widths[c] - cell->width,
                     print_is_number(frame->columns[c].view.dtype), c + 1 == frame->count, out);
        }
        gr_buf_add(out, "\n", 1);
        if (shown->shortened && line == shown->head) {
            for (size_t c = 0; c < frame->count; c++) {
                add_cell("...", 3, widths[c] - 3, print_is_number(frame->columns[c].view.dtype), c + 1 == frame->count,
                         out);
            }
            gr_buf_add(out, "\n", 1);
        }
    }
}

void
gr_print_table(const granary_frame *frame, int64_t max_rows, struct gr_buf *out)
{
    gr_print_table_ends(frame, frame->rows, max_rows, out);
}

void
gr_print_table_ends(const granary_frame *frame, int64_t rows, int64_t max_rows, struct gr_buf *out)
{
    struct shown shown = {.head = frame->rows};
    struct gr_buf text = {0};
    struct cell *cells = NULL;
    int *widths = NULL;

    if (frame->count == 0) {
        gr_buf_addf(out, "%lld rows x 0 columns\n", (long long)rows);
        return;
    }
    if (max_rows > 0 && rows > max_rows) {
        shown = (struct shown){.head = (max_rows + 1) / 2, .tail = max_rows / 2, .shortened = true};
    }
    cells = calloc((size_t)(shown.head + shown.tail + 1) * frame->count, sizeof *cells);
    widths = calloc(frame->count, sizeof *widths);
    if (cells == NULL || widths == NULL) {
        out->failed = true;
        goto out;
    }
    for (size_t c = 0; c < frame->count; c++) {
        widths[c] = make_cells(&frame->columns[c].view, &shown, &text, cells + c, frame->count);
    }
    if (!gr_buf_ok(&text)) {
        out->failed = true;
        goto out;
    }
    add_lines(frame, &shown, text.bytes == NULL ? "" : text.bytes, cells, widths, out);
    if (shown.shortened) {
        gr_buf_addf(out, "%lld rows x %zu columns\n", (long long)rows, frame->count);
    }
out:
    gr_buf_free(&text);
    free(cells);
    free(widths);
}

/* ---- CSV ---- */

/* What a field may look like but must not: a null, another field, the end of a record, or the mark at a file's begin.
 */
static bool
needs_quotes(const char *text, size_t size, const struct gr_csv_style *style)
{
    static const char mark[] = "\xef\xbb\xbf";
    bool quoted = size == 0 || (strlen(style->null_value) == size && memcmp(text, style->null_value, size) == 0) ||
                  (size == 2 && memcmp(text, GR_CSV_NULL, 2) == 0) || (size >= 3 && memcmp(text, mark, 3) == 0);

    for (size_t i = 0; i < size && !quoted; i++) {
        quoted = text[i] == style->delimiter || text[i] == '"' || text[i] == '\n' || text[i] == '\r';
    }
    return quoted;
}

static void
add_csv_text(const char *text, size_t size, const struct gr_csv_style *style, struct gr_buf *out)
{
    if (!needs_quotes(text, size, style)) {
        gr_buf_add(out, text, size);
        return;
    }
    gr_buf_add(out, "\"", 1);
    while (size > 0) {
        const char *quote = memchr(text, '"', size);
        size_t length = quote == NULL ? size : (size_t)(quote - text) + 1;

        gr_buf_add(out, text, length);
        if (quote != NULL) {
            gr_buf_add(out, "\"", 1);
        }
        text += length;
        size -= length;
    }
    gr_buf_add(out, "\"", 1);
}

static void
add_csv_value(const granary_column *column, int64_t row, const struct gr_csv_style *style, struct gr_buf *out)
{
    size_t begin = out->size;

    gr_value_format(column, row, out);
    if (gr_buf_ok(out) && needs_quotes(out->bytes + begin, out->size - begin, style)) { /* there are none in it */
        gr_buf_add(out, "\"\"", 2);
        if (gr_buf_ok(out)) {
            memmove(out->bytes + begin + 1, out->bytes + begin, out->size - begin - 2);
            out->bytes[begin] = '"';
        }
    }
}

void
gr_print_csv_style(const granary_frame *frame, const struct gr_csv_style *style, struct gr_buf *out)
{
    /* An empty line is no record. */
    const char *null = frame->count == 1 && style->null_value[0] == '\0' ? GR_CSV_NULL : style->null_value;
    /* Usually no number and no date looks like anything else. */
    bool plain = style->null_value[0] == '\0' && strchr("+-.:\\ 0123456789TZabcdefilnrstux", style->delimiter) == NULL;

    for (size_t c = 0; c < frame->count && style->header; c++) {
        const char *name = frame->columns[c].view.name;

        gr_buf_add(out, &style->delimiter, c > 0);
        add_csv_text(name, strlen(name), style, out);
    }
    gr_buf_add(out, "\n", style->header);
    for (int64_t row = 0; row < frame->rows && frame->count > 0 && gr_buf_ok(out); row++) {
        for (size_t c = 0; c < frame->count; c++) {
            const granary_column *column = &frame->columns[c].view;

            gr_buf_add(out, &style->delimiter, c > 0);
            if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row)) {
                gr_buf_add(out, null, strlen(null));
            } else if (column->dtype == GRANARY_STRING) {
                size_t length;
                const char *text = gr_text_at(column, row, &length);

                add_csv_text(text, length, style, out);
            } else if (gr_dtype_is_list(column->dtype)) {
                struct gr_buf text = {0};

                gr_value_format(column, row, &text);
                add_csv_text(text.bytes, text.size, style, out);
                out->failed = out->failed || text.failed;
                gr_buf_free(&text);
            } else if (plain) {
                gr_value_format(column, row, out);
            } else {
                add_csv_value(column, row, style, out);
            }
        }
        gr_buf_add(out, "\n", 1);
    }
}

granary_err
gr_print_csv(const granary_frame *frame, struct gr_buf *out)
{
    static const struct gr_csv_style style = {.delimiter = ',', .header = true, .null_value = ""};

    gr_print_csv_style(frame, &style, out);
    return gr_print_end(out);
}

/* ---- JSON ---- */

void
gr_print_json_string(const char *text, size_t length, struct gr_buf *out)
{
    gr_buf_add(out, "\"", 1);
    while (length > 0) {
        uint32_t character = 0;
        size_t size = gr_utf8_decode(text, length, &character);

        if (size == 0) {
            gr_buf_add(out, "\xef\xbf\xbd", 3);
            size = 1;
        } else if (character == '"' || character == '\\') {
            gr_buf_addf(out, "\\%c", (char)character);
        } else if (character == '\n') {
            gr_buf_add(out, "\\n", 2);
        } else if (gr_text_is_control(character)) {
            gr_buf_addf(out, "\\u%04x", character);
        } else {
            gr_buf_add(out, text, size);
        }
        text += size;
        length -= size;
    }
    gr_buf_add(out, "\"", 1);
}

static void
add_json_real(double value, bool single, struct gr_buf *out)
{
    if (isnan(value)) {
        gr_buf_add(out, "\"NaN\"", 5);
    } else if (isinf(value)) {
        gr_buf_addf(out, "\"%sInfinity\"", value < 0 ? "-" : "");
    } else {
        format_real(value, single, out);
    }
}

static void add_json_value(const granary_column *column, int64_t row, struct gr_buf *out);

static void
add_json_list(const granary_column *column, int64_t row, struct gr_buf *out)
{
    gr_buf_add(out, "[", 1);
    for (int64_t i = column->offsets[row]; i < column->offsets[row + 1]; i++) {
        gr_buf_add(out, ",", i > column->offsets[row]);
        add_json_value(gr_list_items(column), i, out);
    }
    gr_buf_add(out, "]", 1);
}

static void
add_json_value(const granary_column *column, int64_t row, struct gr_buf *out)
{
    const char *text;
    size_t length;

    if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row)) {
        gr_buf_add(out, "null", 4);
        return;
    }
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_FLOAT64:
        add_json_real(((const double *)column->values)[row], false, out);
        break;
    case GRANARY_FLOAT32:
        add_json_real((double)((const float *)column->values)[row], true, out);
        break;
    case GRANARY_STRING:
        text = gr_text_at(column, row, &length);
        gr_print_json_string(text, length, out);
        break;
    case GRANARY_LIST:
        add_json_list(column, row, out);
        break;
    case GRANARY_DATE:
    case GRANARY_TIMESTAMP:
    case GRANARY_TIMESTAMPTZ:
    case GRANARY_TIME:
    case GRANARY_DURATION:
    case GRANARY_BINARY:
    case GRANARY_DECIMAL: /* a JSON number would lose digits */
        gr_buf_add(out, "\"", 1);
        gr_buf_add(out, "\\", column->dtype == GRANARY_BINARY); /* the one of \\x */
        gr_value_format(column, row, out);
        gr_buf_add(out, "\"", 1);
        break;
    default:
        gr_value_format(column, row, out);
        break;
    }
}

static void
add_json_record(const granary_frame *frame, int64_t row, struct gr_buf *out)
{
    gr_buf_add(out, "{", 1);
    for (size_t c = 0; c < frame->count; c++) {
        const granary_column *column = &frame->columns[c].view;

        gr_buf_add(out, ",", c > 0);
        gr_print_json_string(column->name, strlen(column->name), out);
        gr_buf_addf(out, ":");
        add_json_value(column, row, out);
    }
    gr_buf_add(out, "}", 1);
}

granary_err
gr_print_json(const granary_frame *frame, struct gr_buf *out)
{
    gr_buf_addf(out, "[");
    for (int64_t row = 0; row < frame->rows && gr_buf_ok(out); row++) {
        gr_buf_add(out, ",\n", row > 0 ? 2 : 0);
        add_json_record(frame, row, out);
    }
    gr_buf_addf(out, "]\n");
    return gr_print_end(out);
}

granary_err
gr_print_json_lines(const granary_frame *frame, struct gr_buf *out)
{
    for (int64_t row = 0; row < frame->rows && gr_buf_ok(out); row++) {
        add_json_record(frame, row, out);
        gr_buf_add(out, "\n", 1);
    }
    return gr_print_end(out);
}
