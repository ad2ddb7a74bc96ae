/*
 * Rows that come from files, from stdin, or from a text of the command's, with the dtypes of a table.
 *
 * A graph reads the files; so all formats and their errors are those of `granary load`. Its result is copied here.
 * Stdin, or the text, becomes a file for that. Nothing of graph and file is left, whatever ends the command
 * (cli/work/run/discard.h), and it is gone before the rows are given: who is interrupted from then on has written all rows
 * or none.
 */
#ifndef CLI_INCOMING_H
#define CLI_INCOMING_H

#include <limits.h>

#include "cli/work/files.h"
#include "cli/work/run/discard.h"
#include "graph/schema.h"

/* A command's struct begins with it. */
struct incoming {
    struct files files;
    const char *format;        /* the ending that stdin's file has */
    struct gr_schema schema;   /* the columns that may come, with their dtypes */
    const struct gr_buf *text; /* a CSV file, instead of stdin; or NULL */
    char *const *paths;
    int count;
    struct discard remains;
    char spool[PATH_MAX]; /* what stdin becomes; "": it is not read */
    int spool_fd;
    granary_frame *rows; /* as the files have them */
};

/* One before the options are read. */
#define INCOMING_NONE                                                                                                  \
    {                                                                                                                  \
        .format = "csv", .remains = {.fd = -1}, .spool_fd = -1                                                         \
    }

#define INCOMING_OPTIONS                                                                                               \
    {"format", 0, "ENDING", "read stdin as a file with this ending: csv, tsv, ndjson, arrow; default: csv",            \
     GR_OPTION_TAKE(incoming_take_format)},                                                                            \
        FILES_OPTIONS
granary_err incoming_take_format(void *target, char *text);

/*
 * What a command has to say and make before anything is opened.
 *
 * what   the command, for messages: "table append"
 * paths  count of them, "-" for stdin; none: stdin
 * text   instead of files, or NULL: what messages call "--set"
 */
granary_err incoming_prepare(struct incoming *incoming, const struct cli *cli, const char *what, char *const *paths,
                             int count, const struct gr_buf *text);
void incoming_end(struct incoming *incoming);

/* A field of the schema for each of these columns. Errors: ENOMEM */
granary_err incoming_expect(struct incoming *incoming, const granary_frame *columns);

/*
 * All rows, with the fields of the schema that the files have, in its order, with its dtypes; all: the others, too, as
 * nulls. Files and graph are gone when it returns.
 *
 * ret_frame  valid until incoming_end(). Errors: as for graphs, with the table's name · ETYPE names the column
 */
granary_err incoming_read(struct incoming *incoming, struct cli *cli, bool all, granary_frame **ret_frame);

#endif
