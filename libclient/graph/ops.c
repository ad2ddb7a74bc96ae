/* Rows of contract/ops/ops.def, and those of one operator found. */
#include "graph/params.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

static const struct gr_op_info ops[] = {
#define OP(op_name, op_yields, op_min, op_max, op_summary)                                                             \
    [GR_TILE_##op_name] = {.name = #op_name,                                                                           \
                           .yields = GR_YIELDS_##op_yields,                                                            \
                           .min_inputs = (op_min),                                                                     \
                           .max_inputs = (op_max),                                                                     \
                           .summary = (op_summary)},
#include "contract/ops/ops.def"
};

static struct gr_param_info params[] = {
#define PARAM(op_name, param_name, param_kind, param_need, param_summary)                                              \
    {.op = GR_TILE_##op_name,                                                                                          \
     .name = #param_name,                                                                                              \
     .kind = GR_PARAM_##param_kind,                                                                                    \
     .offset = offsetof(struct gr_params_##op_name, param_name),                                                       \
     GR_NEED_##param_need,                                                                                             \
     .summary = (param_summary)},
#include "contract/ops/ops.def"
};

static const char *const notes[GR_TILE_COUNT] = {
#define NOTE(op, text) [GR_TILE_##op] = (text),
#include "contract/ops/ops.def"
};

static struct gr_param_rule rules[] = {
#define RULE(rule_op, rule_name, rule_kind, rule_text)                                                                 \
    {.op = GR_TILE_##rule_op, .name = #rule_name, .kind = GR_RULE_##rule_kind, .text = (rule_text)},
#include "contract/ops/ops.def"
};

static const struct gr_param_info *first_params[GR_TILE_COUNT];
static pthread_once_t linked = PTHREAD_ONCE_INIT;

void
gr_params_link(struct gr_param_info *rows, size_t count, const struct gr_param_info **ret_first)
{
    for (size_t i = count; i-- > 0;) {
        rows[i].next = ret_first[rows[i].op];
        ret_first[rows[i].op] = &rows[i];
    }
}

static void
link_rows(void)
{
    gr_params_link(params, sizeof params / sizeof params[0], first_params);
    for (size_t r = sizeof rules / sizeof rules[0]; r-- > 0;) {
        const struct gr_param_info *param = first_params[rules[r].op];

        while (strcmp(param->name, rules[r].name) != 0) {
            param = param->next;
            assert(param != NULL);
        }
        rules[r].next = param->rules;
        params[param - params].rules = &rules[r];
    }
}

const struct gr_param_info *
gr_params_of(enum gr_tile_op op)
{
    (void)pthread_once(&linked, link_rows);
    return first_params[op];
}

const char *
gr_op_note(enum gr_tile_op op)
{
    return notes[op] == NULL ? "" : notes[op];
}

const struct gr_op_info *
gr_op_info(enum gr_tile_op op)
{
    assert(op < GR_TILE_COUNT);
    return &ops[op];
}

int
gr_op_find(const char *name)
{
    static _Thread_local int last; /* nodes of one operator come one after the other */

    if (strcmp(ops[last].name, name) == 0) {
        return last;
    }
    for (int i = 0; i < GR_TILE_COUNT; i++) {
        if (strcmp(ops[i].name, name) == 0) {
            last = i;
            return i;
        }
    }
    return -1;
}

const struct gr_param_info *
gr_param_find(enum gr_tile_op op, const char *name)
{
    const struct gr_param_info *param = gr_params_of(op);

    while (param != NULL && strcmp(param->name, name) != 0) {
        param = param->next;
    }
    return param;
}

const char *
gr_param_kind_text(enum gr_param_kind kind)
{
    static const char *const texts[] = {
        [GR_PARAM_INT] = "an integer",
        [GR_PARAM_NUMBER] = "a number",
        [GR_PARAM_VALUE] = "a number (an integer may be a string of its digits, up to uint64)",
        [GR_PARAM_BOOL] = "true or false",
        [GR_PARAM_STRING] = "a string",
        [GR_PARAM_INTS] = "a list of integers",
        [GR_PARAM_BOOLS] = "a list of true and false",
        [GR_PARAM_STRINGS] = "a list of strings",
        [GR_PARAM_MAP] = "a mapping of names to strings",
        [GR_PARAM_NUMBERS] = "a number, or a list of numbers",
    };

    return texts[kind];
}

const char *
gr_param_kind_name(enum gr_param_kind kind)
{
    static const char *const names[] = {
        [GR_PARAM_INT] = "int",         [GR_PARAM_NUMBER] = "number",   [GR_PARAM_VALUE] = "value",
        [GR_PARAM_BOOL] = "bool",       [GR_PARAM_STRING] = "string",   [GR_PARAM_INTS] = "ints",
        [GR_PARAM_BOOLS] = "bools",     [GR_PARAM_STRINGS] = "strings", [GR_PARAM_MAP] = "map",
        [GR_PARAM_NUMBERS] = "numbers",
    };

    return names[kind];
}
