/* Functions of JSON in texts, with the names and meanings of DuckDB. */
#include <string.h>

#include "kernel/core/scratch.h"
#include "kernel/rows/json/json.h"
#include "kernel/rows/json/read.h"
#include "kernel/rows/lists/lists.h"
#include "kernel/rows/text/text.h"

bool
text_json_valid(struct text_call *call)
{
    enum json_checked checked = json_check(&call->texts[0]);

    call->value = checked == JSON_GOOD;
    return checked != JSON_DEEP;
}

static struct json_path
path_of(const struct text_call *call)
{
    bool is_index = call->node->count > 1 && call->node->operands[1]->base == ROWS_INT;

    if (call->node->count == 1) {
        return (struct json_path){.text = {NULL, 0}};
    }
    return is_index ? (struct json_path){.is_index = true, .index = call->ints[1]}
                    : (struct json_path){.text = call->texts[1]};
}

/* Whether a number is an integer that 64 bits hold. */
static bool
is_integer(const char *number, size_t size)
{
    bool negative = *number == '-';
    uint64_t value = 0;

    for (size_t i = negative; i < size; i++) {
        unsigned digit = (unsigned)(number[i] - '0');

        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) {
            return false;
        }
    }
    return !negative || value <= (uint64_t)INT64_MAX + 1;
}

const char *
json_type_of(const char *value, size_t size)
{
    return *value == '{'                                ? "OBJECT"
           : *value == '['                              ? "ARRAY"
           : *value == '"'                              ? "VARCHAR"
           : *value == 't' || *value == 'f'             ? "BOOLEAN"
           : size == 4 && memcmp(value, "null", 4) == 0 ? "NULL"
           : !is_integer(value, size)                   ? "DOUBLE"
           : *value == '-'                              ? "BIGINT"
                                                        : "UBIGINT";
}

static int64_t
items_of(const char *value, size_t size)
{
    struct json_walk walk = json_walk_begin(value, size);
    struct rows_text key;
    struct rows_text item;
    int64_t items = 0;

    while (*value == '[' && json_walk_next(&walk, &key, &item)) {
        items++;
    }
    return items;
}

/* json, json_extract, json_extract_string, json_value, json_type, json_array_length, json_exists */
bool
text_json(struct text_call *call)
{
    struct json_path path = path_of(call);
    enum gr_expr_op op = call->node->op;
    const char *value;
    size_t size;
    bool null;

    if (json_check(&call->texts[0]) != JSON_GOOD || !json_path_check(&path)) {
        return false;
    }
    value = json_find(&call->texts[0], &path, &size);
    null = value == NULL || (size == 4 && memcmp(value, "null", 4) == 0);
    call->value = value != NULL;
    if (op == GR_OP_JSON_EXISTS) {
        return true;
    }
    if (value == NULL || (null && (op == GR_OP_JSON_EXTRACT_STRING || op == GR_OP_JSON_VALUE)) ||
        (op == GR_OP_JSON_VALUE && (*value == '{' || *value == '['))) {
        call->null = true;
    } else if (op == GR_OP_JSON_ARRAY_LENGTH) {
        call->value = items_of(value, size);
    } else if (op == GR_OP_JSON_TYPE) {
        gr_buf_addf(call->out, "%s", json_type_of(value, size));
    } else if (op == GR_OP_JSON_EXTRACT_STRING && *value == '"') {
        json_add_said(value, size, call->out);
    } else {
        json_add_value(value, size, call->out);
    }
    return true;
}

static void
begin_line(int64_t depth, struct gr_buf *out)
{
    gr_buf_add(out, "\n", 1);
    for (int64_t i = 0; i < depth; i++) {
        gr_buf_add(out, "    ", 4);
    }
}

/* A value without blanks gets a line for each member and item; what is empty stays in its line. */
static void
add_lines(const char *at, const char *end, struct gr_buf *out)
{
    int64_t depth = 0;

    for (const char *from = at; at < end; from = at) {
        at = *at == '"' ? json_behind_string(at) : at + 1;
        if ((*from == '{' || *from == '[') && *at != '}' && *at != ']') {
            gr_buf_add(out, from, 1);
            begin_line(++depth, out);
        } else if ((*from == '}' || *from == ']') && from[-1] != '{' && from[-1] != '[') {
            begin_line(--depth, out);
            gr_buf_add(out, from, 1);
        } else {
            gr_buf_add(out, from, (size_t)(at - from));
            if (*from == ',') {
                begin_line(depth, out);
            }
            gr_buf_add(out, " ", *from == ':' ? 1 : 0);
        }
    }
}

bool
text_json_pretty(struct text_call *call)
{
    struct json_path whole = {.text = {NULL, 0}};
    struct gr_buf plain = {0};
    size_t size = 0;
    const char *value = json_check(&call->texts[0]) != JSON_GOOD ? NULL : json_find(&call->texts[0], &whole, &size);

    if (value != NULL) {
        json_add_value(value, size, &plain);
        if (gr_buf_ok(&plain)) {
            add_lines(plain.bytes, plain.bytes + plain.size, call->out);
        }
    }
    call->no_memory = !gr_buf_ok(&plain);
    gr_buf_free(&plain);
    return value != NULL && !call->no_memory;
}

/* The names of an object's members. Errors: ENOMEM, EFULL */
static granary_err
add_keys(struct lists_parts *parts, const char *value, size_t size, struct gr_buf *name)
{
    struct json_walk walk = json_walk_begin(value, size);
    struct rows_text key;
    struct rows_text member;
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && walk.is_object && json_walk_next(&walk, &key, &member)) {
        name->size = 0;
        json_add_said(key.bytes, key.size, name);
        err = !gr_buf_ok(name)
                  ? node_no_memory()
                  : lists_part_add(parts, &(struct rows_text){name->size > 0 ? name->bytes : "", name->size});
    }
    return err;
}

granary_err
op_json_keys(struct node *node, int64_t n)
{
    const struct rows_text *texts = node_texts(node->operands[0], n);
    const struct rows_text *paths =
        node->count > 1 && node->operands[1]->base != ROWS_INT ? node_texts(node->operands[1], n) : NULL;
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    uint8_t *valid = scratch_alloc((size_t)n + 1);
    struct lists_parts parts = {.count = 0};
    struct gr_buf name = {0};
    granary_err err = ends == NULL || valid == NULL ? node_no_memory() : GRANARY_OK;

    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        struct json_path path = {.text = paths != NULL ? paths[i] : (struct rows_text){NULL, 0}};
        const char *value = NULL;
        size_t size = 0;

        if (node->count > 1 && paths == NULL) {
            path = (struct json_path){.is_index = true, .index = node_int_at(node->operands[1], i)};
        }
        valid[i] = node_counts(node, i);
        if (valid[i] != 0 && (json_check(&texts[i]) != JSON_GOOD || !json_path_check(&path))) {
            node_mark_bad(node, i, n);
        } else if (valid[i] != 0) {
            value = json_find(&texts[i], &path, &size);
            valid[i] = value != NULL;
            err = value != NULL ? add_keys(&parts, value, size, &name) : GRANARY_OK;
        }
        ends[i] = (int32_t)parts.count;
    }
    err = err == GRANARY_OK ? lists_parts_give(node, &parts, ends, n) : err;
    if (err == GRANARY_OK && n > 0) {
        memcpy(node_valid_room(node), valid, (size_t)n);
    }
    lists_parts_free(&parts);
    gr_buf_free(&name);
    scratch_free(ends);
    scratch_free(valid);
    return err;
}
