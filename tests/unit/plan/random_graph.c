#include "random_graph.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 12
#define STEPS_MAX   9

/* The columns there are at the end of the pipeline so far. */
struct columns {
    char names[COLUMNS_MAX][24];
    bool numbers[COLUMNS_MAX];
    int count;
};

static int
roll(unsigned *seed, int sides)
{
    return rand_r(seed) % sides;
}

static void
add_column(struct columns *columns, const char *name, bool number)
{
    (void)snprintf(columns->names[columns->count], sizeof columns->names[0], "%s", name);
    columns->numbers[columns->count++] = number;
}

/* A column of numbers, or NULL. */
static const char *
number_column(unsigned *seed, const struct columns *columns)
{
    int from = roll(seed, columns->count);

    for (int i = 0; i < columns->count; i++) {
        int at = (from + i) % columns->count;

        if (columns->numbers[at]) {
            return columns->names[at];
        }
    }
    return NULL;
}

static int
find(const struct columns *columns, const char *name)
{
    for (int i = 0; i < columns->count; i++) {
        if (strcmp(name, columns->names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static void
put_select(unsigned *seed, struct columns *columns, struct gr_buf *out)
{
    struct columns kept = {.count = 0};
    int from = roll(seed, columns->count);
    int many = 1 + roll(seed, columns->count);

    gr_buf_addf(out, "\"op\": \"select\", \"columns\": [");
    for (int i = 0; i < many; i++) {
        int at = (from + i) % columns->count;

        gr_buf_addf(out, "%s\"%s\"", i > 0 ? ", " : "", columns->names[at]);
        add_column(&kept, columns->names[at], columns->numbers[at]);
    }
    gr_buf_addf(out, "]");
    *columns = kept;
}

static void
put_assign(unsigned *seed, struct columns *columns, int step, struct gr_buf *out)
{
    const char *a = number_column(seed, columns);
    const char *b = number_column(seed, columns);
    char name[24];

    if (a == NULL || columns->count > COLUMNS_MAX - 3) {
        put_select(seed, columns, out);
        return;
    }
    gr_buf_addf(out, "\"op\": \"assign\", \"columns\": {\"v%d\": \"`%s` + `%s`\"", step, a, b);
    if (roll(seed, 2) == 0) {
        gr_buf_addf(out, ", \"%s\": \"`%s` * 2\"", a, b); /* replaces one */
    }
    gr_buf_addf(out, "}");
    (void)snprintf(name, sizeof name, "v%d", step);
    add_column(columns, name, true);
}

/* A new column of floats, or one in the place of another. */
static void
put_compute(unsigned *seed, struct columns *columns, int step, bool functions, struct gr_buf *out)
{
    const char *from = number_column(seed, columns);
    char name[24];

    if (from == NULL || columns->count > COLUMNS_MAX - 3) {
        put_select(seed, columns, out);
        return;
    }
    if (roll(seed, 3) == 0) {
        (void)snprintf(name, sizeof name, "%s", from);
    } else {
        (void)snprintf(name, sizeof name, "f%d", step);
        add_column(columns, name, true);
    }
    if (functions) {
        gr_buf_addf(out,
                    "\"op\": \"map_chunk\", \"function\": \"compute\", \"columns\": {\"%s\": \"float64\"},"
                    "\"params\": {\"column\": \"%s\", \"expression\": \"`%s` * 0.5\"}",
                    name, name, from);
    } else {
        gr_buf_addf(out, "\"op\": \"assign\", \"columns\": {\"%s\": \"`%s` * 0.5\"}", name, from);
    }
}

static void
put_aggregate(struct columns *made, const char *name, int step, const char *function, const char *column, bool number,
              struct gr_buf *out)
{
    char full[24];

    (void)snprintf(full, sizeof full, "%s%d", name, step);
    gr_buf_addf(out, "%s\"%s\": \"%s(%s)\"", made->count > 1 ? ", " : "", full, function, column);
    add_column(made, full, number);
}

static void
put_groupby(unsigned *seed, struct columns *columns, int step, struct gr_buf *out)
{
    struct columns made = {.count = 0};
    int key = roll(seed, columns->count);
    const char *a = number_column(seed, columns);
    const char *b = columns->names[roll(seed, columns->count)];

    gr_buf_addf(out, "\"op\": \"groupby\", \"keys\": \"%s\", \"aggregate\": {", columns->names[key]);
    add_column(&made, columns->names[key], columns->numbers[key]);
    put_aggregate(&made, "most", step, "max", b, columns->numbers[find(columns, b)], out);
    put_aggregate(&made, "many", step, "nunique", b, true, out);
    if (a != NULL) {
        put_aggregate(&made, "total", step, "sum", a, true, out);
        put_aggregate(&made, "mean", step, "mean", a, true, out);
    }
    gr_buf_addf(out, "}");
    *columns = made;
}

/* Returns whether it is a join, which names its inputs itself. */
static bool
put_join(struct columns *columns, const char *input, struct gr_buf *out)
{
    int key = find(columns, "g");

    if (key < 0 || columns->numbers[key] || find(columns, "label") >= 0 || columns->count > COLUMNS_MAX - 3) {
        gr_buf_addf(out, "\"op\": \"head\", \"rows\": 25");
        return false;
    }
    gr_buf_addf(out, "\"op\": \"join\", \"inputs\": [\"%s\", \"groups\"], \"on\": \"g\", \"how\": \"left\"", input);
    add_column(columns, "label", false);
    return true;
}

static void
put_step(unsigned *seed, struct columns *columns, int step, const char *input, bool functions, struct gr_buf *out)
{
    const char *number = number_column(seed, columns);
    bool has_input = false;

    gr_buf_addf(out, ", \"s%d\": {", step);
    switch (roll(seed, 10)) {
    case 0:
        put_select(seed, columns, out);
        break;
    case 1:
    case 2:
        put_assign(seed, columns, step, out);
        break;
    case 3:
        put_groupby(seed, columns, step, out);
        break;
    case 4:
        has_input = put_join(columns, input, out);
        break;
    case 5:
        gr_buf_addf(out, "\"op\": \"sort\", \"by\": \"%s\", \"descending\": %s",
                    columns->names[roll(seed, columns->count)], roll(seed, 2) == 0 ? "true" : "false");
        break;
    case 6:
        gr_buf_addf(out, "\"op\": \"filter\", \"where\": \"`%s` %s\"", number != NULL ? number : columns->names[0],
                    number != NULL ? "> 4" : "is not null");
        break;
    case 7:
    case 8:
        put_compute(seed, columns, step, functions, out);
        break;
    default:
        gr_buf_addf(out, "\"op\": \"head\", \"rows\": %d", roll(seed, 60));
    }
    if (!has_input) {
        gr_buf_addf(out, ", \"input\": \"%s\"", input);
    }
    gr_buf_addf(out, "}");
}

int
random_pipeline(unsigned *seed, bool functions, struct gr_buf *out)
{
    struct columns columns = {.count = 0};
    int steps = 1 + roll(seed, STEPS_MAX);
    char input[16] = "rows";

    add_column(&columns, "name", false);
    add_column(&columns, "g", false);
    add_column(&columns, "n", true);
    add_column(&columns, "x", true);
    gr_buf_addf(out, "\"rows\": {\"op\": \"read_csv\", \"path\": \"rows.csv\"},"
                     "\"groups\": {\"op\": \"read_csv\", \"path\": \"groups.csv\"}");
    for (int i = 0; i < steps; i++) {
        put_step(seed, &columns, i, input, functions, out);
        (void)snprintf(input, sizeof input, "s%d", i);
    }
    return steps;
}
