/*
 * Rows as a picture for a terminal: a bar for each value, lines through points, or how often values are in bins. The
 * first column has the labels, or what goes to the right; the others have the values. A column that is alone has values,
 * and its rows are numbered.
 *
 * Lines of one column are drawn in Braille, which has eight dots in a character; several have a letter each.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/text.h"
#include "contract/int128.h"
#include "data/format.h"
#include "data/print/print.h"
#include "data/print/print_cell.h"
#include "data/value/utf8.h"

#define WIDTH_LEAST  24
#define HEIGHT       16 /* of a plot of lines */
#define TICK_LINES   5
#define LABEL_SHARE  3 /* labels take this part of the width at most */
#define BINS_MOST    20
#define BINS_WISH    14              /* so that there are not more, however they are rounded */
#define BINS_ROOM    (BINS_MOST + 2) /* round numbers may begin before the first value, and end behind the last */
#define LETTERS      "*+ox#@"
#define LETTERS_MOST (sizeof LETTERS - 1)

/* ---- numbers ---- */

/* Whether values are measures; place: or moments, which can stand along an axis. */
static bool
is_drawn(granary_dtype dtype, bool place)
{
    switch (gr_dtype_kind(dtype)) {
    case GRANARY_DATE:
    case GRANARY_TIMESTAMP:
    case GRANARY_TIMESTAMPTZ:
    case GRANARY_TIME:
        return place;
    default:
        return print_is_number(dtype) || dtype == GRANARY_BOOL || dtype == GRANARY_DURATION;
    }
}

/* NaN: null, or no finite number. */
static double
number_of(const granary_column *column, int64_t row)
{
    const void *values = column->values;
    double number = NAN;

    if (gr_is_null(column, row)) {
        return NAN;
    }
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_BOOL:
        return gr_bit(values, row);
    case GRANARY_INT8:
        return ((const int8_t *)values)[row];
    case GRANARY_UINT8:
        return ((const uint8_t *)values)[row];
    case GRANARY_INT16:
        return ((const int16_t *)values)[row];
    case GRANARY_UINT16:
        return ((const uint16_t *)values)[row];
    case GRANARY_INT32:
    case GRANARY_DATE:
        return ((const int32_t *)values)[row];
    case GRANARY_UINT32:
        return ((const uint32_t *)values)[row];
    case GRANARY_INT64:
    case GRANARY_TIMESTAMP:
    case GRANARY_TIMESTAMPTZ:
    case GRANARY_TIME:
    case GRANARY_DURATION:
        return (double)((const int64_t *)values)[row];
    case GRANARY_UINT64:
        return (double)((const uint64_t *)values)[row];
    case GRANARY_FLOAT32:
        number = (double)((const float *)values)[row];
        break;
    case GRANARY_FLOAT64:
        number = ((const double *)values)[row];
        break;
    case GRANARY_DECIMAL: {
        gr_int128 digits;

        memcpy(&digits, (const char *)values + row * (int64_t)sizeof digits, sizeof digits);
        number = (double)digits / pow(10, gr_dtype_scale(column->dtype));
        break;
    }
    default:
        break;
    }
    return isfinite(number) ? number : NAN;
}

struct range {
    double least, most;
    int64_t least_row, most_row;
    int64_t count; /* of numbers */
};

#define RANGE_NONE ((struct range){.least = DBL_MAX, .most = -DBL_MAX})

static void
range_add(struct range *range, const granary_column *column)
{
    for (int64_t row = 0; row < column->rows; row++) {
        const double number = number_of(column, row);

        if (isnan(number)) {
            continue;
        }
        range->count++;
        if (number < range->least) {
            range->least = number;
            range->least_row = row;
        }
        if (number > range->most) {
            range->most = number;
            range->most_row = row;
        }
    }
}

/* Where a number stands between two, 0 to 1; halves, for the difference of large ones may be infinite. */
static double
part_of(double number, double least, double most)
{
    const double part = (number / 2 - least / 2) / (most / 2 - least / 2);

    return !(part >= 0) ? 0 : part > 1 ? 1 : part; /* NaN, too: of one value there is no middle */
}

/* A round number of at least that: 1, 2 or 5 times a power of ten. */
static double
round_step(double least)
{
    const double base = pow(10, floor(log10(least)));

    return least <= base ? base : least <= 2 * base ? 2 * base : least <= 5 * base ? 5 * base : 10 * base;
}

/* Beside others that are a step away: as many digits as tell them apart, and one more when they are not round. */
static void
add_tick(double number, double step, int more, struct gr_buf *out)
{
    const double digits = step > 0 ? more - floor(log10(step) + 1e-9) : 0;

    if (fabs(number) >= 1e15 || !(digits < 12)) {
        format_real_short(number, out);
    } else {
        number = fabs(number) < step / 1e6 ? 0 : number;
        gr_buf_addf(out, "%.*f", digits > 0 ? (int)digits : 0, number);
    }
}

/* ---- bars ---- */

struct plot_text {
    size_t at, size;
    int width;
    bool cut;
};

struct bar {
    struct plot_text label, shown;
    double number; /* NaN: no bar */
};

struct bars {
    struct gr_buf text;
    struct bar *items;
    size_t count, room;
    int label_most; /* columns of the terminal */
    bool failed;
};

static struct bar *
bars_add(struct bars *bars, double number)
{
    if (bars->count == bars->room) {
        const size_t room = bars->room * 2 + 32;
        struct bar *items = reallocarray(bars->items, room, sizeof *items);

        if (items == NULL) {
            bars->failed = true;
            return NULL;
        }
        bars->items = items;
        bars->room = room;
    }
    bars->items[bars->count] = (struct bar){.number = number};
    return &bars->items[bars->count++];
}

/* What was added to the text since; most: cut to so many columns, the last of which then tells so. */
static struct plot_text
text_since(struct bars *bars, size_t from, int most)
{
    const char *bytes = bars->text.bytes + from;
    size_t size = bars->text.size - from;
    size_t taken = 0;
    int width = 0;

    while (gr_buf_ok(&bars->text) && taken < size) {
        uint32_t character = '?';
        const size_t length = gr_utf8_decode(bytes + taken, size - taken, &character);
        const int more = length == 0 ? 1 : utf8_width(character);

        if (width + more > most - (print_width(bytes, size) > most)) {
            return (struct plot_text){from, taken, width + 1, true};
        }
        width += more;
        taken += length == 0 ? 1 : length;
    }
    return (struct plot_text){from, taken, width, false};
}

/* A bar in so many cells, from where zero is. */
static void
draw_bar(double number, double least, double most, int cells, bool ascii, struct gr_buf *out)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const double zero = part_of(0, least, most) * cells;
    const double end = isnan(number) ? zero : part_of(number, least, most) * cells;
    const int first = (int)(end < zero ? end + 0.5 : zero + 0.5); /* zero is between two cells, so that bars are true */
    const double length = end < zero ? (double)((int)(zero + 0.5) - first) : end - zero;
    const int parts = ascii || end < zero ? (int)(length + 0.5) * 8 : (int)(length * 8 + 0.5);

    gr_buf_addf(out, "%*s", first, "");
    for (int i = 0; i < parts / 8; i++) {
        gr_buf_addf(out, "%s", ascii ? "#" : "█");
    }
    gr_buf_addf(out, "%s", eighths[parts % 8]);
}

static granary_err
bars_draw(struct bars *bars, const struct gr_plot_style *style, int width, struct gr_buf *out)
{
    double least = 0, most = 0;
    int label = 0, shown = 0, cells;

    for (size_t i = 0; i < bars->count; i++) {
        const struct bar *bar = &bars->items[i];

        least = bar->number < least ? bar->number : least;
        most = bar->number > most ? bar->number : most;
        label = bar->label.width > label ? bar->label.width : label;
        shown = bar->shown.width > shown ? bar->shown.width : shown;
    }
    cells = width - label - shown - 3;
    cells = cells < 8 ? 8 : cells;
    for (size_t i = 0; i < bars->count && gr_buf_ok(&bars->text) && !bars->failed; i++) {
        const struct bar *bar = &bars->items[i];

        gr_buf_add(out, bars->text.bytes + bar->label.at, bar->label.size);
        gr_buf_addf(out, "%s", !bar->label.cut ? "" : style->ascii ? "~" : "…");
        gr_buf_addf(out, "%*s%s", label - bar->label.width + 1, "", style->ascii ? "|" : "│");
        draw_bar(bar->number, least, most, cells, style->ascii, out);
        gr_buf_addf(out, " ");
        gr_buf_add(out, bars->text.bytes + bar->shown.at, bar->shown.size);
        gr_buf_addf(out, "\n");
    }
    return gr_buf_ok(&bars->text) && !bars->failed ? gr_print_end(out)
                                                   : gr_fail(GRANARY_ENOMEM, "out of memory for the plot");
}

static void
bars_free(struct bars *bars)
{
    gr_buf_free(&bars->text);
    free(bars->items);
}

static granary_err
plot_bars(const granary_frame *frame, const struct gr_plot_style *style, int width, struct gr_buf *out)
{
    const size_t first = frame->count > 1;
    const int64_t rows = style->max_rows > 0 && style->max_rows < frame->rows ? style->max_rows : frame->rows;
    struct bars bars = {.label_most = width / LABEL_SHARE};
    granary_err err;

    for (int64_t row = 0; row < rows; row++) {
        for (size_t c = first; c < frame->count && gr_buf_ok(&bars.text); c++) {
            const granary_column *column = &frame->columns[c].view;
            struct bar *bar = bars_add(&bars, number_of(column, row));
            size_t from = bars.text.size;

            if (bar == NULL) {
                break;
            }
            if (first == 0) {
                gr_buf_addf(&bars.text, "%" PRId64, row + 1);
            } else if (c == first) {
                print_cell(&frame->columns[0].view, row, style->null_value, &bars.text);
            }
            if (frame->count > 2) { /* which of several a bar is */
                gr_buf_addf(&bars.text, "%s", c == first ? " " : "  ");
                print_visible(column->name, strlen(column->name), &bars.text);
            }
            bar->label = text_since(&bars, from, bars.label_most);
            from = bars.text.size;
            print_cell(column, row, style->null_value, &bars.text);
            bar->shown = text_since(&bars, from, width);
        }
    }
    err = bars_draw(&bars, style, width, out);
    bars_free(&bars);
    if (err == GRANARY_OK && rows < frame->rows) {
        gr_buf_addf(out, "%" PRId64 " rows more\n", frame->rows - rows);
    }
    return err == GRANARY_OK ? gr_print_end(out) : err;
}

/* ---- histograms ---- */

static bool
is_whole(granary_dtype dtype)
{
    const granary_dtype kind = gr_dtype_kind(dtype);

    return kind != GRANARY_FLOAT32 && kind != GRANARY_FLOAT64 && kind != GRANARY_DECIMAL;
}

struct bins {
    double first, width; /* bin i begins at first + i * width; 0: there is one, for all */
    int count;
    bool single; /* one value each */
};

/* About Sturges' number of bins, at round numbers; few whole numbers have one each. */
static struct bins
choose_bins(const granary_column *column, const struct range *range)
{
    const double span = (range->most / 2 - range->least / 2) * 2;
    const double wish = 1 + ceil(log2((double)range->count));
    const double width = round_step(span / (wish < BINS_WISH ? wish : BINS_WISH) * BINS_WISH / BINS_MOST);
    struct bins bins = {.first = range->least, .width = 0, .count = 1, .single = range->most == range->least};

    if (is_whole(column->dtype) && span < BINS_MOST) {
        bins = (struct bins){.first = range->least, .width = 1, .count = (int)span + 1, .single = true};
    } else if (width >= DBL_MIN && isfinite(span) && isfinite(range->most + width)) {
        bins.width = width;
        bins.first = floor(range->least / width) * width;
        while (bins.count < BINS_ROOM && bins.first + bins.count * width < range->most) {
            bins.count++;
        }
    }
    return bins;
}

static int
bin_of(const struct bins *bins, double number)
{
    const double place = bins->width > 0 ? floor(number / bins->width - bins->first / bins->width + 1e-9) : 0;

    return place < 0 ? 0 : place >= bins->count ? bins->count - 1 : (int)place;
}

static void
add_bound(double bound, const struct bins *bins, const granary_column *column, struct gr_buf *out)
{
    if (is_whole(column->dtype) && bound == rint(bound) && fabs(bound) < 1e18) {
        gr_buf_addf(out, "%.0f", bound);
    } else if (bins->single || bins->width == 0) {
        format_real_short(bound, out);
    } else {
        add_tick(bound, bins->width, 0, out);
    }
}

static granary_err
plot_bins(const granary_column *column, const struct gr_plot_style *style, int width, struct gr_buf *out)
{
    struct bars bars = {.label_most = width / LABEL_SHARE};
    struct range range = RANGE_NONE;
    int64_t counts[BINS_ROOM] = {0};
    struct bins bins;
    granary_err err;

    print_visible(column->name, strlen(column->name), out);
    gr_buf_addf(out, "\n");
    range_add(&range, column);
    if (range.count == 0) {
        gr_buf_addf(out, "no numbers\n");
        return gr_print_end(out);
    }
    bins = choose_bins(column, &range);
    for (int64_t row = 0; row < column->rows; row++) {
        const double number = number_of(column, row);

        if (!isnan(number)) {
            counts[bin_of(&bins, number)]++;
        }
    }
    for (int bin = 0; bin < bins.count; bin++) {
        struct bar *bar = bars_add(&bars, (double)counts[bin]);
        size_t from = bars.text.size;

        if (bar == NULL) {
            break;
        }
        add_bound(bins.first + bin * bins.width, &bins, column, &bars.text);
        if (!bins.single) {
            gr_buf_addf(&bars.text, " to ");
            add_bound(bins.width > 0 ? bins.first + (bin + 1) * bins.width : range.most, &bins, column, &bars.text);
        }
        bar->label = text_since(&bars, from, bars.label_most);
        from = bars.text.size;
        gr_buf_addf(&bars.text, "%" PRId64, counts[bin]);
        bar->shown = text_since(&bars, from, width);
    }
    err = bars_draw(&bars, style, width, out);
    bars_free(&bars);
    if (err == GRANARY_OK && range.count < column->rows) {
        gr_buf_addf(out, "%" PRId64 " without a number\n", column->rows - range.count);
    }
    return err == GRANARY_OK ? gr_print_end(out) : err;
}

static granary_err
plot_histograms(const granary_frame *frame, const struct gr_plot_style *style, int width, struct gr_buf *out)
{
    granary_err err = GRANARY_OK;

    for (size_t c = frame->count > 1; c < frame->count && err == GRANARY_OK; c++) {
        err = plot_bins(&frame->columns[c].view, style, width, out);
    }
    return err;
}

/* ---- lines ---- */

/* Dots, or a letter in each cell. */
struct canvas {
    int cells, height;         /* characters */
    int across, down;          /* dots of a character */
    unsigned char *characters; /* bits of Braille, or letters */
};

static void
canvas_dot(struct canvas *canvas, int x, int y, char letter)
{
    static const unsigned char bits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    unsigned char *character = &canvas->characters[y / canvas->down * canvas->cells + x / canvas->across];

    if (canvas->across > 1) {
        *character |= bits[x % 2][y % 4];
    } else {
        *character = (unsigned char)letter;
    }
}

/* Bresenham's line. */
static void
canvas_line(struct canvas *canvas, int x, int y, int to_x, int to_y, char letter)
{
    const int dx = abs(to_x - x), dy = -abs(to_y - y);
    const int step_x = x < to_x ? 1 : -1, step_y = y < to_y ? 1 : -1;
    int error = dx + dy;

    for (;;) {
        const int twice = 2 * error;

        canvas_dot(canvas, x, y, letter);
        if (x == to_x && y == to_y) {
            return;
        }
        if (twice >= dy) {
            error += dy;
            x += step_x;
        }
        if (twice <= dx) {
            error += dx;
            y += step_y;
        }
    }
}

/* place: NULL: rows are numbered. A value that is none is a gap. */
static void
draw_series(struct canvas *canvas, const granary_column *place, const struct range *places,
            const granary_column *values, const struct range *range, char letter)
{
    int last_x = -1, last_y = 0;

    for (int64_t row = 0; row < values->rows; row++) {
        const double at = place != NULL ? number_of(place, row) : (double)row;
        const double number = number_of(values, row);
        const int x = (int)(part_of(at, places->least, places->most) * (canvas->cells * canvas->across - 1) + 0.5);
        const int y = canvas->height * canvas->down - 1 -
                      (int)(part_of(number, range->least, range->most) * (canvas->height * canvas->down - 1) + 0.5);

        if (isnan(at) || isnan(number)) {
            last_x = -1;
            continue;
        }
        canvas_line(canvas, last_x < 0 ? x : last_x, last_x < 0 ? y : last_y, x, y, letter);
        last_x = x;
        last_y = y;
    }
}

/* What a line of the canvas stands for, or nothing: of one value, only its line does. */
static void
add_line_tick(const struct range *range, int line, struct gr_buf *out)
{
    const double part = 1 - (double)line / (HEIGHT - 1);
    const double step = (range->most / 2 - range->least / 2) / (HEIGHT / TICK_LINES) * 2;

    if (range->most == range->least && line == HEIGHT - 1) {
        format_real_short(range->least, out);
    } else if (range->most > range->least && line % TICK_LINES == 0) {
        add_tick(range->least * (1 - part) + range->most * part, step, 1, out);
    }
}

static void
print_canvas(const struct canvas *canvas, const struct range *range, int axis, bool ascii, struct gr_buf *out)
{
    for (int line = 0; line < canvas->height; line++) {
        struct gr_buf text = {0};
        int last = canvas->cells;

        add_line_tick(range, line, &text);
        gr_buf_addf(out, "%*.*s %s", axis, (int)text.size, text.size > 0 ? text.bytes : "", ascii ? "|" : "│");
        gr_buf_free(&text);
        while (last > 0 && canvas->characters[line * canvas->cells + last - 1] == 0) {
            last--;
        }
        for (int cell = 0; cell < last; cell++) {
            const unsigned char character = canvas->characters[line * canvas->cells + cell];
            char bytes[4];

            if (character == 0) {
                gr_buf_addf(out, " ");
            } else if (canvas->across > 1) {
                gr_buf_add(out, bytes, gr_utf8_encode(0x2800u + character, bytes));
            } else {
                gr_buf_addf(out, "%c", character);
            }
        }
        gr_buf_addf(out, "\n");
    }
}

/* Below: the line, its ends' values, and which letter is which column. */
static void
print_foot(const granary_frame *frame, const struct range *places, int axis, int cells, bool ascii, struct gr_buf *out)
{
    const bool alone = frame->count < 2;
    struct gr_buf least = {0}, most = {0};
    int gap;

    gr_buf_addf(out, "%*s%s", axis + 1, "", ascii ? "+" : "└");
    for (int i = 0; i < cells; i++) {
        gr_buf_addf(out, "%s", ascii ? "-" : "─");
    }
    if (alone) {
        gr_buf_addf(&least, "1");
        gr_buf_addf(&most, "%" PRId64, frame->rows);
    } else {
        print_cell(&frame->columns[0].view, places->least_row, "", &least);
        print_cell(&frame->columns[0].view, places->most_row, "", &most);
    }
    if (gr_buf_ok(&least) && gr_buf_ok(&most)) {
        gap = cells - print_width(least.bytes, least.size) - print_width(most.bytes, most.size);
        gr_buf_addf(out, "\n%*s%s%*s%s\n", axis + 2, "", least.bytes, gap > 1 ? gap : 1, "", most.bytes);
    }
    gr_buf_free(&least);
    gr_buf_free(&most);
    for (size_t c = 1; c < frame->count && frame->count > 2; c++) {
        const char *name = frame->columns[c].view.name;

        gr_buf_addf(out, "%s%c ", c == 1 ? "" : "  ", LETTERS[c - 1]);
        print_visible(name, strlen(name), out);
        gr_buf_addf(out, "%s", c + 1 == frame->count ? "\n" : "");
    }
}

static granary_err
plot_lines(const granary_frame *frame, const struct gr_plot_style *style, int width, struct gr_buf *out)
{
    const size_t first = frame->count > 1;
    const granary_column *place = first > 0 ? &frame->columns[0].view : NULL;
    const bool fine = !style->ascii && frame->count <= 2;
    struct range places = {.least = 0, .most = (double)(frame->rows - 1), .count = frame->rows};
    struct range range = RANGE_NONE;
    struct canvas canvas = {.height = HEIGHT, .across = fine ? 2 : 1, .down = fine ? 4 : 1};
    int axis = 0;

    if (place != NULL && !is_drawn(place->dtype, true)) {
        place = NULL; /* labels: one after the other */
        places.most_row = frame->rows - 1;
    } else if (place != NULL) {
        places = RANGE_NONE;
        range_add(&places, place);
    }
    for (size_t c = first; c < frame->count; c++) {
        range_add(&range, &frame->columns[c].view);
    }
    if (range.count == 0 || places.count == 0) {
        gr_buf_addf(out, "no numbers\n");
        return gr_print_end(out);
    }
    for (int line = 0; line < HEIGHT; line++) {
        struct gr_buf text = {0};

        add_line_tick(&range, line, &text);
        axis = (int)text.size > axis ? (int)text.size : axis;
        gr_buf_free(&text);
    }
    canvas.cells = width - axis - 3 > 8 ? width - axis - 3 : 8;
    canvas.characters = calloc((size_t)canvas.cells, HEIGHT);
    if (canvas.characters == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory for the plot");
    }
    for (size_t c = first; c < frame->count; c++) {
        draw_series(&canvas, place, &places, &frame->columns[c].view, &range, LETTERS[first > 0 ? c - 1 : 0]);
    }
    print_canvas(&canvas, &range, axis, style->ascii, out);
    print_foot(frame, &places, axis, canvas.cells, style->ascii, out);
    free(canvas.characters);
    return gr_print_end(out);
}

/* ---- all ---- */

static granary_err
check_columns(const granary_frame *frame, enum gr_plot kind)
{
    if (kind == GR_PLOT_LINE && frame->count > LETTERS_MOST + 1) {
        return gr_fail(GRANARY_EINVAL, "plot: %zu columns of values, and lines show %zu at most: name those",
                       frame->count - 1, LETTERS_MOST);
    }
    for (size_t c = frame->count > 1; c < frame->count; c++) {
        const granary_column *column = &frame->columns[c].view;

        if (!is_drawn(column->dtype, false)) {
            return gr_fail(GRANARY_ETYPE,
                           "plot: column '%s' is %s, and no number: the first column has labels, the others values",
                           column->name, granary_dtype_name(column->dtype));
        }
    }
    return GRANARY_OK;
}

granary_err
gr_print_plot(const granary_frame *frame, const struct gr_plot_style *style, struct gr_buf *out)
{
    static granary_err (*const plots[])(const granary_frame *, const struct gr_plot_style *, int, struct gr_buf *) = {
        [GR_PLOT_BAR] = plot_bars, [GR_PLOT_LINE] = plot_lines, [GR_PLOT_HIST] = plot_histograms};
    const int width = style->width < WIDTH_LEAST ? WIDTH_LEAST : style->width;
    granary_err err = check_columns(frame, style->kind);

    if (err == GRANARY_OK && (frame->rows == 0 || frame->count == 0)) {
        gr_buf_addf(out, "no rows\n");
        return gr_print_end(out);
    }
    return err == GRANARY_OK ? plots[style->kind](frame, style, width, out) : err;
}
