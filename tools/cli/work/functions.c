/* The functions of groupby, window and expressions as docs/operators.md lists them, from the rows that make them. */
#include "cli/work/functions.h"

#include <stdio.h>
#include <string.h>

#include "base/text/buf.h"
#include "graph/expr.h"

struct row {
    const char *name;
    const char *takes; /* aggregates: what stands in the brackets; windows: a letter a literal */
    int value;         /* windows: 0 none, 1 needed, 2 may be */
    const char *gives;
    const char *summary;
};

static const struct row aggregates[] = {
#define NOTHING  "x"
#define DDOF     "x[, ddof]"
#define FRACTION "x[, fraction]"
#define ARGUMENT "x, y"
#define ROWS     "x, n"

#define INT     "int64"
#define BOOL    "bool"
#define SUM     "int64 of bools and integers, uint64 of unsigned ones, else that of x"
#define PRODUCT "as sum; of decimals float64"
#define SAME    "that of x"
#define MEAN    "float64; of float32, duration, time, timestamp that"
#define BETWEEN "float64; of date timestamp; of float32, duration, time, timestamp that"
#define SPREAD  "float64; of float32 that"
#define REAL    "float64"
#define LIST    "a list of that of x"

#define AGGREGATE(id, text, second, takes, gives, order, part, result, summary) {text, second, 0, gives, summary},
#include "graph/operators/aggregates.def"
};
#undef PRODUCT
#undef MEAN

static const struct row windows[] = {
#define FLOAT   "float64"
#define PRODUCT SUM
#define MEAN    "float64; of float32, duration that"
#define DIFF    "of integers int64 (uint64 of that), of dates, times and timestamps duration, else that of x"
#define RANK    "float64; without x int64"
#define LINE    SAME

#define WINDOW(id, text, value, literals, gives, sees, kernel, summary) {text, literals, value, gives, summary},
#include "graph/window/functions.def"
};

#define COUNT_OF(rows) (sizeof(rows) / sizeof(rows)[0])

void
print_aggregates(void)
{
    printf("| function | gives | dtype |\n|---|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(aggregates); i++) {
        const struct row *row = &aggregates[i];

        printf("| `%s(%s)` | %s | %s |\n", row->name, strcmp(row->name, "size") == 0 ? "" : row->takes, row->summary,
               row->gives);
    }
    printf("\n");
}

static const char *
literal_name(char letter)
{
    static const char *const names[] = {
        ['f'] = "fill",      ['o'] = "n",           ['l'] = "limit",    ['m'] = "method", ['d'] = "descending",
        ['w'] = "window",    ['p'] = "min_periods", ['c'] = "center",   ['a'] = "alpha",  ['j'] = "adjust",
        ['i'] = "ignore_na", ['b'] = "bias",        ['q'] = "quantile", ['x'] = "pct"};

    return names[(unsigned char)letter];
}

void
print_windows(void)
{
    printf("| function | gives | dtype |\n|---|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        const struct row *row = &windows[i];
        const char *before = row->value > 0 ? ", " : "";
        bool optional = false;

        printf("| `%s(%s", row->name, row->value == 0 ? "" : row->value == 1 ? "x" : "[x]");
        for (const char *letter = row->takes; *letter != '\0'; letter++) {
            if (*letter == '|') {
                optional = true;
            } else {
                printf("%s%s%s%s", optional ? "[" : "", before, literal_name(*letter), optional ? "]" : "");
                before = ", ";
            }
        }
        printf(")` | %s | %s |\n", row->summary, row->gives);
    }
    printf("\n");
}

static void
print_function(const struct gr_function_info *info)
{
    struct gr_buf out = {0};

    gr_buf_addf(&out, "| `");
    gr_function_print_call(info, &out);
    gr_buf_addf(&out, "` | %s | %s", gr_function_gives(info), info->summary);
    gr_function_print_names(info, &out);
    gr_buf_addf(&out, " |\n");
    printf("%s", gr_buf_ok(&out) ? out.bytes : "");
    gr_buf_free(&out);
}

void
print_functions(void)
{
    size_t count;
    const struct gr_function_info *functions = gr_function_info(&count);

    printf(
        "## Functions of expressions\n\nThey stand in [expressions](graph-format.md#expressions) and in SQL. Arguments "
        "in square brackets may be left out.\n\n| function | gives | what it is |\n|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        print_function(&functions[i]);
    }
    printf("\n");
}
