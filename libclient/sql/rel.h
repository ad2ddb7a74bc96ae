/*
 * Within the room: relations, nodes of the graph. Their columns have names that are unique in the statement, so that
 * joins never rename; sql_scope knows by which names SQL calls them.
 */
#ifndef SQL_REL_H
#define SQL_REL_H

#include "sql/statement.h"

struct sql_rel {
    granary_node node;
    double rows; /* about */
    double base; /* rows before conditions */
};

/* A new name for a frame's column: "hint#3". */
const char *sql_fresh(struct sql_statement *q, const char *hint);
/* Whether no column of a frame has had this name; now one has it. */
bool sql_take_name(struct sql_statement *q, const char *name);

/* A frame's column in an expression: `name`. */
const char *sql_quoted(struct sql_statement *q, const char *name);

/* Leave each name once, in the order of its first. Returns how many are left. */
size_t sql_without_twins(const char **names, size_t count);

/* A column that is none of those names: itself, else a copy of it. NULL: the statement has failed. A join's keys are
 * different columns. */
const char *sql_other_column(struct sql_statement *q, struct sql_rel *rel, const char *const *names, size_t count,
                             const char *name, int position);

/* Add a node for the SQL at a position. GRANARY_NO_NODE: the statement has failed. */
granary_node sql_node(struct sql_statement *q, const char *op, int position, const granary_node *inputs, size_t count);

/* Each makes *rel another relation; false: the statement has failed. Texts are expressions. */
bool sql_rel_filter(struct sql_statement *q, struct sql_rel *rel, const char *where, int position);
bool sql_rel_assign(struct sql_statement *q, struct sql_rel *rel, const char *const *names, const char *const *texts,
                    size_t count, int position);
/* Exactly these columns. */
bool sql_rel_project(struct sql_statement *q, struct sql_rel *rel, const char *const *names, const char *const *texts,
                     size_t count, int position);
bool sql_rel_rename(struct sql_statement *q, struct sql_rel *rel, const char *const *names, const char *const *to,
                    size_t count, int position);
bool sql_rel_select(struct sql_statement *q, struct sql_rel *rel, const char *const *names, size_t count, int position);
/* These columns alone, each row once. */
bool
sql_rel_distinct(struct sql_statement *q, struct sql_rel *rel, const char *const *names, size_t count, int position);
/* Of rows that are equal in these columns, the first. */
bool sql_rel_first(struct sql_statement *q, struct sql_rel *rel, const char *const *names, size_t count, int position);
/* How many items the longest of these columns' lists has, as an expression. NULL: the statement has failed. */
const char *sql_longest_list(struct sql_statement *q, const char *const *names, size_t count);
/* A row for each item of these columns of lists, which become columns of items; outer: a row for none, too. Lists may have
 * unequal lengths, unless they are `equal`: nulls stand behind the shorter ones. names become those of the items. */
bool sql_rel_unnest(struct sql_statement *q, struct sql_rel *rel, const char **names, size_t count, bool equal,
                    bool outer, int position);
/* rows -1: all behind offset */
bool sql_rel_head(struct sql_statement *q, struct sql_rel *rel, int64_t offset, int64_t rows, int position);
/* Some of its rows, drawn at random. */
bool sql_rel_sample(struct sql_statement *q, struct sql_rel *rel, const struct sql_sample *sample);
bool sql_rel_sort(struct sql_statement *q, struct sql_rel *rel, const char *const *by, const bool *descending,
                  const char *const *nulls, size_t count, int position);

/* New column -> aggregate, as groupby has them. No keys: one row, of all. */
struct sql_aggregates {
    const char **names;
    const char **texts;
    size_t count;
};
/* The aggregate that is null, of a column's dtype. */
const char *sql_no_value(struct sql_statement *q, const char *name);
bool sql_rel_group(struct sql_statement *q, struct sql_rel *rel, const char *const *keys, size_t key_count,
                   const struct sql_aggregates *aggregates, int position);

/* New columns by functions of windows, as the operator has them. */
struct sql_window_spec {
    const char *const *partition;
    size_t partition_count;
    const char *const *by;
    const bool *descending;
    const char *const *nulls;
    size_t by_count;
    int position;
};
bool sql_rel_window(struct sql_statement *q, struct sql_rel *rel, const char *name, const char *text,
                    const struct sql_window_spec *spec);

struct sql_join_spec {
    const char *how; /* as join has it: "inner", "left", "semi", ... */
    const char *const *left_on;
    const char *const *right_on;
    size_t count;      /* 0, "inner": every row with every row */
    const char *where; /* of pairs, too; or NULL */
    bool null_aware;   /* "anti": NOT IN */
    int position;
};
bool sql_rel_join(struct sql_statement *q, struct sql_rel *left, const struct sql_rel *right,
                  const struct sql_join_spec *spec);
/* Rows of one after those of the other; both have the same columns. */
bool sql_rel_concat(struct sql_statement *q, struct sql_rel *first, const struct sql_rel *second, int position);

#endif
