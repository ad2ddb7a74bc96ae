/* Tables of the scheduler (granary/info.h) on the terminal and as JSON. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/command/command.h"

struct table_view {
    struct cli *cli; /* once it is opened */
    const char *subject;
    bool named;              /* the first argument is the subject */
    const char *const *keys; /* of rows; NULL: all */
    size_t key_count;
    char *fields;      /* --fields, split in place, or NULL */
    const char *shown; /* for humans, when there is no --fields: separated by commas; NULL: all */
    const char *where; /* only rows in which this field is `is`; NULL: all */
    const char *is;
    const char *session; /* only rows of this one; NULL: all, or the subject has none */
    bool watch;          /* again whenever something changes, until interrupted */
};

/* --fields and --watch, into the view that self begins with. */
extern const struct gr_option table_options[];
/* With a connection to the scheduler, and the arguments as keys. */
extern const struct access table_access;

/* Print the table that self begins with: the run of a command that has table_access. */
int table_show(struct cli *cli);

#endif
