#include "graph_maker.h"

#include <stdio.h>
#include <string.h>

#include "graph/graph.h"

#define NODES_MAX 6
#define DEPTH_MAX 3

static const char *const columns[] = {"n",     "x",   "g",  "name", "day", "flag", "n",   "g",
                                      "x",     "day", "n",  "x",    "g",   "name", "day", "flag",
                                      "label", "v0",  "v1", "n_x",  "n_y", "t",    "none"};

struct maker {
    struct choices *choices;
    struct gr_buf *out;
    int nodes;
    enum gr_yields yields[NODES_MAX];
};

static void put_expression(struct maker *maker, int depth);

/* ---- expressions ---- */

static void
put_leaf(struct maker *maker)
{
    static const char *const literals[] = {"0",
                                           "1",
                                           "-1",
                                           "3",
                                           "0.5",
                                           "9223372036854775807",
                                           "'a'",
                                           "'g1'",
                                           "''",
                                           "null",
                                           "true",
                                           "false",
                                           "date '1990-01-15'",
                                           "timestamp '2000-02-29 12:30:00'",
                                           "interval '1' day",
                                           "interval '3' month",
                                           "1.25",
                                           "'%a_'",
                                           "'2001-02-03'",
                                           "'day'"};

    if (choose(maker->choices, 3) > 0) {
        gr_buf_addf(maker->out, "%s", CHOOSE_FROM(maker->choices, columns));
    } else {
        gr_buf_addf(maker->out, "%s", CHOOSE_FROM(maker->choices, literals));
    }
}

/* Those the parser has a form of its own for. */
static void
put_form(struct maker *maker, int depth)
{
    static const char *const forms[][4] = {{"case when ", " then ", " else ", " end"},
                                           {"cast(", " as int64)", NULL, NULL},
                                           {"cast(", " as string)", NULL, NULL},
                                           {"cast(", " as float64)", NULL, NULL},
                                           {"try_cast(", " as date)", NULL, NULL},
                                           {"try_cast(", " as int8)", NULL, NULL},
                                           {"cast(", " as decimal(2))", NULL, NULL},
                                           {"cast(", " as timestamp)", NULL, NULL},
                                           {"", " in (1, 3, null)", NULL, NULL},
                                           {"", " not in ('g1', 'g2')", NULL, NULL},
                                           {"", " like 'g%'", NULL, NULL},
                                           {"", " between ", " and ", ""},
                                           {"", " is null", NULL, NULL},
                                           {"not ", "", NULL, NULL}};
    const char *const *form = forms[choose(maker->choices, sizeof forms / sizeof forms[0])];

    gr_buf_addf(maker->out, "(");
    for (int i = 0; i < 4 && form[i] != NULL; i++) {
        gr_buf_addf(maker->out, "%s", form[i]);
        if (i < 3 && form[i + 1] != NULL) {
            put_expression(maker, depth - 1);
        }
    }
    gr_buf_addf(maker->out, ")");
}

static void
put_call(struct maker *maker, int depth)
{
    static const struct {
        const char *name;
        int least;
        int most;
    } calls[] = {
#define EXPR_OP(id, text, least, most, ...) {text, least, most},
#include "graph/expr/ops.def"
    };
    uint32_t at = choose(maker->choices, sizeof calls / sizeof calls[0]);
    const char *name = calls[at].name;
    int operands = calls[at].least + (calls[at].most != calls[at].least && choose(maker->choices, 2) == 1);

    if (name[0] >= 'a' && name[0] <= 'z' && strchr(name, ' ') == NULL && strcmp(name, "and") != 0 &&
        strcmp(name, "or") != 0 && strcmp(name, "in") != 0) {
        gr_buf_addf(maker->out, "%s(", name);
        for (int i = 0; i < operands; i++) {
            gr_buf_addf(maker->out, "%s", i > 0 ? ", " : "");
            put_expression(maker, depth - 1);
        }
    } else {
        gr_buf_addf(maker->out, "(");
        put_expression(maker, depth - 1);
        gr_buf_addf(maker->out, " %s ", calls[at].least == 2 && strcmp(name, "in") != 0 ? name : "+");
        put_expression(maker, depth - 1);
    }
    gr_buf_addf(maker->out, ")");
}

static void
put_expression(struct maker *maker, int depth)
{
    static const char *const operators[] = {"+", "-", "*", "/", "//", "%", "=", "<", ">=", "<>", "and", "or"};

    switch (depth == 0 ? 0 : choose(maker->choices, 6)) {
    case 0:
    case 1:
        put_leaf(maker);
        break;
    case 2:
    case 3:
        gr_buf_addf(maker->out, "(");
        put_expression(maker, depth - 1);
        gr_buf_addf(maker->out, " %s ", CHOOSE_FROM(maker->choices, operators));
        put_expression(maker, depth - 1);
        gr_buf_addf(maker->out, ")");
        break;
    case 4:
        put_form(maker, depth);
        break;
    default:
        put_call(maker, depth);
        break;
    }
}

static void
put_aggregate(struct maker *maker)
{
    static const char *const functions[] = {
        "sum",      "count", "mean", "min",      "max",        "first", "last",  "nunique", "mode",     "var",
        "std",      "sem",   "skew", "kurtosis", "median",     "prod",  "any",   "all",     "quantile", "largest",
        "smallest", "corr",  "cov",  "size",     "row_number", "rank",  "shift", "cumsum",  "ntile"};
    const char *name = CHOOSE_FROM(maker->choices, functions);

    if (strcmp(name, "size") == 0) {
        gr_buf_addf(maker->out, "size");
        return;
    }
    gr_buf_addf(maker->out, "%s(", name);
    put_expression(maker, choose(maker->choices, 4) == 0 ? 1 : 0);
    if (strcmp(name, "quantile") == 0) {
        gr_buf_addf(maker->out, ", 0.%u", choose(maker->choices, 10));
    } else if (strcmp(name, "largest") == 0 || strcmp(name, "smallest") == 0 || strcmp(name, "shift") == 0) {
        gr_buf_addf(maker->out, ", %u", 1 + choose(maker->choices, 3));
    } else if (strcmp(name, "corr") == 0 || strcmp(name, "cov") == 0) {
        gr_buf_addf(maker->out, ", ");
        put_leaf(maker);
    }
    gr_buf_addf(maker->out, ")");
}

/* ---- parameters ---- */

/* One of the words that the summary has in quotes; false: it has none. */
static bool
put_quoted_word(struct maker *maker, const char *summary)
{
    const char *words[16];
    size_t lengths[16];
    uint32_t count = 0;
    const char *at = summary;

    while (count < 16 && (at = strchr(at, '\'')) != NULL) {
        const char *end = strchr(at + 1, '\'');

        if (end == NULL) {
            break;
        }
        words[count] = at + 1;
        lengths[count++] = (size_t)(end - at - 1);
        at = end + 1;
    }
    if (count == 0) {
        return false;
    }
    at = words[choose(maker->choices, count)];
    for (uint32_t i = 0; i < count; i++) {
        if (words[i] == at) {
            gr_buf_addf(maker->out, "%.*s", (int)lengths[i], at);
        }
    }
    return true;
}

static void
put_text(struct maker *maker, const struct gr_param_info *param)
{
    static const char *const dtypes[] = {"int64", "float64", "string", "bool", "date", "float32", "int8", "uint64"};
    static const char *const indices[] = {"1:3", "::-1", "...", "None, 0", "-1", "1:10:2, 0", "0:0", ":, 1:"};
    static const char *const subscripts[] = {"ij,jk->ik", "ii->i", "ij->ji", "i,i->", "ij", "i,j", "ij,kj->"};

    if (strcmp(param->name, "index") == 0 && param->kind == GR_PARAM_STRING) {
        gr_buf_addf(maker->out, "%s", CHOOSE_FROM(maker->choices, indices));
    } else if (strcmp(param->name, "subscripts") == 0) {
        gr_buf_addf(maker->out, "%s", CHOOSE_FROM(maker->choices, subscripts));
    } else if (strcmp(param->name, "dtype") == 0) {
        gr_buf_addf(maker->out, "%s", CHOOSE_FROM(maker->choices, dtypes));
    } else if (strcmp(param->name, "start") == 0) {
        gr_buf_addf(maker->out, "2000-01-0%u", 1 + choose(maker->choices, 9));
    } else if (strcmp(param->name, "where") == 0 || strcmp(param->name, "condition") == 0 ||
               strcmp(param->name, "value") == 0 || strcmp(param->name, "tolerance") == 0 ||
               strcmp(param->name, "fill_value") == 0) {
        put_expression(maker, DEPTH_MAX);
    } else if (choose(maker->choices, 8) == 0 || !put_quoted_word(maker, param->summary)) {
        gr_buf_addf(maker->out, "%s", CHOOSE_FROM(maker->choices, columns));
    }
}

static void
put_entry(struct maker *maker, enum gr_tile_op op, const struct gr_param_info *param, uint32_t key)
{
    static const char *const dtypes[] = {"int64", "float64",   "string", "bool",
                                         "date",  "timestamp", "int8",   "decimal(2)"};

    gr_buf_addf(maker->out, "\"%s\": \"", columns[key % (sizeof columns / sizeof columns[0])]);
    if (strcmp(param->name, "aggregate") == 0 || op == GR_TILE_window) {
        put_aggregate(maker);
    } else if (op == GR_TILE_astype_columns || strcmp(param->name, "dtypes") == 0) {
        gr_buf_addf(maker->out, "%s", CHOOSE_FROM(maker->choices, dtypes));
    } else if (op == GR_TILE_rename) {
        gr_buf_addf(maker->out, "%s", CHOOSE_FROM(maker->choices, columns));
    } else {
        put_expression(maker, DEPTH_MAX);
    }
    gr_buf_addf(maker->out, "\"");
}

/* Small: what they size is small, then. */
static void
put_number(struct maker *maker, bool whole)
{
    uint32_t kind = choose(maker->choices, whole ? 4 : 6);

    if (kind < 3) {
        gr_buf_addf(maker->out, "%u", choose(maker->choices, 5));
    } else if (kind == 3) {
        gr_buf_addf(maker->out, "%d", (int)choose(maker->choices, 24) - 4);
    } else {
        gr_buf_addf(maker->out, "%d.%u", (int)choose(maker->choices, 5) - 1, choose(maker->choices, 10));
    }
}

static void
put_value(struct maker *maker, enum gr_tile_op op, const struct gr_param_info *param)
{
    uint32_t key = param->kind == GR_PARAM_MAP ? choose_byte(maker->choices) : 0;
    bool list = param->kind == GR_PARAM_INTS || param->kind == GR_PARAM_BOOLS || param->kind == GR_PARAM_STRINGS ||
                param->kind == GR_PARAM_NUMBERS;
    uint32_t count = list || param->kind == GR_PARAM_MAP ? 1 + choose(maker->choices, 3) : 1;

    gr_buf_addf(maker->out, "%s", list ? "[" : param->kind == GR_PARAM_MAP ? "{" : "");
    for (uint32_t i = 0; i < count; i++) {
        gr_buf_addf(maker->out, "%s", i > 0 ? ", " : "");
        switch (param->kind) {
        case GR_PARAM_INT:
        case GR_PARAM_INTS:
        case GR_PARAM_NUMBER:
        case GR_PARAM_NUMBERS:
        case GR_PARAM_VALUE:
            put_number(maker, param->kind == GR_PARAM_INT || param->kind == GR_PARAM_INTS);
            break;
        case GR_PARAM_BOOL:
        case GR_PARAM_BOOLS:
            gr_buf_addf(maker->out, "%s", choose(maker->choices, 2) == 0 ? "true" : "false");
            break;
        case GR_PARAM_STRING:
        case GR_PARAM_STRINGS:
            gr_buf_addf(maker->out, "\"");
            put_text(maker, param);
            gr_buf_addf(maker->out, "\"");
            break;
        case GR_PARAM_MAP:
            put_entry(maker, op, param, key + i);
            break;
        }
    }
    gr_buf_addf(maker->out, "%s", list ? "]" : param->kind == GR_PARAM_MAP ? "}" : "");
}

/* ---- nodes ---- */

/* What reads and writes files or tables, or is somebody's code, is not made here. */
static bool
is_made(const struct gr_op_info *info)
{
    static const char *const others[] = {"map_chunk", "call", "exec", "object", "table", "append_to", "null"};
    bool made = strncmp(info->name, "read_", 5) != 0 && strncmp(info->name, "write_", 6) != 0;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        made = made && strcmp(info->name, others[i]) != 0;
    }
    return made;
}

static void
put_params(struct maker *maker, enum gr_tile_op op)
{
    for (const struct gr_param_info *p = gr_params_of(op); p != NULL; p = p->next) {
        if (p->required || choose(maker->choices, 3) == 0) {
            gr_buf_addf(maker->out, ", \"%s\": ", p->name);
            put_value(maker, op, p);
        }
    }
}

/* What its inputs are. */
static enum gr_yields
reads(const struct gr_op_info *info)
{
    if (strcmp(info->name, "from_tensor") == 0) {
        return GR_YIELDS_TENSOR;
    }
    return strcmp(info->name, "to_tensor") == 0 ? GR_YIELDS_FRAME : info->yields;
}

static bool
has_input(const struct maker *maker, enum gr_yields yields)
{
    bool has = false;

    for (int i = 0; i < maker->nodes; i++) {
        has = has || maker->yields[i] == yields;
    }
    return has;
}

/* The nearest node of that kind before one of choice; there is one. */
static int
choose_input(struct maker *maker, enum gr_yields yields)
{
    int back = (int)choose(maker->choices, (uint32_t)maker->nodes);

    for (int i = 0; i < maker->nodes; i++) {
        int at = (2 * maker->nodes - 1 - back - i) % maker->nodes;

        if (maker->yields[at] == yields) {
            return at;
        }
    }
    return 0;
}

static bool
may_follow(const struct maker *maker, const struct gr_op_info *info)
{
    bool reads_what_is_there = info->min_inputs > 0 ? has_input(maker, reads(info)) : maker->nodes == 2;

    return is_made(info) && reads_what_is_there;
}

static void
put_node(struct maker *maker)
{
    uint32_t op = choose(maker->choices, GR_TILE_COUNT);
    const struct gr_op_info *info;
    uint32_t inputs;

    while (!may_follow(maker, gr_op_info((enum gr_tile_op)op))) {
        op = (op + 997) % GR_TILE_COUNT; /* a prime: far away, for neighbours are alike, and all come by */
    }
    info = gr_op_info((enum gr_tile_op)op);
    inputs = (uint32_t)info->min_inputs;
    if (info->max_inputs > info->min_inputs && info->min_inputs > 0) {
        inputs += choose(maker->choices, info->max_inputs - info->min_inputs > 2 ? 3 : 2);
    }
    gr_buf_addf(maker->out, ", \"s%d\": {\"op\": \"%s\"%s", maker->nodes, info->name,
                inputs > 0 ? ", \"inputs\": [" : "");
    for (uint32_t i = 0; i < inputs; i++) {
        gr_buf_addf(maker->out, "%s\"s%d\"", i > 0 ? ", " : "", choose_input(maker, reads(info)));
    }
    gr_buf_addf(maker->out, "%s", inputs > 0 ? "]" : "");
    put_params(maker, (enum gr_tile_op)op);
    gr_buf_addf(maker->out, "}");
    maker->yields[maker->nodes++] = info->yields;
}

void
make_graph(struct choices *choices, struct gr_buf *out)
{
    static const char *const sources[] = {
        "\"s0\": {\"op\": \"read_csv\", \"path\": \"groups.csv\"}, \"s1\": {\"op\": \"read_csv\", \"path\": "
        "\"rows.csv\"}",
        "\"s0\": {\"op\": \"arange\", \"stop\": 6}, \"s1\": {\"op\": \"arange\", \"stop\": 24, \"shape\": [6, 4]}",
        ("\"s0\": {\"op\": \"read_csv\", \"path\": \"rows.csv\", \"dtypes\": {\"n\": \"decimal(2)\", \"x\": "
         "\"float32\","
         " \"day\": \"timestamp\"}}, \"s1\": {\"op\": \"sort\", \"input\": \"s0\", \"by\": [\"g\", \"n\"]}"),
        "\"s0\": {\"op\": \"random\", \"shape\": [3, 3]}, \"s1\": {\"op\": \"random\", \"shape\": [5, 3, 2], "
        "\"chunk\": 2}"};
    struct maker maker = {.choices = choices, .out = out, .nodes = 2};
    int more = 1 + (int)choose(choices, NODES_MAX - 2);
    uint32_t source = choose(choices, sizeof sources / sizeof sources[0]);

    maker.yields[0] = maker.yields[1] = source % 2 == 0 ? GR_YIELDS_FRAME : GR_YIELDS_TENSOR;
    gr_buf_addf(out, "{\"nodes\": {%s", sources[source]);
    for (int i = 0; i < more; i++) {
        put_node(&maker);
    }
    gr_buf_addf(out, "}}");
}
