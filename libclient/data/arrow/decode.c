/* Buffers of an Arrow column to a column of ours. Where the layout is the same, the bytes are used where they lie. */
#include "data/arrow/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/value/bits.h"
#include "data/value/half.h"

#define DAY_US INT64_C(86400000000)

static const int32_t no_offsets[1] = {0};

static granary_err
fail_short(const struct arrow_field *field, const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "column '%s': its %s buffer is too short", field->name, what);
}

static bool
is_aligned(const void *at, size_t size)
{
    return size <= 1 || (uintptr_t)at % size == 0;
}

void
arrow_set_validity(struct gr_column *column, const uint8_t *validity)
{
    if (validity != NULL) {
        memcpy((void *)(uintptr_t)column->view.validity, validity, (size_t)gr_bitmap_bytes(column->view.rows));
    }
}

/* The bitmap to go by: NULL when every value is there. */
static granary_err
validity_of(const struct arrow_field *field, const struct arrow_piece *piece, const uint8_t **ret_validity,
            int64_t *ret_nulls)
{
    int64_t nulls;

    *ret_validity = NULL;
    *ret_nulls = 0;
    if (piece->null_count == 0) {
        return GRANARY_OK;
    }
    if (piece->validity_size < (uint64_t)gr_bitmap_bytes(piece->rows)) {
        return fail_short(field, "validity");
    }
    nulls = piece->rows - bits_count(piece->validity, piece->rows);
    if (nulls > 0) {
        *ret_validity = piece->validity;
        *ret_nulls = nulls;
    }
    return GRANARY_OK;
}

static int64_t
load_integer(const uint8_t *at, int bits, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 64u - (unsigned)bits;

    memcpy(&value, at, (size_t)bits / 8);
    return is_signed ? (int64_t)(value << shift) >> shift : (int64_t)value;
}

static int64_t
floor_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

/* ---- values of fixed width ---- */

/* Bytes of one value in the file. */
static size_t
width_of(const struct arrow_field *field)
{
    return field->layout == LAYOUT_FIXED                                    ? gr_dtype_size(field->dtype)
           : field->dtype == GRANARY_TIME && field->unit < TIME_MICROSECOND ? 4
                                                                            : 8;
}

/* One value as ours; false: it does not fit. */
static bool
convert(const struct arrow_field *field, const uint8_t *at, int64_t *ret_value)
{
    static const int64_t per_unit[] = {[TIME_SECOND] = 1000000, [TIME_MILLISECOND] = 1000, [TIME_MICROSECOND] = 1};
    int64_t value = load_integer(at, (int)(8 * width_of(field)), true);

    if (field->layout == LAYOUT_DATE_MS) {
        value = floor_div(value, 86400000);
        *ret_value = value;
        return value >= INT32_MIN && value <= INT32_MAX;
    }
    if (field->unit == TIME_NANOSECOND) {
        *ret_value = floor_div(value, 1000);
    } else if (__builtin_mul_overflow(value, per_unit[field->unit], ret_value)) {
        return false;
    }
    return field->dtype != GRANARY_TIME || (*ret_value >= 0 && *ret_value < DAY_US);
}

static granary_err
convert_fixed(const struct arrow_field *field, const struct arrow_piece *piece, const uint8_t *validity,
              struct gr_column *column)
{
    size_t width = width_of(field);
    int32_t *narrow = (int32_t *)(uintptr_t)column->view.values;
    int64_t *wide = (int64_t *)(uintptr_t)column->view.values;

    for (int64_t i = 0; i < piece->rows; i++) {
        int64_t value;

        if (validity != NULL && !gr_bit(validity, i)) {
            continue;
        }
        if (!convert(field, piece->values + (size_t)i * width, &value)) {
            return gr_fail(GRANARY_EUNSUPPORTED, "column '%s': the %s in row %lld is out of range", field->name,
                           granary_dtype_name(field->dtype), (long long)i);
        }
        if (field->layout == LAYOUT_DATE_MS) {
            narrow[i] = (int32_t)value;
        } else {
            wide[i] = value;
        }
    }
    return GRANARY_OK;
}

/* Bools and values of fixed width. */
static granary_err
decode_fixed(const struct arrow_field *field, const struct arrow_piece *piece, struct gr_column *ret_column)
{
    bool is_bool = field->layout == LAYOUT_BOOL;
    uint64_t need = is_bool ? (uint64_t)gr_bitmap_bytes(piece->rows) : (uint64_t)piece->rows * width_of(field);
    struct gr_column column = {.owned = false};
    const uint8_t *validity;
    int64_t nulls;
    granary_err err = validity_of(field, piece, &validity, &nulls);

    if (err == GRANARY_OK && piece->values_size < need) {
        err = fail_short(field, "values");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (nulls == 0 && field->layout == LAYOUT_FIXED && is_aligned(piece->values, width_of(field))) {
        *ret_column = (struct gr_column){.view = {.dtype = field->dtype, .rows = piece->rows, .values = piece->values}};
        return GRANARY_OK;
    }
    err = gr_column_alloc(field->dtype, piece->rows, 0, validity != NULL, &column);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "column '%s'", field->name);
    }
    arrow_set_validity(&column, validity);
    if (is_bool || field->layout == LAYOUT_FIXED) {
        if (need > 0) {
            memcpy((void *)(uintptr_t)column.view.values, piece->values, need);
        }
    } else {
        err = convert_fixed(field, piece, validity, &column);
    }
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

/* ---- values of another size than ours ---- */

bool
arrow_decimal(const void *at, size_t width, gr_int128 *ret_value)
{
    static const gr_int128 quintillion = 10000000000000000000ull; /* 10^19 */
    const gr_int128 most = quintillion * quintillion;             /* 10^38 */
    gr_int128 value;
    gr_int128 rest[2] = {0, 0};

    memcpy(rest, at, width);
    value = rest[0];
    if (width == 4) {
        value = (int32_t)(uint32_t)rest[0];
    } else if (width == 8) {
        value = (int64_t)(uint64_t)rest[0];
    } else if (width == 32 && rest[1] != (value < 0 ? -1 : 0)) {
        return false;
    }
    *ret_value = value;
    return value < most && value > -most;
}

/* Halves and decimals. */
static granary_err
decode_converted(const struct arrow_field *field, const struct arrow_piece *piece, size_t width,
                 struct gr_column *ret_column)
{
    struct gr_column column = {.owned = false};
    const uint8_t *validity;
    int64_t nulls;
    char *to;
    granary_err err = validity_of(field, piece, &validity, &nulls);

    if (err == GRANARY_OK && piece->values_size / width < (uint64_t)piece->rows) {
        err = fail_short(field, "values");
    }
    err = err == GRANARY_OK ? gr_column_alloc(field->dtype, piece->rows, 0, validity != NULL, &column) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    to = (char *)(uintptr_t)column.view.values;
    for (int64_t i = 0; i < piece->rows && err == GRANARY_OK; i++) {
        const uint8_t *at = piece->values + (size_t)i * width;

        if (validity != NULL && !gr_bit(validity, i)) {
            continue;
        }
        if (field->layout == LAYOUT_HALF) {
            ((float *)(void *)to)[i] = gr_half(at);
        } else if (!arrow_decimal(at, width, &((gr_int128 *)(void *)to)[i])) {
            err = gr_fail(GRANARY_EUNSUPPORTED, "column '%s': the decimal in row %lld has more than %d digits",
                          field->name, (long long)i, GRANARY_DECIMAL_DIGITS);
        }
    }
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    arrow_set_validity(&column, validity);
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

/* ---- runs ---- */

/* Which run each row is of. */
static granary_err
find_runs(const struct arrow_field *field, const struct arrow_piece *piece, int64_t *runs)
{
    size_t width = (size_t)field->index_bits / 8;
    int64_t count = piece->items->rows;
    int64_t row = 0;

    if (piece->values_size / width < (uint64_t)count) {
        return fail_short(field, "run ends");
    }
    for (int64_t run = 0; run < count; run++) {
        int64_t end = load_integer(piece->values + (size_t)run * width, field->index_bits, true);

        if (end <= row && row < piece->rows) {
            return gr_fail(GRANARY_ECORRUPT, "column '%s': its run ends do not ascend", field->name);
        }
        for (; row < end && row < piece->rows; row++) { /* within a struct a row may be null */
            runs[row] = piece->null_count == 0 || gr_bit(piece->validity, row) ? run : -1;
        }
    }
    return row == piece->rows ? GRANARY_OK
                              : gr_fail(GRANARY_ECORRUPT, "column '%s': its runs end before its rows", field->name);
}

static granary_err
decode_runs(const struct arrow_field *field, const struct arrow_piece *piece, struct gr_column *ret_column)
{
    int64_t *runs = gr_data_alloc((size_t)piece->rows * sizeof *runs);
    struct gr_column values = {.owned = false};
    granary_err err = runs == NULL ? gr_fail(GRANARY_ENOMEM, "column '%s': out of memory", field->name)
                                   : find_runs(field, piece, runs);

    if (err == GRANARY_OK) {
        err = arrow_decode(field->item, piece->items, NULL, &values);
    }
    if (err == GRANARY_OK) {
        err = gr_column_take(&values.view, runs, piece->rows, ret_column);
    }
    gr_column_free(&values);
    free(runs);
    return err;
}

/* ---- text ---- */

static int64_t
load_offset(const struct arrow_field *field, const struct arrow_piece *piece, int64_t i)
{
    int bits = field->layout == LAYOUT_LARGE_TEXT ? 64 : 32;

    return load_integer(piece->offsets + (size_t)i * ((size_t)bits / 8), bits, true);
}

/* Every string within the text; *ret_bytes: of the strings that are not null. */
static granary_err
check_text(const struct arrow_field *field, const struct arrow_piece *piece, const uint8_t *validity,
           int64_t *ret_bytes)
{
    size_t width = field->layout == LAYOUT_LARGE_TEXT ? 8 : 4;
    int64_t last = 0;
    int64_t bytes = 0;

    if (piece->offsets_size < ((uint64_t)piece->rows + 1) * width) {
        return fail_short(field, "offsets");
    }
    last = load_offset(field, piece, 0);
    for (int64_t i = 1; i <= piece->rows; i++) {
        int64_t next = load_offset(field, piece, i);

        if (last < 0 || next < last) {
            return gr_fail(GRANARY_ECORRUPT, "column '%s': its string offsets go backwards at row %lld", field->name,
                           (long long)i - 1);
        }
        bytes += validity == NULL || gr_bit(validity, i - 1) ? next - last : 0;
        last = next;
    }
    if (last < 0 || (uint64_t)last > piece->values_size) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': its strings lead outside their buffer", field->name);
    }
    *ret_bytes = bytes;
    return GRANARY_OK;
}

static void
copy_text(const struct arrow_field *field, const struct arrow_piece *piece, const uint8_t *validity,
          struct gr_column *column)
{
    int32_t *offsets = (int32_t *)(uintptr_t)column->view.offsets;
    char *text = (char *)(uintptr_t)column->view.values;
    int64_t from = load_offset(field, piece, 0);
    int32_t at = 0;

    for (int64_t i = 0; i < piece->rows; i++) {
        int64_t to = load_offset(field, piece, i + 1);

        if (to > from && (validity == NULL || gr_bit(validity, i))) {
            memcpy(text + at, piece->values + from, (size_t)(to - from));
            at += (int32_t)(to - from);
        }
        offsets[i + 1] = at;
        from = to;
    }
}

static granary_err
decode_text(const struct arrow_field *field, const struct arrow_piece *piece, struct gr_column *ret_column)
{
    struct gr_column column = {.view = {.dtype = field->dtype, .rows = piece->rows, .offsets = no_offsets}};
    const uint8_t *validity;
    int64_t nulls;
    int64_t bytes = 0;
    granary_err err;

    if (piece->rows == 0) { /* even the one offset may be missing then */
        *ret_column = column;
        return GRANARY_OK;
    }
    err = validity_of(field, piece, &validity, &nulls);
    if (err == GRANARY_OK) {
        err = check_text(field, piece, validity, &bytes);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (nulls == 0 && field->layout == LAYOUT_TEXT && is_aligned(piece->offsets, 4) &&
        load_offset(field, piece, 0) == 0) {
        column.view.offsets = (const int32_t *)(const void *)piece->offsets;
        column.view.values = piece->values;
        *ret_column = column;
        return GRANARY_OK;
    }
    err = gr_column_alloc(field->dtype, piece->rows, bytes, validity != NULL, &column);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "column '%s'", field->name);
    }
    arrow_set_validity(&column, validity);
    copy_text(field, piece, validity, &column);
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

/* Nulls have bytes in the file, and none here. */
static granary_err
decode_fixed_text(const struct arrow_field *field, const struct arrow_piece *piece, struct gr_column *ret_column)
{
    uint64_t width = (uint64_t)field->width;
    struct gr_column column = {.owned = false};
    const uint8_t *validity;
    int64_t nulls;
    int32_t *offsets;
    granary_err err = validity_of(field, piece, &validity, &nulls);

    if (err == GRANARY_OK && width > 0 && piece->values_size / width < (uint64_t)piece->rows) {
        err = fail_short(field, "values");
    }
    if (err == GRANARY_OK) {
        err = gr_column_alloc(field->dtype, piece->rows, (int64_t)width * (piece->rows - nulls), validity != NULL,
                              &column);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "column '%s'", field->name);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    arrow_set_validity(&column, validity);
    offsets = (int32_t *)(uintptr_t)column.view.offsets;
    for (int64_t i = 0; i < piece->rows; i++) {
        bool is_there = validity == NULL || gr_bit(validity, i);

        if (is_there && width > 0) {
            memcpy((char *)(uintptr_t)column.view.values + offsets[i], piece->values + (uint64_t)i * width, width);
        }
        offsets[i + 1] = offsets[i] + (is_there ? field->width : 0);
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

static granary_err
decode_views(const struct arrow_field *field, const struct arrow_piece *piece, struct gr_column *ret_column)
{
    const uint8_t *validity;
    int64_t nulls;
    granary_err err = validity_of(field, piece, &validity, &nulls);

    return err == GRANARY_OK ? arrow_decode_views(field, piece, validity, ret_column) : err;
}

static granary_err
decode_list(const struct arrow_field *field, const struct arrow_piece *piece, struct gr_column *ret_column)
{
    const uint8_t *validity;
    int64_t nulls;
    granary_err err = validity_of(field, piece, &validity, &nulls);

    return err == GRANARY_OK ? arrow_decode_list(field, piece, validity, ret_column) : err;
}

/* ---- dictionaries ---- */

/* Positions of the rows in the dictionary, -1 or (codes) 0 under nulls. */
static granary_err
load_indices(const struct arrow_field *field, const struct arrow_piece *piece, const uint8_t *validity, int64_t most,
             int64_t *indices, int32_t *codes)
{
    size_t width = (size_t)field->index_bits / 8;

    for (int64_t i = 0; i < piece->rows; i++) {
        int64_t index = -1;

        if (validity == NULL || gr_bit(validity, i)) {
            index = load_integer(piece->values + (size_t)i * width, field->index_bits, field->index_signed);
            if (index < 0 || index >= most) {
                return gr_fail(GRANARY_ECORRUPT, "column '%s': row %lld is not in its dictionary of %lld values",
                               field->name, (long long)i, (long long)most);
            }
        }
        if (indices != NULL) {
            indices[i] = index;
        } else {
            codes[i] = (int32_t)(index < 0 ? 0 : index);
        }
    }
    return GRANARY_OK;
}

/* The dictionary has a value twice, or a null: the rows' values without it. */
static granary_err
decode_values(const struct arrow_field *field, const struct arrow_piece *piece, const uint8_t *validity,
              const granary_column *values, struct gr_column *ret_column)
{
    int64_t *indices = gr_data_alloc((size_t)piece->rows * sizeof *indices);
    granary_err err;

    if (indices == NULL) {
        return gr_fail(GRANARY_ENOMEM, "column '%s': out of memory", field->name);
    }
    err = load_indices(field, piece, validity, values->rows, indices, NULL);
    if (err == GRANARY_OK) {
        err = gr_column_take(values, indices, piece->rows, ret_column);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "column '%s'", field->name);
    }
    free(indices);
    return err;
}

static granary_err
decode_codes(const struct arrow_field *field, const struct arrow_piece *piece, const uint8_t *validity,
             const struct arrow_dictionary *dictionary, struct gr_column *ret_column)
{
    struct gr_column column;
    granary_err err = gr_column_alloc_unset(GRANARY_INT32, piece->rows, 0, validity != NULL, &column);

    if (err != GRANARY_OK) {
        return gr_fail_in(err, "column '%s'", field->name);
    }
    err =
        load_indices(field, piece, validity, dictionary->values->rows, NULL, (int32_t *)(uintptr_t)column.view.values);
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    arrow_set_validity(&column, validity);
    gr_column_finish(&column);
    gr_column_set_dictionary(&column, gr_dictionary_ref(dictionary->entries));
    *ret_column = column;
    return GRANARY_OK;
}

static granary_err
decode_dictionary(const struct arrow_field *field, const struct arrow_piece *piece,
                  const struct arrow_dictionary *dictionary, struct gr_column *ret_column)
{
    const uint8_t *validity;
    int64_t nulls;
    granary_err err = validity_of(field, piece, &validity, &nulls);

    if (err == GRANARY_OK && piece->values_size < (uint64_t)piece->rows * ((uint64_t)field->index_bits / 8)) {
        err = fail_short(field, "index");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    return dictionary->entries == NULL || piece->rows == 0
               ? decode_values(field, piece, validity, dictionary->values, ret_column)
               : decode_codes(field, piece, validity, dictionary, ret_column);
}

granary_err
arrow_decode(const struct arrow_field *field, const struct arrow_piece *piece,
             const struct arrow_dictionary *dictionary, struct gr_column *ret_column)
{
    if (dictionary != NULL) {
        return decode_dictionary(field, piece, dictionary, ret_column);
    }
    switch (field->layout) {
    case LAYOUT_NULL:
        return gr_column_alloc(GRANARY_NULLTYPE, piece->rows, 0, false, ret_column);
    case LAYOUT_TEXT:
    case LAYOUT_LARGE_TEXT:
        return decode_text(field, piece, ret_column);
    case LAYOUT_HALF:
        return decode_converted(field, piece, 2, ret_column);
    case LAYOUT_DECIMAL:
        return decode_converted(field, piece, (size_t)field->width, ret_column);
    case LAYOUT_RUNS:
        return decode_runs(field, piece, ret_column);
    case LAYOUT_FIXED_TEXT:
        return decode_fixed_text(field, piece, ret_column);
    case LAYOUT_TEXT_VIEWS:
        return decode_views(field, piece, ret_column);
    case LAYOUT_LIST:
    case LAYOUT_LARGE_LIST:
    case LAYOUT_FIXED_LIST:
    case LAYOUT_LIST_VIEW:
    case LAYOUT_LARGE_LIST_VIEW:
        return decode_list(field, piece, ret_column);
    default:
        return decode_fixed(field, piece, ret_column);
    }
}
