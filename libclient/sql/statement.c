/* A statement's memory, which goes all at once, and its first error with its place in the text. */
#include "sql/statement.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "sql/from/view.h"

/* Of a line, in messages. */
#define SHOWN_MAX 120

/* The line a position is in, and how many characters stand before it. */
struct place {
    int line; /* from 1 */
    int column;
    const char *begin;
    size_t size;
    size_t before; /* bytes of the line before the position */
};

int
sql_given_position(const struct sql_statement *q, int parsed)
{
    size_t from = 0;
    size_t to = q->moved_count;
    const struct sql_moved *moved;

    if (to == 0) {
        return parsed;
    }
    while (from + 1 < to) { /* the last one that does not begin behind it */
        size_t middle = from + (to - from) / 2;

        *(q->moved[middle].parsed <= parsed ? &from : &to) = middle;
    }
    moved = &q->moved[from];
    return parsed < moved->parsed ? parsed : moved->fixed ? moved->given : moved->given + parsed - moved->parsed;
}

int
sql_parsed_position(const struct sql_statement *q, int given)
{
    int parsed = given;
    bool exact = false;

    for (size_t i = 0; i < q->moved_count && !exact; i++) {
        const struct sql_moved *moved = &q->moved[i];
        int size = i + 1 < q->moved_count ? q->moved[i + 1].parsed - moved->parsed : INT_MAX;

        exact = given == moved->given;
        if (exact || (!moved->fixed && given > moved->given && given - moved->given < size)) {
            parsed = moved->parsed + given - moved->given;
        }
    }
    return parsed;
}

static struct place
place_of(const struct sql_statement *q, int parsed)
{
    int position = sql_given_position(q, parsed);
    struct place place = {.line = 1, .column = 1, .begin = q->text};
    size_t at = position < 0 ? 0 : (size_t)position < q->length ? (size_t)position : q->length;
    const char *end = q->text + q->length;
    const char *next;

    for (const char *line; (line = memchr(place.begin, '\n', (size_t)(q->text + at - place.begin))) != NULL;) {
        place.line++;
        place.begin = line + 1;
    }
    place.before = (size_t)(q->text + at - place.begin);
    for (size_t i = 0; i < place.before; i++) {
        place.column += (place.begin[i] & 0xc0) != 0x80;
    }
    next = memchr(place.begin, '\n', (size_t)(end - place.begin));
    place.size = (size_t)((next != NULL ? next : end) - place.begin);
    return place;
}

const char *
sql_place(const struct sql_statement *q, int position, char text[24])
{
    struct place place = place_of(q, position);

    (void)snprintf(text, 24, "%d:%d", place.line, place.column);
    return text;
}

/* The line, cut around the position when it is long, and a caret below. */
static void
show_place(const struct place *place, char *shown, size_t room)
{
    size_t from = place->before > SHOWN_MAX / 2 ? place->before - SHOWN_MAX / 2 : 0;
    size_t size = place->size - from < SHOWN_MAX ? place->size - from : SHOWN_MAX;
    size_t columns = 0;

    while (from < place->before && (place->begin[from] & 0xc0) == 0x80) { /* not in the middle of a character */
        from++;
        size -= size > 0;
    }
    while (size > 0 && from + size < place->size && (place->begin[from + size] & 0xc0) == 0x80) {
        size--;
    }
    for (size_t i = from; i < place->before; i++) {
        columns += (place->begin[i] & 0xc0) != 0x80;
    }
    (void)snprintf(shown, room, "\n  %.*s\n  %*s^", (int)size, place->begin + from, (int)columns, "");
    for (char *c = shown + 1; *c != '\0'; c++) { /* tabs would move the caret */
        *c = *c == '\t' || *c == '\r' ? ' ' : *c;
    }
}

bool
sql_fail(struct sql_statement *q, granary_err err, int position, const char *format, ...)
{
    struct place place = place_of(q, position);
    char message[600];
    char shown[3 * SHOWN_MAX];
    size_t size = 0;
    va_list args;

    if (q->err != GRANARY_OK) {
        return false;
    }
    q->err = err;
    if (q->views != NULL) {
        (void)snprintf(message, sizeof message, "in view '%.60s': ", q->views->name);
        size = strlen(message);
    }
    va_start(args, format);
    (void)vsnprintf(message + size, sizeof message - size, format, args);
    va_end(args);
    if (position < 0) {
        (void)snprintf(q->message, sizeof q->message, "%s", message);
    } else {
        show_place(&place, shown, sizeof shown);
        (void)snprintf(q->message, sizeof q->message, "line %d, column %d: %s%s", place.line, place.column, message,
                       shown);
    }
    return false;
}

bool
sql_lacks_files(const struct sql_statement *q)
{
    return q->err != GRANARY_OK && q->no_column && q->left_out && !q->all_files;
}

void *
sql_alloc(struct sql_statement *q, size_t count, size_t size)
{
    void *memory = gr_region_zalloc(q->region, count > 0 ? count : 1, size);

    if (memory == NULL) {
        (void)sql_fail(q, GRANARY_ENOMEM, -1, "out of memory");
    }
    return memory;
}

char *
sql_printf(struct sql_statement *q, const char *format, ...)
{
    va_list args;
    va_list again;
    char *text;
    int size;

    va_start(args, format);
    va_copy(again, args);
    size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text = size < 0 ? NULL : sql_alloc(q, (size_t)size + 1, 1);
    if (text != NULL) {
        (void)vsnprintf(text, (size_t)size + 1, format, again);
    }
    va_end(again);
    return text;
}

const char *
sql_literal(struct sql_statement *q, const char *text)
{
    char *quoted = sql_alloc(q, 2 * strlen(text) + 3, 1);
    char *to = quoted;

    if (quoted == NULL) {
        return NULL;
    }
    *to++ = '\'';
    for (; *text != '\0'; text++) {
        *to++ = *text;
        if (*text == '\'') {
            *to++ = '\'';
        }
    }
    *to = '\'';
    return quoted;
}
