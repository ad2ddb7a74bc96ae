/* docs/graph-format.md tells every operator and every parameter there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "graph/chunk_ops.h"
#include "graph/expr.h"
#include "graph/ops.h"
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

/* The section whose heading names the operator: "### add, subtract\n" up to the next heading. To be freed. */
static char *
section_of(const char *document, const char *op)
{
    for (const char *at = strstr(document, "\n### "); at != NULL; at = strstr(at + 1, "\n### ")) {
        const char *line = at + 5;
        size_t length = strcspn(line, "\n");
        size_t size = strlen(op);

        for (size_t i = 0; i + size <= length; i++) {
            bool begins = i == 0 || line[i - 1] == ' ';
            bool ends = i + size == length || line[i + size] == ',';

            if (begins && ends && strncmp(line + i, op, size) == 0) {
                const char *end = strstr(line, "\n#");

                return end == NULL ? strdup(line) : strndup(line, (size_t)(end - line));
            }
        }
    }
    return NULL;
}

static void
every_operator_has_a_section(void **state)
{
    char *document = read_document();

    (void)state;
    for (int op = 0; op < GR_TILE_COUNT; op++) {
        const char *name = gr_op_info((enum gr_tile_op)op)->name;
        char *section = section_of(document, name);

        if (section == NULL) {
            fail_msg("docs/graph-format.md has no section for operator %s", name);
        }
        free(section);
    }
    free(document);
}

/* A row: | `rows` | int | required | */
static void
every_parameter_has_a_row(void **state)
{
    static const char *const kinds[] = {
        [GR_PARAM_INT] = "int",         [GR_PARAM_NUMBER] = "number", [GR_PARAM_BOOL] = "bool",
        [GR_PARAM_STRING] = "string",   [GR_PARAM_INTS] = "ints",     [GR_PARAM_BOOLS] = "bools",
        [GR_PARAM_STRINGS] = "strings", [GR_PARAM_MAP] = "map",
    };
    char *document = read_document();
    size_t count;
    const struct gr_param_info *params = gr_param_info(&count);

    (void)state;
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        char *section = section_of(document, gr_op_info(params[i].op)->name);
        char row[128];

        (void)snprintf(row, sizeof row, "| `%s` | %s |%s|", params[i].name, kinds[params[i].kind],
                       params[i].required ? " required " : " ");
        if (section == NULL || strstr(section, row) == NULL) {
            fail_msg("docs/graph-format.md, section %s, has no row %s", gr_op_info(params[i].op)->name, row);
        }
        free(section);
    }
    free(document);
}

/* A row of the table of chunk operators: | `concat` | frames | ... with each parameter in backquotes. */
static void
every_chunk_operator_has_a_row(void **state)
{
    char *document = read_document();
    size_t count;
    const struct gr_param_info *params = gr_chunk_param_info(&count);

    (void)state;
    for (int op = 0; op < GR_CHUNK_object; op++) {
        const char *name = gr_chunk_op_name((enum gr_chunk_op)op);
        char text[128];
        char *row;

        if (gr_chunk_op_find(name) < 0) {
            continue;
        }
        (void)snprintf(text, sizeof text, "\n| `%s` |", name);
        /* The last one: names may be parameters, too, in tables before. */
        row = NULL;
        for (char *at = strstr(document, text); at != NULL; at = strstr(at + 1, text)) {
            row = at + 1;
        }
        if (row == NULL) {
            fail_msg("docs/graph-format.md has no row for chunk operator %s", name);
        }
        row = strndup(row, strcspn(row, "\n"));
        for (size_t i = 0; i < count; i++) {
            (void)snprintf(text, sizeof text, "`%s`%s", params[i].name, params[i].required ? "" : " (optional)");
            if (params[i].op == op && strstr(row, text) == NULL) {
                fail_msg("docs/graph-format.md, chunk operator %s, does not tell %s", name, text);
            }
        }
        free(row);
    }
    free(document);
}

/* Every function and word of an expression, in backquotes. */
static void
every_expression_operator_is_told(void **state)
{
    char *document = read_document();

    (void)state;
    for (int op = GR_OP_ADD; op < GR_OP_TO_FLOAT64; op++) {
        char word[64];

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
        cmocka_unit_test(every_operator_has_a_section),
        cmocka_unit_test(every_parameter_has_a_row),
        cmocka_unit_test(every_chunk_operator_has_a_row),
        cmocka_unit_test(every_expression_operator_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
