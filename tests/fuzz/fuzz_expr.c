/* Any text as an expression: parsed, checked against a schema of every dtype, its columns marked, printed and read,
 * checked again. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "graph/expr.h"

static const struct gr_schema *
columns(void)
{
    static struct gr_field fields[] = {
        {(char *)(uintptr_t) "a", GRANARY_INT64},    {(char *)(uintptr_t) "x", GRANARY_FLOAT64},
        {(char *)(uintptr_t) "s", GRANARY_STRING},   {(char *)(uintptr_t) "d", GRANARY_DATE},
        {(char *)(uintptr_t) "b", GRANARY_BOOL},     {(char *)(uintptr_t) "t", GRANARY_TIMESTAMP},
        {(char *)(uintptr_t) "n", GRANARY_NULLTYPE}, {(char *)(uintptr_t) "m", GRANARY_DECIMAL(2)},
        {(char *)(uintptr_t) "i", GRANARY_INT8},     {(char *)(uintptr_t) "l", GRANARY_DURATION},
    };
    static const struct gr_schema schema = {.count = sizeof fields / sizeof fields[0], .fields = fields};

    return &schema;
}

/* What is printed is read as the same tree, unless its brackets nest deeper than the parser goes. */
static void
must_print(const struct gr_expr *expr)
{
    char *text = gr_expr_text(expr);
    struct gr_expr *again = NULL;

    if (text != NULL && gr_expr_parse(text, &again) == GRANARY_OK && !gr_expr_equal(expr, again)) {
        abort();
    }
    gr_expr_destroy(again);
    free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    struct gr_expr *expr = NULL;
    bool used[16] = {false};
    granary_dtype dtype;

    if (text == NULL) {
        return 0;
    }
    if (size > 0) {
        memcpy(text, bytes, size);
    }
    text[size] = '\0';
    if (gr_expr_parse(text, &expr) == GRANARY_OK) {
        must_print(expr);
        gr_expr_columns(expr, columns(), used);
        if (gr_expr_check(expr, columns()) == GRANARY_OK) {
            dtype = expr->dtype;
            if (gr_expr_check(expr, columns()) != GRANARY_OK || expr->dtype != dtype) {
                abort(); /* what was checked once passes again, unchanged */
            }
        }
    }
    gr_expr_destroy(expr);
    free(text);
    return 0;
}
