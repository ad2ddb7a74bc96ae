/*
 * A row's origin and its place in the append are columns; the others come from a hash of these. Columns of every kind
 * of layout are among them: values of several sizes, nulls, bits, texts.
 */
#include "torture/tables/row.h"

#include <stdlib.h>
#include <string.h>

#include "torture/common/random.h"

#define TEXT_LEAST 8u
#define TEXT_MOST  24u

enum column { LIFE, NUMBER, PLACE, ASKED, PAYLOAD, TEXT, LAST, CHECK };

const granary_column row_schema[ROW_COLUMNS] = {
    [LIFE] = {.name = "life", .dtype = GRANARY_INT32},        [NUMBER] = {.name = "number", .dtype = GRANARY_INT64},
    [PLACE] = {.name = "place", .dtype = GRANARY_INT64},      [ASKED] = {.name = "asked", .dtype = GRANARY_INT64},
    [PAYLOAD] = {.name = "payload", .dtype = GRANARY_UINT64}, [TEXT] = {.name = "text", .dtype = GRANARY_STRING},
    [LAST] = {.name = "last", .dtype = GRANARY_BOOL},         [CHECK] = {.name = "check", .dtype = GRANARY_UINT64},
};

struct rows {
    granary_column columns[ROW_COLUMNS];
    int32_t life[ROWS_MOST];
    int64_t number[ROWS_MOST];
    int64_t place[ROWS_MOST]; /* index << 32 | rows of the append */
    int64_t asked[ROWS_MOST];
    uint64_t payload[ROWS_MOST];
    uint8_t payload_validity[ROWS_MOST / 8 + 1];
    int32_t text_offsets[ROWS_MOST + 1];
    char text[ROWS_MOST * TEXT_MOST];
    uint8_t last[ROWS_MOST / 8 + 1];
    uint64_t check[ROWS_MOST];
};

/* ---- what comes from what ---- */

uint64_t
row_check(const struct origin *origin, uint32_t index)
{
    uint64_t hash = random_mix((uint64_t)origin->table << 32 | origin->life);

    hash = random_mix(hash ^ origin->number);
    hash = random_mix(hash ^ (uint64_t)origin->asked);
    return random_mix(hash ^ ((uint64_t)index << 32 | origin->rows));
}

uint64_t
row_sum(const struct origin *origin)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < origin->rows; i++) {
        sum += row_check(origin, i);
    }
    return sum;
}

static uint64_t
payload_of(uint64_t check)
{
    return check * 0x9e3779b97f4a7c15ull;
}

static bool
payload_is_null(uint64_t check)
{
    return check % 8 == 0;
}

/* Returns its length. */
static size_t
text_of(uint64_t check, char ret_text[static TEXT_MOST])
{
    size_t length = TEXT_LEAST + (check >> 8) % (TEXT_MOST - TEXT_LEAST + 1);

    for (size_t i = 0; i < length; i++) {
        ret_text[i] = (char)('a' + (check >> (i % 16 * 4) & 15));
    }
    return length;
}

/* ---- writing ---- */

struct rows *
rows_create(void)
{
    struct rows *rows = calloc(1, sizeof *rows);

    if (rows != NULL) {
        memcpy(rows->columns, row_schema, sizeof rows->columns);
        rows->columns[LIFE].values = rows->life;
        rows->columns[NUMBER].values = rows->number;
        rows->columns[PLACE].values = rows->place;
        rows->columns[ASKED].values = rows->asked;
        rows->columns[PAYLOAD].values = rows->payload;
        rows->columns[PAYLOAD].validity = rows->payload_validity;
        rows->columns[TEXT].values = rows->text;
        rows->columns[TEXT].offsets = rows->text_offsets;
        rows->columns[LAST].values = rows->last;
        rows->columns[CHECK].values = rows->check;
    }
    return rows;
}

void
rows_destroy(struct rows *rows)
{
    free(rows);
}

static void
set_bit(uint8_t *bits, uint32_t at, bool value)
{
    uint8_t bit = (uint8_t)(1u << at % 8);

    bits[at / 8] = (uint8_t)(value ? bits[at / 8] | bit : bits[at / 8] & ~bit);
}

const granary_column *
rows_fill(struct rows *rows, const struct origin *origin)
{
    for (uint32_t i = 0; i < origin->rows; i++) {
        uint64_t check = row_check(origin, i);

        rows->life[i] = (int32_t)origin->life;
        rows->number[i] = (int64_t)origin->number;
        rows->place[i] = (int64_t)((uint64_t)i << 32 | origin->rows);
        rows->asked[i] = origin->asked;
        rows->payload[i] = payload_of(check);
        set_bit(rows->payload_validity, i, !payload_is_null(check));
        rows->text_offsets[i + 1] = rows->text_offsets[i] + (int32_t)text_of(check, rows->text + rows->text_offsets[i]);
        set_bit(rows->last, i, i + 1 == origin->rows);
        rows->check[i] = check;
    }
    for (size_t i = 0; i < ROW_COLUMNS; i++) {
        rows->columns[i].rows = origin->rows;
    }
    return rows->columns;
}

/* ---- reading ---- */

bool
row_columns(const granary_frame *frame, const granary_column *ret_columns[static ROW_COLUMNS])
{
    bool right = granary_frame_columns(frame) == ROW_COLUMNS;

    for (size_t i = 0; right && i < ROW_COLUMNS; i++) {
        const granary_column *column = ret_columns[i] = granary_frame_column(frame, i);

        right = column->dtype == row_schema[i].dtype && strcmp(column->name, row_schema[i].name) == 0 &&
                (i == PAYLOAD || column->null_count == 0);
    }
    return right;
}

static bool
get_bit(const void *bits, int64_t at)
{
    return (((const uint8_t *)bits)[at / 8] >> at % 8 & 1) != 0;
}

static bool
payload_fits(const granary_column *column, int64_t at, uint64_t check)
{
    bool null = column->validity != NULL && !get_bit(column->validity, at);

    return null == payload_is_null(check) && ((const uint64_t *)column->values)[at] == (null ? 0 : payload_of(check));
}

static bool
text_fits(const granary_column *column, int64_t at, uint64_t check)
{
    char text[TEXT_MOST];
    size_t length;
    const char *found = granary_column_text(column, at, &length);

    return found != NULL && length == text_of(check, text) && memcmp(found, text, length) == 0;
}

bool
row_read(const granary_column *const columns[static ROW_COLUMNS], uint32_t table, int64_t at, struct origin *ret_origin,
         uint32_t *ret_index)
{
    uint64_t place = (uint64_t)((const int64_t *)columns[PLACE]->values)[at];
    uint64_t check = ((const uint64_t *)columns[CHECK]->values)[at];

    *ret_origin = (struct origin){
        .table = table,
        .life = (uint32_t)((const int32_t *)columns[LIFE]->values)[at],
        .number = (uint64_t)((const int64_t *)columns[NUMBER]->values)[at],
        .asked = ((const int64_t *)columns[ASKED]->values)[at],
        .rows = (uint32_t)place,
    };
    *ret_index = (uint32_t)(place >> 32);
    return *ret_index < ret_origin->rows && row_check(ret_origin, *ret_index) == check &&
           payload_fits(columns[PAYLOAD], at, check) && text_fits(columns[TEXT], at, check) &&
           get_bit(columns[LAST]->values, at) == (*ret_index + 1 == ret_origin->rows);
}
