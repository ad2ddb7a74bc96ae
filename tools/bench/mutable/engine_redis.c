/*
 * Redis as an engine: a stream a table, an entry with one field of 64 bytes a row. A connection sends commands and
 * reads their answers as https://redis.io/docs/latest/develop/reference/protocol-spec/ tells.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/mutable/engine.h"
#include "bench/redis.h"

#define ROW_BYTES (ENGINE_COLUMNS * sizeof(int64_t))
#define ROW_ROOM  128u    /* of its command */
#define PAGE      "10000" /* rows that one XREAD asks for */

struct redis_handle {
    int fd;
    bool is_pipelined; /* append() leaves the command here, for flush() */
    size_t waiting;    /* answers that were not read */
    char out[(ENGINE_ROWS + 2) * ROW_ROOM];
    size_t out_size;
    char in[64 << 10];
    size_t in_at;
    size_t in_size;
    char last[48]; /* id of the newest row that was read */
    struct engine_rows rows;
};

static bool
redis_fail(const char *what)
{
    (void)fprintf(stderr, "granary: bench: Redis: %s\n", what);
    return false;
}

/* ---- commands ---- */

static bool
redis_send(struct redis_handle *self)
{
    for (size_t at = 0; at < self->out_size;) {
        ssize_t n = write(self->fd, self->out + at, self->out_size - at);

        if (n <= 0) {
            return redis_fail("the connection ended");
        }
        at += (size_t)n;
    }
    self->out_size = 0;
    return true;
}

static void
redis_word(struct redis_handle *self, const void *bytes, size_t size)
{
    self->out_size += (size_t)snprintf(self->out + self->out_size, sizeof self->out - self->out_size, "$%zu\r\n", size);
    memcpy(self->out + self->out_size, bytes, size);
    memcpy(self->out + self->out_size + size, "\r\n", 2);
    self->out_size += size + 2;
}

/* A command of words that are texts, separated by blanks; and room for further ones. */
static void
redis_words(struct redis_handle *self, const char *words, size_t further)
{
    size_t count = 1 + further;

    for (const char *at = words; *at != '\0'; at++) {
        count += *at == ' ';
    }
    self->out_size +=
        (size_t)snprintf(self->out + self->out_size, sizeof self->out - self->out_size, "*%zu\r\n", count);
    for (const char *at = words; at != NULL;) {
        const char *blank = strchr(at, ' ');

        redis_word(self, at, blank == NULL ? strlen(at) : (size_t)(blank - at));
        at = blank == NULL ? NULL : blank + 1;
    }
}

/* ---- answers ---- */

static bool
redis_fill(struct redis_handle *self)
{
    ssize_t n;

    memmove(self->in, self->in + self->in_at, self->in_size - self->in_at);
    self->in_size -= self->in_at;
    self->in_at = 0;
    n = read(self->fd, self->in + self->in_size, sizeof self->in - self->in_size);
    if (n <= 0) {
        return redis_fail("the connection ended");
    }
    self->in_size += (size_t)n;
    return true;
}

/* So many bytes, and the end of their line; they are valid until the next call. NULL: failed */
static const char *
redis_bytes(struct redis_handle *self, size_t size)
{
    const char *bytes;

    if (size + 2 > sizeof self->in) {
        (void)redis_fail("an answer is too long");
        return NULL;
    }
    while (self->in_size - self->in_at < size + 2) {
        if (!redis_fill(self)) {
            return NULL;
        }
    }
    bytes = self->in + self->in_at;
    self->in_at += size + 2;
    return bytes;
}

/* The head of the next value: its type, and its number, which is its length, for an array that of its items, or -1. */
static bool
redis_head(struct redis_handle *self, char *ret_type, int64_t *ret_number)
{
    const char *end;

    while ((end = memchr(self->in + self->in_at, '\n', self->in_size - self->in_at)) == NULL) {
        if (!redis_fill(self)) {
            return false;
        }
    }
    *ret_type = self->in[self->in_at];
    if (*ret_type == '-') {
        (void)fprintf(stderr, "granary: bench: Redis: %.*s\n", (int)(end - self->in - (ptrdiff_t)self->in_at),
                      self->in + self->in_at);
        return false;
    }
    *ret_number = strtoll(self->in + self->in_at + 1, NULL, 10);
    self->in_at = (size_t)(end + 1 - self->in);
    return true;
}

/* An answer that is not wanted, whatever it is. */
static bool
redis_skip(struct redis_handle *self)
{
    for (int64_t left = 1; left > 0; left--) {
        char type;
        int64_t number;

        if (!redis_head(self, &type, &number)) {
            return false;
        }
        if (type == '$' && number >= 0 && redis_bytes(self, (size_t)number) == NULL) {
            return false;
        }
        left += type == '*' && number > 0 ? number : 0;
    }
    return true;
}

/* Send what is there, and read the answers to it. */
static bool
redis_flush(void *handle)
{
    struct redis_handle *self = handle;
    bool good = redis_send(self);

    for (; good && self->waiting > 0; self->waiting--) {
        good = redis_skip(self);
    }
    return good;
}

/* ---- the engine ---- */

static bool
redis_start_server(struct engine *engine)
{
    int fd = redis_start(engine->directory, (engine->mode & REDIS_EVERYSEC) != 0, &engine->server);

    if (fd < 0) {
        return redis_fail("the server did not come up");
    }
    (void)close(fd);
    return true;
}

static void
redis_stop_server(struct engine *engine)
{
    redis_stop(engine->server);
}

static void
redis_close(void *handle)
{
    struct redis_handle *self = handle;

    (void)close(self->fd);
    engine_rows_free(&self->rows);
    free(self);
}

static void *
redis_open(const struct engine *engine)
{
    struct redis_handle *self = calloc(1, sizeof *self);

    if (self == NULL) {
        return NULL;
    }
    self->is_pipelined = (engine->mode & REDIS_PIPELINED) != 0;
    (void)snprintf(self->last, sizeof self->last, "0");
    self->fd = redis_connect(engine->directory);
    if (self->fd < 0) {
        free(self);
        (void)redis_fail("it does not answer");
        return NULL;
    }
    return self;
}

static void
redis_add_row(struct redis_handle *self, unsigned table, const int64_t *values, size_t rows, size_t row)
{
    int64_t bytes[ENGINE_COLUMNS];
    char words[32];

    for (unsigned i = 0; i < ENGINE_COLUMNS; i++) {
        bytes[i] = values[i * rows + row];
    }
    (void)snprintf(words, sizeof words, "XADD t%u * r", table);
    redis_words(self, words, 1);
    redis_word(self, bytes, sizeof bytes);
    self->waiting++;
}

/* Several rows are one transaction. */
static bool
redis_append(void *handle, unsigned table, const int64_t *values, size_t rows)
{
    struct redis_handle *self = handle;

    if (rows > 1) {
        redis_words(self, "MULTI", 0);
        self->waiting++;
    }
    for (size_t row = 0; row < rows; row++) {
        redis_add_row(self, table, values, rows, row);
    }
    if (rows > 1) {
        redis_words(self, "EXEC", 0);
        self->waiting++;
    }
    return self->is_pipelined || redis_flush(self);
}

/* [id, [field, bytes]] */
static bool
redis_take_row(struct redis_handle *self)
{
    int64_t values[ENGINE_COLUMNS];
    const char *bytes;
    int64_t number;
    char type;
    bool good = redis_head(self, &type, &number) && redis_head(self, &type, &number) && number >= 0 &&
                (size_t)number < sizeof self->last && (bytes = redis_bytes(self, (size_t)number)) != NULL;

    if (good) {
        (void)snprintf(self->last, sizeof self->last, "%.*s", (int)number, bytes);
        good = redis_head(self, &type, &number) && redis_head(self, &type, &number) && redis_bytes(self, 1) != NULL &&
               redis_head(self, &type, &number) && number == (int64_t)ROW_BYTES &&
               (bytes = redis_bytes(self, ROW_BYTES)) != NULL;
    }
    if (good) {
        memcpy(values, bytes, sizeof values);
        engine_rows_add(&self->rows, values);
    }
    return good;
}

/* [[name, [row, ...]]], or nothing. */
static bool
redis_take_page(struct redis_handle *self, int64_t *ret_rows)
{
    char type;
    int64_t number;

    *ret_rows = 0;
    if (!redis_head(self, &type, &number)) {
        return false;
    }
    if (number < 0) {
        return true;
    }
    if (!redis_head(self, &type, &number) || !redis_skip(self) || !redis_head(self, &type, ret_rows)) {
        return false;
    }
    for (int64_t i = 0; i < *ret_rows; i++) {
        if (!redis_take_row(self)) {
            return false;
        }
    }
    return true;
}

static bool
redis_read(void *handle, struct engine_copy *ret_copy)
{
    struct redis_handle *self = handle;
    int64_t rows = 1;

    while (rows > 0) {
        redis_words(self, "XREAD COUNT " PAGE " STREAMS t0", 1);
        redis_word(self, self->last, strlen(self->last));
        if (!redis_send(self) || !redis_take_page(self, &rows)) {
            return false;
        }
    }
    engine_rows_show(&self->rows, ret_copy);
    return true;
}

/* A transaction that has looked at each stream. */
static bool
redis_cut(void *handle)
{
    struct redis_handle *self = handle;

    redis_words(self, "MULTI", 0);
    for (unsigned i = 0; i < ENGINE_TABLES; i++) {
        char words[48];

        (void)snprintf(words, sizeof words, "XREVRANGE t%u + - COUNT 1", i);
        redis_words(self, words, 0);
    }
    redis_words(self, "EXEC", 0);
    self->waiting += ENGINE_TABLES + 2;
    return redis_flush(self);
}

const struct engine_kind engine_redis = {.name = "Redis",
                                         .looked_for = REDIS_PEER,
                                         .is_there = redis_is_there,
                                         .start = redis_start_server,
                                         .stop = redis_stop_server,
                                         .open = redis_open,
                                         .close = redis_close,
                                         .append = redis_append,
                                         .flush = redis_flush,
                                         .read = redis_read,
                                         .cut = redis_cut};
