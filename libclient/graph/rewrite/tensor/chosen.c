/* The text of an index with arrays, and where these stand in the tensor and in what is chosen. */
#include "graph/rewrite/tensor/chosen.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "graph/tensor/types.h"

#define LISTED 4096

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

Granary__Attr *
chosen_list(struct rewrite *x, const struct part *part, int64_t *ret_count)
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

bool
chosen_spots(struct rewrite *x, const struct chosen *c, struct spots *ret)
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

/* ---- the whole ---- */

bool
chosen_read(struct rewrite *x, size_t first, struct chosen *ret)
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
