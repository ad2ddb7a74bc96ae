/* What the peers share: the rows that they have read, as columns. */
#include "bench/mutable/engine.h"

#include <stdio.h>
#include <stdlib.h>

void
engine_rows_add(struct engine_rows *rows, const int64_t values[ENGINE_COLUMNS])
{
    if (rows->rows == rows->room) {
        rows->room = rows->room == 0 ? 4096 : rows->room * 2;
        for (size_t i = 0; i < ENGINE_COLUMNS; i++) {
            rows->column[i] = reallocarray(rows->column[i], rows->room, sizeof *rows->column[i]);
            if (rows->column[i] == NULL) {
                perror("granary: bench");
                exit(5);
            }
        }
    }
    for (size_t i = 0; i < ENGINE_COLUMNS; i++) {
        rows->column[i][rows->rows] = values[i];
    }
    rows->rows++;
}

void
engine_rows_show(const struct engine_rows *rows, struct engine_copy *ret_copy)
{
    for (size_t i = 0; i < ENGINE_COLUMNS; i++) {
        ret_copy->column[i] = rows->column[i];
    }
    ret_copy->rows = rows->rows;
}

void
engine_rows_free(struct engine_rows *rows)
{
    for (size_t i = 0; i < ENGINE_COLUMNS; i++) {
        free(rows->column[i]);
    }
    *rows = (struct engine_rows){.rows = 0};
}
