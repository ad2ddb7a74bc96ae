/* What the rows of graph/expr/ops.def tell people of functions. */
#include <string.h>

#include "graph/expr.h"

static const struct gr_function_info functions[] = {
/* clang-format off */
#define TYPES(signature)             signature
#define CHECK(name)                  ""
#define CHECK_TYPES(name, signature) signature
#define FUNCTION(id, text, least, most, rule, kernel, fails, takes, summary) {GR_OP_##id, text, takes, least, rule, summary},
#include "graph/expr/ops.def"
/* clang-format on */
#undef TYPES
#undef CHECK
#undef CHECK_TYPES
};

static const struct {
    enum gr_expr_op op;
    const char *name;
    bool of_sql;
} names[] = {
#define ALIAS(id, name)                      {GR_OP_##id, name, false},
#define SQL_NAME(id, name, least, most, how) {GR_OP_##id, name, true},
#include "graph/expr/ops.def"
};

/* Not the function's own name, and not told before. */
static bool
name_is_new(size_t i, const struct gr_function_info *info)
{
    bool told = strcmp(names[i].name, info->name) == 0;

    for (size_t before = 0; before < i; before++) {
        told = told || (names[before].op == info->op && strcmp(names[before].name, names[i].name) == 0);
    }
    return !told;
}

const struct gr_function_info *
gr_function_info(size_t *ret_count)
{
    *ret_count = sizeof functions / sizeof functions[0];
    return functions;
}

const char *
gr_function_gives(const struct gr_function_info *info)
{
    static const char *const dtypes[][2] = {{"s", "string"}, {"i", "int64"},          {"b", "bool"},
                                            {"d", "date"},   {"m", "timestamp"},      {"f", "float64"},
                                            {"y", "binary"}, {"=", "as its argument"}};
    const char *value = strchr(info->signature, '>');

    if (info->signature[0] == 'x' && strcmp(value, ">=") == 0) {
        return "float64, float32";
    }
    for (size_t i = 0; value != NULL && i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (strcmp(value + 1, dtypes[i][0]) == 0) {
            return dtypes[i][1];
        }
    }
    return "";
}

void
gr_function_print_call(const struct gr_function_info *info, struct gr_buf *out)
{
    const char *at = info->takes;

    gr_buf_addf(out, "%s(", info->name);
    for (int operand = 0; *at != '\0'; operand++) {
        size_t size = strcspn(at, ",");
        bool optional = operand >= info->least && strncmp(at, "...", 3) != 0;

        gr_buf_addf(out, "%s%s%.*s%s", optional ? "[" : "", operand > 0 ? ", " : "", (int)size, at,
                    optional ? "]" : "");
        at += size + strspn(at + size, ", ");
    }
    gr_buf_addf(out, ")");
}

void
gr_function_print_names(const struct gr_function_info *info, struct gr_buf *out)
{
    for (int of_sql = 0; of_sql < 2; of_sql++) {
        const char *before = of_sql ? "; in SQL also " : "; also ";

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            if (names[i].op == info->op && names[i].of_sql == (of_sql != 0) && name_is_new(i, info)) {
                gr_buf_addf(out, "%s`%s`", before, names[i].name);
                before = " ";
            }
        }
    }
}
