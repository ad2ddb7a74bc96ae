/*
 * Bytes are unpacked, decoded, and then written anew field by field where the dialect is another one. What is left out (a
 * comment, a line that is skipped) leaves its line end, and an empty line is no record: so all lines keep their numbers.
 */
#include "data/text/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/text/ahead.h"
#include "data/text/array.h"
#include "data/text/encoding.h"

enum {
    RAW = 64 << 10,
    AHEAD_FROM = 8 << 20, /* bytes: who has read so many, more than a sketch needs, will read them all */
    LOOK_AHEAD = 64       /* a comment's prefix, a delimiter, what follows an escape */
};

enum place { AT_SKIPPED, AT_RECORD, IN_COMMENT, AT_FIELD, IN_FIELD, IN_QUOTES, BEHIND_QUOTES, AT_END, BEHIND_VALUES };

struct gr_text {
    char *path;
    const struct gr_dialect *dialect; /* NULL: JSON */
    bool is_array;                    /* of JSON: a list */
    struct gr_array array;
    struct gr_unpack *unpack;
    struct gr_ahead *ahead; /* NULL: not yet, or never */
    size_t unpacked;        /* bytes before it began */
    enum gr_encoding encoding;
    bool begun;
    bool rewrites; /* fields are written anew */
    size_t delimiter_size;
    size_t comment_size;
    bool copies; /* a field without quotes is as it is, whichever it is */
    bool whole;  /* all is unpacked */
    char *raw;   /* RAW bytes */
    size_t raw_size;
    struct gr_buf in; /* decoded */
    size_t next;
    uint64_t line; /* from 1, of in.bytes[next] */
    /* rewriting */
    enum place place;
    int64_t skip;
    bool special[256]; /* bytes that may end a run within a field without quotes */
    struct gr_buf field;
    bool quoted;
    bool odd;      /* without quotes it would be more than a field */
    size_t spaces; /* behind the quotes that end */
    uint64_t quoted_at;
    size_t fields;   /* of the record so far */
    size_t expected; /* of each; 0: the first is not read yet */
    size_t owed;     /* line ends in fields that were left out */
};

/* ---- dialects ---- */

static bool
is_byte(const char *text)
{
    return strlen(text) == 1 && text[0] != '\n' && text[0] != '\r';
}

bool
gr_dialect_is_plain(const struct gr_dialect *dialect)
{
    enum gr_encoding encoding = GR_UTF_8;

    return is_byte(dialect->delimiter) && strcmp(dialect->quote, "\"") == 0 &&
           (dialect->escape[0] == '\0' || strcmp(dialect->escape, "\"") == 0) && dialect->comment[0] == '\0' &&
           dialect->skip == 0 && !dialect->skip_spaces && dialect->ragged == GR_RAGGED_REFUSE &&
           (dialect->encoding[0] == '\0' || (gr_encoding_parse(dialect->encoding, &encoding) && encoding == GR_UTF_8));
}

char
gr_dialect_delimiter(const struct gr_dialect *dialect)
{
    return is_byte(dialect->delimiter) && dialect->delimiter[0] != '"' ? dialect->delimiter[0] : ',';
}

static const char *const ragged_words[] = {
    [GR_RAGGED_REFUSE] = "refuse", [GR_RAGGED_FILL] = "fill", [GR_RAGGED_CUT] = "cut"};

enum gr_ragged
gr_ragged_of(const char *word)
{
    size_t i = sizeof ragged_words / sizeof ragged_words[0];

    while (--i > 0 && strcmp(ragged_words[i], word) != 0) {
    }
    return (enum gr_ragged)i;
}

const char *
gr_ragged_word(enum gr_ragged ragged)
{
    return ragged_words[ragged];
}

granary_err
gr_dialect_check(const struct gr_dialect *dialect)
{
    enum gr_encoding encoding;
    size_t size = strlen(dialect->delimiter);

    if (size == 0 || size > LOOK_AHEAD / 2 || strpbrk(dialect->delimiter, "\r\n") != NULL) {
        return gr_fail(GRANARY_EINVAL, "delimiter '%s': a byte or some, and no line end", dialect->delimiter);
    }
    if (dialect->quote[0] != '\0' && !is_byte(dialect->quote)) {
        return gr_fail(GRANARY_EINVAL, "quote '%s': one byte that is no line end, or nothing", dialect->quote);
    }
    if (dialect->escape[0] != '\0' && !is_byte(dialect->escape)) {
        return gr_fail(GRANARY_EINVAL, "escape '%s': one byte that is no line end, or nothing", dialect->escape);
    }
    if (dialect->quote[0] != '\0' && strchr(dialect->delimiter, dialect->quote[0]) != NULL) {
        return gr_fail(GRANARY_EINVAL, "delimiter '%s' has the quote in it; set another `quote`, or '' for none",
                       dialect->delimiter);
    }
    if (dialect->escape[0] != '\0' && strchr(dialect->delimiter, dialect->escape[0]) != NULL) {
        return gr_fail(GRANARY_EINVAL, "delimiter '%s' has the escape in it", dialect->delimiter);
    }
    if (strlen(dialect->comment) > LOOK_AHEAD / 2 || strpbrk(dialect->comment, "\r\n") != NULL) {
        return gr_fail(GRANARY_EINVAL, "comment '%s': at most %d bytes, and no line end", dialect->comment,
                       LOOK_AHEAD / 2);
    }
    if (dialect->encoding[0] != '\0' && !gr_encoding_parse(dialect->encoding, &encoding)) {
        return gr_fail(GRANARY_EINVAL,
                       "encoding '%s': utf-8, latin-1, windows-1252, utf-16, utf-16le or utf-16be can be read",
                       dialect->encoding);
    }
    return dialect->skip < 0 ? gr_fail(GRANARY_EINVAL, "skip %lld: no number of lines", (long long)dialect->skip)
                             : GRANARY_OK;
}

bool
gr_text_is_marked(const char *bytes, size_t size)
{
    return size >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0);
}

/* ---- decoded bytes ---- */

granary_err
gr_text_open(const char *path, const struct gr_dialect *dialect, struct gr_text **ret_text)
{
    struct gr_text *text = calloc(1, sizeof *text);
    granary_err err = GRANARY_OK;

    if (text == NULL || (text->path = strdup(path)) == NULL || (text->raw = malloc(RAW)) == NULL) {
        gr_text_close(text);
        return gr_fail(GRANARY_ENOMEM, "%s: no memory to read it", path);
    }
    text->dialect = dialect;
    text->line = 1;
    text->place = AT_RECORD;
    if (dialect != NULL) {
        struct gr_dialect plain = *dialect;

        err = gr_dialect_check(dialect);
        (void)gr_encoding_parse(dialect->encoding, &text->encoding);
        plain.encoding = "";
        text->rewrites = !gr_dialect_is_plain(&plain);
        text->delimiter_size = strlen(dialect->delimiter);
        text->comment_size = strlen(dialect->comment);
        text->copies = is_byte(dialect->delimiter) && dialect->delimiter[0] == gr_dialect_delimiter(dialect) &&
                       dialect->ragged != GR_RAGGED_CUT;
        text->skip = dialect->skip;
        text->place = dialect->skip > 0 ? AT_SKIPPED : AT_RECORD;
        text->special['\n'] = text->special['\r'] = true;
        text->special[(unsigned char)dialect->delimiter[0]] = true;
        text->special[(unsigned char)gr_dialect_delimiter(dialect)] = true;
        text->special[(unsigned char)(dialect->comment_anywhere ? dialect->comment[0] : '\n')] = true;
        text->special[(unsigned char)(dialect->escape[0] == '\0' ? '\n' : dialect->escape[0])] = true;
    }
    err = err == GRANARY_OK ? gr_unpack_open(path, &text->unpack) : err;
    if (err != GRANARY_OK) {
        gr_text_close(text);
        return err;
    }
    *ret_text = text;
    return GRANARY_OK;
}

void
gr_text_close(struct gr_text *text)
{
    if (text != NULL) {
        gr_ahead_stop(text->ahead);
        gr_unpack_close(text->unpack);
        gr_buf_free(&text->in);
        gr_buf_free(&text->field);
        free(text->raw);
        free(text->path);
        free(text);
    }
}

enum gr_packing
gr_text_packing(const struct gr_text *text)
{
    return gr_unpack_packing(text->unpack);
}

static granary_err
fail_at(const struct gr_text *text, uint64_t line, const char *what)
{
    return gr_fail(GRANARY_EINVAL, "%s:%llu: %s", text->path, (unsigned long long)line, what);
}

/* A mark at the file's beginning is no text, and tells UTF-16 from UTF-8 where nothing else does. Returns its bytes. */
static size_t
take_mark(struct gr_text *text)
{
    bool says = text->dialect == NULL || text->dialect->encoding[0] == '\0' || text->encoding == GR_UTF_16;
    bool big = text->raw_size >= 2 && memcmp(text->raw, "\xfe\xff", 2) == 0;

    text->begun = true;
    if (gr_text_is_marked(text->raw, text->raw_size) && (says || text->encoding == (big ? GR_UTF_16BE : GR_UTF_16LE))) {
        text->encoding = big ? GR_UTF_16BE : GR_UTF_16LE;
        return 2;
    }
    text->encoding = text->encoding == GR_UTF_16 ? GR_UTF_16LE : text->encoding;
    return text->encoding == GR_UTF_8 && text->raw_size >= 3 && memcmp(text->raw, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static uint64_t
lines_in(const char *bytes, size_t size)
{
    uint64_t lines = 0;

    for (const char *at = memchr(bytes, '\n', size); at != NULL;
         at = memchr(at + 1, '\n', (size_t)(bytes + size - at - 1))) {
        lines++;
    }
    return lines;
}

/* The next bytes that are unpacked, as gr_unpack_read() has it. */
static granary_err
unpack_more(struct gr_text *text, void *to, size_t size, size_t *ret_got)
{
    granary_err err;

    if (text->ahead != NULL) {
        return gr_ahead_read(text->ahead, to, size, ret_got);
    }
    err = gr_unpack_read(text->unpack, to, size, ret_got);
    text->unpacked += *ret_got;
    if (err == GRANARY_OK && *ret_got == size && text->unpacked >= AHEAD_FROM &&
        gr_unpack_packing(text->unpack) != GR_PACKING_NONE) {
        text->unpacked = 0; /* if there is no thread to be had, it is tried again much later */
        text->ahead = gr_ahead_start(text->unpack);
    }
    return err;
}

/* Unpack and decode more, behind what is left. */
static granary_err
fill(struct gr_text *text)
{
    size_t got = 0;
    size_t from = 0;
    size_t used = 0;
    bool is_first = !text->begun;
    granary_err err;

    if (text->next > 0) {
        memmove(text->in.bytes, text->in.bytes + text->next, text->in.size - text->next);
        text->in.size -= text->next;
        text->next = 0;
    }
    err = unpack_more(text, text->raw + text->raw_size, RAW - text->raw_size, &got);
    if (err != GRANARY_OK) {
        return err;
    }
    text->whole = got < RAW - text->raw_size;
    text->raw_size += got;
    from = text->begun ? 0 : take_mark(text);
    if (!gr_encoding_decode(text->encoding, text->raw + from, text->raw_size - from, text->whole, &text->in, &used)) {
        return fail_at(text, text->line + lines_in(text->in.bytes, text->in.size),
                       "half a character of UTF-16: is the `encoding` another one?");
    }
    text->is_array = text->is_array || (is_first && text->dialect == NULL && text->in.size > 0 &&
                                        gr_array_is(text->in.bytes, text->in.size));
    memmove(text->raw, text->raw + from + used, text->raw_size - from - used);
    text->raw_size -= from + used;
    return gr_buf_ok(&text->in) ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "%s: no memory for its text", text->path);
}

/* ---- fields written anew ---- */

static void
field_end(struct gr_text *text, struct gr_buf *out)
{
    const struct gr_dialect *dialect = text->dialect;
    const char delimiter = gr_dialect_delimiter(dialect);
    const char *bytes = text->field.bytes;
    size_t size = text->field.size;

    if (text->expected > 0 && text->fields >= text->expected && dialect->ragged == GR_RAGGED_CUT) {
        text->owed += lines_in(size > 0 ? bytes : "", size);
    } else {
        gr_buf_add(out, &delimiter, text->fields > 0);
        if (text->quoted || text->odd || (size > 0 && bytes[0] == '"')) {
            gr_buf_add(out, "\"", 1);
            for (const char *quote = size == 0 ? NULL : memchr(bytes, '"', size); quote != NULL;
                 quote = memchr(bytes, '"', size)) {
                gr_buf_add(out, bytes, (size_t)(quote + 1 - bytes));
                gr_buf_add(out, "\"", 1);
                size -= (size_t)(quote + 1 - bytes);
                bytes = quote + 1;
            }
            gr_buf_add(out, bytes, size);
            gr_buf_add(out, "\"", text->place == IN_QUOTES ? 0 : 1);
        } else {
            gr_buf_add(out, bytes, size);
        }
    }
    text->fields++;
    text->field.size = 0;
    text->spaces = 0;
    text->quoted = text->odd = false;
}

static void
record_end(struct gr_text *text, struct gr_buf *out)
{
    const char delimiter = gr_dialect_delimiter(text->dialect);

    field_end(text, out);
    if (text->expected == 0) {
        text->expected = text->fields;
    }
    for (; text->dialect->ragged != GR_RAGGED_REFUSE && text->fields < text->expected; text->fields++) {
        gr_buf_add(out, &delimiter, 1);
        gr_buf_add(out, text->dialect->null, strlen(text->dialect->null));
    }
    text->fields = 0;
    text->place = AT_RECORD;
}

/* The line end at `at`, if it is one: 1 or 2 bytes, else 0. */
static size_t
line_end_at(const char *at, const char *end)
{
    return *at == '\n' ? 1 : *at != '\r' ? 0 : at + 1 < end && at[1] == '\n' ? 2 : 1;
}

/* A line end: of a record, or of a line that is left out. Returns behind it. */
static const char *
take_line_end(struct gr_text *text, const char *at, size_t size, struct gr_buf *out)
{
    if (text->place == AT_SKIPPED && --text->skip == 0) {
        text->place = AT_RECORD;
    } else if (text->place >= AT_FIELD) {
        record_end(text, out);
    } else if (text->place == IN_COMMENT) {
        text->place = AT_RECORD;
    }
    gr_buf_add(out, at, size);
    for (; text->owed > 0; text->owed--) {
        gr_buf_add(out, "\n", 1);
    }
    text->line += at[size - 1] == '\n';
    return at + size;
}

static bool
begins_with(const char *at, const char *end, const char *what, size_t size)
{
    return (size_t)(end - at) >= size && memcmp(at, what, size) == 0;
}

/* Within quotes: up to the quote that ends them. */
static const char *
take_quoted(struct gr_text *text, const char *at, const char *end)
{
    const char quote = text->dialect->quote[0];
    const char escape = text->dialect->escape[0];

    const char *from = at;

    while (at < end && *at != quote && (escape == '\0' || *at != escape)) {
        text->line += *at == '\n';
        at++;
    }
    gr_buf_add(&text->field, from, (size_t)(at - from));
    if (at > from) {
        return at; /* enough of what follows must be there */
    }
    if (escape != '\0' && escape != quote && *at == escape && at + 1 < end) {
        text->line += at[1] == '\n';
        gr_buf_add(&text->field, at + 1, 1);
        return at + 2;
    }
    if (*at == quote && at + 1 < end && at[1] == quote) {
        gr_buf_add(&text->field, at, 1);
        return at + 2;
    }
    if (*at == quote) {
        text->place = BEHIND_QUOTES;
    } else {
        gr_buf_add(&text->field, at, 1); /* an escape at the very end */
    }
    return at + 1;
}

/* Text stands behind the quotes: the field is as it stands, with them. */
static void
take_back(struct gr_text *text)
{
    const char quote = text->dialect->quote[0];
    struct gr_buf field = {0};

    gr_buf_add(&field, &quote, 1);
    for (size_t i = 0; i < text->field.size; i++) {
        gr_buf_add(&field, text->field.bytes + i, 1);
        gr_buf_add(&field, &quote, text->field.bytes[i] == quote);
    }
    gr_buf_add(&field, &quote, 1);
    for (; text->spaces > 0; text->spaces--) {
        gr_buf_add(&field, " ", 1);
    }
    gr_buf_free(&text->field);
    text->field = field;
    text->place = IN_FIELD;
}

/* Behind the quotes: spaces are left out when nothing but the field's end follows them. */
static const char *
take_behind_quotes(struct gr_text *text, const char *at, const char *end)
{
    const struct gr_dialect *dialect = text->dialect;
    bool ends = line_end_at(at, end) > 0 || begins_with(at, end, dialect->delimiter, text->delimiter_size) ||
                (dialect->comment_anywhere && text->comment_size > 0 &&
                 begins_with(at, end, dialect->comment, text->comment_size));

    if (!ends && *at == ' ') {
        text->spaces++;
        return at + 1;
    }
    if (ends) {
        text->spaces = 0;
        text->place = AT_END;
    } else if (gr_buf_ok(&text->field)) {
        take_back(text);
    }
    return at;
}

/* A field without quotes, or what ends one with them: up to there. */
static const char *
take_field(struct gr_text *text, const char *at, const char *end, struct gr_buf *out)
{
    const struct gr_dialect *dialect = text->dialect;
    const size_t delimiter_size = text->delimiter_size;
    const char *from = at;
    size_t size;

    while (at < end && !text->special[(unsigned char)*at]) {
        at++;
    }
    if (at > from && at < end && text->copies && *at == dialect->delimiter[0] && text->field.size == 0 &&
        !text->quoted && *from != '"') { /* most fields */
        gr_buf_add(out, dialect->delimiter, text->fields > 0);
        gr_buf_add(out, from, (size_t)(at - from));
        text->fields++;
        text->place = AT_FIELD;
        return at + 1;
    }
    gr_buf_add(&text->field, from, (size_t)(at - from));
    if (at > from) {
        return at; /* enough of what follows must be there */
    }
    size = line_end_at(at, end);
    if (size > 0) {
        return take_line_end(text, at, size, out);
    }
    if (begins_with(at, end, dialect->delimiter, delimiter_size)) {
        field_end(text, out);
        text->place = AT_FIELD;
        return at + delimiter_size;
    }
    if (dialect->comment_anywhere && text->comment_size > 0 &&
        begins_with(at, end, dialect->comment, text->comment_size)) {
        while (text->place == IN_FIELD && text->field.size > 0 && text->field.bytes[text->field.size - 1] == ' ') {
            text->field.size--;
        }
        text->place = BEHIND_VALUES;
        return at + 1;
    }
    if (dialect->escape[0] != '\0' && *at == dialect->escape[0] && at + 1 < end) {
        const char *behind = at + 2;

        /* \N alone means null. */
        if (at[1] == 'N' && text->field.size == 0 && !text->quoted &&
            (behind == end || line_end_at(behind, end) > 0 ||
             begins_with(behind, end, dialect->delimiter, delimiter_size))) {
            gr_buf_add(&text->field, "\\N", 2);
            return behind;
        }
        text->odd = text->odd || at[1] == '\n' || at[1] == '\r' || at[1] == gr_dialect_delimiter(dialect);
        text->line += at[1] == '\n';
        gr_buf_add(&text->field, at + 1, 1);
        return behind;
    }
    text->odd = text->odd || *at == gr_dialect_delimiter(dialect);
    gr_buf_add(&text->field, at, 1);
    return at + 1;
}

/* One step. Returns where the next one begins. */
static const char *
take(struct gr_text *text, const char *at, const char *end, struct gr_buf *out)
{
    const struct gr_dialect *dialect = text->dialect;
    size_t size = line_end_at(at, end);

    switch (text->place) {
    case AT_SKIPPED:
    case IN_COMMENT:
    case BEHIND_VALUES:
        return size > 0 ? take_line_end(text, at, size, out) : at + 1;
    case AT_RECORD:
        if (size > 0) {
            return take_line_end(text, at, size, out);
        }
        if (text->comment_size > 0 && begins_with(at, end, dialect->comment, text->comment_size)) {
            text->place = IN_COMMENT;
            return at + 1;
        }
        text->place = AT_FIELD;
        return at;
    case AT_FIELD:
        if (dialect->skip_spaces && *at == ' ' && dialect->delimiter[0] != ' ') {
            return at + 1;
        }
        text->place = IN_FIELD;
        if (dialect->quote[0] != '\0' && *at == dialect->quote[0]) {
            text->place = IN_QUOTES;
            text->quoted = true;
            text->quoted_at = text->line;
            return at + 1;
        }
        return at;
    case IN_QUOTES:
        return take_quoted(text, at, end);
    case BEHIND_QUOTES:
        return take_behind_quotes(text, at, end);
    case IN_FIELD:
    case AT_END:
        return take_field(text, at, end, out);
    }
    return at + 1;
}

/* All that can be told without what follows. */
static granary_err
rewrite(struct gr_text *text, struct gr_buf *out)
{
    const char *at = text->in.size == 0 ? "" : text->in.bytes + text->next;
    const char *end = at + (text->in.size - text->next);
    const char *sure = text->whole ? end : end - at > LOOK_AHEAD ? end - LOOK_AHEAD : at;

    while (at < sure) {
        at = take(text, at, end, out);
    }
    text->next = text->in.size - (size_t)(end - at);
    if (text->whole && text->place == IN_QUOTES && !text->dialect->tolerates) {
        return fail_at(text, text->quoted_at, "the quotes that begin here do not end");
    }
    if (text->whole && text->place >= AT_FIELD) {
        record_end(text, out);
    }
    return gr_buf_ok(&text->field) ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "%s: no memory for a field", text->path);
}

static granary_err
list_records(struct gr_text *text, struct gr_buf *out)
{
    const char *wrong =
        gr_array_lines(&text->array, text->in.size == 0 ? "" : text->in.bytes, text->in.size, text->whole, out);

    text->next = text->in.size;
    return wrong == NULL ? GRANARY_OK : fail_at(text, text->array.line + 1, wrong);
}

/* What needs no change goes where it is to be. */
static granary_err
take_all(struct gr_text *text, size_t about, struct gr_buf *out)
{
    char *to = gr_buf_grow(out, about);
    size_t got = 0;
    granary_err err = to == NULL ? gr_fail(GRANARY_ENOMEM, "%s: no memory for its text", text->path)
                                 : unpack_more(text, to, about, &got);

    out->size -= to == NULL ? 0 : about - got;
    text->whole = got < about;
    return err;
}

granary_err
gr_text_read(struct gr_text *text, size_t about, struct gr_buf *out, bool *ret_more)
{
    size_t before = out->size;
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && !text->whole && out->size - before < about) {
        if (text->begun && !text->rewrites && !text->is_array && text->encoding == GR_UTF_8 && text->raw_size == 0) {
            err = take_all(text, about, out);
            continue;
        }
        err = fill(text);
        if (err == GRANARY_OK && text->is_array) {
            err = list_records(text, out);
        } else if (err == GRANARY_OK && text->rewrites) {
            err = rewrite(text, out);
        } else if (err == GRANARY_OK) {
            text->line += lines_in(text->in.size == 0 ? "" : text->in.bytes, text->in.size);
            gr_buf_add(out, text->in.bytes, text->in.size);
            text->next = text->in.size;
        }
        if (err == GRANARY_OK && !gr_buf_ok(out)) {
            err = gr_fail(GRANARY_ENOMEM, "%s: no memory for its text", text->path);
        }
    }
    *ret_more = err == GRANARY_OK && !text->whole;
    return err;
}
