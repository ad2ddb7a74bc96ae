/*
 * The JSON schema of graphs (draft 2020-12), from the rows that check them: a definition for each operator. Editors
 * complete and check graphs by it. What rows do not tell, such as columns and types, a submission checks.
 */
#include "cli/work/schema.h"

#include <stdlib.h>
#include <string.h>

#include "cli/print/json.h"
#include "graph/ops.h"

/* The type of a value, or of the elements of a list. */
static const char *const types[] = {
    [GR_PARAM_INT] = "integer",    [GR_PARAM_NUMBER] = "number",  [GR_PARAM_VALUE] = "number",
    [GR_PARAM_BOOL] = "boolean",   [GR_PARAM_STRING] = "string",  [GR_PARAM_INTS] = "integer",
    [GR_PARAM_BOOLS] = "boolean",  [GR_PARAM_STRINGS] = "string", [GR_PARAM_MAP] = "string",
    [GR_PARAM_NUMBERS] = "number",
};

static void
print_words(struct json *json, const char *words)
{
    json_open(json, "enum", '[');
    for (const char *at = words; *at != '\0'; at += strcspn(at, " "), at += *at == ' ') {
        char word[64] = "";

        json_text(json, NULL, strncat(word, at, strcspn(at, " ") < 63 ? strcspn(at, " ") : 63));
    }
    json_close(json);
}

/* What rules say of the values. */
static void
print_rules(struct json *json, const struct gr_param_info *param)
{
    for (const struct gr_param_rule *rule = param->rules; rule != NULL; rule = rule->next) {
        if (rule->kind == GR_RULE_ONE_OF) {
            print_words(json, rule->text);
        } else if (rule->kind == GR_RULE_FROM || rule->kind == GR_RULE_WITHIN) {
            char *end;

            json_float(json, "minimum", strtod(rule->text, &end));
            if (rule->kind == GR_RULE_WITHIN) {
                json_float(json, "maximum", strtod(end, NULL));
            }
        } else if (rule->kind == GR_RULE_FILLED) {
            json_unsigned(json, "minLength", 1);
        }
    }
}

/* One value, with its rules. */
static void
print_single(struct json *json, const struct gr_param_info *param)
{
    if (param->kind == GR_PARAM_VALUE || param->kind == GR_PARAM_NUMBER) {
        json_open(json, "type", '[');
        json_text(json, NULL, "number");
        json_text(json, NULL, "string"); /* the digits of an integer; "inf", "nan" */
        json_close(json);
    } else {
        json_text(json, "type", types[param->kind]);
    }
    print_rules(json, param);
}

static void
print_default(struct json *json, const struct gr_param_info *param)
{
    if (param->kind == GR_PARAM_STRING) {
        json_text(json, "default", param->fallback);
    } else if (param->kind == GR_PARAM_BOOL) {
        json_bool(json, "default", strcmp(param->fallback, "true") == 0);
    } else {
        json_number(json, "default", param->fallback);
    }
}

static void
print_param(struct json *json, const struct gr_param_info *param)
{
    bool is_list = param->kind == GR_PARAM_INTS || param->kind == GR_PARAM_BOOLS || param->kind == GR_PARAM_STRINGS ||
                   param->kind == GR_PARAM_NUMBERS;

    json_open(json, param->name, '{');
    json_text(json, "description", param->summary);
    if (is_list) { /* a single value stands for a list of one */
        json_open(json, "anyOf", '[');
        json_open(json, NULL, '{');
        print_single(json, param);
        json_close(json);
        json_open(json, NULL, '{');
        json_text(json, "type", "array");
        json_open(json, "items", '{');
        print_single(json, param);
        json_close(json);
        json_close(json);
        json_close(json);
    } else if (param->kind == GR_PARAM_MAP) {
        json_text(json, "type", "object");
        json_open(json, "additionalProperties", '{');
        print_single(json, param);
        json_close(json);
    } else {
        print_single(json, param);
    }
    if (param->fallback != NULL) {
        print_default(json, param);
    }
    json_close(json);
}

/* "input", for one name, and "inputs", for a list of them. */
static void
print_inputs(struct json *json, const struct gr_op_info *info)
{
    json_open(json, "input", '{');
    json_text(json, "type", "string");
    json_close(json);
    json_open(json, "inputs", '{');
    json_text(json, "type", "array");
    json_unsigned(json, "minItems", (uint64_t)info->min_inputs);
    json_unsigned(json, "maxItems", (uint64_t)info->max_inputs);
    json_open(json, "items", '{');
    json_text(json, "type", "string");
    json_close(json);
    json_close(json);
}

static void
print_operator(struct json *json, enum gr_tile_op op)
{
    const struct gr_op_info *info = gr_op_info(op);

    json_open(json, info->name, '{');
    json_text(json, "type", "object");
    json_text(json, "description", info->summary);
    json_open(json, "properties", '{');
    json_open(json, "op", '{');
    json_text(json, "const", info->name);
    json_close(json);
    if (info->max_inputs > 0) {
        print_inputs(json, info);
    }
    for (const struct gr_param_info *p = gr_params_of(op); p != NULL; p = p->next) {
        print_param(json, p);
    }
    json_close(json);
    json_open(json, "required", '[');
    json_text(json, NULL, "op");
    for (const struct gr_param_info *p = gr_params_of(op); p != NULL; p = p->next) {
        if (p->required) {
            json_text(json, NULL, p->name);
        }
    }
    json_close(json);
    json_bool(json, "additionalProperties", false);
    json_close(json);
}

/* A node is one of the operators. */
static void
print_node(struct json *json)
{
    json_open(json, "node", '{');
    json_open(json, "oneOf", '[');
    for (int op = 0; op < GR_TILE_COUNT; op++) {
        char to[80] = "#/$defs/";

        json_open(json, NULL, '{');
        json_text(json, "$ref", strncat(to, gr_op_info((enum gr_tile_op)op)->name, 60));
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

static void
print_members(struct json *json)
{
    json_open(json, "properties", '{');
    json_open(json, "level", '{');
    json_text(json, "const", "tileable");
    json_close(json);
    json_open(json, "nodes", '{');
    json_text(json, "type", "object");
    json_open(json, "additionalProperties", '{');
    json_text(json, "$ref", "#/$defs/node");
    json_close(json);
    json_close(json);
    json_open(json, "targets", '{');
    json_open(json, "type", '[');
    json_text(json, NULL, "string");
    json_text(json, NULL, "array");
    json_close(json);
    json_open(json, "items", '{');
    json_text(json, "type", "string");
    json_close(json);
    json_close(json);
    json_close(json);
}

void
print_schema(void)
{
    struct json json = {0};

    json_open(&json, NULL, '{');
    json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_text(&json, "title", "A graph of granary: what to compute");
    json_text(&json, "type", "object");
    print_members(&json);
    json_open(&json, "required", '[');
    json_text(&json, NULL, "nodes");
    json_close(&json);
    json_bool(&json, "additionalProperties", false);
    json_open(&json, "$defs", '{');
    print_node(&json);
    for (int op = 0; op < GR_TILE_COUNT; op++) {
        print_operator(&json, (enum gr_tile_op)op);
    }
    json_close(&json);
    json_close(&json);
}
