/* What read_csv yields with `errors` "list": records that do not fit. The kernel makes it, the planner tells it. */
#ifndef CONTRACT_CSV_LIST_H
#define CONTRACT_CSV_LIST_H

/* A column's name and dtype. */
#define GR_CSV_LIST(COLUMN)                                                                                            \
    COLUMN(file, STRING)                                                                                               \
    COLUMN(line, INT64)                                                                                                \
    COLUMN(column_name, STRING)                                                                                        \
    COLUMN(reason, STRING)                                                                                             \
    COLUMN(text, STRING)

#endif
