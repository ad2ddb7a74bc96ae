/*
 * Rows for a terminal: a box with borders, Markdown, or a line for each value. A box fits a width: wide cells are cut first,
 * the widest most, and then columns in the middle are left out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text/text.h"
#include "data/print/print.h"
#include "data/print/print_cell.h"

#define CUT       "…"
#define ROWS_CUT  "·"
#define LEAST_CUT 8 /* columns of a terminal: no cell is cut to less, while columns can be left out */

struct box_cell {
    size_t at;
    size_t size;
    int width;
};

struct box {
    const granary_frame *frame;
    const struct gr_box_style *style;
    int64_t rows; /* of the whole; the frame may lack those in the middle */
    int64_t head; /* rows shown before the cut, and behind it */
    int64_t tail;
    struct gr_buf text;
    struct box_cell *cells; /* row by row; names and dtypes are the first two rows */
    int *widths;
    bool *hidden;
    size_t hidden_count;
    size_t gap; /* the column behind which others are hidden */
};

/* ---- cells ---- */

static size_t
lines_of(const struct box *box)
{
    return (size_t)(box->head + box->tail) + 2;
}

static struct box_cell *
cell_of(const struct box *box, size_t line, size_t column)
{
    return &box->cells[line * box->frame->count + column];
}

static void
end_cell(struct box *box, size_t from, struct box_cell *cell)
{
    cell->at = from;
    cell->size = box->text.size - from;
    cell->width = gr_buf_ok(&box->text) && cell->size > 0 ? print_width(box->text.bytes + from, cell->size) : 0;
}

static void
make_cells(struct box *box, size_t c)
{
    const granary_column *column = &box->frame->columns[c].view;
    const int64_t skipped = column->rows - box->head - box->tail;

    for (size_t line = 0; line < lines_of(box); line++) {
        struct box_cell *cell = cell_of(box, line, c);
        const int64_t row = (int64_t)line - 2;
        const size_t from = box->text.size;

        if (line == 0) {
            print_visible(column->name, strlen(column->name), &box->text);
        } else if (line == 1) {
            gr_buf_addf(&box->text, "%s", box->style->markdown ? "" : granary_dtype_name(column->dtype));
        } else {
            print_cell(column, row < box->head ? row : row + skipped, box->style->null_value, &box->text);
        }
        end_cell(box, from, cell);
        box->widths[c] = cell->width > box->widths[c] ? cell->width : box->widths[c];
    }
    if (box->tail > 0 && box->widths[c] < 1) {
        box->widths[c] = 1;
    }
}

/* ---- a width ---- */

static int
total_width(const struct box *box, int most)
{
    int total = 1;

    for (size_t c = 0; c < box->frame->count; c++) {
        if (!box->hidden[c]) {
            total += (box->widths[c] < most ? box->widths[c] : most) + 3;
        }
    }
    return total + (box->hidden_count > 0 ? 4 : 0);
}

/* The widest that cells may be, at least `least`. */
static int
find_most(const struct box *box, int least, int most)
{
    while (least < most) {
        int middle = least + (most - least + 1) / 2;

        if (total_width(box, middle) <= box->style->width) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    return least;
}

static void
fit(struct box *box)
{
    const size_t count = box->frame->count;
    size_t shown = count;
    int most;

    if (box->style->width <= 0) {
        return;
    }
    while (shown > 1 && total_width(box, LEAST_CUT) > box->style->width) { /* the one in the middle goes */
        const size_t middle = shown / 2;
        size_t seen = 0;
        size_t c = 0;

        while (box->hidden[c] || seen++ < middle) {
            c++;
        }
        box->hidden[c] = true;
        box->hidden_count++;
        shown--;
    }
    most = find_most(box, 1, 1 << 20);
    for (size_t c = 0; c < count; c++) {
        box->widths[c] = box->widths[c] < most ? box->widths[c] : most;
        if (box->hidden[c] && box->gap == count) {
            box->gap = c;
        }
    }
}

/* ---- lines ---- */

static void
repeat(const char *text, int times, struct gr_buf *out)
{
    while (times-- > 0) {
        gr_buf_addf(out, "%s", text);
    }
}

static void
add_rule(const struct box *box, const char *left, const char *middle, const char *right, struct gr_buf *out)
{
    bool first = true;

    for (size_t c = 0; c < box->frame->count; c++) {
        if (c == box->gap) {
            gr_buf_addf(out, "%s", first ? left : middle);
            repeat("─", 3, out);
            first = false;
        }
        if (!box->hidden[c]) {
            gr_buf_addf(out, "%s", first ? left : middle);
            repeat("─", box->widths[c] + 2, out);
            first = false;
        }
    }
    gr_buf_addf(out, "%s\n", right);
}

enum stand { TO_LEFT, TO_RIGHT, IN_MIDDLE };

/* A text in so many columns; what is too wide is cut. */
static void
add_padded(const char *text, size_t size, int text_width, int width, enum stand stand, struct gr_buf *out)
{
    int gap = width - text_width;
    int before;

    if (gap < 0) {
        size_t end = 0;
        int used = 0;

        while (end < size) {
            size_t step = 1;
            int wide;

            while (end + step < size && ((unsigned char)text[end + step] & 0xc0) == 0x80) {
                step++;
            }
            wide = print_width(text + end, step);
            if (used + wide > width - 1) {
                break;
            }
            used += wide;
            end += step;
        }
        gr_buf_add(out, text, end);
        gr_buf_addf(out, CUT "%*s", width - 1 - used, "");
        return;
    }
    before = stand == TO_RIGHT ? gap : stand == IN_MIDDLE ? gap / 2 : 0;
    gr_buf_addf(out, "%*s", before, "");
    gr_buf_add(out, text, size);
    gr_buf_addf(out, "%*s", gap - before, "");
}

static void
add_line(const struct box *box, size_t line, struct gr_buf *out)
{
    const char *bar = box->style->markdown ? "|" : "│";

    for (size_t c = 0; c < box->frame->count; c++) {
        const struct box_cell *cell = cell_of(box, line, c);
        const bool number = print_is_number(box->frame->columns[c].view.dtype);

        if (c == box->gap) {
            gr_buf_addf(out, "%s " CUT " ", bar);
        }
        if (!box->hidden[c]) {
            gr_buf_addf(out, "%s ", bar);
            add_padded(box->text.bytes + cell->at, cell->size, cell->width, box->widths[c],
                       line < 2 && !box->style->markdown ? IN_MIDDLE
                       : number                          ? TO_RIGHT
                                                         : TO_LEFT,
                       out);
            gr_buf_add(out, " ", 1);
        }
    }
    gr_buf_addf(out, "%s\n", bar);
}

/* In the place of rows that are not shown. */
static void
add_cut(const struct box *box, struct gr_buf *out)
{
    for (size_t c = 0; c < box->frame->count; c++) {
        if (c == box->gap) {
            gr_buf_addf(out, "│ " ROWS_CUT " ");
        }
        if (!box->hidden[c]) {
            gr_buf_addf(out, "│ ");
            add_padded(ROWS_CUT, strlen(ROWS_CUT), 1, box->widths[c], IN_MIDDLE, out);
            gr_buf_add(out, " ", 1);
        }
    }
    gr_buf_addf(out, "│\n");
}

static void
add_box(const struct box *box, struct gr_buf *out)
{
    const bool is_cut = box->head + box->tail < box->rows;

    add_rule(box, "┌", "┬", "┐", out);
    add_line(box, 0, out);
    add_line(box, 1, out);
    add_rule(box, "├", "┼", "┤", out);
    for (size_t line = 2; line < lines_of(box); line++) {
        add_line(box, line, out);
        if (is_cut && (int64_t)line - 1 == box->head) {
            add_cut(box, out);
        }
    }
    add_rule(box, "└", "┴", "┘", out);
    if (is_cut || box->hidden_count > 0) {
        gr_buf_addf(out, "%lld row%s", (long long)box->rows, box->rows == 1 ? "" : "s");
        if (is_cut) {
            gr_buf_addf(out, " (%lld shown)", (long long)(box->head + box->tail));
        }
        gr_buf_addf(out, ", %zu column%s", box->frame->count, box->frame->count == 1 ? "" : "s");
        if (box->hidden_count > 0) {
            gr_buf_addf(out, " (%zu shown)", box->frame->count - box->hidden_count);
        }
        gr_buf_add(out, "\n", 1);
    }
}

static void
add_markdown(const struct box *box, struct gr_buf *out)
{
    add_line(box, 0, out);
    for (size_t c = 0; c < box->frame->count; c++) {
        const bool number = print_is_number(box->frame->columns[c].view.dtype);

        gr_buf_addf(out, "|%s", number ? "-" : ":");
        repeat("-", box->widths[c], out);
        gr_buf_addf(out, "%s", number ? ":" : "-");
    }
    gr_buf_addf(out, "|\n");
    for (size_t line = 2; line < lines_of(box); line++) {
        add_line(box, line, out);
    }
}

/* A bar in a cell would end it. */
static void
escape_bars(struct box *box)
{
    struct gr_buf escaped = {0};

    for (size_t i = 0; i < lines_of(box) * box->frame->count && gr_buf_ok(&box->text); i++) {
        struct box_cell *cell = &box->cells[i];
        const size_t from = escaped.size;

        for (size_t k = 0; k < cell->size; k++) {
            gr_buf_add(&escaped, "\\", box->text.bytes[cell->at + k] == '|');
            gr_buf_add(&escaped, &box->text.bytes[cell->at + k], 1);
        }
        cell->width += (int)(escaped.size - from - cell->size);
        cell->at = from;
        cell->size = escaped.size - from;
        box->widths[i % box->frame->count] =
            cell->width > box->widths[i % box->frame->count] ? cell->width : box->widths[i % box->frame->count];
    }
    gr_buf_free(&box->text);
    box->text = escaped;
}

void
gr_print_box(const granary_frame *frame, int64_t rows, const struct gr_box_style *style, struct gr_buf *out)
{
    struct box box = {.frame = frame, .style = style, .rows = rows, .head = frame->rows, .gap = frame->count};

    if (frame->count == 0) {
        gr_buf_addf(out, "%lld rows, 0 columns\n", (long long)rows);
        return;
    }
    if (style->max_rows > 0 && rows > style->max_rows && !style->markdown) {
        box.head = (style->max_rows + 1) / 2;
        box.tail = style->max_rows / 2;
    }
    box.cells = calloc(lines_of(&box) * frame->count, sizeof *box.cells);
    box.widths = calloc(frame->count, sizeof *box.widths);
    box.hidden = calloc(frame->count, sizeof *box.hidden);
    if (box.cells == NULL || box.widths == NULL || box.hidden == NULL) {
        out->failed = true;
        goto out;
    }
    for (size_t c = 0; c < frame->count; c++) {
        make_cells(&box, c);
    }
    if (style->markdown) {
        escape_bars(&box);
    } else {
        fit(&box);
    }
    if (!gr_buf_ok(&box.text)) {
        out->failed = true;
    } else if (style->markdown) {
        add_markdown(&box, out);
    } else {
        add_box(&box, out);
    }
out:
    gr_buf_free(&box.text);
    free(box.cells);
    free(box.widths);
    free(box.hidden);
}

void
gr_print_lines(const granary_frame *frame, const char *null_value, struct gr_buf *out)
{
    int width = 0;

    for (size_t c = 0; c < frame->count; c++) {
        int one = print_width(frame->columns[c].view.name, strlen(frame->columns[c].view.name));

        width = one > width ? one : width;
    }
    for (int64_t row = 0; row < frame->rows && gr_buf_ok(out); row++) {
        gr_buf_add(out, "\n", row > 0);
        for (size_t c = 0; c < frame->count; c++) {
            const granary_column *column = &frame->columns[c].view;

            gr_buf_addf(out, "%*s", width - print_width(column->name, strlen(column->name)), "");
            print_visible(column->name, strlen(column->name), out);
            gr_buf_addf(out, " = ");
            print_cell(column, row, null_value, out);
            gr_buf_add(out, "\n", 1);
        }
    }
}
