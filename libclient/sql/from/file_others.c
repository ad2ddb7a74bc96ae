/* Options of files that other engines have: flags that say what a parameter's value does here, and what changes nothing. */
#include <string.h>
#include <strings.h>

#include "graph/ops.h"
#include "sql/from/file.h"

/* A flag, and the values of a parameter that it stands for; NULL: it is left as it is. */
static const struct {
    const char *flag;
    const char *param;
    const char *values[2]; /* of false, of true */
} flags[] = {
    {"ignore_errors", "errors", {"refuse", "skip"}},  {"null_padding", "ragged", {"refuse", "fill"}},
    {"hive_partitioning", "hive", {"false", "true"}}, {"union_by_name", "schemas", {"same", "join"}},
    {"filename", "filename", {NULL, "filename"}},
};

/* How others read: the rows are the same. Those with a value are known with it alone. */
static const struct {
    const char *name;
    const char *value;
} idle[] = {
    {"buffer_size", NULL},          {"parallel", NULL},
    {"sample_size", NULL},          {"files_to_sniff", NULL},
    {"max_line_size", NULL},        {"maximum_line_size", NULL},
    {"auto_detect", "true"},        {"binary_as_string", "false"},
    {"debug_use_openssl", NULL},    {"can_have_nan", NULL},
    {"compression", NULL},          {"maximum_object_size", NULL},
    {"maximum_sample_files", NULL}, {"hive_types_autocast", "true"},
    {"all_varchar", "false"},
};

/* Types of text by their names in SQL, as read_csv infers them. */
static const char *const types[][2] = {
    {"bigint", "int64"},       {"integer", "int64"},  {"int", "int64"},       {"smallint", "int64"},
    {"tinyint", "int64"},      {"double", "float64"}, {"float", "float64"},   {"real", "float64"},
    {"varchar", "string"},     {"text", "string"},    {"string", "string"},   {"boolean", "bool"},
    {"bool", "bool"},          {"date", "date"},      {"time", "time"},       {"timestamp", "timestamp"},
    {"datetime", "timestamp"}, {"int64", "int64"},    {"float64", "float64"}, {"hugeint", "decimal(0)"},
};

/* auto_type_candidates; all_varchar is the candidate string alone. */
static bool
set_candidates(struct sql_statement *q, granary_node node, const struct sql_option *option)
{
    const char **names = SQL_ARRAY(q, const char *, option->count);

    for (size_t i = 0; names != NULL && i < option->count; i++) {
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
            names[i] = strcasecmp(types[t][0], option->texts[i]) == 0 ? types[t][1] : names[i];
        }
        if (names[i] == NULL) {
            return sql_fail(
                q, GRANARY_EINVAL, option->position,
                "'%s' is no type that is inferred: boolean, bigint, double, date, time, timestamp and varchar are",
                option->texts[i]);
        }
    }
    if (names != NULL && option->count > 0) {
        granary_node_set_strings(q->graph, node, "candidates", names, option->count);
    }
    return names != NULL;
}

static bool
is_flag(const struct sql_option *option, bool *ret_flag)
{
    static const char *const words[2][4] = {{"false", "off", "no", "0"}, {"true", "on", "yes", "1"}};

    for (size_t i = 0; i < 8 && option->count == 1; i++) {
        if (strcasecmp(option->texts[0], words[i / 4][i % 4]) == 0) {
            *ret_flag = i >= 4;
            return true;
        }
    }
    return false;
}

const char *
sql_file_flagged(const struct sql_file *file, const char *param)
{
    bool flag = false;

    for (size_t i = 0; i < file->count; i++) {
        for (size_t f = 0; f < sizeof flags / sizeof flags[0]; f++) {
            if (strcmp(flags[f].param, param) == 0 && strcasecmp(flags[f].flag, file->options[i].name) == 0 &&
                is_flag(&file->options[i], &flag)) {
                return flags[f].values[flag];
            }
        }
    }
    return NULL;
}

bool
sql_file_other(struct sql_statement *q, granary_node node, enum gr_tile_op op, const struct sql_option *option)
{
    bool flag = false;
    bool told = is_flag(option, &flag);

    if (gr_param_find(op, "paths") == NULL) { /* it writes */
        return false;
    }
    if (gr_param_find(op, "candidates") != NULL && strcasecmp(option->name, "auto_type_candidates") == 0) {
        (void)set_candidates(q, node, option);
        return true;
    }
    if (gr_param_find(op, "candidates") != NULL && strcasecmp(option->name, "all_varchar") == 0 && told && flag) {
        granary_node_set_strings(q->graph, node, "candidates", (const char *const[]){"string"}, 1);
        return true;
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0] && told; i++) {
        if (strcasecmp(flags[i].flag, option->name) == 0 && gr_param_find(op, flags[i].param) != NULL) {
            if (flags[i].values[flag] != NULL) {
                granary_node_set_string(q->graph, node, flags[i].param, flags[i].values[flag]);
            }
            return true;
        }
    }
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
        if (strcasecmp(idle[i].name, option->name) == 0 && gr_param_find(op, option->name) == NULL &&
            (idle[i].value == NULL || (told && flag == (idle[i].value[0] == 't')))) {
            return true;
        }
    }
    return false;
}
