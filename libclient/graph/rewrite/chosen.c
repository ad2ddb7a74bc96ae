/*
 * getitem and setitem with arrays between the brackets, as NumPy has them: masks, and positions along dimensions.
 *
 * What the index says beside its arrays is an index of its own, and is read first. A mask then chooses rows
 * (rewrite/select.c). Positions are brought to the front and made one number a place, which take_at looks up. Setting
 * goes the other way: each place looks up the last of the positions that name it.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/infer/private.h"
#include "graph/rewrite/private.h"
#include "graph/tensor/types.h"

#define PARTS  24 /* of an index: 8 dimensions, and None */
#define LISTED 4096

enum part_kind { PART_DOTS, PART_NONE, PART_NUMBER, PART_SLICE, PART_ARRAY, PART_LIST };

struct part {
    enum part_kind kind;
    const char *text;
    size_t length;
    size_t input; /* of an array */
};

/* An index with arrays, and the input it is of. */
struct chosen {
    struct part parts[PARTS];
    size_t count;
    struct gr_node *whole;
    size_t first; /* input that may be the first array */
    int arrays;   /* positions, and one list */
    int masks;
    const struct part *list;
};

/* ---- the text ---- */

static bool
part_is(const struct part *part, const char *word)
{
    return part->length == strlen(word) && memcmp(part->text, word, part->length) == 0;
}

static enum part_kind
kind_of(const struct part *part)
{
    return part_is(part, "...")                            ? PART_DOTS
           : part_is(part, "None")                         ? PART_NONE
           : part->length > 0 && part->text[0] == '$'      ? PART_ARRAY
           : part->length > 0 && part->text[0] == '['      ? PART_LIST
           : memchr(part->text, ':', part->length) != NULL ? PART_SLICE
                                                           : PART_NUMBER;
}

/* Cut the text at its commas; those of a list are its own. false: it has too many parts. */
static bool
cut(const char *text, struct chosen *c)
{
    while (*text != '\0') {
        struct part *part = &c->parts[c->count];
        int depth = 0;
        size_t length = 0;

        while (text[length] != '\0' && (depth > 0 || text[length] != ',')) {
            depth += text[length] == '[' ? 1 : text[length] == ']' ? -1 : 0;
            length++;
        }
        part->text = text;
        part->length = length;
        while (part->length > 0 && isspace((unsigned char)part->text[0])) {
            part->text++;
            part->length--;
        }
        while (part->length > 0 && isspace((unsigned char)part->text[part->length - 1])) {
            part->length--;
        }
        part->kind = kind_of(part);
        if (++c->count == PARTS) {
            return false;
        }
        text += length + (text[length] == ',');
    }
    return true;
}

/* Which input "$3" is. */
static bool
array_number(struct rewrite *x, struct chosen *c, struct part *part)
{
    size_t number = 0;
    bool good = part->length == 2 || part->length == 3;

    for (size_t k = 1; k < part->length && good; k++) {
        good = isdigit((unsigned char)part->text[k]);
        number = number * 10 + (size_t)(part->text[k] - '0');
    }
    if (!good || number < c->first || number >= rewrite_inputs(x)) {
        (void)rewrite_fail(x, "parameter 'index': '%.*s' is no input from $%zu on", (int)part->length, part->text,
                           c->first);
        return false;
    }
    part->input = number;
    return true;
}

/* The arrays of the index: every input but the first ones is one, once or more. */
static bool
find_arrays(struct rewrite *x, struct chosen *c)
{
    bool used[16] = {false};

    for (size_t i = 0; i < c->count; i++) {
        struct part *part = &c->parts[i];

        if (part->kind == PART_LIST) {
            c->list = part;
            c->arrays++;
        } else if (part->kind == PART_ARRAY) {
            granary_dtype dtype;

            if (!array_number(x, c, part)) {
                return false;
            }
            used[part->input] = true;
            dtype = rewrite_input(x, part->input)->type.dtype;
            c->masks += dtype == GRANARY_BOOL;
            c->arrays += dtype != GRANARY_BOOL;
            if (dtype != GRANARY_BOOL && !gr_dtype_is_integer(dtype)) {
                (void)rewrite_fail(x,
                                   "parameter 'index': $%zu is a tensor of %s; positions are integers, and masks bool",
                                   part->input, granary_dtype_name(dtype));
                return false;
            }
        }
    }
    for (size_t k = c->first; k < rewrite_inputs(x); k++) {
        if (!used[k]) {
            (void)rewrite_fail(x, "input %zu stands nowhere in parameter 'index': write $%zu where it belongs", k, k);
            return false;
        }
    }
    if (c->masks > 0 && c->masks + c->arrays > 1) {
        (void)rewrite_fail(x, "parameter 'index' has a mask beside other arrays: argwhere has its positions");
        return false;
    }
    if (c->list != NULL && c->arrays > 1) {
        (void)rewrite_fail(x, "parameter 'index' has a list beside other arrays: give it as an input, too");
        return false;
    }
    return true;
}

/* The numbers of a list. */
static Granary__Attr *
list_numbers(struct rewrite *x, const struct part *part, int64_t *ret_count)
{
    int64_t *numbers = calloc(LISTED, sizeof *numbers);
    const char *at = part->text + 1, *end = part->text + part->length;
    Granary__Attr *attr = NULL;
    int64_t count = 0;
    bool good = numbers != NULL && end[-1] == ']';

    while (good && at < end - 1) {
        char *behind;

        numbers[count++] = strtoll(at, &behind, 10);
        good = behind > at && count < LISTED;
        at = behind + strspn(behind, " \t\n");
        good = good && (at == end - 1 || *at == ',');
        at += *at == ',';
    }
    if (good) {
        attr = rewrite_ints(x, "indices", numbers, (size_t)count);
        *ret_count = count;
    } else {
        (void)rewrite_fail(x, "parameter 'index': '%.*s' is no list of fewer than %d numbers",
                           part->length > 40 ? 40 : (int)part->length, part->text, LISTED);
    }
    free(numbers);
    return attr;
}

/* ---- where arrays stand ---- */

static bool
is_array(const struct part *part)
{
    return part->kind == PART_ARRAY || part->kind == PART_LIST;
}

/* How many dimensions of the tensor a part takes. */
static int
part_takes(struct rewrite *x, const struct part *part)
{
    const struct gr_node_type *type;

    if (part->kind == PART_DOTS || part->kind == PART_NONE) {
        return 0;
    }
    if (part->kind != PART_ARRAY) {
        return 1;
    }
    type = &rewrite_input(x, part->input)->type;
    return type->dtype == GRANARY_BOOL ? type->dims : 1;
}

/* What the index leaves of the tensor when each array takes all of its dimensions; where the arrays' dimensions are in
 * that, and where NumPy puts what they choose: at the place of the first, or in front when something is between. */
struct spots {
    struct gr_node *left;
    int at[8];   /* by array */
    int target;  /* in the result */
    bool is_all; /* the index says nothing else */
    const char *text;
};

static bool
find_spots(struct rewrite *x, const struct chosen *c, struct spots *ret)
{
    int dims = c->whole->type.dims, taken = 0, place = 0, others = 0, run = 0, arrays = 0;
    bool broken = false, dots = false;
    const char *text = "";

    *ret = (struct spots){.is_all = true};
    for (size_t i = 0; i < c->count; i++) {
        taken += part_takes(x, &c->parts[i]);
    }
    if (taken > dims) {
        (void)rewrite_fail(x, "parameter 'index' takes %d dimensions of a tensor that has %d", taken, dims);
        return false;
    }
    for (size_t i = 0; i < c->count && x->err == GRANARY_OK; i++) {
        const struct part *part = &c->parts[i];
        const char *comma = *text == '\0' ? "" : ", ";
        bool chooses = is_array(part) || part->kind == PART_NUMBER;
        int wide = part->kind == PART_DOTS ? dims - taken : part_takes(x, part);

        dots = dots || part->kind == PART_DOTS;
        ret->is_all = ret->is_all && (is_array(part) || part->kind == PART_DOTS || part_is(part, ":"));
        if (is_array(part)) {
            ret->at[arrays++] = place;
            for (int d = 0; d < wide; d++) {
                text = rewrite_text(x, "%s%s:", text, d == 0 ? comma : ", ");
            }
        } else {
            text = rewrite_text(x, "%s%s%.*s", text, comma, (int)part->length, part->text);
        }
        if (chooses) {
            broken = broken || run == 2;
            ret->target = run == 0 ? others : ret->target;
            run = 1;
        } else {
            run = run == 0 ? 0 : 2;
            others += part->kind == PART_NONE ? 1 : wide;
        }
        place += part->kind == PART_NUMBER ? 0 : part->kind == PART_NONE ? 1 : wide;
    }
    ret->target = broken ? 0 : ret->target;
    ret->text = text;
    ret->left = ret->is_all ? c->whole
                            : rewrite_add(x, GR_TILE_getitem, c->whole, NULL, rewrite_string(x, "index", text), NULL);
    return x->err == GRANARY_OK;
}

/* ---- masks ---- */

/* The mask's dimensions come first, and nothing new is between. */
static bool
mask_fits(struct rewrite *x, const struct chosen *c, const struct spots *s, struct gr_node **ret_mask)
{
    const struct gr_node_type *left = &s->left->type, *mask = NULL;
    bool plain = true;

    for (size_t i = 0; i < c->count; i++) {
        if (c->parts[i].kind == PART_ARRAY) {
            *ret_mask = rewrite_input(x, c->parts[i].input);
            mask = &(*ret_mask)->type;
        }
        plain = plain && c->parts[i].kind != PART_NONE;
    }
    if (!plain || s->at[0] != 0 || mask->dims == 0) {
        (void)rewrite_fail(x, "parameter 'index': a mask has the first dimensions, without None beside it; transpose "
                              "first, or use its positions");
        return false;
    }
    if (mask->dims > left->dims || memcmp(mask->shape, left->shape, (size_t)mask->dims * sizeof mask->shape[0]) != 0) {
        struct infer_shown shown, other;

        (void)rewrite_fail(x, "parameter 'index': a mask of shape %s does not fit a tensor of shape %s",
                           infer_show_type(mask, &shown), infer_show_type(left, &other));
        return false;
    }
    return true;
}

static struct gr_node *
get_masked(struct rewrite *x, const struct chosen *c)
{
    struct spots s;
    struct gr_node *mask = NULL;

    if (!find_spots(x, c, &s) || !mask_fits(x, c, &s, &mask)) {
        return x->node;
    }
    return rewrite_rows_where(x, s.left, mask);
}

/* 0 when so many are true. Of another number it becomes an error: a position that is not there. */
static struct gr_node *
nothing_else(struct rewrite *x, struct gr_node *flags, int64_t count)
{
    struct gr_node *surplus = rewrite_reduce(x, GR_TILE_sum, flags, -1, true);

    surplus = rewrite_value(x, GR_TILE_multiply, rewrite_value(x, GR_TILE_subtract, surplus, (double)count), 2);
    return rewrite_binary(x, GR_TILE_take_at, rewrite_full(x, (int64_t[]){1}, 1, NULL, GRANARY_INT64), surplus);
}

/* A part for each true element, in their order: that of an element is the number of true ones before it. */
static struct gr_node *
parts_by_mask(struct rewrite *x, struct gr_node *left, struct gr_node *mask, struct gr_node *value)
{
    int64_t count = value->type.shape[0];
    int64_t shape[8] = {count};
    int rest = left->type.dims - mask->type.dims;
    struct gr_node *flags = rewrite_astype(x, rewrite_flat(x, mask), GRANARY_INT64);
    struct gr_node *places = rewrite_value(x, GR_TILE_subtract, rewrite_unary(x, GR_TILE_cumsum, flags), 1);

    places = rewrite_binary(x, GR_TILE_add, places, nothing_else(x, flags, count));
    memcpy(shape + 1, left->type.shape + mask->type.dims, (size_t)rest * sizeof shape[0]);
    value = rewrite_add(x, GR_TILE_broadcast_to, value, NULL, rewrite_ints(x, "shape", shape, (size_t)rest + 1), NULL);
    value = rewrite_binary(x, GR_TILE_take_at, value, places);
    return rewrite_reshape(x, value, left->type.shape, (size_t)left->type.dims);
}

/* What the mask chooses of `left` becomes the value: one for all, or a part for each in their order. */
static struct gr_node *
set_masked(struct rewrite *x, struct gr_node *left, struct gr_node *mask, struct gr_node *value)
{
    const struct gr_node_type *type = &left->type;
    int64_t shape[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    int rest = type->dims - mask->type.dims;
    struct gr_node *choice[3];

    value = rewrite_astype(x, value, type->dtype);
    while (x->err == GRANARY_OK && value->type.dims > rest && value->type.shape[0] == 1) {
        value = rewrite_reshape(x, value, value->type.shape + 1, (size_t)value->type.dims - 1);
    }
    if (x->err == GRANARY_OK && value->type.dims > rest + 1) {
        return rewrite_fail(x, "a value of %d dimensions does not fit what the mask chooses, of %d", value->type.dims,
                            rest + 1);
    }
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    memcpy(shape, mask->type.shape, (size_t)mask->type.dims * sizeof shape[0]);
    choice[0] = rewrite_reshape(x, mask, shape, (size_t)type->dims);
    if (value->type.dims <= rest) {
        value = rewrite_add(x, GR_TILE_broadcast_to, value, NULL,
                            rewrite_ints(x, "shape", type->shape + mask->type.dims, (size_t)rest), NULL);
    } else if (value->type.shape[0] == 0) { /* an error, unless the mask chooses nothing */
        struct gr_node *flags = rewrite_astype(x, rewrite_flat(x, mask), GRANARY_INT64);

        choice[0] = rewrite_value(x, GR_TILE_not_equal, nothing_else(x, flags, 0), 0);
        choice[0] = rewrite_reshape(x, choice[0], NULL, 0);
        value = left;
    } else {
        value = parts_by_mask(x, left, mask, value);
    }
    choice[1] = value;
    choice[2] = left;
    return rewrite_add_many(x, GR_TILE_where, choice, 3);
}

/* ---- positions ---- */

/* The tensor with some dimensions in front, in this order, and how to undo that: ret_order[d] is which one is d. */
static struct gr_node *
to_front(struct rewrite *x, struct gr_node *a, const int *front, int count, int64_t ret_order[8])
{
    int dims = a->type.dims, placed = count;

    for (int k = 0; k < count; k++) {
        ret_order[k] = front[k];
    }
    for (int d = 0; d < dims; d++) {
        bool is_front = false;

        for (int k = 0; k < count; k++) {
            is_front = is_front || front[k] == d;
        }
        if (!is_front) {
            ret_order[placed++] = d;
        }
    }
    return rewrite_transpose(x, a, ret_order, (size_t)dims);
}

/* The first `count` dimensions come to a place behind `target` others; back: from there to the front. */
static struct gr_node *
move_block(struct rewrite *x, struct gr_node *a, int count, int target, bool back)
{
    int64_t order[8];
    int dims = a->type.dims;
    int first = back ? count : target, skipped = back ? target : count;

    for (int d = 0; d < dims; d++) {
        order[d] = d < first ? skipped + d : d < count + target ? d - first : d;
    }
    return rewrite_transpose(x, a, order, (size_t)dims);
}

/* The positions of the index, in its order. */
static int
list_positions(struct rewrite *x, const struct chosen *c, struct gr_node *ret_arrays[8])
{
    int count = 0;

    for (size_t i = 0; i < c->count && count < 8; i++) {
        if (c->parts[i].kind == PART_ARRAY) {
            ret_arrays[count++] = rewrite_input(x, c->parts[i].input);
        }
    }
    return count;
}

/* Positions along the first dimensions of a tensor as one: those from the end, and those beyond, are dealt with. */
static struct gr_node *
one_number(struct rewrite *x, const struct gr_node_type *type, struct gr_node *const *arrays, int count)
{
    struct gr_node *number = NULL;

    for (int k = 0; k < count; k++) {
        struct gr_node *own = rewrite_binary(x, GR_TILE_take_at, rewrite_range(x, type->shape[k]), arrays[k]);

        number = number == NULL
                     ? own
                     : rewrite_binary(x, GR_TILE_add,
                                      rewrite_value(x, GR_TILE_multiply, number, (double)type->shape[k]), own);
    }
    return number;
}

/* The first `count` dimensions as one. */
static struct gr_node *
join_front(struct rewrite *x, struct gr_node *a, int count)
{
    int64_t shape[8] = {1};
    int dims = a->type.dims;

    for (int d = 0; d < count; d++) {
        shape[0] *= a->type.shape[d];
    }
    for (int d = count; d < dims; d++) {
        shape[d - count + 1] = a->type.shape[d];
    }
    return count == 1 ? a : rewrite_reshape(x, a, shape, (size_t)(dims - count + 1));
}

static struct gr_node *
get_listed(struct rewrite *x, const struct chosen *c, const struct spots *s)
{
    int64_t count = 0;
    Granary__Attr *numbers = list_numbers(x, c->list, &count);
    struct gr_node *taken;
    int64_t order[8];

    if (x->err != GRANARY_OK) {
        return x->node;
    }
    taken = rewrite_add(x, GR_TILE_take, s->left, NULL, numbers, rewrite_int(x, "axis", s->at[0]));
    return s->target == s->at[0] || x->err != GRANARY_OK ? taken : to_front(x, taken, &s->at[0], 1, order);
}

static struct gr_node *
get_at(struct rewrite *x, const struct chosen *c)
{
    struct spots s;
    struct gr_node *arrays[8], *front, *number;
    int64_t order[8];
    int count = list_positions(x, c, arrays);

    if (!find_spots(x, c, &s)) {
        return x->node;
    }
    if (c->list != NULL) {
        return get_listed(x, c, &s);
    }
    front = to_front(x, s.left, s.at, count, order);
    if (x->err != GRANARY_OK) {
        return front;
    }
    number = count == 1 ? arrays[0] : one_number(x, &front->type, arrays, count);
    front = rewrite_binary(x, GR_TILE_take_at, join_front(x, front, count), number);
    return s.target == 0 || x->err != GRANARY_OK ? front : move_block(x, front, number->type.dims, s.target, false);
}

/* Rows of `to` at positions become those of `value`; of equal positions the last one counts. */
static struct gr_node *
scatter(struct rewrite *x, struct gr_node *to, struct gr_node *number, struct gr_node *value)
{
    int64_t rows = to->type.shape[0], shape[8] = {rows, 1, 1, 1, 1, 1, 1, 1};
    struct gr_node *order, *sorted, *place, *choice[3];

    number = rewrite_flat(x, number);
    order = rewrite_unary(x, GR_TILE_argsort, number);
    sorted = rewrite_binary(x, GR_TILE_take_at, number, order);
    place =
        rewrite_add(x, GR_TILE_searchsorted, sorted, rewrite_range(x, rows), rewrite_string(x, "side", "right"), NULL);
    place = rewrite_value(x, GR_TILE_maximum, rewrite_value(x, GR_TILE_subtract, place, 1), 0);
    choice[0] =
        rewrite_binary(x, GR_TILE_equal, rewrite_binary(x, GR_TILE_take_at, sorted, place), rewrite_range(x, rows));
    choice[0] = rewrite_reshape(x, choice[0], shape, (size_t)to->type.dims);
    choice[1] = rewrite_binary(x, GR_TILE_take_at, value, rewrite_binary(x, GR_TILE_take_at, order, place));
    choice[2] = to;
    return rewrite_add_many(x, GR_TILE_where, choice, 3);
}

/* The value, stretched to what positions of that shape choose, with their dimensions in front and as one. */
static struct gr_node *
stretch_value(struct rewrite *x, const struct gr_node *front, int count, const struct gr_node_type *number, int target,
              struct gr_node *value)
{
    int rest = front->type.dims - count, dims = number->dims + rest;
    int64_t shape[8];

    value = rewrite_astype(x, value, front->type.dtype);
    if (dims > 8) {
        return rewrite_fail(x, "parameter 'index' chooses %d dimensions; at most 8 are possible", dims);
    }
    for (int d = 0; d < dims; d++) {
        int behind = d - target - number->dims; /* of the others */

        shape[d] = d < target   ? front->type.shape[count + d]
                   : behind < 0 ? number->shape[d - target]
                                : front->type.shape[count + target + behind];
    }
    while (x->err == GRANARY_OK && value->type.dims > dims && value->type.shape[0] == 1) {
        value = rewrite_reshape(x, value, value->type.shape + 1, (size_t)value->type.dims - 1);
    }
    value = rewrite_add(x, GR_TILE_broadcast_to, value, NULL, rewrite_ints(x, "shape", shape, (size_t)dims), NULL);
    value = x->err == GRANARY_OK && target > 0 ? move_block(x, value, number->dims, target, true) : value;
    return x->err != GRANARY_OK ? x->node : join_front(x, value, number->dims);
}

static bool
is_empty(const struct gr_node_type *type)
{
    bool empty = false;

    for (int d = 0; d < type->dims; d++) {
        empty = empty || type->shape[d] == 0;
    }
    return empty;
}

static struct gr_node *
set_at(struct rewrite *x, const struct chosen *c, const struct spots *s, struct gr_node *value)
{
    struct gr_node *arrays[8], *front, *number, *joined;
    int64_t order[8], back[8];
    int count = list_positions(x, c, arrays);
    int dims = s->left->type.dims, target = s->target;

    front = to_front(x, s->left, s->at, count, order);
    number = one_number(x, &front->type, arrays, count);
    if (x->err == GRANARY_OK && number->type.dims == 0) { /* one place, whose own dimension may stand anywhere */
        number = rewrite_reshape(x, number, (int64_t[]){1}, 1);
        target = 0;
    }
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    if (is_empty(&front->type) || is_empty(&number->type)) {
        return rewrite_reshape(x, s->left, s->left->type.shape, (size_t)dims);
    }
    joined = join_front(x, front, count);
    value = stretch_value(x, front, count, &number->type, target, value);
    joined = x->err == GRANARY_OK ? scatter(x, joined, number, value) : x->node;
    joined = rewrite_reshape(x, joined, front->type.shape, (size_t)dims);
    for (int d = 0; d < dims; d++) {
        back[order[d]] = d;
    }
    return x->err == GRANARY_OK ? rewrite_transpose(x, joined, back, (size_t)dims) : x->node;
}

/* ---- the operators ---- */

/* false: it stays as it is, or fails. */
static bool
read_chosen(struct rewrite *x, size_t first, struct chosen *ret)
{
    *ret = (struct chosen){.whole = rewrite_input(x, 0), .first = first};
    for (size_t k = 0; k < first; k++) {
        if (gr_type_is_unsized(&rewrite_input(x, k)->type)) {
            (void)rewrite_fail(x,
                               "how large its input %zu is turns out only when it has run: keep it, and index it in "
                               "another graph",
                               k);
            return false;
        }
    }
    if (rewrite_inputs(x) == first && strchr(rewrite_param_text(x, "index"), '[') == NULL &&
        strchr(rewrite_param_text(x, "index"), '$') == NULL) {
        return false;
    }
    if (!cut(rewrite_param_text(x, "index"), ret)) {
        (void)rewrite_fail(x, "parameter 'index' has %d parts or more", PARTS);
        return false;
    }
    return find_arrays(x, ret);
}

static struct gr_node *
rewrite_getitem(struct rewrite *x)
{
    struct chosen c;

    if (!read_chosen(x, 1, &c)) {
        return x->node;
    }
    return c.masks > 0 ? get_masked(x, &c) : get_at(x, &c);
}

const struct gr_operator gr_op_getitem = {
    .traits = GR_OP_TAKES_UNSIZED, .infer = infer_view, .rewrite = rewrite_getitem};

static struct gr_node *
rewrite_setitem(struct rewrite *x)
{
    struct chosen c;
    struct spots s;
    struct gr_node *mask = NULL, *part;

    if (!read_chosen(x, 2, &c)) {
        return x->node;
    }
    if (c.list != NULL) {
        return rewrite_fail(x, "parameter 'index' has a list: give it as an input");
    }
    for (size_t i = 0; i < c.count; i++) {
        if (c.parts[i].kind == PART_NONE) {
            return rewrite_fail(x, "parameter 'index': None cannot be set beside arrays");
        }
    }
    if (!find_spots(x, &c, &s) || (c.masks > 0 && !mask_fits(x, &c, &s, &mask))) {
        return x->node;
    }
    part = c.masks > 0 ? set_masked(x, s.left, mask, rewrite_input(x, 1)) : set_at(x, &c, &s, rewrite_input(x, 1));
    return s.is_all || x->err != GRANARY_OK
               ? part
               : rewrite_add(x, GR_TILE_setitem, c.whole, part, rewrite_string(x, "index", s.text), NULL);
}

const struct gr_operator gr_op_setitem = {
    .traits = GR_OP_TAKES_UNSIZED, .infer = infer_view, .rewrite = rewrite_setitem};
