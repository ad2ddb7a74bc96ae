/* Attributes: read with defaults, made, copied. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/grow.h"
#include "graph/graph.h"

const Granary__Attr *
gr_attr_find(Granary__Attr *const *attrs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(attrs[i]->name, name) == 0) {
            return attrs[i];
        }
    }
    return NULL;
}

/* The attribute when it is of that kind and has its value (a message may come from anywhere), else NULL. */
static const Granary__Attr *
find_kind(Granary__Attr *const *attrs, size_t count, const char *name, Granary__Attr__Kind kind)
{
    const Granary__Attr *attr = gr_attr_find(attrs, count, name);
    bool full = false;

    if (attr == NULL || attr->kind != kind) {
        return NULL;
    }
    switch (kind) {
    case GRANARY__ATTR__KIND__INT:
    case GRANARY__ATTR__KIND__BOOL:
        full = attr->n_ints == 1;
        break;
    case GRANARY__ATTR__KIND__DOUBLE:
        full = attr->n_doubles == 1;
        break;
    case GRANARY__ATTR__KIND__STRING:
        full = attr->n_strings == 1;
        break;
    default:
        break;
    }
    return full ? attr : NULL;
}

int64_t
gr_attr_int(Granary__Attr *const *attrs, size_t count, const char *name, int64_t fallback)
{
    const Granary__Attr *attr = find_kind(attrs, count, name, GRANARY__ATTR__KIND__INT);

    return attr == NULL ? fallback : attr->ints[0];
}

/* The digits of an integer beyond int64. */
static bool
parse_beyond(const char *text, uint64_t *ret_bits)
{
    char *end;

    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    errno = 0;
    *ret_bits = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' && *ret_bits > INT64_MAX;
}

bool
gr_attr_whole(const Granary__Attr *attr, uint64_t *ret_bits, bool *ret_beyond)
{
    if (attr->kind == GRANARY__ATTR__KIND__INT && attr->n_ints == 1) {
        *ret_bits = (uint64_t)attr->ints[0];
        *ret_beyond = false;
        return true;
    }
    *ret_beyond = true;
    return attr->kind == GRANARY__ATTR__KIND__STRING && attr->n_strings == 1 &&
           parse_beyond(attr->strings[0], ret_bits);
}

double
gr_attr_number(const Granary__Attr *attr)
{
    uint64_t bits;
    bool beyond;

    if (gr_attr_whole(attr, &bits, &beyond)) {
        return beyond ? (double)bits : (double)(int64_t)bits;
    }
    return attr->n_doubles == 1 ? attr->doubles[0] : 0;
}

/* Of an attribute that was one string. */
static void
drop_text(Granary__Attr *attr)
{
    free(attr->strings[0]);
    free(attr->strings);
    attr->strings = NULL;
    attr->n_strings = 0;
}

bool
gr_attr_adopt_digits(Granary__Attr *attr)
{
    const char *text = attr->strings[0];
    uint64_t bits;
    int64_t *ints;
    char *end;
    long long number;

    if (parse_beyond(text, &bits)) {
        return true;
    }
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || strspn(text, "-0123456789") != strlen(text) ||
        (ints = malloc(sizeof *ints)) == NULL) {
        return false;
    }
    *ints = number;
    drop_text(attr);
    attr->ints = ints;
    attr->n_ints = 1;
    attr->kind = GRANARY__ATTR__KIND__INT;
    return true;
}

bool
gr_attr_adopt_word(Granary__Attr *attr)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"inf", INFINITY}, {"-inf", -INFINITY}, {"nan", NAN}};
    double *doubles;
    size_t w = 0;

    while (w < sizeof words / sizeof words[0] && strcmp(attr->strings[0], words[w].word) != 0) {
        w++;
    }
    if (w == sizeof words / sizeof words[0] || (doubles = malloc(sizeof *doubles)) == NULL) {
        return false;
    }
    *doubles = words[w].value;
    drop_text(attr);
    attr->doubles = doubles;
    attr->n_doubles = 1;
    attr->kind = GRANARY__ATTR__KIND__DOUBLE;
    return true;
}

const char *
gr_attr_string(Granary__Attr *const *attrs, size_t count, const char *name, const char *fallback)
{
    const Granary__Attr *attr = find_kind(attrs, count, name, GRANARY__ATTR__KIND__STRING);

    return attr == NULL ? fallback : attr->strings[0];
}

static void
attr_free(Granary__Attr *attr)
{
    granary__attr__free_unpacked(attr, NULL);
}

static Granary__Attr *
attr_new(const char *name, Granary__Attr__Kind kind)
{
    Granary__Attr *attr = malloc(sizeof *attr);
    char *copy = strdup(name);

    if (attr == NULL || copy == NULL) {
        free(attr);
        free(copy);
        return NULL;
    }
    granary__attr__init(attr);
    attr->name = copy;
    attr->kind = kind;
    return attr;
}

/* Copies of count strings; false: no memory. What was made is counted and freed with the attribute. */
static bool
copy_strings(char *const *from, size_t count, char ***ret_to, size_t *ret_count)
{
    if (count == 0) {
        return true;
    }
    *ret_to = calloc(count, sizeof **ret_to);
    if (*ret_to == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        (*ret_to)[i] = strdup(from[i]);
        if ((*ret_to)[i] == NULL) {
            return false;
        }
        *ret_count = i + 1;
    }
    return true;
}

static bool
copy_values(const void *from, size_t count, size_t size, void **ret_to, size_t *ret_count)
{
    if (count == 0) {
        return true;
    }
    *ret_to = calloc(count, size);
    if (*ret_to == NULL) {
        return false;
    }
    memcpy(*ret_to, from, count * size);
    *ret_count = count;
    return true;
}

static Granary__Attr *
new_ints(const char *name, Granary__Attr__Kind kind, const int64_t *values, size_t count)
{
    Granary__Attr *attr = attr_new(name, kind);

    if (attr != NULL && !copy_values(values, count, sizeof *values, (void **)&attr->ints, &attr->n_ints)) {
        attr_free(attr);
        return NULL;
    }
    return attr;
}

static Granary__Attr *
new_strings(const char *name, Granary__Attr__Kind kind, char *const *values, size_t count)
{
    Granary__Attr *attr = attr_new(name, kind);

    if (attr != NULL && !copy_strings(values, count, &attr->strings, &attr->n_strings)) {
        attr_free(attr);
        return NULL;
    }
    return attr;
}

Granary__Attr *
gr_attr_new_int(const char *name, int64_t value)
{
    return new_ints(name, GRANARY__ATTR__KIND__INT, &value, 1);
}

Granary__Attr *
gr_attr_new_double(const char *name, double value)
{
    Granary__Attr *attr = attr_new(name, GRANARY__ATTR__KIND__DOUBLE);

    if (attr != NULL && !copy_values(&value, 1, sizeof value, (void **)&attr->doubles, &attr->n_doubles)) {
        attr_free(attr);
        return NULL;
    }
    return attr;
}

Granary__Attr *
gr_attr_new_bool(const char *name, bool value)
{
    int64_t number = value ? 1 : 0;

    return new_ints(name, GRANARY__ATTR__KIND__BOOL, &number, 1);
}

Granary__Attr *
gr_attr_new_string(const char *name, const char *value)
{
    char *copied = (char *)(uintptr_t)value; /* only read */

    return new_strings(name, GRANARY__ATTR__KIND__STRING, &copied, 1);
}

Granary__Attr *
gr_attr_new_expr(const char *name, const struct gr_expr *expr)
{
    char *text = gr_expr_text(expr);
    Granary__Attr *attr = text == NULL ? NULL : gr_attr_new_string(name, text);

    free(text);
    return attr;
}

Granary__Attr *
gr_attr_new_ints(const char *name, const int64_t *values, size_t count)
{
    return new_ints(name, GRANARY__ATTR__KIND__INTS, values, count);
}

Granary__Attr *
gr_attr_new_bools(const char *name, const bool *values, size_t count)
{
    Granary__Attr *attr = attr_new(name, GRANARY__ATTR__KIND__BOOLS);

    if (attr == NULL || count == 0) {
        return attr;
    }
    attr->ints = calloc(count, sizeof *attr->ints);
    if (attr->ints == NULL) {
        attr_free(attr);
        return NULL;
    }
    attr->n_ints = count;
    for (size_t i = 0; i < count; i++) {
        attr->ints[i] = values[i] ? 1 : 0;
    }
    return attr;
}

Granary__Attr *
gr_attr_new_strings(const char *name, char *const *values, size_t count)
{
    return new_strings(name, GRANARY__ATTR__KIND__STRINGS, values, count);
}

Granary__Attr *
gr_attr_new_map(const char *name, char *const *keys, char *const *values, size_t count)
{
    Granary__Attr *attr = new_strings(name, GRANARY__ATTR__KIND__MAP, values, count);

    if (attr != NULL && !copy_strings(keys, count, &attr->keys, &attr->n_keys)) {
        attr_free(attr);
        return NULL;
    }
    return attr;
}

Granary__Attr *
gr_attr_copy(const Granary__Attr *attr)
{
    Granary__Attr *copy = attr_new(attr->name, attr->kind);

    if (copy == NULL) {
        return NULL;
    }
    if (!copy_values(attr->ints, attr->n_ints, sizeof *attr->ints, (void **)&copy->ints, &copy->n_ints) ||
        !copy_values(attr->doubles, attr->n_doubles, sizeof *attr->doubles, (void **)&copy->doubles,
                     &copy->n_doubles) ||
        !copy_strings(attr->strings, attr->n_strings, &copy->strings, &copy->n_strings) ||
        !copy_strings(attr->keys, attr->n_keys, &copy->keys, &copy->n_keys)) {
        attr_free(copy);
        return NULL;
    }
    return copy;
}

bool
attrs_add(struct gr_attrs *attrs, Granary__Attr *attr)
{
    if (!gr_grow(&attrs->attrs, &attrs->room, attrs->count, sizeof(Granary__Attr *))) {
        attr_free(attr);
        return false;
    }
    attrs->attrs[attrs->count++] = attr;
    return true;
}

void
attrs_free(struct gr_attrs *attrs)
{
    for (size_t i = 0; i < attrs->count; i++) {
        attr_free(attrs->attrs[i]);
    }
    free(attrs->attrs);
    *attrs = (struct gr_attrs){0};
}

/* ---- parameters ---- */

/* What the row says that it is when it is not given. */
static const char *
fallback_of(const struct gr_params *params, const char *name)
{
    const struct gr_param_info *param = gr_param_find(params->op, name);

    assert(param != NULL && (param->fallback != NULL || param->required || param->kind == GR_PARAM_STRING));
    return param->fallback;
}

int64_t
gr_param_int(const struct gr_params *params, const char *name)
{
    const Granary__Attr *attr = find_kind(params->attrs, params->count, name, GRANARY__ATTR__KIND__INT);

    return attr != NULL ? attr->ints[0] : strtoll(fallback_of(params, name), NULL, 10);
}

double
gr_param_number(const struct gr_params *params, const char *name)
{
    const Granary__Attr *attr = gr_attr_find(params->attrs, params->count, name);

    return attr != NULL ? gr_attr_number(attr) : strtod(fallback_of(params, name), NULL);
}

bool
gr_param_bool(const struct gr_params *params, const char *name)
{
    const Granary__Attr *attr = find_kind(params->attrs, params->count, name, GRANARY__ATTR__KIND__BOOL);

    return attr != NULL ? attr->ints[0] != 0 : strcmp(fallback_of(params, name), "true") == 0;
}

const char *
gr_param_text(const struct gr_params *params, const char *name)
{
    const Granary__Attr *attr = find_kind(params->attrs, params->count, name, GRANARY__ATTR__KIND__STRING);

    return attr != NULL ? attr->strings[0] : fallback_of(params, name);
}

granary_err
gr_node_give(Granary__Node *node, Granary__Attr *attr)
{
    Granary__Attr **more = attr == NULL ? NULL : realloc(node->attrs, (node->n_attrs + 1) * sizeof(Granary__Attr *));

    if (more == NULL) {
        if (attr != NULL) {
            attr_free(attr);
        }
        return gr_no_memory("graph");
    }
    node->attrs = more;
    node->attrs[node->n_attrs++] = attr;
    return GRANARY_OK;
}
