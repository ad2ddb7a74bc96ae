/* A field of a row is read by the kind of its column, and printed for people or for programs. */
#include "cli/print/listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/size.h"

static const char *
text_of(const struct column *column, const void *row)
{
    const char *field = (const char *)row + column->offset;
    const char *text = field;

    if (column->kind == COLUMN_POINTER) {
        memcpy(&text, field, sizeof text);
    }
    return text;
}

static granary_id
id_of(const struct column *column, const void *row)
{
    granary_id id;

    memcpy(&id, (const char *)row + column->offset, sizeof id);
    return id;
}

static double
real_of(const struct column *column, const void *row)
{
    const char *field = (const char *)row + column->offset;
    double wide;
    float narrow;

    if (column->size == sizeof wide) {
        memcpy(&wide, field, sizeof wide);
        return wide;
    }
    memcpy(&narrow, field, sizeof narrow);
    return (double)narrow;
}

/* A bool or an integer of any width; this machine begins with the low bytes. */
static int64_t
integer_of(const struct column *column, const void *row)
{
    uint64_t value = 0;
    unsigned unused = 64 - 8 * (unsigned)column->size;

    memcpy(&value, (const char *)row + column->offset, column->size);
    return column->kind == COLUMN_SIGNED ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static const char *
word_of(const struct column *column, const void *row)
{
    uint64_t value = (uint64_t)integer_of(column, row);

    return value < column->word_count && column->words[value] != NULL ? column->words[value] : "?";
}

static const char *
show_integer(const struct column *column, int64_t value, char buffer[SHOW_TEXT])
{
    switch (column->as) {
    case COLUMN_AS_AGE:
        return show_age(value, buffer);
    case COLUMN_AS_TIME:
        return show_time(value, buffer);
    case COLUMN_AS_SIZE:
        return gr_size_format((uint64_t)value, buffer);
    default:
        (void)snprintf(buffer, SHOW_TEXT, column->kind == COLUMN_SIGNED ? "%" PRId64 : "%" PRIu64, value);
        return buffer;
    }
}

static const char *
show_column(const struct column *column, const void *row, char buffer[SHOW_TEXT])
{
    if (column->show != NULL) {
        return column->show(row, buffer);
    }
    if (column->words != NULL) {
        return word_of(column, row);
    }
    switch (column->kind) {
    case COLUMN_TEXT:
    case COLUMN_POINTER:
        return show_text(text_of(column, row), buffer);
    case COLUMN_ID:
        granary_id_format(id_of(column, row), buffer);
        return buffer;
    case COLUMN_BOOL:
        return integer_of(column, row) != 0 ? "yes" : "no";
    case COLUMN_REAL:
        (void)snprintf(buffer, SHOW_TEXT, "%g", real_of(column, row));
        return buffer;
    default:
        return show_integer(column, integer_of(column, row), buffer);
    }
}

static void
write_member(struct json *json, const struct column *column, const void *row)
{
    char buffer[SHOW_TEXT];

    if (column->write != NULL) {
        column->write(row, json);
    } else if (column->show != NULL && column->kind == 0) {
        json_text(json, column->key, column->show(row, buffer));
    } else if (column->words != NULL) {
        json_text(json, column->key, word_of(column, row));
    } else if (column->kind == COLUMN_TEXT || column->kind == COLUMN_POINTER) {
        json_text(json, column->key, text_of(column, row));
    } else if (column->kind == COLUMN_ID) {
        json_id(json, column->key, id_of(column, row));
    } else if (column->kind == COLUMN_BOOL) {
        json_bool(json, column->key, integer_of(column, row) != 0);
    } else if (column->kind == COLUMN_REAL) {
        json_float(json, column->key, real_of(column, row));
    } else if (column->kind == COLUMN_SIGNED) {
        json_signed(json, column->key, integer_of(column, row));
    } else {
        json_unsigned(json, column->key, (uint64_t)integer_of(column, row));
    }
}

void
listing_members(struct json *json, const struct column *columns, const void *row)
{
    for (const struct column *column = columns; column->key != NULL || column->heading != NULL; column++) {
        if (column->key != NULL) {
            write_member(json, column, row);
        }
    }
}

void
listing_object(struct json *json, const char *key, const struct column *columns, const void *row)
{
    json_open(json, key, '{');
    listing_members(json, columns, row);
    json_close(json);
}

void
listing_array(struct json *json, const char *key, const struct column *columns, const void *rows, size_t count,
              size_t row_size)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        listing_object(json, NULL, columns, (const char *)rows + i * row_size);
    }
    json_close(json);
}

/* A line of the table; row NULL: the headings. */
static void
print_line(const struct column *columns, const void *row)
{
    const char *between = "";
    char buffer[SHOW_TEXT];

    for (const struct column *column = columns; column->key != NULL || column->heading != NULL; column++) {
        if (column->heading != NULL) {
            const char *text = row == NULL ? column->heading : show_column(column, row, buffer);

            (void)printf("%s%*s", between, column->width, text);
            between = "  ";
        }
    }
    (void)putchar('\n');
}

void
listing_one(const struct column *columns, bool is_json, const void *row)
{
    if (is_json) {
        listing_object(&(struct json){0}, NULL, columns, row);
    } else {
        print_line(columns, row);
    }
}

/* A listing whose headings are empty has none. */
static bool
has_headings(const struct column *columns)
{
    while (columns->heading == NULL && columns->key != NULL) {
        columns++;
    }
    return columns->heading != NULL && columns->heading[0] != '\0';
}

void
listing_begin(struct listing *listing, const struct column *columns, bool is_json)
{
    *listing = (struct listing){.columns = columns, .is_json = is_json};
    if (is_json) {
        json_open(&listing->json, NULL, '[');
    } else if (has_headings(columns)) {
        print_line(columns, NULL);
    }
}

void
listing_row(struct listing *listing, const void *row)
{
    if (!listing->is_json) {
        print_line(listing->columns, row);
        return;
    }
    listing_object(&listing->json, NULL, listing->columns, row);
}

void
listing_end(struct listing *listing)
{
    if (listing->is_json) {
        json_close(&listing->json);
    }
}

void
listing_print(const struct column *columns, bool is_json, const void *rows, size_t count, size_t row_size)
{
    struct listing listing;

    listing_begin(&listing, columns, is_json);
    for (size_t i = 0; i < count; i++) {
        listing_row(&listing, (const char *)rows + i * row_size);
    }
    listing_end(&listing);
}
