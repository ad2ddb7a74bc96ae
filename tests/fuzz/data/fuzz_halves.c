/*
 * Any bytes as a table of groups, and as a partial result of a reduction: what another machine may send. They are
 * refused with a message, or merged with themselves and made a result. They stand behind eight bytes, of which the first
 * tells for what they are taken.
 */
#include <string.h>

#include "fuzz/fuzz.h"
#include "unit/executor/op.h"

static const char *const functions[] = {"sum", "prod", "max", "mean", "nanvar", "argmin"};

enum { TABLES = 3, FUNCTIONS = sizeof functions / sizeof functions[0], COPIES = 2 };

/* The aggregates of a groupby: few, all kinds of parts, rows. */
static Granary__Attr *
aggregates(unsigned table)
{
    static const char *const texts[TABLES][8] = {
        {"size", "sum(i)"},
        {"mean(f)", "min(s)", "median(f)", "nunique(s)", "first(i)", "std(i)", "mode(s)", "arg_least(s, f)"},
        {"largest(f, 2)"}};
    static const size_t counts[TABLES] = {2, 8, 1};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

    return gr_attr_new_map("aggregate", (char *const *)(uintptr_t)names, (char *const *)(uintptr_t)texts[table],
                           counts[table]);
}

static Granary__ChunkOp *
final_op(unsigned kind)
{
    static const char *const keys[] = {"s", "i"};
    bool groups = kind < TABLES;
    Granary__ChunkOp *op = op_new(groups ? "groupby_final" : "reduce_final");

    if (groups) {
        op_attr(op, gr_attr_new_strings("keys", (char *const *)(uintptr_t)keys, kind == 0 ? 1 : kind));
        op_attr(op, aggregates(kind));
        op_attr(op, gr_attr_new_bool("dropna", false));
    } else {
        op_attr(op, gr_attr_new_string("function", functions[kind - TABLES]));
        op_attr(op, gr_attr_new_int("count", 5));
    }
    return op;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    unsigned kind = size > 0 ? bytes[0] % (TABLES + FUNCTIONS) : 0;
    size_t room = (size + 63) / 64 * 64 + 64;
    void *aligned = aligned_alloc(64, room);
    struct gr_value inputs[COPIES];
    struct gr_value output = {0};
    Granary__ChunkOp *op = final_op(kind);

    must(aligned != NULL);
    if (size > 8) {
        memcpy(aligned, bytes + 8, size - 8);
        for (size_t i = 0; i < COPIES; i++) {
            inputs[i] = (struct gr_value){.kind = GR_VALUE_BYTES, .bytes = aligned, .bytes_size = size - 8};
        }
        (void)op_run(kind < TABLES ? run_groupby_final : run_reduce_final, op, inputs, COPIES, &output, 1, NULL);
        gr_value_free(&output);
    }
    granary__chunk_op__free_unpacked(op, NULL);
    free(aligned);
    return 0;
}
