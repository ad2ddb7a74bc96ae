/* Patterns: like, ilike, and whether regular expressions (regex.c) are found; and hashes of rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/rows/text/pattern.h"
#include "kernel/rows/text/utf8.h"
#include "kernel/simd/text.h"

/* A pattern made ready. */
struct pattern {
    struct gr_buf items; /* struct item, of like */
    struct gr_buf bytes; /* of the literal items */
    struct regex *regex;
    bool broken;
};

enum item_kind { ITEM_LITERAL, ITEM_ONE, ITEM_ANY };

struct item {
    enum item_kind kind;
    size_t from; /* in bytes */
    size_t size;
};

void
pattern_free(struct pattern *pattern)
{
    if (pattern != NULL) {
        regex_destroy(pattern->regex);
        gr_buf_free(&pattern->items);
        gr_buf_free(&pattern->bytes);
        free(pattern);
    }
}

static void
add_item(struct pattern *pattern, enum item_kind kind, const char *bytes, size_t size)
{
    size_t count = pattern->items.size / sizeof(struct item);
    struct item *last = count > 0 ? (struct item *)(void *)pattern->items.bytes + count - 1 : NULL;
    struct item item = {kind, pattern->bytes.size, size};

    if (kind == ITEM_LITERAL) {
        gr_buf_add(&pattern->bytes, bytes, size);
        if (last != NULL && last->kind == ITEM_LITERAL) {
            last->size += size;
            return;
        }
    } else if (kind == ITEM_ANY && last != NULL && last->kind == ITEM_ANY) {
        return;
    }
    gr_buf_add(&pattern->items, &item, sizeof item);
}

/* Letters in lower case, one by one. */
static void
fold_case(const struct rows_text *text, struct gr_buf *out)
{
    for (size_t i = 0, size; i < text->size; i += size) {
        int32_t point = rows_utf8_decode(text->bytes + i, text->size - i, &size);

        if (point < 0 || rows_unicode() == (locale_t)0) {
            gr_buf_add(out, text->bytes + i, size);
        } else {
            rows_utf8_add(out, (uint32_t)towlower_l((wint_t)point, rows_unicode()));
        }
    }
}

/* "%" is any run of characters, "_" one; the escape character makes the next one itself. */
static void
like_compile(struct pattern *pattern, const struct rows_text *text, const struct rows_text *escape)
{
    for (size_t i = 0, size; i < text->size; i += size) {
        (void)rows_utf8_decode(text->bytes + i, text->size - i, &size);
        if (escape != NULL && escape->size == size && memcmp(text->bytes + i, escape->bytes, size) == 0) {
            i += size;
            if (i == text->size) {
                pattern->broken = true;
                return;
            }
            (void)rows_utf8_decode(text->bytes + i, text->size - i, &size);
            add_item(pattern, ITEM_LITERAL, text->bytes + i, size);
        } else if (text->bytes[i] == '%') {
            add_item(pattern, ITEM_ANY, NULL, 0);
        } else if (text->bytes[i] == '_') {
            add_item(pattern, ITEM_ONE, NULL, 0);
        } else {
            add_item(pattern, ITEM_LITERAL, text->bytes + i, size);
        }
    }
    if (escape != NULL && rows_utf8_count(escape) != 1) {
        pattern->broken = escape->size != 0;
    }
}

static size_t
character_size(const struct rows_text *text, size_t at)
{
    size_t size;

    (void)rows_utf8_decode(text->bytes + at, text->size - at, &size);
    return size;
}

/* Greedy with one way back: to the last "%", which takes one character more. */
static bool
like_matches(const struct pattern *pattern, const struct rows_text *text)
{
    const struct item *items = (const struct item *)(const void *)pattern->items.bytes;
    size_t count = pattern->items.size / sizeof *items;
    size_t item = 0;
    size_t at = 0;
    size_t any = SIZE_MAX; /* the item after the last "%" */
    size_t any_at = 0;     /* where that began to match */

    for (;;) {
        if (item == count && at == text->size) {
            return true;
        }
        if (item < count && items[item].kind == ITEM_ANY) {
            any = ++item;
            any_at = at;
            if (item == count) {
                return true;
            }
            continue;
        }
        if (item < count && items[item].kind == ITEM_ONE && at < text->size) {
            at += character_size(text, at);
            item++;
            continue;
        }
        if (item < count && items[item].kind == ITEM_LITERAL && items[item].size <= text->size - at &&
            memcmp(text->bytes + at, pattern->bytes.bytes + items[item].from, items[item].size) == 0) {
            at += items[item].size;
            item++;
            continue;
        }
        if (any == SIZE_MAX || any_at >= text->size) {
            return false;
        }
        /* What follows the "%" is literal more often than not: leap to where it stands next. */
        any_at += character_size(text, any_at);
        if (items[any].kind == ITEM_LITERAL) {
            size_t left = text->size - any_at;
            size_t found = SIMD_CALL(text_find)(text->bytes + any_at, left, pattern->bytes.bytes + items[any].from,
                                                items[any].size);

            if (found == left) {
                return false;
            }
            any_at += found;
        }
        item = any;
        at = any_at;
    }
}

struct pattern *
pattern_of_regex(const struct rows_text *text, bool often)
{
    struct pattern *pattern = calloc(1, sizeof *pattern);

    if (pattern != NULL) {
        pattern->broken = regex_create(text, often, &pattern->regex) != 0;
        if (pattern->regex == NULL && !pattern->broken) {
            pattern_free(pattern);
            pattern = NULL;
        }
    }
    return pattern;
}

struct regex *
pattern_regex(const struct pattern *pattern)
{
    return pattern->regex;
}

static struct pattern *
pattern_create(const struct node *node, const struct rows_text *text, const struct rows_text *escape)
{
    struct pattern *pattern;
    struct gr_buf folded = {0};
    struct rows_text lower;
    bool enough;

    if (node->op == GR_OP_REGEXP_MATCHES) {
        return pattern_of_regex(text, node->operands[1]->kind == NODE_CONSTANT);
    }
    pattern = calloc(1, sizeof *pattern);
    if (pattern == NULL) {
        return NULL;
    }
    if (node->op == GR_OP_ILIKE) {
        fold_case(text, &folded);
        lower = (struct rows_text){folded.bytes, folded.size};
        like_compile(pattern, &lower, escape);
    } else {
        like_compile(pattern, text, escape);
    }
    enough = gr_buf_ok(&folded);
    gr_buf_free(&folded);
    if (!enough || !gr_buf_ok(&pattern->items) || !gr_buf_ok(&pattern->bytes)) {
        pattern_free(pattern);
        return NULL;
    }
    return pattern;
}

static enum regex_found
matches(const struct node *node, const struct pattern *pattern, const struct rows_text *text, struct gr_buf *folded)
{
    const size_t *groups;
    struct rows_text lower;

    if (pattern->broken) {
        return REGEX_GIVEN_UP;
    }
    if (node->op == GR_OP_REGEXP_MATCHES) {
        return regex_find(pattern->regex, text, 0, &groups);
    }
    if (node->op == GR_OP_LIKE) {
        return like_matches(pattern, text) ? REGEX_FOUND : REGEX_NONE;
    }
    folded->size = 0;
    fold_case(text, folded);
    lower = (struct rows_text){folded->bytes, folded->size};
    return like_matches(pattern, &lower) ? REGEX_FOUND : REGEX_NONE;
}

/* The longest literal of a like; NULL: there is none. */
static const struct item *
searched_for(const struct node *node)
{
    const struct item *items = (const struct item *)(const void *)node->pattern->items.bytes;
    const struct item *longest = NULL;

    if (node->op != GR_OP_LIKE || node->pattern->broken) {
        return NULL;
    }
    for (size_t i = 0; i < node->pattern->items.size / sizeof *items; i++) {
        if (items[i].kind == ITEM_LITERAL && (longest == NULL || items[i].size > longest->size)) {
            longest = &items[i];
        }
    }
    return longest;
}

static const char *
end_of(const struct rows_text *text)
{
    return text->size > 0 ? text->bytes + text->size : text->bytes;
}

/* Texts that lie one behind the other, as a column has them: how many, from the first. */
static int64_t
run_of(const struct rows_text *texts, int64_t n)
{
    int64_t count = 1;

    while (count < n && texts[count].bytes == end_of(&texts[count - 1])) {
        count++;
    }
    return count;
}

/* A run is searched as one text for the longest literal; only rows that have it are matched. */
static void
match_run(const struct pattern *pattern, const struct item *literal, const struct rows_text *texts, int64_t n,
          uint8_t *out)
{
    const char *wanted = pattern->bytes.bytes + literal->from;
    const char *end = end_of(&texts[n - 1]);

    for (int64_t i = 0; i < n; i++) {
        size_t left = (size_t)(end - texts[i].bytes);
        size_t found = SIMD_CALL(text_find)(texts[i].bytes, left, wanted, literal->size);
        const char *at;

        if (found == left) {
            return;
        }
        at = texts[i].bytes + found;
        while (end_of(&texts[i]) <= at) {
            i++;
        }
        out[i] = like_matches(pattern, &texts[i]); /* false where the literal crosses the row's end */
    }
}

granary_err
op_like(struct node *node, int64_t n)
{
    bool constant =
        node->operands[1]->kind == NODE_CONSTANT && (node->count < 3 || node->operands[2]->kind == NODE_CONSTANT);
    const struct rows_text *a = node_texts(node->operands[0], n);
    const struct rows_text *b = node_texts(node->operands[1], n);
    const struct rows_text *c = node->count > 2 ? node_texts(node->operands[2], n) : NULL;
    uint8_t *out = node_room(node, ROWS_BOOL);
    const struct item *literal;

    node_strict(node, n);
    node->text.size = 0;
    memset(out, 0, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        if (!node_counts(node, i)) {
            continue;
        }
        if (node->pattern == NULL && (node->pattern = pattern_create(node, &b[i], c != NULL ? &c[i] : NULL)) == NULL) {
            return node_no_memory();
        }
        if (constant && (literal = searched_for(node)) != NULL) {
            for (int64_t run; i < n; i += run) {
                run = run_of(a + i, n - i);
                match_run(node->pattern, literal, a + i, run, out + i);
            }
            break;
        }
        switch (matches(node, node->pattern, &a[i], &node->text)) {
        case REGEX_FOUND:
            out[i] = 1;
            break;
        case REGEX_NONE:
            break;
        case REGEX_NO_MEMORY:
            return node_no_memory();
        default:
            node_mark_bad(node, i, n);
            break;
        }
        if (!constant) {
            pattern_free(node->pattern);
            node->pattern = NULL;
        }
    }
    return gr_buf_ok(&node->text) ? GRANARY_OK : node_no_memory();
}

/* ---- hash ---- */

static uint64_t
hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 29;
}

static uint64_t
hash_text(uint64_t hash, const struct rows_text *text)
{
    uint64_t word;
    size_t i = 0;

    for (; i + 8 <= text->size; i += 8) {
        memcpy(&word, text->bytes + i, 8);
        hash = hash_mix(hash, word);
    }
    word = 0;
    if (i < text->size) {
        memcpy(&word, text->bytes + i, text->size - i);
    }
    return hash_mix(hash_mix(hash, word), text->size);
}

static uint64_t
hash_value(uint64_t hash, const struct node *node, int64_t i)
{
    if (!node_counts(node, i) || node->class == ROWS_NULL) {
        return hash_mix(hash, UINT64_C(0x6e756c6c));
    }
    switch (node->class) {
    case ROWS_BOOL:
        return hash_mix(hash, ((const uint8_t *)node->values)[i]);
    case ROWS_DOUBLE: {
        double value = ((const double *)node->values)[i];
        uint64_t bits;

        value = value == 0.0 ? 0.0 : isnan(value) ? (double)NAN : value; /* equal ones have equal bits */
        memcpy(&bits, &value, sizeof bits);
        return hash_mix(hash, bits);
    }
    case ROWS_TEXT:
        return hash_text(hash, &((const struct rows_text *)node->values)[i]);
    case ROWS_CODE:
        return hash_text(hash, &node->texts[i]);
    default: {
        gr_int128 value = node_exact_at(node, i);

        return hash_mix(hash_mix(hash, (uint64_t)value), (uint64_t)(value >> 64));
    }
    }
}

granary_err
op_hash(struct node *node, int64_t n)
{
    int64_t *out = node_room(node, ROWS_INT);

    node_bad_of_operands(node, n);
    node->valid = NULL;
    for (size_t k = 0; k < node->count; k++) {
        if (node->operands[k]->class == ROWS_CODE) {
            (void)node_texts(node->operands[k], n);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t hash = UINT64_C(0x2545f4914f6cdd1d);

        for (size_t k = 0; k < node->count; k++) {
            hash = hash_value(hash, node->operands[k], i);
        }
        out[i] = (int64_t)hash;
    }
    return GRANARY_OK;
}
