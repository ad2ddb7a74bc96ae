/* Options of files that other engines have: flags that say what a parameter's value does here, and what changes nothing. */
#include <string.h>
#include <strings.h>

#include "graph/ops.h"
#include "sql/file.h"

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

bool
sql_file_other(struct sql_statement *q, granary_node node, enum gr_tile_op op, const struct sql_option *option)
{
    bool flag = false;
    bool told = is_flag(option, &flag);

    if (gr_param_find(op, "paths") == NULL) { /* it writes */
        return false;
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
