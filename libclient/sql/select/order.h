/*
 * In which order tables are joined, two sides at a time: the order that is cheapest by estimates. Nothing here knows
 * SQL: tables are bits of masks.
 *
 * The number of rows of a join is estimated without statistics. A key that joins tables has as many values as the
 * smallest of them has rows (before conditions), each as often as the others.
 */
#ifndef SQL_ORDER_H
#define SQL_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "sql/statement.h"

/* More tables are joined in the order that is best step by step. */
#define SQL_ORDER_EXACT 9

struct sql_order_table {
    double rows;
    double base; /* before conditions */
};

/* An equality. When columns are all equal (items), one pair joins any two sides that have some of them. Otherwise all
 * of one mask stand on one side, and all of the other on the other one. */
struct sql_order_link {
    uint64_t items; /* 0: sides count */
    uint64_t sides[2];
    double distinct; /* values there are, about */
};

/* A condition that can be asked once those tables are joined, and the part of rows it leaves. */
struct sql_order_filter {
    uint64_t items;
    double part;
};

struct sql_order_problem {
    const struct sql_order_table *tables;
    size_t table_count; /* 1 to 64 */
    const struct sql_order_link *links;
    size_t link_count;
    const struct sql_order_filter *filters;
    size_t filter_count;
};

/* Tables that are joined already, on both sides, or single ones. */
struct sql_order_join {
    uint64_t left; /* whose rows look up those of the right */
    uint64_t right;
    double rows;
};

/* Whether a link joins the two sides: the left one has its first mask (1), its second (-1); 0: it does not. */
int sql_order_crosses(const struct sql_order_link *link, uint64_t left, uint64_t right);

/* The joins one after the other, table_count - 1 of them, in memory of the statement. NULL: out of memory. Tables that
 * links lead to are never joined by all rows with all rows. */
const struct sql_order_join *sql_order_joins(struct sql_statement *q, const struct sql_order_problem *problem);

#endif
