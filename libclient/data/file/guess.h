/* What a file is that was taken for text in columns. */
#ifndef DATA_FILE_GUESS_H
#define DATA_FILE_GUESS_H

#include <stdbool.h>
#include <stddef.h>

/* Said behind the line of a file whose text is none. */
#define GR_CSV_REMEDY    "with `errors` 'skip' such records are left out, with 'list' they are listed"
#define GR_DATA_NOT_UTF8 "not UTF-8: convert the file, for instance with `iconv -f latin1 -t utf-8`"
#define GR_CSV_NOT_UTF8  GR_DATA_NOT_UTF8 ", or read it with `encoding` 'windows-1252' or another one"

/* An object with a name, or a list of objects or lists: a header in brackets, as of SQL Server, is none. */
bool gr_data_is_json(const char *bytes, size_t size);

/* As the beginning of a file tells: "not text in columns but WHAT: what to do", or NULL: it may be such text. */
const char *gr_data_guess(const char *bytes, size_t size);

#endif
