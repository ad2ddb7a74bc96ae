/* See bloom.h: of a filter, its head and one block for each value are read. */
#include "kernel/parquet/bloom.h"

#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/frame.h"
#include "graph/dtype_class.h"

/* The hash of a value as the file has it. false: the column's values are of another kind. */
static bool
hash_of(const struct gr_parquet_leaf *leaf, const struct gr_expr *literal, uint64_t *ret_hash)
{
    bool is_integer = literal->is_number ? literal->scale == 0 : gr_dtype_is_integer(literal->dtype);
    uint8_t bytes[8];
    uint64_t word;

    if (leaf->repeats > 0 || literal->is_null) {
        return false;
    }
    if (leaf->form == GR_PARQUET_TEXT && leaf->physical == GR_PARQUET_BYTES && literal->dtype == GRANARY_STRING) {
        *ret_hash = XXH64(literal->text, literal->text_size, 0);
        return true;
    }
    if (leaf->form != GR_PARQUET_INTEGER || !is_integer || !gr_dtype_fits(leaf->dtype, literal->value.i)) {
        return false;
    }
    word = (uint64_t)literal->value.i;
    memcpy(bytes, &word, sizeof bytes); /* little-endian, as the file is */
    *ret_hash = XXH64(bytes, leaf->physical == GR_PARQUET_INT32 ? 4 : 8, 0);
    return leaf->physical == GR_PARQUET_INT32 || leaf->physical == GR_PARQUET_INT64;
}

/* false: nobody can tell. */
static bool
lacks(const struct bloom_question *q, const struct gr_parquet_chunk *chunk, uint64_t hash)
{
    uint8_t bytes[GR_PARQUET_BLOOM_HEAD];
    uint64_t left =
        chunk->bloom_at > 0 && (uint64_t)chunk->bloom_at < q->file_size ? q->file_size - (uint64_t)chunk->bloom_at : 0;
    size_t size = left < sizeof bytes ? (size_t)left : sizeof bytes;
    size_t head = 0;
    uint64_t of_bits = 0;

    if (size == 0 || chunk->encrypted || chunk->elsewhere ||
        gr_pread_all(q->fd, bytes, size, chunk->bloom_at) != GRANARY_OK ||
        gr_parquet_bloom_head(bytes, size, &head, &of_bits) != GRANARY_OK || of_bits > left - head ||
        (chunk->bloom_size > 0 && (uint64_t)chunk->bloom_size < head + of_bits)) {
        return false;
    }
    return gr_pread_all(q->fd, bytes, GR_PARQUET_BLOOM_BLOCK,
                        chunk->bloom_at + (int64_t)head +
                            (int64_t)(gr_parquet_bloom_block(of_bits, hash) * GR_PARQUET_BLOOM_BLOCK)) == GRANARY_OK &&
           !gr_parquet_bloom_has(bytes, hash);
}

/* column = literal, either way around */
static bool
equals_none(const struct bloom_question *q, const struct gr_expr *a, const struct gr_expr *b)
{
    const struct gr_expr *column = a->kind == GR_EXPR_COLUMN ? a : b;
    const struct gr_expr *literal = column == a ? b : a;
    uint64_t hash;
    size_t leaf;

    if (column->kind != GR_EXPR_COLUMN || literal->kind != GR_EXPR_LITERAL || column->column_index < 0 ||
        (size_t)column->column_index >= q->schema->count) {
        return false;
    }
    leaf = q->leaf_of[column->column_index];
    return hash_of(&q->leaves[leaf], literal, &hash) && lacks(q, &q->group->chunks[leaf], hash);
}

bool
bloom_excludes(const struct bloom_question *question, const struct gr_expr *where)
{
    bool is_and = where->kind == GR_EXPR_CALL && where->op == GR_OP_AND;
    bool excludes;

    if (where->kind != GR_EXPR_CALL) {
        return false;
    }
    switch (where->op) {
    case GR_OP_AND:
    case GR_OP_OR:
        excludes = !is_and;
        for (size_t i = 0; i < where->operand_count && excludes != is_and; i++) {
            excludes = bloom_excludes(question, where->operands[i]);
        }
        return excludes;
    case GR_OP_EQUAL:
        return equals_none(question, where->operands[0], where->operands[1]);
    case GR_OP_IN:
        excludes = true;
        for (size_t i = 1; i < where->operand_count && excludes; i++) {
            excludes = where->operands[i]->is_null || equals_none(question, where->operands[0], where->operands[i]);
        }
        return excludes;
    default:
        return false;
    }
}
