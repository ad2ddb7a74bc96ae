/* The tileable operators and their parameters, from contract/ops/ops.def. */
#ifndef GRAPH_OPS_H
#define GRAPH_OPS_H

#include <stdbool.h>
#include <stddef.h>

enum gr_tile_op {
#define OP(name, yields, min_inputs, max_inputs, summary) GR_TILE_##name,
#include "contract/ops/ops.def"
    GR_TILE_COUNT
};

/* OBJECTS: any bytes. SAME: as its input, so only of an operator, never of a node of a checked graph. */
enum gr_yields { GR_YIELDS_NONE, GR_YIELDS_FRAME, GR_YIELDS_TENSOR, GR_YIELDS_OBJECTS, GR_YIELDS_SAME };

struct gr_op_info {
    const char *name;
    enum gr_yields yields; /* of FRAME and TENSOR the inputs are of the same kind; the others take any */
    int min_inputs;
    int max_inputs;
    const char *summary;
};

const struct gr_op_info *gr_op_info(enum gr_tile_op op);
/* What docs/operators.md tells beyond the parameters: Markdown, "" when nothing. */
const char *gr_op_note(enum gr_tile_op op);
/* -1 when there is none. */
int gr_op_find(const char *name);

/* What a parameter may be given as. After gr_graph_create() an attribute has the kind named first. */
enum gr_param_kind {
    GR_PARAM_INT,     /* INT */
    GR_PARAM_NUMBER,  /* INT or DOUBLE, as given */
    GR_PARAM_VALUE,   /* INT or DOUBLE, as given; STRING: the digits of an integer beyond int64 that uint64 holds */
    GR_PARAM_BOOL,    /* BOOL */
    GR_PARAM_STRING,  /* STRING */
    GR_PARAM_INTS,    /* INTS; one INT */
    GR_PARAM_BOOLS,   /* BOOLS; one BOOL */
    GR_PARAM_STRINGS, /* STRINGS; one STRING */
    GR_PARAM_MAP,     /* MAP */
    GR_PARAM_NUMBERS, /* DOUBLES; one DOUBLE, as given */
};

/* What a parameter may be, beyond its kind. */
enum gr_rule_kind {
    GR_RULE_COLUMNS,         /* a list of names, one or more, each once: columns of the inputs */
    GR_RULE_COLUMNS_OR_NONE, /* ... or of none */
    GR_RULE_NAMES,           /* as COLUMNS, but not of the inputs */
    GR_RULE_LISTED,          /* names, or a mapping's keys, one or more: columns of the inputs */
    GR_RULE_LISTED_OR_NONE,
    GR_RULE_COLUMN, /* one column of the inputs */
    GR_RULE_COLUMN_LEFT,
    GR_RULE_COLUMN_RIGHT,
    GR_RULE_SOME,   /* one entry or more */
    GR_RULE_FILLED, /* not the empty string */
    GR_RULE_ONE_OF, /* one of the words in text, each of its strings */
    GR_RULE_FROM,   /* the number in text, or a larger one */
    GR_RULE_WITHIN, /* from the first number in text to the second */
    GR_RULE_PART,   /* `part` and `parts` are both given, and it is the number of one of them */
    GR_RULE_PARSED, /* it, or each value of a mapping, is an expression */
};

struct gr_param_rule {
    int op; /* enum gr_tile_op */
    const char *name;
    enum gr_rule_kind kind;
    const char *text;
    const struct gr_param_rule *next; /* of the same parameter */
};

/* What a row's need is in gr_param_info. */
#define GR_NEED_REQUIRED      .required = true
#define GR_NEED_OPTIONAL      .required = false
#define GR_NEED_DEFAULT(text) .fallback = (text)

/* A parameter, as its row tells. */
struct gr_param_info {
    int op; /* enum gr_tile_op, or enum gr_chunk_op */
    const char *name;
    enum gr_param_kind kind;
    bool required;
    const char *fallback; /* what it is when it is not given, as text; NULL: nothing */
    size_t offset;        /* of its field in the struct of the operator's parameters (graph/params.h) */
    const char *summary;
    const struct gr_param_rule *rules; /* or NULL */
    const struct gr_param_info *next;  /* of the same operator */
};

/* The first parameter of an operator, or NULL; the one of that name, or NULL. */
const struct gr_param_info *gr_params_of(enum gr_tile_op op);
const struct gr_param_info *gr_param_find(enum gr_tile_op op, const char *name);
/* Link the rows of each operator, whose first ones go to ret_first. */
void gr_params_link(struct gr_param_info *rows, size_t count, const struct gr_param_info **ret_first);
/* "strings" for GR_PARAM_STRINGS, as docs/operators.md has it. */
const char *gr_param_kind_name(enum gr_param_kind kind);
/* "a list of strings" for GR_PARAM_STRINGS. */
const char *gr_param_kind_text(enum gr_param_kind kind);

#endif
