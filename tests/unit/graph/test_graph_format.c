/* docs/graph-format.md tells every word of expressions that is no function: those are in docs/operators.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/buf.h"
#include "graph/expr.h"
#include "support.h"

static char *
read_document(void)
{
    char path[4096];
    struct gr_buf text = {0};
    char block[4096];
    const char *source = getenv("GRANARY_SOURCE");
    FILE *file;
    size_t size;

    (void)snprintf(path, sizeof path, "%s/docs/graph-format.md", source == NULL ? "." : source);
    file = fopen(path, "r");
    assert_non_null(file);
    while ((size = fread(block, 1, sizeof block, file)) > 0) {
        gr_buf_add(&text, block, size);
    }
    (void)fclose(file);
    return gr_buf_take(&text);
}

static bool
is_function(enum gr_expr_op op)
{
    size_t count;
    const struct gr_function_info *functions = gr_function_info(&count);

    for (size_t i = 0; i < count; i++) {
        if (functions[i].op == op) {
            return true;
        }
    }
    return false;
}

/* Every word of an expression, in backquotes. */
static void
every_expression_operator_is_told(void **state)
{
    char *document = read_document();

    (void)state;
    for (int op = GR_OP_ADD; op < GR_OP_CONVERT; op++) {
        char word[64];

        if (is_function((enum gr_expr_op)op)) {
            continue;
        }
        (void)snprintf(word, sizeof word, "`%s`", gr_expr_op_text((enum gr_expr_op)op));
        if (strstr(document, word) == NULL) {
            fail_msg("docs/graph-format.md does not tell %s", word);
        }
    }
    free(document);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_expression_operator_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
