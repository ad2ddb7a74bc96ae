/* A guess by the first bytes of a file: Arrow, Parquet, NPY, compressed, JSON, or text. */
#include "data/value/guess.h"

#include <stdbool.h>
#include <string.h>

#define NOT "not text in columns but "

static const struct {
    const char *magic;
    const char *what;
} formats[] = {
    {"ARROW1", NOT "an Arrow file: read_arrow reads it, and so does a name that ends in .arrow"},
    {"\x93NUMPY", NOT "an NPY file: read_npy reads it, and `granary load` by a name that ends in .npy"},
    {"PAR1", NOT "a Parquet file: convert it to Arrow or CSV"},
    {"\x1f\x8b", NOT "a file packed by gzip: unpack it first"},
    {"\x28\xb5\x2f\xfd", NOT "a file packed by zstd: unpack it first"},
    {"PK\x03\x04", NOT "a ZIP archive, or a workbook of a spreadsheet: unpack it, or save it as CSV"},
    {"\xff\xfe", NOT "UTF-16: convert the file, for instance with `iconv -f utf-16 -t utf-8`"},
    {"\xfe\xff", NOT "UTF-16: convert the file, for instance with `iconv -f utf-16 -t utf-8`"},
};

/* The first character at *at that is no white space, behind which it stands then; '\0': none. */
static char
next(const char **at, const char *end)
{
    while (*at < end && strchr(" \t\r\n", **at) != NULL && **at != '\0') {
        (*at)++;
    }
    return *at < end ? *(*at)++ : '\0';
}

/* An object with a name, or a list of objects or lists: a header in brackets, as of SQL Server, is none. */
static bool
is_json(const char *bytes, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf";
    const char *at = size >= 3 && memcmp(bytes, mark, 3) == 0 ? bytes + 3 : bytes;
    char first = next(&at, bytes + size);
    char second = next(&at, bytes + size);

    return first == '{' ? second == '"' : first == '[' && (second == '{' || second == '[');
}

const char *
gr_data_guess(const char *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t length = strlen(formats[i].magic);

        if (size >= length && memcmp(bytes, formats[i].magic, length) == 0) {
            return formats[i].what;
        }
    }
    return is_json(bytes, size) ? NOT "JSON: convert it to CSV or Arrow" : NULL;
}
