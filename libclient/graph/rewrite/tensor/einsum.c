/*
 * einsum of one or two operands. Axes of one letter become a diagonal. Axes that only one operand has and the result
 * lacks are summed. The rest is one batched product of matrices.
 */
#include <ctype.h>
#include <string.h>

#include "graph/rewrite/private.h"

#define LETTERS_MOST 8

struct operand {
    struct gr_node *node;
    char letters[LETTERS_MOST + 1];
};

struct equation {
    int count; /* of operands */
    struct operand operands[2];
    char result[LETTERS_MOST + 1];
};

static bool
read_letters(const char **text, char *ret_letters)
{
    size_t n = 0;

    for (; **text != '\0' && **text != ',' && **text != '-'; ++*text) {
        if (**text == ' ') {
            continue;
        }
        if (!isalpha((unsigned char)**text) || n == LETTERS_MOST) {
            return false;
        }
        ret_letters[n++] = **text;
    }
    ret_letters[n] = '\0';
    return true;
}

/* Without "->": the letters that stand once, in alphabetical order. */
static void
choose_result(struct equation *e)
{
    size_t n = 0;

    for (int c = 'A'; c <= 'z'; c++) {
        int seen = 0;

        for (int k = 0; k < e->count; k++) {
            for (const char *at = e->operands[k].letters; *at != '\0'; at++) {
                seen += *at == c;
            }
        }
        if (seen == 1 && n < LETTERS_MOST) {
            e->result[n++] = (char)c;
        }
    }
    e->result[n] = '\0';
}

static void
read_equation(struct rewrite *x, struct equation *e)
{
    const Granary__Attr *attr = rewrite_param(x, "subscripts");
    const char *text = attr->strings[0];
    bool good = true;

    e->count = (int)rewrite_inputs(x);
    for (int k = 0; k < e->count && good; k++) {
        e->operands[k].node = rewrite_input(x, (size_t)k);
        good = read_letters(&text, e->operands[k].letters) && (k == e->count - 1 || *text++ == ',');
    }
    if (good && *text == '-') {
        good = text[1] == '>';
        text += good ? 2 : 0;
        good = good && read_letters(&text, e->result);
    } else {
        choose_result(e);
    }
    if (!good || *text != '\0') {
        (void)rewrite_fail(x, "parameter 'subscripts' is '%.60s'; it is like 'ij,jk->ik', letters for each input",
                           attr->strings[0]);
    }
    for (const char *at = e->result; *at != '\0' && x->err == GRANARY_OK; at++) {
        if (strchr(at + 1, *at) != NULL || (strchr(e->operands[0].letters, *at) == NULL &&
                                            (e->count == 1 || strchr(e->operands[1].letters, *at) == NULL))) {
            (void)rewrite_fail(x, "parameter 'subscripts': '%c' of the result stands there twice, or in no input", *at);
        }
    }
    for (int k = 0; k < e->count && x->err == GRANARY_OK; k++) {
        int dims = e->operands[k].node->type.dims;

        if (strlen(e->operands[k].letters) != (size_t)dims) {
            (void)rewrite_fail(x, "parameter 'subscripts': '%s' does not fit an input of %d dimensions",
                               e->operands[k].letters, dims);
        }
    }
}

/* Equal letters become one, the last. */
static void
take_diagonals(struct rewrite *x, struct operand *o)
{
    for (size_t d = 0; d < strlen(o->letters) && x->err == GRANARY_OK;) {
        const char *other = strchr(o->letters + d + 1, o->letters[d]);
        size_t second = other == NULL ? 0 : (size_t)(other - o->letters);
        const struct gr_node_type *type = &o->node->type;
        char letter = o->letters[d];
        size_t n = strlen(o->letters);

        if (other == NULL) {
            d++;
            continue;
        }
        if (type->shape[d] != type->shape[second]) {
            (void)rewrite_fail(x, "axes '%c' have %lld and %lld elements", letter, (long long)type->shape[d],
                               (long long)type->shape[second]);
            return;
        }
        o->node = rewrite_add(x, GR_TILE_diagonal, o->node, NULL, rewrite_int(x, "axis1", (int64_t)d),
                              rewrite_int(x, "axis2", (int64_t)second));
        memmove(o->letters + second, o->letters + second + 1, n - second);
        memmove(o->letters + d, o->letters + d + 1, n - 1 - d);
        o->letters[n - 2] = letter;
        o->letters[n - 1] = '\0';
    }
}

/* Sum over what neither the other operand nor the result has. */
static void
sum_alone(struct rewrite *x, struct operand *o, const char *other, const char *result)
{
    granary_dtype dtype = o->node->type.dtype;
    int64_t axes[LETTERS_MOST];
    size_t count = 0, kept = 0;

    for (size_t d = 0; o->letters[d] != '\0'; d++) {
        if (strchr(other, o->letters[d]) == NULL && strchr(result, o->letters[d]) == NULL) {
            axes[count++] = (int64_t)d;
        } else {
            o->letters[kept++] = o->letters[d];
        }
    }
    o->letters[kept] = '\0';
    if (count > 0) {
        o->node = rewrite_add(x, dtype == GRANARY_BOOL ? GR_TILE_any : GR_TILE_sum, o->node, NULL,
                              rewrite_ints(x, "axes", axes, count), NULL);
        o->node = rewrite_astype(x, o->node, dtype);
    }
}

/* The axes in the order of these letters, all of which the operand has. */
static struct gr_node *
in_order(struct rewrite *x, struct gr_node *node, const char *from, const char *to)
{
    int64_t axes[LETTERS_MOST];
    size_t n = strlen(to);

    for (size_t d = 0; d < n; d++) {
        axes[d] = strchr(from, to[d]) - from;
    }
    return rewrite_transpose(x, node, axes, n);
}

/* Letters of the two operands: in both and the result; in both; in the first; in the second. */
struct groups {
    char batch[LETTERS_MOST + 1];
    char inner[LETTERS_MOST + 1];
    char own[2][LETTERS_MOST + 1];
};

static void
push(char *letters, char letter)
{
    size_t n = strlen(letters);

    letters[n] = letter;
    letters[n + 1] = '\0';
}

static void
find_groups(const struct equation *e, struct groups *g)
{
    *g = (struct groups){.batch = ""};
    for (int k = 0; k < 2; k++) {
        for (const char *at = e->operands[k].letters; *at != '\0'; at++) {
            if (strchr(e->operands[1 - k].letters, *at) == NULL) {
                push(g->own[k], *at);
            } else if (k == 0) {
                push(strchr(e->result, *at) != NULL ? g->batch : g->inner, *at);
            }
        }
    }
}

static int64_t
extent_of(const struct operand *o, const char *letters)
{
    int64_t product = 1;

    for (; *letters != '\0'; letters++) {
        product *= o->node->type.shape[strchr(o->letters, *letters) - o->letters];
    }
    return product;
}

/* (batch, rows, inner) or (batch, inner, columns), each one axis. */
static struct gr_node *
as_matrices(struct rewrite *x, const struct operand *o, const struct groups *g, int side)
{
    char order[3 * LETTERS_MOST + 1] = "";
    int64_t shape[3];

    shape[0] = extent_of(o, g->batch);
    shape[2 - side] = extent_of(o, g->inner);
    shape[1 + side] = extent_of(o, g->own[side]);
    (void)strcat(order, g->batch);
    (void)strcat(order, side == 0 ? g->own[0] : g->inner);
    (void)strcat(order, side == 0 ? g->inner : g->own[1]);
    return g->batch[0] == '\0' ? rewrite_reshape(x, in_order(x, o->node, o->letters, order), shape + 1, 2)
                               : rewrite_reshape(x, in_order(x, o->node, o->letters, order), shape, 3);
}

/* Nothing of either alone: products of elements, summed exactly. */
static struct gr_node *
sum_products(struct rewrite *x, const struct equation *e, const struct groups *g)
{
    char order[2 * LETTERS_MOST + 1] = "";
    struct gr_node *sides[2], *product;
    size_t batch = strlen(g->batch), inner = strlen(g->inner);
    granary_dtype dtype;
    int64_t axes[LETTERS_MOST];

    (void)strcat(strcat(order, g->batch), g->inner);
    for (int k = 0; k < 2; k++) {
        sides[k] = in_order(x, e->operands[k].node, e->operands[k].letters, order);
    }
    product = rewrite_binary(x, GR_TILE_multiply, sides[0], sides[1]);
    dtype = product->type.dtype;
    for (size_t d = 0; d < inner; d++) {
        axes[d] = (int64_t)(batch + d);
    }
    if (inner > 0) {
        product = rewrite_add(x, dtype == GRANARY_BOOL ? GR_TILE_any : GR_TILE_sum, product, NULL,
                              rewrite_ints(x, "axes", axes, inner), NULL);
    }
    return in_order(x, rewrite_astype(x, product, dtype), g->batch, e->result);
}

static struct gr_node *
multiply(struct rewrite *x, const struct equation *e)
{
    struct groups g;
    char letters[3 * LETTERS_MOST + 1] = "";
    int64_t shape[3 * LETTERS_MOST];
    struct gr_node *product;
    size_t n = 0;

    find_groups(e, &g);
    for (const char *parts[] = {g.batch, g.inner}, **part = parts; part < parts + 2; part++) {
        for (const char *at = *part; *at != '\0'; at++) {
            const char one[2] = {*at, '\0'};

            if (extent_of(&e->operands[0], one) != extent_of(&e->operands[1], one)) {
                return rewrite_fail(x, "axes '%c' of the two inputs have %lld and %lld elements", *at,
                                    (long long)extent_of(&e->operands[0], one),
                                    (long long)extent_of(&e->operands[1], one));
            }
        }
    }
    if (g.own[0][0] == '\0' && g.own[1][0] == '\0') {
        return sum_products(x, e, &g);
    }
    product = rewrite_binary(x, GR_TILE_matmul, as_matrices(x, &e->operands[0], &g, 0),
                             as_matrices(x, &e->operands[1], &g, 1));
    (void)strcat(strcat(strcat(letters, g.batch), g.own[0]), g.own[1]);
    for (const char *at = letters; *at != '\0'; at++) {
        const char one[2] = {*at, '\0'};

        shape[n++] = extent_of(&e->operands[strchr(e->operands[0].letters, *at) == NULL], one);
    }
    return in_order(x, rewrite_reshape(x, product, shape, n), letters, e->result);
}

static struct gr_node *
rewrite_einsum(struct rewrite *x)
{
    struct equation e = {.count = 0};

    read_equation(x, &e);
    for (int k = 0; k < e.count && x->err == GRANARY_OK; k++) {
        take_diagonals(x, &e.operands[k]);
    }
    for (int k = 0; k < e.count && x->err == GRANARY_OK; k++) {
        sum_alone(x, &e.operands[k], e.count == 1 ? "" : e.operands[1 - k].letters, e.result);
    }
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    return e.count == 1 ? in_order(x, e.operands[0].node, e.operands[0].letters, e.result) : multiply(x, &e);
}

const struct gr_operator gr_op_einsum = {.rewrite = rewrite_einsum};
