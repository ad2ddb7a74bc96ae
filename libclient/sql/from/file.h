/* Within the room: what a statement says of a file, as parameters of the operator that reads or writes it. */
#ifndef SQL_FILE_H
#define SQL_FILE_H

#include "data/file/format.h"
#include "data/text/header.h"
#include "graph/ops.h"
#include "sql/statement.h"

/* The format that is said, else that of the name's ending, which goes to ret_ending when it tells more. NULL: the statement
 * has failed. */
const struct gr_format *sql_file_format(struct sql_statement *q, const struct sql_file *file, const char *path,
                                        int position, const struct gr_format_ending **ret_ending);

/*
 * A node of read_NAME or write_NAME with the file's path and options.
 *
 * verb    "read" or "write"
 * ending  of sql_file_format(); what it tells gives way to what an option says; or NULL
 */
granary_node sql_file_node(struct sql_statement *q, const char *verb, const struct gr_format *format,
                           const struct gr_format_ending *ending, const struct sql_file *file, const char *path,
                           int position, const granary_node *inputs, size_t count);

/* An option that another engine has: a parameter's value, or nothing that changes the rows. false: it is none */
bool sql_file_other(struct sql_statement *q, granary_node node, enum gr_tile_op op, const struct sql_option *option);

/* The value of a parameter that such a flag of another engine gives; NULL: none does. */
const char *sql_file_flagged(const struct sql_file *file, const char *param);

/* What a parameter is set to, by an option of its own name or of another engine's: one text. NULL: it is not given. */
const char *sql_file_option(const struct sql_file *file, const char *name);

/* Whether text in columns has a header, and how its fields are written, for a sketch of it. */
void sql_file_header(const struct sql_file *file, struct gr_header_style *ret_style, struct gr_sketch *sketch);

/* How text in columns is written, as options say it. false: that is to be found out. */
bool sql_file_dialect(const struct sql_file *file, const char *delimiter, struct gr_dialect *ret_dialect);

#endif
