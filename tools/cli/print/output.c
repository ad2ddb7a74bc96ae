/* Chunks of a result are read and put together; of a long table only the ends are, for those alone are printed. */
#include "cli/print/output.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "data/print/print.h"
#include "data/text/packing.h"

/* A table on a terminal shows the ends of a long result; files and --csv get all. */
#define ARROW_MAGIC     "ARROW1"
#define NPY_MAGIC       "\x93NUMPY"
#define TABLE_ROWS      60
#define TENSOR_ELEMENTS 1000
#define PLOT_WIDTH      80 /* where there is no terminal */
/* For an object that is there, but perhaps on disk. */
#define GET_TIMEOUT_MS 60000

static granary_err
print_schema(const granary_frame *frame, struct gr_buf *out)
{
    size_t count = granary_frame_columns(frame);
    int width = (int)strlen("column");

    for (size_t i = 0; i < count; i++) {
        int length = (int)strlen(granary_frame_column(frame, i)->name);

        width = length > width ? length : width;
    }
    gr_buf_addf(out, "%-*s  dtype\n", width, "column");
    for (size_t i = 0; i < count; i++) {
        const granary_column *column = granary_frame_column(frame, i);

        gr_buf_addf(out, "%-*s  %s\n", width, column->name, granary_dtype_name(column->dtype));
    }
    return GRANARY_OK;
}

static granary_err
print_frame_table(const granary_frame *frame, struct gr_buf *out)
{
    gr_print_table(frame, TABLE_ROWS, out);
    return GRANARY_OK;
}

static granary_err
print_tensor(const granary_tensor *tensor, struct gr_buf *out)
{
    gr_print_tensor(tensor, TENSOR_ELEMENTS, out);
    return GRANARY_OK;
}

const struct gr_format output_table = {.name = "txt",
                                       .what = "a printed table",
                                       .is_text = true,
                                       .print_frame = print_frame_table,
                                       .print_tensor = print_tensor};
const struct gr_format output_json = {.name = "json",
                                      .what = "a JSON file",
                                      .is_text = true,
                                      .print_frame = gr_print_json,
                                      .print_tensor = gr_print_tensor_json};
struct output_style output_style = {.max_rows = 40, .width = -1, .null_value = "NULL"};

int
output_terminal_width(void)
{
    struct winsize size = {.ws_col = 0};

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static struct gr_box_style
box_style(bool markdown)
{
    return (struct gr_box_style){.max_rows = output_style.max_rows,
                                 .width = output_style.width >= 0 ? output_style.width : output_terminal_width(),
                                 .null_value = output_style.null_value,
                                 .markdown = markdown};
}

static granary_err
print_box(const granary_frame *frame, struct gr_buf *out)
{
    const struct gr_box_style style = box_style(false);

    gr_print_box(frame, granary_frame_rows(frame), &style, out);
    return GRANARY_OK;
}

static granary_err
print_markdown(const granary_frame *frame, struct gr_buf *out)
{
    const struct gr_box_style style = box_style(true);

    gr_print_box(frame, granary_frame_rows(frame), &style, out);
    return GRANARY_OK;
}

static granary_err
print_lines(const granary_frame *frame, struct gr_buf *out)
{
    gr_print_lines(frame, output_style.null_value, out);
    return GRANARY_OK;
}

const struct gr_format output_box = {
    .name = "box", .what = "a box", .is_text = true, .print_frame = print_box, .print_tensor = print_tensor};
static const struct gr_format output_markdown = {
    .name = "md", .what = "a Markdown table", .is_text = true, .print_frame = print_markdown};
static const struct gr_format output_line = {
    .name = "line", .what = "lines of values", .is_text = true, .print_frame = print_lines};

bool
output_is_utf8(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    bool utf8 = locale != (locale_t)0 && strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;

    if (locale != (locale_t)0) {
        freelocale(locale);
    }
    return utf8;
}

static granary_err
print_plot(const granary_frame *frame, enum gr_plot kind, struct gr_buf *out)
{
    const int width = output_style.width > 0 ? output_style.width : output_terminal_width();
    const struct gr_plot_style style = {.kind = kind,
                                        .max_rows = output_style.max_rows,
                                        .width = width > 0 ? width : PLOT_WIDTH,
                                        .ascii = !output_is_utf8(),
                                        .null_value = output_style.null_value};

    return gr_print_plot(frame, &style, out);
}

static granary_err
plot_bar(const granary_frame *frame, struct gr_buf *out)
{
    return print_plot(frame, GR_PLOT_BAR, out);
}

static granary_err
plot_line(const granary_frame *frame, struct gr_buf *out)
{
    return print_plot(frame, GR_PLOT_LINE, out);
}

static granary_err
plot_hist(const granary_frame *frame, struct gr_buf *out)
{
    return print_plot(frame, GR_PLOT_HIST, out);
}

const struct gr_format *
output_plot(const char *name)
{
    static const struct gr_format plots[] = {
        {.name = "bar", .what = "a plot", .is_text = true, .print_frame = plot_bar},
        {.name = "line", .what = "a plot", .is_text = true, .print_frame = plot_line},
        {.name = "hist", .what = "a plot", .is_text = true, .print_frame = plot_hist}};

    for (size_t i = 0; i < sizeof plots / sizeof plots[0]; i++) {
        if (strcmp(plots[i].name, name) == 0) {
            return &plots[i];
        }
    }
    return NULL;
}

const struct gr_format *
output_mode(const char *name)
{
    static const struct {
        const char *name;
        const struct gr_format *format;
    } modes[] = {{"box", &output_box},    {"markdown", &output_markdown}, {"csv", &gr_format_csv},
                 {"json", &output_json},  {"ndjson", &gr_format_ndjson},  {"line", &output_line},
                 {"table", &output_table}};

    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(modes[i].name, name) == 0) {
            return modes[i].format;
        }
    }
    return NULL;
}

granary_err
output_take_mode(const char *mode, const struct gr_format **format)
{
    const struct gr_format *found = mode == NULL ? *format : output_mode(mode);

    if (found == NULL) {
        return gr_fail(GRANARY_EINVAL, "no mode '%.60s': " OUTPUT_MODES " are", mode);
    }
    *format = found;
    return GRANARY_OK;
}

const struct gr_format output_schema = {
    .name = "schema", .what = "a list of columns", .is_text = true, .print_frame = print_schema};

/* What can be written to a file: those a FORMAT_WRITE row promises, and these two. */
static const struct gr_format *const output_formats[] = {
#define FORMAT_WRITE(name, kind) &gr_format_##name,
#include "contract/formats.def"
    &output_json,
    &output_table,
};

const char output_help[] = "write there instead of printing; the ending tells the format:"
#define FORMAT_WRITE(name, kind) " ." #name
#include "contract/formats.def"
                           " .json .txt";

/* Append " .csv .json" of those that take frames, or tensors. */
static void
list_formats(bool frames, bool tensors, struct gr_buf *out)
{
    for (size_t i = 0; i < sizeof output_formats / sizeof output_formats[0]; i++) {
        if ((frames && output_formats[i]->print_frame != NULL) ||
            (tensors && output_formats[i]->print_tensor != NULL)) {
            gr_buf_addf(out, " .%s", output_formats[i]->name);
        }
    }
}

granary_err
output_format_of(const char *path, const struct gr_format **ret_format)
{
    size_t stem;
    enum gr_packing packing = gr_packing_of_path(path, &stem);
    const char *dot = memrchr(path, '.', stem);
    struct gr_buf endings = {0};
    granary_err err;

    for (size_t i = 0; dot != NULL && i < sizeof output_formats / sizeof output_formats[0]; i++) {
        size_t size = strlen(output_formats[i]->name);

        if ((size_t)(path + stem - dot - 1) == size && memcmp(dot + 1, output_formats[i]->name, size) == 0 &&
            (packing == GR_PACKING_NONE || output_formats[i]->is_text)) {
            *ret_format = output_formats[i];
            return GRANARY_OK;
        }
    }
    list_formats(true, true, &endings);
    err = gr_fail(GRANARY_EINVAL, "%s: the ending tells the format:%.*s", path, (int)endings.size, endings.bytes);
    gr_buf_free(&endings);
    return err;
}

granary_err
output_pack(const char *path, struct gr_buf *out)
{
    struct gr_buf packed = {0};
    size_t stem;
    enum gr_packing packing = gr_packing_of_path(path, &stem);
    granary_err err;

    if (packing == GR_PACKING_NONE) {
        return GRANARY_OK;
    }
    err = gr_pack_text(packing, out->bytes, out->size, &packed);
    gr_buf_free(out);
    *out = packed;
    return err;
}

granary_err
output_refuse(const struct gr_format *format, bool rows)
{
    struct gr_buf endings = {0};
    granary_err err;

    list_formats(rows, !rows, &endings);
    err = gr_fail(GRANARY_ETYPE, "%s holds %s, and %s:%.*s", format->what, rows ? "a tensor" : "rows",
                  rows ? "these are rows" : "this is a tensor", (int)endings.size, endings.bytes);
    gr_buf_free(&endings);
    return err;
}

granary_err
output_add_frame(const granary_frame *frame, const struct gr_format *format, struct gr_buf *out)
{
    return format->print_frame != NULL ? format->print_frame(frame, out) : output_refuse(format, true);
}

granary_err
output_add_tensor(const granary_tensor *tensor, const struct gr_format *format, struct gr_buf *out)
{
    return format->print_tensor != NULL ? format->print_tensor(tensor, out) : output_refuse(format, false);
}

static bool
is_frame_file(const granary_view *view)
{
    return view->data_size > sizeof ARROW_MAGIC && memcmp(view->data, ARROW_MAGIC, sizeof ARROW_MAGIC - 1) == 0;
}

/* Rows of one chunk (count -1: all) as a frame of our own: chunks are leased one at a time, for all of them may be more
 * than fits memory. */
static granary_err
copy_frame(granary_client *client, granary_id id, int64_t from, int64_t count, granary_frame **ret_frame)
{
    granary_frame *frame;
    granary_view view;
    granary_err err = granary_object_get(client, id, GET_TIMEOUT_MS, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_frame_open(&view, &frame);
    if (err == GRANARY_OK) {
        err = gr_frame_slice(frame, from, count < 0 ? granary_frame_rows(frame) : count, ret_frame);
        granary_frame_close(frame);
    }
    granary_object_release(client, &view);
    return err;
}

/* Rows of all chunks together, or -1 when that is not known of some. */
static int64_t
rows_of(const granary_result *result)
{
    int64_t rows = 0;

    for (size_t i = 0; i < result->chunk_count && rows >= 0; i++) {
        rows = result->is_objects || result->chunk_rows[i] < 0 ? -1 : rows + result->chunk_rows[i];
    }
    return rows;
}

/* What a table shows of a long result: the chunks between are not even mapped. frames: room for two a chunk. */
static granary_err
copy_ends(granary_client *client, const granary_result *result, int64_t rows, int64_t shown, granary_frame **frames,
          size_t *count)
{
    int64_t head = (shown + 1) / 2;
    int64_t tail = rows - shown / 2;
    int64_t at = 0;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < result->chunk_count && err == GRANARY_OK; i++) {
        int64_t end = at + result->chunk_rows[i];

        if (at < head) {
            err = copy_frame(client, result->chunks[i], 0, (end < head ? end : head) - at, &frames[*count]);
            *count += err == GRANARY_OK;
        }
        if (end > tail && err == GRANARY_OK) {
            int64_t from = at < tail ? tail : at;

            err = copy_frame(client, result->chunks[i], from - at, end - from, &frames[*count]);
            *count += err == GRANARY_OK;
        }
        at = end;
    }
    return err;
}

static granary_err
output_frame(granary_client *client, const granary_result *result, const struct gr_format *format, struct gr_buf *out)
{
    granary_frame **frames = calloc(2 * result->chunk_count + 1, sizeof(granary_frame *));
    granary_frame *all = NULL;
    size_t count = 0;
    const int64_t shown = format == &output_table                              ? TABLE_ROWS
                          : format == &output_box && output_style.max_rows > 0 ? output_style.max_rows
                                                                               : INT64_MAX;
    int64_t rows = shown < INT64_MAX ? rows_of(result) : -1;
    granary_err err = frames == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    if (err == GRANARY_OK && format == &output_schema) {
        err = copy_frame(client, result->chunks[0], 0, 0, &frames[0]);
        count = err == GRANARY_OK;
    } else if (err == GRANARY_OK && rows > shown) {
        err = copy_ends(client, result, rows, shown, frames, &count);
    } else {
        for (size_t i = 0; i < result->chunk_count && err == GRANARY_OK; i++) {
            err = copy_frame(client, result->chunks[i], 0, -1, &frames[i]);
            count += err == GRANARY_OK;
        }
    }
    if (err == GRANARY_OK && count != 1) {
        err = gr_frame_concat((const granary_frame *const *)frames, count, &all);
    }
    if (err == GRANARY_OK && rows > shown && format == &output_box) { /* head and tail are two */
        const struct gr_box_style style = box_style(false);

        gr_print_box(all != NULL ? all : frames[0], rows, &style, out);
    } else if (err == GRANARY_OK && rows > shown) {
        gr_print_table_ends(all, rows, TABLE_ROWS, out);
    } else if (err == GRANARY_OK) {
        err = output_add_frame(all != NULL ? all : frames[0], format, out);
    }
    gr_frame_destroy(all);
    for (size_t i = 0; i < count; i++) {
        gr_frame_destroy(frames[i]);
    }
    free(frames);
    return err;
}

void
output_place(const granary_tensor *chunk, struct gr_tensor *whole, const int64_t *offset)
{
    size_t width = gr_dtype_size(whole->view.dtype) == 0 ? 1 : gr_dtype_size(whole->view.dtype);
    int dims = whole->view.dims;
    int64_t run = dims == 0 ? 1 : chunk->shape[dims - 1];
    int64_t runs = run == 0 ? 0 : gr_tensor_elements(chunk) / run;

    for (int64_t r = 0; r < runs; r++) {
        int64_t rest = r;
        int64_t at = dims == 0 ? 0 : offset[dims - 1];
        int64_t stride = dims == 0 ? 1 : whole->view.shape[dims - 1];

        for (int d = dims - 2; d >= 0; d--) {
            at += (offset[d] + rest % chunk->shape[d]) * stride;
            rest /= chunk->shape[d];
            stride *= whole->view.shape[d];
        }
        memcpy((char *)whole->owned + (size_t)at * width, (const char *)chunk->values + (size_t)(r * run) * width,
               (size_t)run * width);
    }
}

/* Chunks lie in a grid, row-major; each row of the grid has its own extent along each dimension. */
static granary_err
output_tensor(granary_client *client, const granary_result *result, const struct gr_format *format, struct gr_buf *out)
{
    struct gr_tensor whole = {.owned = NULL};
    int64_t offset[8] = {0};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < result->chunk_count && err == GRANARY_OK; i++) {
        granary_tensor chunk;
        granary_view view;

        err = granary_object_get(client, result->chunks[i], GET_TIMEOUT_MS, &view);
        if (err != GRANARY_OK) {
            break;
        }
        err = granary_tensor_open(&view, &chunk);
        if (err == GRANARY_OK && i == 0) {
            err = gr_tensor_alloc(chunk.dtype, result->dims, result->shape, &whole);
        }
        if (err == GRANARY_OK) {
            output_place(&chunk, &whole, offset);
        }
        for (int d = result->dims - 1; d >= 0 && err == GRANARY_OK; d--) {
            offset[d] += chunk.shape[d];
            if (offset[d] < result->shape[d]) {
                break;
            }
            offset[d] = 0;
        }
        granary_object_release(client, &view);
    }
    if (err == GRANARY_OK) {
        err = output_add_tensor(&whole.view, format, out);
    }
    gr_tensor_free(&whole);
    return err;
}

/* An object of user code: printed as what it is, when it is a frame or a tensor; else its bytes. */
static granary_err
output_object(const granary_view *view, const struct gr_format *format, struct gr_buf *out)
{
    granary_frame *frame;
    granary_tensor tensor;
    granary_err err;

    if (is_frame_file(view)) {
        err = granary_frame_open(view, &frame);
        if (err == GRANARY_OK) {
            err = output_add_frame(frame, format, out);
            granary_frame_close(frame);
        }
        return err;
    }
    if (view->data_size > sizeof NPY_MAGIC && memcmp(view->data, NPY_MAGIC, sizeof NPY_MAGIC - 1) == 0) {
        err = granary_tensor_open(view, &tensor);
        return err == GRANARY_OK ? output_add_tensor(&tensor, format, out) : err;
    }
    if (!format->is_text) {
        return gr_fail(GRANARY_ETYPE, "it is neither a frame nor a tensor: `granary get` writes its bytes");
    }
    if (format == &output_json) {
        gr_print_json_string(view->data, view->data_size, out);
    } else {
        gr_buf_add(out, view->data, view->data_size);
    }
    return GRANARY_OK;
}

/* The objects one after another; as JSON, a list. */
static granary_err
output_objects(granary_client *client, const granary_result *result, const struct gr_format *format, struct gr_buf *out)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < result->chunk_count && err == GRANARY_OK; i++) {
        granary_view view;

        err = granary_object_get(client, result->chunks[i], GET_TIMEOUT_MS, &view);
        if (err == GRANARY_OK) {
            if (format == &output_json) {
                gr_buf_addf(out, i == 0 ? "[" : ", ");
            }
            err = output_object(&view, format, out);
            granary_object_release(client, &view);
        }
        if (format == &output_json && i + 1 == result->chunk_count) {
            gr_buf_addf(out, "]");
        }
    }
    return err;
}

/* Whether a result that is no tensor is a frame. */
static granary_err
has_frames(granary_client *client, const granary_result *result, bool *ret_frames)
{
    granary_view view;
    granary_err err = result->chunk_count == 0 ? gr_fail(GRANARY_ENOENT, "it has no chunks")
                                               : granary_object_get(client, result->chunks[0], GET_TIMEOUT_MS, &view);

    if (err == GRANARY_OK) {
        *ret_frames = is_frame_file(&view);
        granary_object_release(client, &view);
    }
    return err;
}

granary_err
output_result(granary_client *client, const char *key, const char *target, const struct gr_format *format,
              struct gr_buf *out)
{
    granary_result result = {0};
    bool frames = false;
    granary_err err = granary_graph_result(client, key, target, &result);

    if (err != GRANARY_OK) {
        return err;
    }
    err = result.is_tensor ? GRANARY_OK : has_frames(client, &result, &frames);
    if (err == GRANARY_OK) {
        err = result.is_tensor ? output_tensor(client, &result, format, out)
              : frames         ? output_frame(client, &result, format, out)
                               : output_objects(client, &result, format, out);
    }
    if (err == GRANARY_OK && !gr_buf_ok(out)) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory for the result");
    }
    granary_result_free(&result);
    return err;
}
