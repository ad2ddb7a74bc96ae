/* Files: options become parameters as the operator's rows have them, so that a new parameter is a new option. */
#include "sql/from/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "data/file/sketch.h"
#include "graph/operators/nearest.h"
#include "graph/ops.h"
#include "sql/block.h"

/* What other engines call a parameter. */
static const struct {
    const char *other;
    const char *name;
} aliases[] = {
    {"delim", "delimiter"},           {"sep", "delimiter"},
    {"null", "null_values"},          {"null", "null_value"},
    {"nullstr", "null_values"},       {"nullstr", "null_value"},
    {"codec", "compression"},         {"types", "dtypes"},
    {"dateformat", "date_format"},    {"timestampformat", "timestamp_format"},
    {"decimal_separator", "decimal"},
};

/* ---- formats ---- */

static bool
has_rows(const struct gr_format *format)
{
    return format->sketch != NULL;
}

static const struct gr_format *
format_named(const char *name)
{
    name = strcasecmp(name, "json") == 0 || strcasecmp(name, "jsonl") == 0 ? "ndjson" : name;
    for (size_t i = 0; gr_formats[i] != NULL; i++) {
        if (strcasecmp(gr_formats[i]->name, name) == 0) {
            return gr_formats[i];
        }
    }
    return NULL;
}

const struct gr_format *
sql_file_format(struct sql_statement *q, const struct sql_file *file, const char *path, int position,
                const struct gr_format_ending **ret_ending)
{
    const char *name = file == NULL ? NULL : file->format;
    const struct gr_format *format = gr_format_of_path(path, ret_ending);
    struct gr_buf endings = {0};

    if (name != NULL) {
        *ret_ending = NULL;
        format = format_named(name);
    } else if (format == NULL) { /* a folder, or a pattern, whose files tell */
        granary_err err = gr_format_of_name(path, &format, ret_ending);

        if (err != GRANARY_OK) {
            (void)sql_fail(q, err, position, "%s", granary_error_message());
            return NULL;
        }
    }
    if (format != NULL && format->refusal != NULL) {
        (void)sql_fail(q, GRANARY_EUNSUPPORTED, position, "%s", format->refusal);
        return NULL;
    }
    if (format != NULL && has_rows(format)) {
        return format;
    }
    gr_format_list(has_rows, false, &endings);
    (void)sql_fail(q, GRANARY_EINVAL, position,
                   name == NULL ? "%s: its ending tells no format of rows: %.*s; or say FORMAT"
                                : "'%s' is no format of rows; there are those of %.*s",
                   name == NULL ? path : name, (int)endings.size, endings.bytes);
    gr_buf_free(&endings);
    return NULL;
}

/* ---- options ---- */

static const struct sql_option *
option_named(const struct sql_file *file, const char *name)
{
    for (size_t i = 0; file != NULL && i < file->count; i++) {
        const struct sql_option *option = &file->options[i];
        bool is_it = strcasecmp(option->name, name) == 0;

        for (size_t k = 0; k < sizeof aliases / sizeof aliases[0] && !is_it; k++) {
            is_it = strcasecmp(option->name, aliases[k].other) == 0 && strcmp(aliases[k].name, name) == 0;
        }
        if (is_it) {
            return option;
        }
    }
    return NULL;
}

const char *
sql_file_option(const struct sql_file *file, const char *name)
{
    const struct sql_option *option = option_named(file, name);

    if (option != NULL) {
        return option->count == 1 ? option->texts[0] : NULL;
    }
    return file != NULL ? sql_file_flagged(file, name) : NULL;
}

static const struct gr_param_info *
find_param(enum gr_tile_op op, const char *name)
{
    const struct gr_param_info *param;

    for (param = gr_params_of(op); param != NULL; param = param->next) {
        if (strcasecmp(param->name, name) == 0) {
            return strcmp(param->name, "path") == 0 ? NULL : param;
        }
    }
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        param = strcasecmp(aliases[i].other, name) == 0 ? gr_param_find(op, aliases[i].name) : NULL;
        if (param != NULL) {
            return param;
        }
    }
    return NULL;
}

static bool
no_option(struct sql_statement *q, enum gr_tile_op op, const struct sql_option *option)
{
    struct gr_nearest nearest = {.name = option->name};
    struct gr_buf names = {0};
    char hint[GR_HINT_MAX];

    for (const struct gr_param_info *param = gr_params_of(op); param != NULL; param = param->next) {
        if (strcmp(param->name, "path") != 0) {
            gr_nearest_offer(&nearest, param->name);
            gr_buf_addf(&names, "%s%s", names.size > 0 ? ", " : "", param->name);
        }
    }
    (void)gr_nearest_hint(&nearest, hint);
    if (hint[0] != '\0' || names.size == 0) {
        (void)sql_fail(q, GRANARY_EINVAL, option->position, "%s has no option '%s'%s", gr_op_info(op)->name,
                       option->name, hint);
    } else {
        (void)sql_fail(q, GRANARY_EINVAL, option->position, "%s has no option '%s': it has %.*s", gr_op_info(op)->name,
                       option->name, (int)names.size, names.bytes);
    }
    gr_buf_free(&names);
    return false;
}

static bool
parse_flag(const char *text, bool *ret_flag)
{
    static const char *const words[2][4] = {{"false", "off", "no", "0"}, {"true", "on", "yes", "1"}};

    for (int flag = 0; flag < 2; flag++) {
        for (size_t i = 0; i < 4; i++) {
            if (strcasecmp(text, words[flag][i]) == 0) {
                *ret_flag = flag == 1;
                return true;
            }
        }
    }
    return false;
}

static bool
parse_integer(const char *text, int64_t *ret_value)
{
    char *end = NULL;

    errno = 0;
    *ret_value = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0;
}

/* A column and its dtype: "first seen timestamp". */
static bool
set_entry(struct sql_statement *q, granary_node node, const struct gr_param_info *param, const char *text)
{
    const char *space = strrchr(text, ' ');
    const char *name = space == NULL ? NULL : sql_printf(q, "%.*s", (int)(space - text), text);

    if (name != NULL) {
        granary_node_set_entry(q->graph, node, param->name, name, space + 1);
    }
    return name != NULL;
}

/* false: the value is of another kind. */
static bool
set_texts(struct sql_statement *q, granary_node node, const struct gr_param_info *param,
          const struct sql_option *option)
{
    int64_t *numbers = SQL_ARRAY(q, int64_t, option->count);
    bool *flags = SQL_ARRAY(q, bool, option->count);
    bool ok = numbers != NULL && flags != NULL;

    for (size_t i = 0; ok && i < option->count; i++) {
        ok = param->kind == GR_PARAM_INTS    ? parse_integer(option->texts[i], &numbers[i])
             : param->kind == GR_PARAM_BOOLS ? parse_flag(option->texts[i], &flags[i])
             : param->kind == GR_PARAM_MAP   ? set_entry(q, node, param, option->texts[i])
                                             : true;
    }
    if (ok && param->kind == GR_PARAM_INTS) {
        granary_node_set_ints(q->graph, node, param->name, numbers, option->count);
    } else if (ok && param->kind == GR_PARAM_BOOLS) {
        granary_node_set_bools(q->graph, node, param->name, flags, option->count);
    } else if (ok && param->kind == GR_PARAM_STRINGS) {
        granary_node_set_strings(q->graph, node, param->name, option->texts, option->count);
    }
    return ok;
}

static bool
set_one(struct sql_statement *q, granary_node node, const struct gr_param_info *param, const char *text)
{
    int64_t number = 0;
    bool flag = false;
    char *end = NULL;
    double real;

    switch (param->kind) {
    case GR_PARAM_STRING:
        granary_node_set_string(q->graph, node, param->name, text);
        return true;
    case GR_PARAM_BOOL:
        if (!param->required && param->fallback == NULL && strcasecmp(text, "auto") == 0) {
            return true; /* as if it were not said */
        }
        if (parse_flag(text, &flag)) {
            granary_node_set_bool(q->graph, node, param->name, flag);
            return true;
        }
        return false;
    default:
        if (parse_integer(text, &number)) {
            granary_node_set_int(q->graph, node, param->name, number);
            return true;
        }
        real = strtod(text, &end);
        if (param->kind == GR_PARAM_INT || end == text || *end != '\0') {
            return false;
        }
        granary_node_set_double(q->graph, node, param->name, real);
        return true;
    }
}

/* OVERWRITE and APPEND say of folders what other engines have flags for. *ret_is: it is one of these */
static bool
set_existing(struct sql_statement *q, granary_node node, enum gr_tile_op op, const struct sql_option *option,
             bool *ret_is)
{
    static const char *const flags[] = {"overwrite", "append"};
    bool flag = false;
    size_t i = 0;

    while (i < 2 && strcasecmp(option->name, flags[i]) != 0) {
        i++;
    }
    *ret_is = gr_param_find(op, "existing") != NULL && (i < 2 || strcasecmp(option->name, "overwrite_or_ignore") == 0);
    if (!*ret_is) {
        return true;
    }
    if (option->count != 1 || !parse_flag(option->texts[0], &flag)) {
        return sql_fail(q, GRANARY_EINVAL, option->position, "option '%s' needs true or false", option->name);
    }
    if (i == 2 && flag) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, option->position,
                        "there is no option '%s': OVERWRITE replaces the folder, APPEND adds files to it",
                        option->name);
    }
    if (flag) {
        granary_node_set_string(q->graph, node, "existing", flags[i]);
    }
    return true;
}

static bool
set_option(struct sql_statement *q, granary_node node, enum gr_tile_op op, const struct sql_option *option)
{
    const struct gr_param_info *param = find_param(op, option->name);
    bool is_existing = false;
    bool ok = set_existing(q, node, op, option, &is_existing);

    if (!ok || is_existing) {
        return ok;
    }
    if (sql_file_other(q, node, op, option)) {
        return true;
    }
    if (param == NULL) {
        return no_option(q, op, option);
    }
    switch (param->kind) {
    case GR_PARAM_INTS:
    case GR_PARAM_BOOLS:
    case GR_PARAM_STRINGS:
    case GR_PARAM_MAP:
        ok = set_texts(q, node, param, option);
        break;
    default:
        ok = option->count == 1 && set_one(q, node, param, option->texts[0]);
    }
    return ok ||
           sql_fail(q, GRANARY_EINVAL, option->position, "option '%s' needs %s%s", option->name,
                    gr_param_kind_text(param->kind), param->kind == GR_PARAM_MAP ? ": ARRAY['COLUMN DTYPE', ...]" : "");
}

granary_node
sql_file_node(struct sql_statement *q, const char *verb, const struct gr_format *format,
              const struct gr_format_ending *ending, const struct sql_file *file, const char *path, int position,
              const granary_node *inputs, size_t count)
{
    const char *name = sql_printf(q, "%s_%s", verb, format->name);
    int op = name == NULL ? -1 : gr_op_find(name);
    granary_node node;

    if (op < 0) {
        (void)sql_fail(q, GRANARY_EUNSUPPORTED, position, "%s cannot be %s", format->what,
                       strcmp(verb, "read") == 0 ? "read" : "written");
        return GRANARY_NO_NODE;
    }
    node = sql_node(q, name, position, inputs, count);
    granary_node_set_string(q->graph, node, "path", path);
    if (ending != NULL && ending->delimiter != NULL && sql_file_option(file, "delimiter") == NULL) {
        granary_node_set_string(q->graph, node, "delimiter", ending->delimiter);
    }
    for (size_t i = 0; file != NULL && i < file->count && q->err == GRANARY_OK; i++) {
        (void)set_option(q, node, (enum gr_tile_op)op, &file->options[i]);
    }
    return q->err == GRANARY_OK ? node : GRANARY_NO_NODE;
}

/* ---- text in columns ---- */

/* A flag, where it is given as one; else as it is without. */
static bool
flag_or(const struct sql_file *file, const char *name, bool otherwise)
{
    const char *text = sql_file_option(file, name);
    bool flag = otherwise;

    return text != NULL && parse_flag(text, &flag) ? flag : otherwise;
}

static const char *
option_or(const struct sql_file *file, const char *name, const char *otherwise)
{
    const char *text = sql_file_option(file, name);

    return text != NULL ? text : otherwise;
}

void
sql_file_header(const struct sql_file *file, struct gr_header_style *ret_style, struct gr_sketch *sketch)
{
    const struct sql_option *nulls = option_named(file, "null_values");
    const char *header = sql_file_option(file, "header");
    bool has = true;

    *ret_style = (struct gr_header_style){.decimal = option_or(file, "decimal", ".")[0],
                                          .thousands = option_or(file, "thousands", "")[0],
                                          .nulls = nulls == NULL ? NULL : (char *const *)nulls->texts,
                                          .null_count = nulls == NULL ? 0 : nulls->count};
    sketch->style = ret_style;
    if (header != NULL && parse_flag(header, &has)) {
        sketch->header = has ? GR_HEADER_YES : GR_HEADER_NO;
    }
}

bool
sql_file_dialect(const struct sql_file *file, const char *delimiter, struct gr_dialect *ret_dialect)
{
    static const char *const said[] = {"delimiter", "quote", "escape",      "comment", "comment_anywhere",
                                       "encoding",  "skip",  "skip_spaces", "ragged"};
    const struct gr_dialect plain = GR_DIALECT_PLAIN;
    bool is_said = false;

    *ret_dialect = (struct gr_dialect){.delimiter = delimiter,
                                       .quote = option_or(file, "quote", plain.quote),
                                       .escape = option_or(file, "escape", plain.escape),
                                       .comment = option_or(file, "comment", plain.comment),
                                       .encoding = option_or(file, "encoding", plain.encoding),
                                       .ragged = gr_ragged_of(option_or(file, "ragged", "refuse")),
                                       .null = plain.null};
    (void)parse_integer(option_or(file, "skip", "0"), &ret_dialect->skip);
    ret_dialect->tolerates = strcmp(option_or(file, "errors", "refuse"), "refuse") != 0;
    ret_dialect->comment_anywhere = flag_or(file, "comment_anywhere", false);
    ret_dialect->skip_spaces = flag_or(file, "skip_spaces", false);
    for (size_t i = 0; i < sizeof said / sizeof said[0] && !is_said; i++) {
        is_said = sql_file_option(file, said[i]) != NULL;
    }
    return !flag_or(file, "sniff", !is_said);
}
