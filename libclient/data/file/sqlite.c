/* SQLite databases, by room sqlite: a sketch is the names of a table's columns. */
#include "sqlite/sqlite.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "data/file/format.h"

#define ROW_BYTES 50 /* about */

static granary_err
sqlite_sketch(const char *path, const char *delimiter, struct gr_sketch *sketch)
{
    struct gr_sqlite *database = NULL;
    struct gr_sqlite_column *columns = NULL;
    struct stat info;
    char *table = NULL;
    size_t count = 0;
    granary_err err = gr_sqlite_open(path, &database);

    (void)delimiter;
    err = err == GRANARY_OK ? gr_sqlite_find(database, sketch->table, &table) : err;
    err = err == GRANARY_OK ? gr_sqlite_columns(database, table, &columns, &count) : err;
    if (err == GRANARY_OK && stat(path, &info) == 0) {
        sketch->rows = (double)info.st_size / ROW_BYTES;
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = sketch->column(sketch, columns[i].name);
    }
    gr_sqlite_columns_free(columns, count);
    gr_sqlite_close(database);
    free(table);
    return err;
}

const struct gr_format gr_format_sqlite = {
    .name = "sqlite",
    .what = "an SQLite database",
    .endings = {{.text = ".sqlite"}, {.text = ".sqlite3"}, {.text = ".db"}},
    .magic = "SQLite format 3",
    .mistaken =
        GR_FORMAT_MISTAKEN "an SQLite database: read_sqlite reads it, and so does a name that ends in .sqlite or .db",
    .sketch = sqlite_sketch,
};
