/*
 * Each delimiter, quote and escape is tried: the one by which the most records in a row, up to the last, have as many fields,
 * and at least two. What stands before those records is left out, and so are comments. Text without quotes is tried last.
 * Where nothing makes a table, lines are values, unless so many of them divide alike that the others are mistakes.
 */
#include "data/text/sniff.h"

#include <string.h>

#include "data/text/header.h"

enum { LOOK = 64 << 10, RECORDS = 500, SKIP_MOST = 20 };

static const char delimiters[] = ",;\t|";

/* The records of a text by one dialect. */
struct trial {
    char delimiter;
    char quote;    /* '\0': none */
    char escape;   /* '\0': none */
    char comment;  /* '\0': none */
    bool anywhere; /* comments are behind values, too */
    bool spaces;   /* each field but a record's first begins with one */
    bool gaps;     /* spaces before quotes are none */
    size_t count;  /* of records, without empty lines and comments */
    size_t fields[RECORDS];
    int64_t lines[RECORDS]; /* before each */
    size_t at[RECORDS];     /* where it begins */
    bool hollow[RECORDS];   /* nothing stands behind its last delimiter */
    bool has_quotes;        /* some field begins and ends with the quote */
    bool first_has_quotes;  /* ... of the first record */
    size_t quoted;          /* records with such a field */
    bool is_torn;           /* quotes do not end, as in a file that was cut off */
    size_t torn_at;         /* ... and begin in this record */
    size_t first;           /* from here on all have as many fields */
};

static bool
ends_field(const struct trial *trial, char byte)
{
    return byte == trial->delimiter || byte == '\n' || byte == '\r' || (trial->anywhere && byte == trial->comment);
}

enum quotes { QUOTES_NONE, QUOTES_FINE, QUOTES_WITHIN, QUOTES_TORN };

/* Go behind one field. Its quotes end where it does, but for spaces; or within; or not at all. */
static const char *
behind_field(const struct trial *trial, const char *at, const char *end, enum quotes *ret_quotes)
{
    const char *from = at;

    *ret_quotes = QUOTES_NONE;
    while (trial->gaps && from < end && *from == ' ') {
        from++;
    }
    at = from < end && *from == trial->quote ? from : at;
    while (trial->spaces && at < end && *at == ' ') {
        at++;
    }
    if (at < end && trial->quote != '\0' && *at == trial->quote) {
        for (at++; at < end && (*at != trial->quote || (at + 1 < end && at[1] == trial->quote)); at++) {
            at += *at == trial->quote || (trial->escape != '\0' && *at == trial->escape && at + 1 < end);
        }
        *ret_quotes = at == end ? QUOTES_TORN : QUOTES_FINE;
        at += at < end;
        while (at < end && *at == ' ' && trial->delimiter != ' ') {
            at++;
        }
        *ret_quotes = at < end && !ends_field(trial, *at) ? QUOTES_WITHIN : *ret_quotes;
    }
    while (at < end && !ends_field(trial, *at)) {
        at++;
    }
    return at;
}

static int64_t
lines_between(const char *from, const char *to)
{
    int64_t lines = 0;

    for (; from < to; from++) {
        lines += *from == '\n' || (*from == '\r' && (from + 1 == to || from[1] != '\n'));
    }
    return lines;
}

/* The header of records that all end with a delimiter may lack that one. */
static void
find_first(struct trial *trial)
{
    bool hollow = true;

    trial->first = trial->count;
    while (trial->first > 0 && trial->fields[trial->first - 1] == trial->fields[trial->count - 1]) {
        hollow = hollow && trial->hollow[trial->first - 1];
        trial->first--;
    }
    if (trial->first > 0 && hollow && trial->fields[trial->first - 1] + 1 == trial->fields[trial->count - 1]) {
        trial->first--;
    }
}

/* Read records. Returns false when the text is not as the trial has it. whole: the last one is all there */
static bool
read_records(struct trial *trial, const char *bytes, size_t size, bool whole)
{
    const char *end = bytes + size;
    const char *at = bytes;
    int64_t line = 0;

    while (at < end && trial->count < RECORDS) {
        const char *from = at;
        size_t fields = 0;
        bool ends = false;
        bool is_hollow = false;
        bool has_quotes = false;
        bool leave_out = *at == '\n' || *at == '\r' || (trial->comment != '\0' && *at == trial->comment);

        while (leave_out && at < end && *at != '\n' && *at != '\r') {
            at++;
        }
        while (!leave_out && !ends) {
            enum quotes quotes;

            if (trial->spaces && fields > 0 && at < end && *at != ' ') {
                return false;
            }
            at = behind_field(trial, at, end, &quotes);
            trial->is_torn = quotes == QUOTES_TORN;
            trial->torn_at = trial->count;
            if (quotes == QUOTES_WITHIN || (quotes == QUOTES_TORN && (whole || trial->count == 0))) {
                return false;
            }
            has_quotes = has_quotes || quotes == QUOTES_FINE;
            trial->has_quotes = trial->has_quotes || has_quotes;
            fields++;
            is_hollow = at > from && at[-1] == trial->delimiter;
            ends = at == end || *at != trial->delimiter;
            at += !ends;
            while (trial->anywhere && ends && at < end && *at != '\n' && *at != '\r') {
                at++;
            }
        }
        if (at == end && !whole) {
            break;
        }
        at += at < end && *at == '\r' && at + 1 < end && at[1] == '\n' ? 2 : at < end;
        if (!leave_out) {
            trial->quoted += has_quotes;
            trial->first_has_quotes = trial->first_has_quotes || (has_quotes && trial->count == 0);
            trial->at[trial->count] = (size_t)(from - bytes);
            trial->hollow[trial->count] = is_hollow;
            trial->lines[trial->count] = line;
            trial->fields[trial->count++] = fields;
        }
        line += lines_between(from, at);
    }
    find_first(trial);
    return true;
}

/*
 * Whether the records fit: there are columns, and what is left out are few lines with fewer of them. If these have columns
 * too, names must stand behind them, or they are the names.
 */
static bool
is_table(const struct trial *trial, const char *bytes, size_t size)
{
    const struct gr_header_style style = {.delimiter = trial->delimiter, .decimal = '.'};
    size_t columns = trial->count == 0 ? 0 : trial->fields[trial->count - 1];
    bool is = columns > 1 && trial->first <= SKIP_MOST && (trial->first == 0 || trial->count - trial->first >= 2);
    bool is_named = true;

    for (size_t i = 0; is && i < trial->first; i++) {
        is = trial->fields[i] < columns;
        is_named = is_named && trial->fields[i] == 1;
    }
    return is && (is_named || gr_header_guess(bytes + trial->at[trial->first], size - trial->at[trial->first], &style,
                                              NULL) == GR_GUESS_SURE);
}

static bool
is_better(const struct trial *trial, const struct trial *than)
{
    size_t fields = trial->count == 0 ? 0 : trial->fields[trial->count - 1];
    size_t others = than->count == 0 ? 0 : than->fields[than->count - 1];

    return trial->has_quotes != than->has_quotes && trial->delimiter == than->delimiter ? trial->has_quotes
           : trial->first != than->first                                                ? trial->first < than->first
                                                                                        : fields > others;
}

/* Lines that begin with # before the table, of which not one is its header. */
static char
find_comment(const char *bytes, size_t size)
{
    const char *second = size == 0 || bytes[0] != '#' ? NULL : memchr(bytes, '\n', size);
    size_t left = second == NULL ? 0 : (size_t)(bytes + size - second - 1);

    if (left == 0) {
        return '\0';
    }
    if (second[1] == '#') {
        return '#';
    }
    for (const char *d = ",;\t|"; *d != '\0'; d++) { /* a header that begins so has its delimiters */
        if (memchr(bytes, *d, (size_t)(second - bytes)) != NULL && memchr(second, *d, left) != NULL) {
            return '\0';
        }
    }
    return '#';
}

/* ---- numbers ---- */

/* "1.234,5": bit 0: a comma stands before a fraction, bit 1: points group; bit 2: a point stands before a fraction */
static int
look_at_number(const char *bytes, size_t size)
{
    size_t commas = 0, points = 0, comma_at = 0, point_at = 0;

    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == ',') {
            commas++;
            comma_at = i;
        } else if (bytes[i] == '.') {
            points++;
            point_at = i;
        } else if ((bytes[i] < '0' || bytes[i] > '9') && (i > 0 || bytes[i] != '-')) {
            return 0;
        }
    }
    if (commas == 1 && comma_at + 1 < size && comma_at > 0) {
        return points == 0 ? 1 : point_at + 4 == comma_at ? 1 | 2 : 0;
    }
    return commas == 0 && points == 1 && point_at + 1 < size ? 4 : 0;
}

static void
find_decimal(const struct trial *trial, const char *bytes, size_t size, struct gr_sniffed *sniffed)
{
    const char *end = bytes + size;
    const char *at = bytes;
    int seen = 0;

    while (at < end) {
        enum quotes quotes;
        const char *to = behind_field(trial, at, end, &quotes);

        seen |= quotes == QUOTES_FINE || to == end ? 0 : look_at_number(at, (size_t)(to - at));
        at = to + (to < end);
    }
    if ((seen & 1) != 0 && (seen & 4) == 0) {
        sniffed->decimal[0] = ',';
        sniffed->thousands[0] = (seen & 2) != 0 ? '.' : '\0';
    }
}

/* A backslash before a quote. */
static bool
has_escapes(const char *bytes, size_t size)
{
    const char *end = bytes + size;
    const char *at = size == 0 ? NULL : memchr(bytes, '\\', size);

    while (at != NULL && at + 1 < end && at[1] != '"' && at[1] != '\'') {
        at = memchr(at + 1, '\\', (size_t)(end - at - 1));
    }
    return at != NULL && at + 1 < end;
}

/* A line that begins with # anywhere. */
static char
find_hash(const char *bytes, size_t size)
{
    return size > 0 && (bytes[0] == '#' || memmem(bytes, size, "\n#", 2) != NULL) ? '#' : '\0';
}

static bool
fits(struct trial *trial, const char *bytes, size_t size, bool whole)
{
    return read_records(trial, bytes, size, whole) && is_table(trial, bytes, size);
}

/* Without quotes it is a table, of which more is there than the line in which the quotes begin that do not end. */
static bool
is_stray(const struct trial *torn, const char *bytes, size_t size, bool whole)
{
    struct trial bare = {.delimiter = torn->delimiter, .comment = torn->comment};

    return fits(&bare, bytes, size, whole) && bare.first == 0 && bare.count > torn->torn_at + 1;
}

/* Quotes are none where text stands behind them. Where they do not end the text may be cut off, unless no others end. */
static bool
quotes_are_none(const char *bytes, size_t size, bool whole, enum gr_sniff how, char delimiter, char comment)
{
    struct trial quoted = {.delimiter = delimiter, .quote = '"', .comment = comment};
    bool reads = read_records(&quoted, bytes, size, whole);

    return quoted.is_torn ? how != GR_SNIFF_LOOSE && !quoted.has_quotes && is_stray(&quoted, bytes, size, whole)
                          : !reads;
}

/* Whether text that fits has the quotes of the trial, or has none when that has none. */
static bool
has_right_quotes(const struct trial *trial, const char *bytes, size_t size, bool whole, enum gr_sniff how)
{
    if (trial->quote == '\'') {
        return !(trial->is_torn && is_stray(trial, bytes, size, whole));
    }
    return (trial->quote != '\0' && !trial->is_torn) ||
           quotes_are_none(bytes, size, whole, how, trial->delimiter, trial->comment) == (trial->quote == '\0');
}

/* Single quotes where text may have apostrophes: the first record has them, or every other one, and all of them end. */
static bool
has_single_quotes(const char *bytes, size_t size, bool whole)
{
    struct trial trial = {.delimiter = ',', .quote = '\''};

    return fits(&trial, bytes, size, whole) && trial.first == 0 &&
           (trial.first_has_quotes || (trial.has_quotes && 2 * trial.quoted >= trial.count)) &&
           !(trial.is_torn && is_stray(&trial, bytes, size, whole));
}

/* What is tried, the likelier first. */
struct attempt {
    char quote;
    bool has_escape;
    bool has_spaces;
    bool has_gaps; /* spaces before some quotes */
    bool has_hash; /* comments elsewhere than at the beginning */
    bool anywhere; /* ... and behind values */
};

static const struct attempt attempts[] = {
    {.quote = '"'},
    {.quote = '\''},
    {.quote = '"', .has_escape = true},
    {.quote = '\'', .has_escape = true},
    {.quote = '"', .has_spaces = true},
    {.quote = '\'', .has_spaces = true},
    {.quote = '"', .has_hash = true},
    {.quote = '"', .has_hash = true, .anywhere = true},
    {.quote = '"', .has_gaps = true},
    {.quote = '\0'},
};

/* By commas it is a table: it is read as it stands, whatever else it could be. But for spaces, or quotes of the other kind. */
static bool
is_plain(const char *bytes, size_t size, bool whole, enum gr_sniff how)
{
    struct trial trial = {.delimiter = ',', .quote = '"'};
    struct trial spaced = {.delimiter = ',', .quote = '"', .spaces = true};

    return fits(&trial, bytes, size, whole) && trial.first == 0 &&
           !(trial.is_torn && quotes_are_none(bytes, size, whole, how, ',', '\0')) &&
           !(fits(&spaced, bytes, size, whole) && spaced.first == 0 && spaced.count > 1) &&
           (trial.has_quotes || !has_single_quotes(bytes, size, whole));
}

/* ---- lines ---- */

/* From a record on: the most that have as many fields, and at least two. */
static size_t
most_alike(const struct trial *trial, size_t from)
{
    size_t most = 0;

    for (size_t i = from; i < trial->count; i++) {
        size_t alike = 0;

        for (size_t j = from; j < trial->count && trial->fields[i] > 1; j++) {
            alike += trial->fields[j] == trial->fields[i];
        }
        most = alike > most ? alike : most;
    }
    return most;
}

/* Nine of ten records divide alike, or all behind the first: that the others do not is a mistake, which is told. */
static bool
is_nearly_table(const char *bytes, size_t size, bool whole, char delimiter, char comment)
{
    struct trial trial = {.delimiter = delimiter, .quote = '"', .comment = comment};
    struct trial bare = {.delimiter = delimiter, .comment = comment};
    const struct trial *read = &trial;

    if (!read_records(&trial, bytes, size, whole)) {
        (void)read_records(&bare, bytes, size, whole);
        read = &bare;
    }
    return read->count > 0 &&
           (10 * most_alike(read, 0) >= 9 * read->count || (read->count > 2 && most_alike(read, 1) == read->count - 1));
}

/* A byte that is not in the text. '\0': there is none */
static char
find_unused(const char *bytes, size_t size)
{
    char unused = 0x1f;

    while (unused > 0 && (strchr("\t\r\n", unused) != NULL || memchr(bytes, unused, size) != NULL)) {
        unused--;
    }
    return unused;
}

/* No delimiter makes a table: each line is a value. Quotes that do not end are none, if no others do. */
static bool
find_lines(const char *bytes, size_t size, bool whole, char comment, struct gr_sniffed *sniffed)
{
    struct trial plain = {.delimiter = ',', .quote = '"', .comment = comment};
    struct trial line = {.delimiter = size == 0 ? '\0' : find_unused(bytes, size), .quote = '"', .comment = comment};
    bool reads = read_records(&line, bytes, size, whole);

    if (line.delimiter == '\0' || (reads && line.count + line.is_torn == 0) || (line.is_torn && line.has_quotes) ||
        (read_records(&plain, bytes, size, whole) && most_alike(&plain, 0) == 0)) {
        return false;
    }
    for (const char *delimiter = delimiters; *delimiter != '\0'; delimiter++) {
        if (is_nearly_table(bytes, size, whole, *delimiter, comment)) {
            return false;
        }
    }
    sniffed->lines = true;
    sniffed->delimiter[0] = line.delimiter;
    sniffed->quote[0] = reads && !line.is_torn ? '"' : '\0';
    sniffed->comment[0] = comment;
    return true;
}

bool
gr_sniff_bytes(const char *bytes, size_t size, bool whole, enum gr_sniff how, struct gr_sniffed *ret_sniffed)
{
    const bool escapes = has_escapes(bytes, size);
    const char hash = find_hash(bytes, size);
    const char comment = find_comment(bytes, size);
    struct trial best = {.delimiter = ',', .quote = '"', .first = SIZE_MAX};
    bool found = false;

    *ret_sniffed = (struct gr_sniffed){.delimiter = ",", .quote = "\"", .decimal = "."};
    if (is_plain(bytes, size, whole, how)) {
        return false;
    }
    for (size_t a = 0; a < sizeof attempts / sizeof attempts[0]; a++) {
        const struct attempt *attempt = &attempts[a];
        bool must_show = attempt->quote == '\'' || attempt->has_escape; /* quotes of that kind must be seen */

        if ((attempt->has_escape && !escapes) || (attempt->has_hash && hash == '\0') ||
            (found && (attempt->has_hash || attempt->has_gaps || attempt->quote == '\0'))) {
            continue;
        }
        for (const char *delimiter = delimiters; *delimiter != '\0'; delimiter++) {
            struct trial trial = {.delimiter = *delimiter,
                                  .quote = attempt->quote,
                                  .escape = attempt->has_escape ? '\\' : '\0',
                                  .comment = attempt->has_hash ? hash : comment,
                                  .anywhere = attempt->anywhere,
                                  .spaces = attempt->has_spaces,
                                  .gaps = attempt->has_gaps};

            if (fits(&trial, bytes, size, whole) && has_right_quotes(&trial, bytes, size, whole, how) &&
                (!must_show || trial.has_quotes) &&
                (!found || is_better(&trial, &best) || (trial.spaces && trial.delimiter == best.delimiter))) {
                best = trial;
                found = true;
            }
        }
    }
    if (!found) {
        return how == GR_SNIFF_ANY && find_lines(bytes, size, whole, comment, ret_sniffed);
    }
    ret_sniffed->delimiter[0] = best.delimiter;
    ret_sniffed->quote[0] = best.quote;
    ret_sniffed->escape[0] = best.escape;
    ret_sniffed->comment[0] = best.comment;
    ret_sniffed->skip = best.first > 0 ? best.lines[best.first] : 0;
    ret_sniffed->skip_spaces = best.spaces || best.gaps;
    ret_sniffed->comment_anywhere = best.anywhere;
    if (best.delimiter != ',') {
        find_decimal(&best, bytes, size, ret_sniffed);
    }
    return true;
}

granary_err
gr_sniff(const char *path, const char *encoding, enum gr_sniff how, struct gr_sniffed *ret_sniffed)
{
    struct gr_dialect dialect = GR_DIALECT_PLAIN;
    struct gr_text *text;
    struct gr_buf bytes = {0};
    bool more = true;
    granary_err err;

    dialect.encoding = encoding;
    err = gr_text_open(path, &dialect, &text);
    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_text_read(text, LOOK, &bytes, &more);
    if (err == GRANARY_OK) {
        (void)gr_sniff_bytes(bytes.size == 0 ? "" : bytes.bytes, bytes.size, !more, how, ret_sniffed);
    }
    gr_text_close(text);
    gr_buf_free(&bytes);
    return err;
}
