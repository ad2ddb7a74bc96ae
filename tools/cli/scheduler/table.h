/* Tables of the scheduler (granary/info.h) on the terminal and as JSON. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/command/arguments.h"

struct table_view {
    struct cli *cli;
    const char *subject;
    const char *const *keys; /* of rows; NULL: all */
    size_t key_count;
    char *fields;      /* --fields, split in place, or NULL */
    const char *shown; /* for humans, when there is no --fields: separated by commas; NULL: all */
    const char *where; /* only rows in which this field is `is`; NULL: all */
    const char *is;
    const char *session; /* only rows of this one; NULL: all, or the subject has none */
    bool watch;          /* again whenever something changes, until interrupted */
};

/* arguments_read() with --fields and --watch, which go into the view. */
int table_arguments(const struct arguments *arguments, void *target, struct table_view *view, int argc, char **argv);

/* Connect, print, close. Returns the exit status. */
int table_show(struct table_view *view);
/* The same on a connection; *ret_rows (may be NULL) is how many were printed. Errors are returned, not printed. */
granary_err table_print(struct table_view *view, granary_client *client, size_t *ret_rows);

#endif
