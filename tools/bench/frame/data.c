/* Random numbers are those of SplitMix64 (Steele, Lea and Flood, 2014); text goes out a megabyte at a time. */
#include "bench/frame/data.h"
#include "contract/int128.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers: splitmix64 (Steele, Lea, Flood 2014) ---- */

static uint64_t
next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static int64_t
below(uint64_t *state, int64_t bound)
{
    return (int64_t)(((gr_uint128)next(state) * (uint64_t)bound) >> 64);
}

/* ---- text ---- */

struct text {
    FILE *file;
    const char *path;
    size_t size;
    bool failed;
    char bytes[1 << 20];
};

/* What a record takes at most. */
#define RECORD 512

static struct text *
text_open(const char *path)
{
    struct text *text = malloc(sizeof *text);

    if (text == NULL) {
        (void)fprintf(stderr, "granary: bench: out of memory\n");
        return NULL;
    }
    *text = (struct text){.file = fopen(path, "we"), .path = path};
    if (text->file == NULL) {
        (void)fprintf(stderr, "granary: bench: %s: %s\n", path, strerror(errno));
        free(text);
        return NULL;
    }
    return text;
}

static void
text_record(struct text *text)
{
    if (sizeof text->bytes - text->size < RECORD) {
        text->failed |= fwrite(text->bytes, 1, text->size, text->file) != text->size;
        text->size = 0;
    }
}

static bool
text_close(struct text *text)
{
    bool good;

    if (text == NULL) {
        return false;
    }
    text->failed |= fwrite(text->bytes, 1, text->size, text->file) != text->size;
    good = fclose(text->file) == 0 && !text->failed;
    if (!good) {
        (void)fprintf(stderr, "granary: bench: %s: %s\n", text->path, strerror(errno));
    }
    free(text);
    return good;
}

static void
put(struct text *text, const char *string)
{
    size_t size = strlen(string);

    memcpy(text->bytes + text->size, string, size);
    text->size += size;
}

/* At least width digits, then a character. */
static void
put_number(struct text *text, int64_t value, int width, char end)
{
    char digits[24];
    int count = 0;

    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0 || count < width);
    while (count > 0) {
        text->bytes[text->size++] = digits[--count];
    }
    text->bytes[text->size++] = end;
}

/* Millionths, without zeros at the end. */
static void
put_millionths(struct text *text, int64_t value, char end)
{
    int64_t rest = value % 1000000;
    int digits = 6;

    if (rest == 0) {
        put_number(text, value / 1000000, 1, end);
        return;
    }
    while (rest % 10 == 0) {
        rest /= 10;
        digits--;
    }
    put_number(text, value / 1000000, 1, '.');
    put_number(text, rest, digits, end);
}

static void
put_id(struct text *text, int64_t value, int width)
{
    put(text, "id");
    put_number(text, value, width, ',');
}

#define GROUPS 100

bool
data_groupby(const char *path, int64_t rows)
{
    struct text *text = text_open(path);
    uint64_t state = 108;
    int64_t many = rows / GROUPS < 1 ? 1 : rows / GROUPS;

    if (text == NULL) {
        return false;
    }
    put(text, "id1,id2,id3,id4,id5,id6,v1,v2,v3\n");
    for (int64_t i = 0; i < rows; i++) {
        text_record(text);
        put_id(text, 1 + below(&state, GROUPS), 3);
        put_id(text, 1 + below(&state, GROUPS), 3);
        put_id(text, 1 + below(&state, many), 10);
        put_number(text, 1 + below(&state, GROUPS), 1, ',');
        put_number(text, 1 + below(&state, GROUPS), 1, ',');
        put_number(text, 1 + below(&state, many), 1, ',');
        put_number(text, 1 + below(&state, 5), 1, ',');
        put_number(text, 1 + below(&state, 15), 1, ',');
        put_millionths(text, below(&state, 100000000), '\n');
    }
    return text_close(text);
}

/* ---- join ---- */

/* Keys 1 .. count in random order. NULL: no memory */
static int32_t *
shuffled(uint64_t *state, int64_t count)
{
    int32_t *keys = calloc((size_t)count, sizeof *keys);

    for (int64_t i = 0; keys != NULL && i < count; i++) {
        int64_t at = below(state, i + 1);

        keys[i] = keys[at];
        keys[at] = (int32_t)(i + 1);
    }
    return keys;
}

/*
 * The keys of `size` different ones that a side has: the first nine tenths are common, the left side's own tenth
 * follows, then the right side's.
 */
static int32_t
side_key(const int32_t *keys, int64_t size, bool right, int64_t i)
{
    int64_t common = size / 10 * 9;

    return keys[i < common || !right ? i : i + (size - common)];
}

/* A column of rows keys in which each of a side's keys appears, then random ones, all shuffled. */
static int32_t *
key_column(uint64_t *state, const int32_t *keys, int64_t size, bool right, int64_t rows)
{
    int32_t *column = calloc((size_t)rows, sizeof *column);

    for (int64_t i = 0; column != NULL && i < rows; i++) {
        int64_t at = below(state, i + 1);
        int32_t key = side_key(keys, size, right, i < size ? i : below(state, size));

        column[i] = column[at];
        column[at] = key;
    }
    return column;
}

static bool
write_join(const char *directory, const char *name, uint64_t *state, int32_t *const *columns, int count, int64_t rows,
           const char *value)
{
    char path[4096];
    struct text *text;

    (void)snprintf(path, sizeof path, "%s/join_%s.csv", directory, name);
    text = text_open(path);
    if (text == NULL) {
        return false;
    }
    for (int c = 0; c < 2 * count; c++) {
        put(text, "id");
        put_number(text, c < count ? c + 1 : c - count + 4, 1, ',');
    }
    put(text, value);
    put(text, "\n");
    for (int64_t i = 0; i < rows; i++) {
        text_record(text);
        for (int c = 0; c < count; c++) {
            put_number(text, columns[c][i], 1, ',');
        }
        for (int c = 0; c < count; c++) {
            put_id(text, columns[c][i], 1);
        }
        put_millionths(text, below(state, 100000000), '\n');
    }
    return text_close(text);
}

enum { SMALL, MEDIUM, BIG, SIDES };

bool
data_join(const char *directory, int64_t rows)
{
    static const char *const names[] = {"small", "medium", "big"};
    const int64_t sizes[SIDES] = {rows / 1000000 < 10 ? 10 : rows / 1000000, rows / 1000, rows};
    uint64_t state = 108;
    int32_t *keys[SIDES] = {NULL};
    int32_t *columns[SIDES] = {NULL};
    bool good = true;

    for (int s = 0; s < SIDES && good; s++) {
        keys[s] = shuffled(&state, sizes[s] + (sizes[s] - sizes[s] / 10 * 9));
        columns[s] = keys[s] == NULL ? NULL : key_column(&state, keys[s], sizes[s], false, rows);
        good = columns[s] != NULL;
    }
    good = good && write_join(directory, "x", &state, columns, SIDES, rows, "v1");
    for (int table = 0; table < SIDES && good; table++) {
        for (int s = 0; s <= table && good; s++) {
            free(columns[s]);
            columns[s] = key_column(&state, keys[s], sizes[s], true, sizes[table]);
            good = columns[s] != NULL;
        }
        good = good && write_join(directory, names[table], &state, columns, table + 1, sizes[table], "v2");
    }
    for (int s = 0; s < SIDES; s++) {
        free(keys[s]);
        free(columns[s]);
    }
    return good;
}
