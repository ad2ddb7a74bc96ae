/* The check of one node's parameters. */
#include "graph/node.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "graph/operator.h"
#include "graph/operators/nearest.h"
#include "graph/tensor/map.h"

granary_err
node_fail(const Granary__Node *node, granary_err err)
{
    return gr_fail_in(err, "node '%.100s' (%.40s)", node->name, node->op);
}

static const Granary__Attr *
find_attr(const Granary__Node *node, const char *name)
{
    return gr_attr_find(node->attrs, node->n_attrs, name);
}

static int
compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A graph may have as many targets as nodes: sort, instead of comparing each with each. */
granary_err
find_repeated(char *const *strings, size_t count, const char **ret_string)
{
    char **sorted = malloc((count + 1) * sizeof *sorted);
    const char *repeated = NULL;

    if (sorted == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (count > 0) {
        memcpy(sorted, strings, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_strings);
    }
    for (size_t i = 1; i < count && repeated == NULL; i++) {
        repeated = strcmp(sorted[i - 1], sorted[i]) == 0 ? sorted[i] : NULL;
    }
    free(sorted);
    *ret_string = repeated;
    return GRANARY_OK;
}

/* ---- kinds ---- */

static const char *
kind_text(Granary__Attr__Kind kind)
{
    switch (kind) {
    case GRANARY__ATTR__KIND__INT:
        return "an integer";
    case GRANARY__ATTR__KIND__DOUBLE:
        return "a number with a fraction";
    case GRANARY__ATTR__KIND__BOOL:
        return "true or false";
    case GRANARY__ATTR__KIND__STRING:
        return "a string";
    case GRANARY__ATTR__KIND__INTS:
        return "a list of integers";
    case GRANARY__ATTR__KIND__DOUBLES:
        return "a list of numbers";
    case GRANARY__ATTR__KIND__STRINGS:
        return "a list of strings";
    case GRANARY__ATTR__KIND__BOOLS:
        return "a list of true and false";
    case GRANARY__ATTR__KIND__MAP:
        return "a mapping";
    default:
        return "nothing";
    }
}

/* A message may come from anywhere: the fields must be those the kind promises. */
static bool
is_well_formed(const Granary__Attr *attr)
{
    switch (attr->kind) {
    case GRANARY__ATTR__KIND__INT:
    case GRANARY__ATTR__KIND__BOOL:
        return attr->n_ints == 1;
    case GRANARY__ATTR__KIND__DOUBLE:
        return attr->n_doubles == 1;
    case GRANARY__ATTR__KIND__STRING:
        return attr->n_strings == 1;
    case GRANARY__ATTR__KIND__MAP:
        return attr->n_keys == attr->n_strings;
    default:
        return true;
    }
}

static bool
all_utf8(char *const *strings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!gr_is_utf8(strings[i], strlen(strings[i]))) {
            return false;
        }
    }
    return true;
}

static bool
is_empty_list(const Granary__Attr *attr)
{
    return (attr->kind == GRANARY__ATTR__KIND__INTS || attr->kind == GRANARY__ATTR__KIND__DOUBLES ||
            attr->kind == GRANARY__ATTR__KIND__STRINGS || attr->kind == GRANARY__ATTR__KIND__BOOLS) &&
           attr->n_ints == 0 && attr->n_doubles == 0 && attr->n_strings == 0;
}

/* Numbers become DOUBLES, one becomes a DOUBLE. false: it has others. */
static bool
adopt_numbers(Granary__Attr *attr)
{
    size_t count = attr->n_ints;

    if (attr->kind == GRANARY__ATTR__KIND__INT || attr->kind == GRANARY__ATTR__KIND__INTS) {
        free(attr->doubles);
        attr->doubles = calloc(count > 0 ? count : 1, sizeof *attr->doubles);
        if (attr->doubles == NULL) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            attr->doubles[i] = (double)attr->ints[i];
        }
        free(attr->ints);
        attr->ints = NULL;
        attr->n_ints = 0;
        attr->n_doubles = count;
        attr->kind =
            attr->kind == GRANARY__ATTR__KIND__INT ? GRANARY__ATTR__KIND__DOUBLE : GRANARY__ATTR__KIND__DOUBLES;
    }
    if (is_empty_list(attr)) {
        attr->kind = GRANARY__ATTR__KIND__DOUBLES;
    }
    return attr->kind == GRANARY__ATTR__KIND__DOUBLE || attr->kind == GRANARY__ATTR__KIND__DOUBLES;
}

/* Bring an attribute to the kind a parameter wants. false: it is another one. */
static bool
adopt_kind(Granary__Attr *attr, enum gr_param_kind want)
{
    static const struct {
        Granary__Attr__Kind kind;
        Granary__Attr__Kind single; /* accepted instead: one element of the list */
    } kinds[] = {
        [GR_PARAM_INT] = {GRANARY__ATTR__KIND__INT, GRANARY__ATTR__KIND__INT},
        [GR_PARAM_NUMBER] = {GRANARY__ATTR__KIND__DOUBLE, GRANARY__ATTR__KIND__DOUBLE},
        [GR_PARAM_VALUE] = {GRANARY__ATTR__KIND__DOUBLE, GRANARY__ATTR__KIND__DOUBLE},
        [GR_PARAM_BOOL] = {GRANARY__ATTR__KIND__BOOL, GRANARY__ATTR__KIND__BOOL},
        [GR_PARAM_STRING] = {GRANARY__ATTR__KIND__STRING, GRANARY__ATTR__KIND__STRING},
        [GR_PARAM_INTS] = {GRANARY__ATTR__KIND__INTS, GRANARY__ATTR__KIND__INT},
        [GR_PARAM_BOOLS] = {GRANARY__ATTR__KIND__BOOLS, GRANARY__ATTR__KIND__BOOL},
        [GR_PARAM_STRINGS] = {GRANARY__ATTR__KIND__STRINGS, GRANARY__ATTR__KIND__STRING},
        [GR_PARAM_MAP] = {GRANARY__ATTR__KIND__MAP, GRANARY__ATTR__KIND__MAP},
        [GR_PARAM_NUMBERS] = {GRANARY__ATTR__KIND__DOUBLES, GRANARY__ATTR__KIND__DOUBLE},
    };
    bool list = kinds[want].kind != kinds[want].single;

    if ((want == GR_PARAM_NUMBER || want == GR_PARAM_VALUE) && attr->kind == GRANARY__ATTR__KIND__INT) {
        return true;
    }
    if (want == GR_PARAM_NUMBERS) {
        return adopt_numbers(attr);
    }
    if ((want == GR_PARAM_NUMBER || want == GR_PARAM_VALUE) && attr->kind == GRANARY__ATTR__KIND__STRING &&
        gr_attr_adopt_word(attr)) {
        return true;
    }
    if (want == GR_PARAM_VALUE && attr->kind == GRANARY__ATTR__KIND__STRING) {
        return gr_attr_adopt_digits(attr) || gr_attr_is_complex(attr);
    }
    if (attr->kind != kinds[want].kind && attr->kind != kinds[want].single && !(list && is_empty_list(attr))) {
        return false;
    }
    attr->kind = kinds[want].kind;
    return true;
}

static granary_err
no_parameter(const struct gr_param_info *params, const char *name)
{
    struct gr_nearest nearest = {.name = name};
    struct gr_buf known = {0};
    char hint[GR_HINT_MAX];

    for (const struct gr_param_info *p = params; p != NULL; p = p->next) {
        gr_nearest_offer(&nearest, p->name);
        gr_buf_addf(&known, "%s%s", p == params ? "; it has: " : ", ", p->name);
    }
    (void)gr_fail(GRANARY_EINVAL, "no parameter '%.60s'%s", name,
                  nearest.best != NULL  ? gr_nearest_hint(&nearest, hint)
                  : known.bytes == NULL ? "; it has none"
                                        : known.bytes);
    gr_buf_free(&known);
    return GRANARY_EINVAL;
}

static granary_err
check_attr(const struct gr_param_info *params, Granary__Attr *attr)
{
    const struct gr_param_info *param = params;
    Granary__Attr__Kind kind = attr->kind;
    const char *repeated = NULL;
    granary_err err;

    while (param != NULL && strcmp(param->name, attr->name) != 0) {
        param = param->next;
    }
    if (param == NULL) {
        return no_parameter(params, attr->name);
    }
    if (!is_well_formed(attr) || !adopt_kind(attr, param->kind)) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' needs %s, not %s", param->name, gr_param_kind_text(param->kind),
                       kind_text(kind));
    }
    if (!all_utf8(attr->strings, attr->n_strings) || !all_utf8(attr->keys, attr->n_keys)) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' is not UTF-8 text", param->name);
    }
    err = find_repeated(attr->keys, attr->n_keys, &repeated);
    return repeated != NULL ? gr_fail(GRANARY_EINVAL, "parameter '%s' has '%s' twice", param->name, repeated) : err;
}

granary_err
node_check_attrs(Granary__Node *node, const struct gr_param_info *params)
{
    for (size_t i = 0; i < node->n_attrs; i++) {
        granary_err err;

        if (find_attr(node, node->attrs[i]->name) != node->attrs[i]) {
            return gr_fail(GRANARY_EINVAL, "parameter '%.60s' is given twice", node->attrs[i]->name);
        }
        if ((err = check_attr(params, node->attrs[i])) != GRANARY_OK) {
            return err;
        }
    }
    for (const struct gr_param_info *p = params; p != NULL; p = p->next) {
        if (p->required && find_attr(node, p->name) == NULL) {
            return gr_fail(GRANARY_EINVAL, "parameter '%s' is missing: %s (%s)", p->name, gr_param_kind_text(p->kind),
                           p->summary);
        }
    }
    return GRANARY_OK;
}

/* ---- rules ---- */

/* A list of names: none is empty, none comes twice. */
static granary_err
check_names(const Granary__Attr *attr)
{
    const char *repeated = NULL;
    granary_err err = find_repeated(attr->strings, attr->n_strings, &repeated);

    if (repeated != NULL) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' names column '%s' twice", attr->name, repeated);
    }
    for (size_t i = 0; i < attr->n_strings && err == GRANARY_OK; i++) {
        if (attr->strings[i][0] == '\0') {
            err = gr_fail(GRANARY_EINVAL, "parameter '%s' has an empty column name", attr->name);
        }
    }
    return err;
}

/* Whether a list of words, one space between each, has one. */
static bool
has_word(const char *words, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = words; *at != '\0'; at += strcspn(at, " "), at += *at == ' ') {
        if (strcspn(at, " ") == size && strncmp(at, word, size) == 0) {
            return true;
        }
    }
    return false;
}

static granary_err
check_words(const char *words, const Granary__Attr *attr)
{
    struct gr_buf text = {0};

    for (size_t i = 0; i < attr->n_strings; i++) {
        if (has_word(words, attr->strings[i])) {
            continue;
        }
        for (const char *at = words; *at != '\0'; at += strcspn(at, " "), at += *at == ' ') {
            int size = (int)strcspn(at, " ");

            gr_buf_addf(&text, "%s'%.*s'", at == words ? "" : at[size] == '\0' ? " or " : ", ", size, at);
        }
        (void)gr_fail(GRANARY_EINVAL, "parameter '%s' is '%.40s'; it can be %s", attr->name, attr->strings[i],
                      gr_buf_ok(&text) ? text.bytes : words);
        gr_buf_free(&text);
        return GRANARY_EINVAL;
    }
    return GRANARY_OK;
}

static granary_err
check_number(const struct gr_param_rule *rule, const Granary__Attr *attr)
{
    bool whole = attr->kind == GRANARY__ATTR__KIND__INT;
    size_t count = whole ? 1 : attr->n_doubles, k = 0;
    char *end;
    double least = strtod(rule->text, &end);
    double most = rule->kind == GR_RULE_WITHIN ? strtod(end, NULL) : HUGE_VAL;
    double value = 0;
    char text[40];

    do {
        value = count == 0 ? least : whole ? (double)attr->ints[0] : attr->doubles[k];
    } while (value >= least && value <= most && ++k < count);
    if (value >= least && value <= most) {
        return GRANARY_OK;
    }
    if (whole) {
        (void)snprintf(text, sizeof text, "%" PRId64, attr->ints[0]);
    } else {
        (void)snprintf(text, sizeof text, "%g", value);
    }
    if (rule->kind == GR_RULE_WITHIN) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' is %s; it can be %.15g to %.15g", attr->name, text, least, most);
    }
    return least == 0
               ? gr_fail(GRANARY_EINVAL, "parameter '%s' is %s; it cannot be negative", attr->name, text)
               : gr_fail(GRANARY_EINVAL, "parameter '%s' is %s; it must be at least %s", attr->name, text, rule->text);
}

static granary_err
check_parsed(const Granary__Attr *attr, struct gr_trees *trees)
{
    const struct gr_expr *expr;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < attr->n_strings && err == GRANARY_OK; i++) {
        err = gr_trees_find(trees, attr->strings[i], &expr);
        if (err != GRANARY_OK && attr->n_keys > 0) {
            err = gr_fail_in(err, "column '%.100s'", attr->keys[i]);
        }
    }
    return err;
}

/* One text, or some, of which none is empty. */
static granary_err
check_filled(const Granary__Attr *attr)
{
    bool empty = attr->n_strings == 0;

    for (size_t i = 0; i < attr->n_strings; i++) {
        empty = empty || attr->strings[i][0] == '\0';
    }
    return empty ? gr_fail(GRANARY_EINVAL, "parameter '%s' is empty", attr->name) : GRANARY_OK;
}

/* Which of so many parts. */
static granary_err
check_part(const Granary__Node *node)
{
    const Granary__Attr *part = find_attr(node, "part");
    const Granary__Attr *parts = find_attr(node, "parts");

    if (parts == NULL) {
        return gr_fail(GRANARY_EINVAL, "parameter 'part' goes with 'parts': say how many parts there are");
    }
    if (part == NULL) {
        return gr_fail(GRANARY_EINVAL, "parameter 'parts' goes with 'part': say which of the parts is meant, from 0");
    }
    return parts->ints[0] < 1 || part->ints[0] < parts->ints[0]
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL,
                         "parameter 'part' is %" PRId64 " of %" PRId64 " parts; it can be 0 to %" PRId64, part->ints[0],
                         parts->ints[0], parts->ints[0] - 1);
}

static granary_err
check_rule(const struct gr_param_rule *rule, const Granary__Node *node, const Granary__Attr *attr,
           struct gr_trees *trees)
{
    switch (rule->kind) {
    case GR_RULE_COLUMNS:
    case GR_RULE_NAMES:
        return attr->n_strings == 0 ? gr_fail(GRANARY_EINVAL, "parameter '%s' names no column", attr->name)
                                    : check_names(attr);
    case GR_RULE_COLUMNS_OR_NONE:
        return check_names(attr);
    case GR_RULE_LISTED:
    case GR_RULE_SOME:
        return attr->n_strings == 0 ? gr_fail(GRANARY_EINVAL, "parameter '%s' is empty", attr->name) : GRANARY_OK;
    case GR_RULE_FILLED:
        return check_filled(attr);
    case GR_RULE_ONE_OF:
        return check_words(rule->text, attr);
    case GR_RULE_FROM:
    case GR_RULE_WITHIN:
        return check_number(rule, attr);
    case GR_RULE_PART:
        return check_part(node);
    case GR_RULE_PARSED:
        return check_parsed(attr, trees);
    default: /* columns of the inputs, which are not known yet */
        return GRANARY_OK;
    }
}

static granary_err
check_rules(const Granary__Node *node, enum gr_tile_op op, struct gr_trees *trees)
{
    granary_err err = GRANARY_OK;

    for (const struct gr_param_info *p = gr_params_of(op); p != NULL; p = p->next) {
        const Granary__Attr *attr = p->rules == NULL ? NULL : find_attr(node, p->name);

        for (const struct gr_param_rule *rule = p->rules; rule != NULL && attr != NULL && err == GRANARY_OK;
             rule = rule->next) {
            err = check_rule(rule, node, attr, trees);
        }
    }
    return err;
}

granary_err
node_check_values(const Granary__Node *node, enum gr_tile_op op, struct gr_trees *trees)
{
    granary_err err = check_rules(node, op, trees);

    return err == GRANARY_OK && gr_operator(op)->check != NULL ? gr_operator(op)->check(node, op) : err;
}

/* Whether a rule says that the parameter names columns of that input. */
static bool
is_of_input(enum gr_rule_kind kind, size_t input)
{
    switch (kind) {
    case GR_RULE_COLUMNS:
    case GR_RULE_COLUMNS_OR_NONE:
    case GR_RULE_LISTED:
    case GR_RULE_LISTED_OR_NONE:
    case GR_RULE_COLUMN:
        return true;
    case GR_RULE_COLUMN_LEFT:
        return input == 0;
    case GR_RULE_COLUMN_RIGHT:
        return input == 1;
    default:
        return false;
    }
}

/* The columns that a parameter names are in the schema. */
static granary_err
check_in_schema(const Granary__Attr *attr, const struct gr_schema *schema)
{
    char *const *names = attr->kind == GRANARY__ATTR__KIND__MAP ? attr->keys : attr->strings;

    for (size_t k = 0; k < attr->n_strings; k++) {
        if (gr_schema_find(schema, names[k]) < 0) {
            return gr_fail_in(gr_schema_no_column(schema, names[k]), "parameter '%s'", attr->name);
        }
    }
    return GRANARY_OK;
}

granary_err
node_check_columns(const Granary__Node *node, enum gr_tile_op op, size_t input, const struct gr_schema *schema)
{
    granary_err err = GRANARY_OK;

    for (const struct gr_param_info *p = gr_params_of(op); p != NULL; p = p->next) {
        const Granary__Attr *attr = p->rules == NULL ? NULL : find_attr(node, p->name);

        for (const struct gr_param_rule *rule = p->rules; rule != NULL && attr != NULL && err == GRANARY_OK;
             rule = rule->next) {
            err = is_of_input(rule->kind, input) ? check_in_schema(attr, schema) : GRANARY_OK;
        }
    }
    return err;
}

/* ---- the whole ---- */

static granary_err
check_inputs(const Granary__Node *node, enum gr_tile_op op)
{
    const struct gr_op_info *info = gr_op_info(op);
    size_t min = (size_t)info->min_inputs;
    size_t max = (size_t)info->max_inputs;

    if (node->n_inputs >= min && node->n_inputs <= max) {
        return GRANARY_OK;
    }
    if (max == 0) {
        return gr_fail(GRANARY_EINVAL, "it takes no input, but has %zu", node->n_inputs);
    }
    if (min == max) {
        return gr_fail(GRANARY_EINVAL, "it takes %zu input%s, but has %zu", min, min == 1 ? "" : "s", node->n_inputs);
    }
    return gr_fail(GRANARY_EINVAL, "it takes %zu to %zu inputs, but has %zu", min, max, node->n_inputs);
}

granary_err
node_check(Granary__Node *node, enum gr_tile_op op, struct gr_trees *trees)
{
    granary_err err = check_inputs(node, op);

    if (err == GRANARY_OK) {
        err = node_check_attrs(node, gr_params_of(op));
    }
    return err == GRANARY_OK ? node_check_values(node, op, trees) : err;
}
