/* Arrays of another library of the process: schema and arrays are chosen by the input, within blocks that are as large as
 * they must be for what is not a lie. Columns come of it that go out and in again, or an error with a message; all is released. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "data/caller.h"
#include "data/print/print.h"
#include "fuzz/choices.h"
#include "fuzz/fuzz.h"
#include "unit/arrow/producer.h"

/* What buffers a format needs: bytes of a value; bits, text and views by themselves. */
enum { BITS = -1, TEXT = -2, LARGE_TEXT = -3, VIEWS = -4, NOTHING = -5 };
static const struct kind {
    const char *format;
    int width;
} kinds[] = {
    {"n", NOTHING},  {"b", BITS},        {"c", 1},
    {"C", 1},        {"s", 2},           {"S", 2},
    {"i", 4},        {"I", 4},           {"l", 8},
    {"L", 8},        {"e", 2},           {"f", 4},
    {"g", 8},        {"u", TEXT},        {"vu", VIEWS},
    {"tdD", 4},      {"tdm", 8},         {"tss:", 8},
    {"tsm:UTC", 8},  {"tsu:", 8},        {"tsn:Z", 8},
    {"tDs", 8},      {"tDm", 8},         {"tDu", 8},
    {"tDn", 8},      {"d:9,2,32", 4},    {"d:18,0,64", 8},
    {"d:38,38", 16}, {"d:76,4,256", 32}, {"U", LARGE_TEXT},
    {"z", TEXT},     {"+s", NOTHING},    {"tsu:Asia/Tokyo", 8},
    {"+l", NOTHING}, {"w:3", 4},
};

/* size bytes of the input as buffer `number`; it may be missing. */
static void
fill(struct choices *choices, struct ArrowArray *array, size_t number, size_t size)
{
    uint8_t *bytes;

    if (choose(choices, 32) == 31) {
        return;
    }
    bytes = produce_buffer(array, number, NULL, 0);
    free(bytes);
    bytes = calloc(1, size + 1);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = choose_byte(choices);
    }
    (void)produce_buffer(array, number, bytes, size);
    free(bytes);
}

/* Where strings begin: mostly ascending, within the text. */
static void
fill_offsets(struct choices *choices, struct ArrowArray *array, size_t rows, size_t text, bool large)
{
    int64_t *wide = calloc(rows + 1, sizeof *wide);
    int32_t *narrow = calloc(rows + 1, sizeof *narrow);
    int64_t at = 0;

    for (size_t i = 0; i <= rows; i++) {
        at = choose(choices, 64) == 63 ? (int64_t)choose(choices, (uint32_t)text + 2) - 1 : at + choose(choices, 3);
        at = at > (int64_t)text ? (int64_t)text : at;
        wide[i] = at;
        narrow[i] = (int32_t)at;
    }
    (void)produce_buffer(array, 1, large ? (const void *)wide : narrow, (rows + 1) * (large ? 8 : 4));
    free(wide);
    free(narrow);
}

static void
fill_views(struct choices *choices, struct ArrowArray *array, size_t rows)
{
    int64_t sizes[2] = {(int64_t)choose(choices, 30), (int64_t)choose(choices, 30)};

    fill(choices, array, 1, rows * 16);
    fill(choices, array, 2, (size_t)sizes[0]);
    fill(choices, array, 3, (size_t)sizes[1]);
    if (choose(choices, 16) == 15) {
        sizes[0] = -sizes[0];
    }
    (void)produce_buffer(array, 4, sizes, sizeof sizes);
}

/* An array of that kind; its rows are there. */
static void
make_array(struct choices *choices, int width, int64_t length, int64_t offset, struct ArrowArray *array)
{
    static const size_t buffers[] = {[-BITS] = 2, [-TEXT] = 3, [-LARGE_TEXT] = 3, [-VIEWS] = 5, [-NOTHING] = 3};
    const size_t rows = (size_t)(length + offset);
    const int64_t nulls = (int64_t)choose(choices, 8) - 2;

    produce_array(array, length, offset, nulls > 2 ? 0 : nulls, width > 0 ? 2 : buffers[-width], 0);
    if (choose(choices, 2) == 1) {
        fill(choices, array, 0, (rows + 7) / 8);
    }
    if (width > 0) {
        fill(choices, array, 1, rows * (size_t)width);
    } else if (width == BITS) {
        fill(choices, array, 1, (rows + 7) / 8);
    } else if (width == VIEWS) {
        fill_views(choices, array, rows);
    } else if (width != NOTHING) {
        size_t text = choose(choices, 40);

        fill_offsets(choices, array, rows, text, width == LARGE_TEXT);
        (void)produce_buffer(array, 2, NULL, 0);
        free((void *)(uintptr_t)array->buffers[2]);
        array->buffers[2] = NULL;
        if (text > 0) {
            char *bytes = malloc(text);

            for (size_t i = 0; i < text; i++) {
                bytes[i] = (char)(choose(choices, 16) == 15 ? choose_byte(choices) : 'a' + choose(choices, 4));
            }
            (void)produce_buffer(array, 2, bytes, text);
            free(bytes);
        }
    }
}

/* Lists of any kind of a kind: their items are there, and offsets and sizes lead to them mostly. */
static void
make_lists(struct choices *choices, const char *name, int64_t length, int64_t offset, struct ArrowSchema *schema,
           struct ArrowArray *array)
{
    static const char *const formats[] = {"+l", "+L", "+w:3", "+vl", "+vL"};
    static const size_t buffers[] = {2, 2, 1, 3, 3};
    const struct kind *kind = &CHOOSE_FROM(choices, kinds);
    const uint32_t form = choose(choices, 5);
    const size_t rows = (size_t)(length + offset);
    const size_t items = form == 2 ? 3 * rows + choose(choices, 3) : choose(choices, 40);

    produce_schema(schema, formats[form], name, 1);
    produce_schema(schema->children[0], kind->format, "item", 0);
    produce_array(array, length, offset, -1, buffers[form], 1);
    make_array(choices, kind->width, (int64_t)items, (int64_t)choose(choices, 3), array->children[0]);
    if (choose(choices, 2) == 1) {
        fill(choices, array, 0, (rows + 7) / 8);
    }
    if (form != 2) {
        fill_offsets(choices, array, rows, items, form == 1 || form == 4);
    }
    if (form > 2) {
        const size_t width = form == 4 ? 8 : 4;
        uint8_t *sizes = calloc(rows + 1, width);

        for (size_t i = 0; i < rows; i++) {
            sizes[width * i] = (uint8_t)choose(choices, 4);
            sizes[width * i + width - 1] = choose(choices, 64) == 63 ? 0x80 : 0;
        }
        (void)produce_buffer(array, 2, sizes, rows * width);
        free(sizes);
    }
}

/* A lie that must be seen without a look at what it tells of. */
static void
lie(struct choices *choices, struct ArrowSchema *schema, struct ArrowArray *array)
{
    static const int64_t numbers[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX / 2};

    switch (choose(choices, 9)) {
    case 0:
        array->offset = CHOOSE_FROM(choices, numbers);
        break;
    case 1:
        array->length = choose(choices, 2) == 0 ? -1 : 0;
        break;
    case 2:
        array->null_count = CHOOSE_FROM(choices, numbers);
        break;
    case 3:
        array->n_buffers = (int64_t)choose(choices, 2) - 1;
        break;
    case 4:
        array->n_children = CHOOSE_FROM(choices, numbers);
        break;
    case 5:
        array->release(array);
        break;
    case 6:
        schema->release(schema);
        break;
    case 7:
        free((void *)(uintptr_t)schema->format);
        schema->format = NULL;
        break;
    default:
        free((void *)(uintptr_t)schema->name);
        schema->name = choose(choices, 2) == 0 ? NULL : strdup("\xff");
        break;
    }
}

static void
make_column(struct choices *choices, int64_t rows, size_t number, struct ArrowSchema *schema, struct ArrowArray *array)
{
    const struct kind *kind = &CHOOSE_FROM(choices, kinds);
    const int64_t length = rows + (int64_t)choose(choices, 4);
    const int64_t offset = (int64_t)choose(choices, 12);
    const uint32_t how = choose(choices, 8);
    char name[2] = {(char)('a' + number), '\0'};

    if (how == 7) { /* any format, of which no buffer is there */
        char format[8] = "";

        for (size_t i = 0; i < choose(choices, 7) + 1u; i++) {
            format[i < 7 ? i : 6] = (char)choose_byte(choices);
        }
        produce_schema(schema, format, name, 0);
        produce_array(array, length, 0, 0, 3, 0);
    } else if (how == 6) {
        static const char *const codes[] = {"c", "C", "s", "S", "i", "I", "l", "L"};
        const uint32_t code = choose(choices, 8);

        produce_coded_schema(schema, codes[code], name, kind->format);
        make_array(choices, 1 << code / 2, length, offset, array);
        if (choose(choices, 16) != 15) {
            produce_dictionary(array);
            make_array(choices, kind->width, (int64_t)choose(choices, 6), (int64_t)choose(choices, 3),
                       array->dictionary);
        }
    } else if (how == 5) {
        make_lists(choices, name, length, offset, schema, array);
    } else {
        produce_schema(schema, kind->format, name, 0);
        make_array(choices, kind->width, length, offset, array);
    }
    if (choose(choices, 8) == 7) {
        lie(choices, schema, array);
    }
}

/* Columns that were taken can be printed, given out, and taken again. */
static void
use(granary_columns *columns)
{
    granary_frame *frame;
    struct gr_buf text = {0};
    struct ArrowSchema schema;
    struct ArrowArray array;
    granary_columns again;

    if (gr_caller_frame(columns->columns, columns->count, columns->rows, &frame) != GRANARY_OK) {
        must(granary_error_message()[0] != '\0');
        return;
    }
    gr_print_csv(frame, &text);
    gr_buf_free(&text);
    must(gr_frame_check(frame) == GRANARY_OK);
    must(granary_frame_export_owned(frame, &schema, &array) == GRANARY_OK);
    must(granary_columns_import(&schema, &array, &again) == GRANARY_OK);
    must(again.count == columns->count && again.rows == columns->rows);
    schema.release(&schema);
    granary_columns_free(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct choices choices = {bytes, size};
    const size_t count = choose(&choices, 4);
    const int64_t rows = (int64_t)choose(&choices, 20);
    const int64_t offset = (int64_t)choose(&choices, 10);
    granary_columns columns;
    struct ArrowSchema schema;
    struct ArrowArray array;

    produce_schema(&schema, "+s", "", count);
    produce_array(&array, rows, offset, 0, 1, count);
    for (size_t i = 0; i < count; i++) {
        make_column(&choices, rows + offset, i, schema.children[i], array.children[i]);
    }
    if (choose(&choices, 16) == 15) {
        array.n_children -= array.n_children > 0;
    }
    if (granary_columns_import(&schema, &array, &columns) == GRANARY_OK) {
        use(&columns);
        granary_columns_free(&columns);
    } else {
        must(granary_error_message()[0] != '\0');
    }
    must(array.release == NULL);
    schema.release(&schema);
    must(produced_alive() == 0);
    return 0;
}
