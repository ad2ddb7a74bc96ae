/*
 * Values have shapes: numbers, moments (digits with signs between), truths, text. A column has one when all records behind
 * the first have it. The first record has names when it does not fit: DuckDB's rule, with one exception. Years that follow
 * one another are names above numbers.
 */
#include "data/text/header.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/text/packing.h"

enum { RECORDS = 2048, COLUMNS = 16384, YEAR_FIRST = 1900, YEAR_LAST = 2100 };
enum shape { NOTHING = 0, NUMBER = 1, MOMENT = 2, TRUTH = 4, WORDS = 8 };

/* A column: shapes of the first record, and of all behind it. */
struct column {
    unsigned char first;
    unsigned char others;
    int year;  /* of the first record; 0: it has none */
    int year2; /* of the second */
};

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_word(const char *at, size_t size, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strlen(*words) == size && strncasecmp(at, *words, size) == 0) {
            return true;
        }
    }
    return false;
}

static bool
is_number(const char *at, const char *end, const struct gr_header_style *style)
{
    static const char *const words[] = {"inf", "infinity", "nan", NULL};
    const char *begin = at;
    bool digits = false;

    at += at < end && (*at == '-' || *at == '+');
    if (is_word(at, (size_t)(end - at), words)) {
        return true;
    }
    if (end - begin > 1 && begin[0] == '0' && is_digit(begin[1])) { /* a code */
        return false;
    }
    for (; at < end && (is_digit(*at) || (digits && *at == style->thousands)); at++) {
        digits = true;
    }
    if (at < end && *at == style->decimal) {
        for (at++; at < end && is_digit(*at); at++) {
            digits = true;
        }
    }
    if (digits && at < end && (*at == 'e' || *at == 'E')) {
        at += at + 1 < end && (at[1] == '-' || at[1] == '+') ? 2 : 1;
        digits = at < end;
        for (; at < end && is_digit(*at); at++) {
        }
    }
    return digits && at == end;
}

/* Digits, and two signs or more between them; behind them perhaps Z, AM or PM. */
static bool
is_moment(const char *at, const char *end)
{
    int signs = 0;

    if (at == end || !is_digit(*at)) {
        return false;
    }
    for (; at < end && (is_digit(*at) || strchr("-/.: T+", *at) != NULL) && *at != '\0'; at++) {
        signs += !is_digit(*at) && at[-1] != ' ';
    }
    return signs >= 2 && end - at <= 2 && (at == end || (*at != '\0' && strchr("ZzAaPp", *at) != NULL));
}

static enum shape
shape_of(const char *at, const char *end, const struct gr_header_style *style)
{
    static const char *const truths[] = {"true", "false", NULL};

    while (at < end && *at == ' ') {
        at++;
    }
    while (end > at && end[-1] == ' ') {
        end--;
    }
    return at == end                                 ? NOTHING
           : is_number(at, end, style)               ? NUMBER
           : is_moment(at, end)                      ? MOMENT
           : is_word(at, (size_t)(end - at), truths) ? TRUTH
                                                     : WORDS;
}

static bool
is_null(const char *at, size_t size, const struct gr_header_style *style)
{
    if (style->nulls == NULL) {
        return size == 0 || (size == 2 && memcmp(at, "\\N", 2) == 0);
    }
    for (size_t i = 0; i < style->null_count; i++) {
        if (strlen(style->nulls[i]) == size && memcmp(style->nulls[i], at, size) == 0) {
            return true;
        }
    }
    return false;
}

static int
year_of(const char *at, const char *end)
{
    int year = 0;

    for (const char *digit = at; end - at == 4 && digit < end && is_digit(*digit); digit++) {
        year = year * 10 + (*digit - '0');
    }
    return year >= YEAR_FIRST && year <= YEAR_LAST ? year : 0;
}

/* Go behind one field, and take its shape. Returns where what ends it stands. */
static const char *
take_field(const char *at, const char *end, const struct gr_header_style *style, size_t record, struct column *column)
{
    const char *from = at;
    const char *to;
    enum shape shape;
    bool is_within = false; /* text stands behind its quotes */

    if (at < end && *at == '"') {
        for (from = ++at; at < end && (*at != '"' || (at + 1 < end && at[1] == '"')); at++) {
            at += *at == '"';
        }
        to = at;
        at += at < end;
        for (; at < end && *at != style->delimiter && *at != '\n' && *at != '\r'; at++) {
            is_within = is_within || *at != ' ';
        }
        shape = is_within ? WORDS : shape_of(from, to, style);
    } else {
        while (at < end && *at != style->delimiter && *at != '\n' && *at != '\r') {
            at++;
        }
        to = at;
        shape = is_null(from, (size_t)(to - from), style) ? NOTHING : shape_of(from, to, style);
    }
    if (record == 0) {
        column->first = (unsigned char)shape;
        column->year = year_of(from, to);
    } else {
        column->others |= (unsigned char)shape;
        column->year2 = record == 1 ? year_of(from, to) : column->year2;
    }
    return at;
}

/* Numbers that are years, each one more than the one before; and the next record has others. */
static bool
are_years(const struct column *columns, size_t count)
{
    size_t years = 0;
    int last = 0;
    int last2 = 0;
    bool again = true;

    for (size_t c = 0; c < count; c++) {
        if (columns[c].others != NUMBER) {
            continue;
        }
        if (columns[c].year == 0 || (years > 0 && columns[c].year != last + 1)) {
            return false;
        }
        again = again && columns[c].year2 != 0 && (years == 0 || columns[c].year2 == last2 + 1);
        last = columns[c].year;
        last2 = columns[c].year2;
        years++;
    }
    return years >= 2 && !again;
}

static enum gr_guess
decide(const struct column *columns, size_t count, bool alone)
{
    bool all_words = true;
    bool all_null = true;
    bool fits = true;

    for (size_t c = 0; c < count; c++) {
        unsigned char others = alone ? columns[c].first : columns[c].others;
        bool is_words = others == WORDS || (others & (others - 1)) != 0;

        all_null = all_null && columns[c].first == NOTHING;
        all_words = all_words && is_words;
        fits = fits && (is_words || columns[c].first == NOTHING || columns[c].first == others);
    }
    return !fits || (!alone && are_years(columns, count)) ? GR_GUESS_SURE
           : all_words || all_null                        ? GR_GUESS_TEXT
                                                          : GR_GUESS_NONE;
}

/* columns: zeros, COLUMNS of them */
static enum gr_guess
guess(const char *bytes, size_t size, const struct gr_header_style *style, struct column *columns, size_t *ret_fields)
{
    bool is_cut = size >= GR_HEADER_LOOK;
    const char *last = is_cut ? memrchr(bytes, '\n', GR_HEADER_LOOK) : NULL; /* half a record says nothing */
    const char *end = last != NULL ? last + 1 : bytes + (is_cut ? GR_HEADER_LOOK : size);
    const char *at = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? bytes + 3 : bytes;
    size_t records = 0;
    size_t count = 0;

    while (at < end && records < RECORDS) {
        bool ends = false;

        if (*at == '\n' || *at == '\r') {
            at++;
            continue;
        }
        for (size_t c = 0; !ends; c++) {
            struct column beyond = {0};

            at = take_field(at, end, style, records, c < COLUMNS ? &columns[c] : &beyond);
            ends = at == end || *at != style->delimiter;
            at += at < end;
            count = records == 0 && c < COLUMNS ? c + 1 : count;
        }
        records++;
    }
    if (ret_fields != NULL) {
        *ret_fields = count;
    }
    return records == 0 ? GR_GUESS_NONE : decide(columns, count, records == 1);
}

enum gr_guess
gr_header_guess(const char *bytes, size_t size, const struct gr_header_style *style, size_t *ret_fields)
{
    struct column *columns = calloc(COLUMNS, sizeof *columns);
    enum gr_guess guessed = columns == NULL ? GR_GUESS_TEXT : guess(bytes, size, style, columns, ret_fields);

    free(columns);
    return guessed;
}

/* ---- files ---- */

/* The beginning of a file that is as it is read. *ret_size 0: it is not, or cannot be read so. */
static void
read_plain(const char *path, char *bytes, size_t *ret_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = fd < 0 ? 0 : pread(fd, bytes, GR_HEADER_LOOK, 0);

    *ret_size = size > 0 && gr_packing_of_bytes(bytes, (size_t)size) == GR_PACKING_NONE &&
                        !gr_text_is_marked(bytes, (size_t)size)
                    ? (size_t)size
                    : 0;
    gr_fd_close(&fd);
}

static granary_err
read_text(const char *path, const struct gr_dialect *dialect, char *to, size_t *ret_size)
{
    struct gr_text *text;
    struct gr_buf bytes = {0};
    bool more = true;
    granary_err err = gr_text_open(path, dialect, &text);

    *ret_size = 0;
    if (err != GRANARY_OK) {
        return err;
    }
    while (err == GRANARY_OK && more && bytes.size < GR_HEADER_LOOK) {
        err = gr_text_read(text, GR_HEADER_LOOK - bytes.size, &bytes, &more);
    }
    if (err == GRANARY_OK && bytes.size > 0) {
        *ret_size = bytes.size < GR_HEADER_LOOK ? bytes.size : GR_HEADER_LOOK;
        memcpy(to, bytes.bytes, *ret_size);
    }
    gr_text_close(text);
    gr_buf_free(&bytes);
    return err;
}

/* The memory is not the heap's: who has no more of that, as a scheduler at its limit, goes on without a guess. */
granary_err
gr_header_of_file(const char *path, const struct gr_dialect *dialect, const struct gr_header_style *style,
                  bool *ret_has, size_t *ret_fields)
{
    const size_t room = GR_HEADER_LOOK + COLUMNS * sizeof(struct column);
    void *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *bytes = memory;
    size_t size = 0;
    granary_err err = GRANARY_OK;

    *ret_has = true;
    *ret_fields = 0;
    if (memory == MAP_FAILED) {
        return gr_fail(GRANARY_ENOMEM, "%s: no memory to look at its header", path);
    }
    if (gr_dialect_is_plain(dialect)) {
        read_plain(path, bytes, &size);
    }
    if (size == 0) {
        err = read_text(path, dialect, bytes, &size);
    }
    if (err == GRANARY_OK) {
        *ret_has = size > 0 && guess(bytes, size, style, (struct column *)(void *)(bytes + GR_HEADER_LOOK),
                                     ret_fields) != GR_GUESS_NONE;
    }
    (void)munmap(memory, room);
    return err;
}
