/*
 * See parquet_bloom.h: of a filter, its head and one block for each value are read. A value is hashed as the file has it,
 * so it is asked for only where that is one thing: not where a column of nanoseconds is compared with microseconds.
 */
#define XXH_INLINE_ALL
#include "tile/file/parquet_bloom.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"

#define HASHES_MOST 2  /* of a literal: zero has two signs */
#define ASKED_MOST  64 /* blocks of a row group; of longer lists the filter is not asked */

/* What a literal may be in the file. */
struct hashes {
    uint64_t of[HASHES_MOST];
    size_t count;
};

/* ---- a literal's bytes ---- */

static void
add_hash(struct hashes *hashes, const void *bytes, size_t size)
{
    hashes->of[hashes->count++] = XXH64(bytes, size, 0);
}

/* An integer of so many bytes, little-endian. */
static void
hash_little(struct hashes *hashes, gr_int128 value, enum gr_parquet_physical physical)
{
    size_t size = physical == GR_PARQUET_INT32 ? 4 : 8;
    gr_int128 least = -((gr_int128)1 << (size * 8 - 1));

    /* Unsigned ones lie there as signed ones do. */
    if ((physical == GR_PARQUET_INT32 || physical == GR_PARQUET_INT64) && value >= least && value < -2 * least) {
        add_hash(hashes, &value, size);
    }
}

/* ... big-endian. */
static void
hash_big(struct hashes *hashes, gr_int128 value, size_t size)
{
    uint8_t bytes[16];

    if (size == 0 || size > sizeof bytes || (size < sizeof bytes && value >> (size * 8 - 1) != value >> 127)) {
        return;
    }
    for (size_t i = 0; i < size; i++) {
        bytes[size - 1 - i] = (uint8_t)(value >> (8 * i));
    }
    add_hash(hashes, bytes, size);
}

static void
hash_real(struct hashes *hashes, double value, enum gr_parquet_physical physical)
{
    double values[] = {value, -value};
    size_t signs = value == 0 ? 2 : 1;

    for (size_t i = 0; i < signs; i++) {
        float narrow = (float)values[i];

        if (physical == GR_PARQUET_DOUBLE && value == value) {
            add_hash(hashes, &values[i], sizeof values[i]);
        } else if (physical == GR_PARQUET_FLOAT && (double)narrow == value) {
            add_hash(hashes, &narrow, sizeof narrow);
        }
    }
}

static void
hash_moment(struct hashes *hashes, const struct gr_parquet_leaf *leaf, gr_int128 micros)
{
    int64_t unit = leaf->per_second <= 1000000 ? 1000000 / leaf->per_second : 0;

    if (unit > 0 && micros % unit == 0) {
        hash_little(hashes, micros / unit, leaf->physical);
    }
}

/* None: nobody can tell what it is in the file. */
static struct hashes
hashes_of(const struct gr_parquet_leaf *leaf, const struct gr_expr *literal)
{
    struct hashes hashes = {.count = 0};
    bool is_exact = gr_dtype_is_integer(literal->dtype) || gr_dtype_kind(literal->dtype) == GRANARY_DECIMAL;

    switch (leaf->form) {
    case GR_PARQUET_INTEGER:
        if (gr_dtype_is_integer(leaf->dtype)
                ? is_exact && gr_dtype_scale(literal->dtype) == 0 && gr_dtype_fits(leaf->dtype, literal->value.i)
                : literal->dtype == leaf->dtype && literal->months == 0) {
            hash_little(&hashes, literal->value.i, leaf->physical);
        }
        break;
    case GR_PARQUET_MOMENT:
        if (literal->dtype == leaf->dtype) {
            hash_moment(&hashes, leaf, literal->value.i);
        }
        break;
    case GR_PARQUET_DECIMAL:
        if (is_exact && gr_dtype_scale(literal->dtype) == gr_dtype_scale(leaf->dtype)) {
            if (leaf->physical == GR_PARQUET_FIXED) {
                hash_big(&hashes, literal->value.i, (size_t)leaf->length);
            } else {
                hash_little(&hashes, literal->value.i, leaf->physical);
            }
        }
        break;
    case GR_PARQUET_REAL:
        if (literal->dtype == GRANARY_FLOAT64 || literal->dtype == GRANARY_FLOAT32) {
            hash_real(&hashes, literal->value.d, leaf->physical);
        }
        break;
    case GR_PARQUET_TEXT:
        if (literal->dtype == leaf->dtype && leaf->physical == GR_PARQUET_BYTES) {
            add_hash(&hashes, literal->text, literal->text_size);
        }
        break;
    default:
        break;
    }
    return hashes;
}

/* ---- a filter ---- */

struct asking {
    const struct cuts *cuts;
    size_t group;
    int fd;
    size_t left; /* blocks that may be read */
};

/* Whether none of the values is there. false: nobody can tell. */
static bool
lacks(struct asking *asking, const struct gr_parquet_chunk *chunk, const struct hashes *hashes)
{
    uint8_t bytes[GR_PARQUET_BLOOM_HEAD];
    uint64_t file_size = (uint64_t)asking->cuts->file->file_bytes;
    uint64_t left =
        chunk->bloom_at > 0 && (uint64_t)chunk->bloom_at < file_size ? file_size - (uint64_t)chunk->bloom_at : 0;
    size_t size = left < sizeof bytes ? (size_t)left : sizeof bytes;
    size_t head = 0;
    uint64_t of_bits = 0;
    bool has = hashes->count == 0;

    if (size == 0 || has || chunk->encrypted || chunk->elsewhere || hashes->count > asking->left ||
        gr_pread_all(asking->fd, bytes, size, chunk->bloom_at) != GRANARY_OK ||
        gr_parquet_bloom_head(bytes, size, &head, &of_bits) != GRANARY_OK || of_bits > left - head ||
        (chunk->bloom_size > 0 && (uint64_t)chunk->bloom_size < head + of_bits)) {
        return false;
    }
    asking->left -= hashes->count;
    for (size_t i = 0; i < hashes->count && !has; i++) {
        uint64_t block = gr_parquet_bloom_block(of_bits, hashes->of[i]);

        has = gr_pread_all(asking->fd, bytes, GR_PARQUET_BLOOM_BLOCK,
                           chunk->bloom_at + (int64_t)head + (int64_t)(block * GR_PARQUET_BLOOM_BLOCK)) != GRANARY_OK ||
              gr_parquet_bloom_has(bytes, hashes->of[i]);
    }
    return !has;
}

/* ---- a condition ---- */

/* The column of a side, perhaps as a wider integer. */
static const struct gr_expr *
column_of(const struct gr_expr *expr)
{
    if (expr->kind == GR_EXPR_CALL && expr->op == GR_OP_CONVERT && gr_dtype_is_integer(expr->operands[0]->dtype) &&
        expr->dtype == GRANARY_INT64) {
        expr = expr->operands[0];
    }
    return expr->kind == GR_EXPR_COLUMN && expr->column_index >= 0 ? expr : NULL;
}

/* column = literal, either way around */
static bool
equals_none(struct asking *asking, const struct gr_expr *a, const struct gr_expr *b)
{
    const struct gr_expr *column = column_of(a) != NULL ? column_of(a) : column_of(b);
    const struct gr_expr *literal = column_of(a) != NULL ? b : a;
    const struct gr_parquet_leaf *leaf;
    struct hashes hashes;
    size_t at;

    if (literal->kind != GR_EXPR_LITERAL || column == NULL) {
        return false;
    }
    if (literal->is_null) {
        return true;
    }
    at = asking->cuts->columns[column->column_index].leaf;
    leaf = &asking->cuts->leaves[at];
    hashes = hashes_of(leaf, literal);
    return leaf->repeats == 0 && lacks(asking, &asking->cuts->groups[asking->group].chunks[at], &hashes);
}

static bool
excludes(struct asking *asking, const struct gr_expr *where)
{
    bool is_and = where->kind == GR_EXPR_CALL && where->op == GR_OP_AND;
    bool excluded;

    if (where->kind != GR_EXPR_CALL) {
        return false;
    }
    switch (gr_expr_op_plain(where->op)) {
    case GR_OP_AND:
    case GR_OP_OR:
        excluded = !is_and;
        for (size_t i = 0; i < where->operand_count && excluded != is_and; i++) {
            excluded = excludes(asking, where->operands[i]);
        }
        return excluded;
    case GR_OP_EQUAL:
        return equals_none(asking, where->operands[0], where->operands[1]);
    case GR_OP_IN:
        excluded = true;
        for (size_t i = 1; i < where->operand_count && excluded; i++) {
            excluded = equals_none(asking, where->operands[0], where->operands[i]);
        }
        return excluded;
    default:
        return false;
    }
}

bool
bloom_excludes(const struct zone_test *test, const struct cuts *cuts, size_t group, int fd)
{
    struct asking asking = {.cuts = cuts, .group = group, .fd = fd, .left = ASKED_MOST};
    size_t count = 0;
    struct gr_expr *const *parts = zone_test_parts(test, &count);
    bool excluded = false;

    for (size_t i = 0; i < count && !excluded; i++) {
        excluded = excludes(&asking, parts[i]);
    }
    return excluded;
}
