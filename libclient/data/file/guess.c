/* Files begin with a magic number, of a format of ours or another one; JSON with a bracket. */
#include "data/file/guess.h"

#include <stdbool.h>
#include <string.h>

#include "data/file/format.h"

#define NOT GR_FORMAT_MISTAKEN

/* Of formats that are none of ours. */
static const struct {
    const char *magic;
    const char *mistaken;
} others[] = {
    {"\x1f\x8b", NOT "a file packed by gzip: unpack it first"},
    {"\x28\xb5\x2f\xfd", NOT "a file packed by zstd: unpack it first"},
    {"PK\x03\x04", NOT "a ZIP archive, or a workbook of a spreadsheet: unpack it, or save it as CSV"},
    {"\xff\xfe", NOT "UTF-16: convert the file, for instance with `iconv -f utf-16 -t utf-8`"},
    {"\xfe\xff", NOT "UTF-16: convert the file, for instance with `iconv -f utf-16 -t utf-8`"},
};

static bool
begins_with(const char *bytes, size_t size, const char *magic)
{
    return magic != NULL && size >= strlen(magic) && memcmp(bytes, magic, strlen(magic)) == 0;
}

/* The first character at *at that is no white space, behind which it stands then; '\0': none. */
static char
next(const char **at, const char *end)
{
    while (*at < end && strchr(" \t\r\n", **at) != NULL && **at != '\0') {
        (*at)++;
    }
    return *at < end ? *(*at)++ : '\0';
}

bool
gr_data_is_json(const char *bytes, size_t size)
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
    for (const struct gr_format *const *format = gr_formats; *format != NULL; format++) {
        if (begins_with(bytes, size, (*format)->magic)) {
            return (*format)->mistaken;
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (begins_with(bytes, size, others[i].magic)) {
            return others[i].mistaken;
        }
    }
    return gr_data_is_json(bytes, size) ? NOT "JSON: name it .json, or .ndjson when each line is an object" : NULL;
}
