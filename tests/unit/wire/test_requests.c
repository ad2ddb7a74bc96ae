/* The table of requests: the document tells what it says, and numbers and sizes follow from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/store_proto.h"
#include "wire/requests.h"

#define COLUMNS      5
#define DOCUMENT_MAX (1u << 20)

static const char *const rows[][COLUMNS] = {
#define REQUEST(name, number, handler, body, answer, fds, sender, end, did, ...) {#name, __VA_ARGS__},
#include "contract/store_requests.def"
#undef REQUEST
};

#define ROWS (sizeof rows / sizeof rows[0])

static char *
read_document(void)
{
    const char *source = getenv("GRANARY_SOURCE");
    char *text = calloc(1, DOCUMENT_MAX);
    char path[4096];
    FILE *file;

    assert_non_null(text);
    (void)snprintf(path, sizeof path, "%s/docs/protocol.md", source == NULL ? "." : source);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_in_range(fread(text, 1, DOCUMENT_MAX - 1, file), 1, DOCUMENT_MAX - 2);
    (void)fclose(file);
    return text;
}

/* docs/protocol.md has the table, row by row. */
static void
the_document_has_every_request(void **state)
{
    char *document = read_document();
    const char *at = strstr(document, "\n| HELLO |");

    (void)state;
    assert_non_null(at);
    for (size_t i = 0; i < ROWS; i++) {
        char row[1024] = "\n|";

        for (size_t column = 0; column < COLUMNS; column++) {
            size_t used = strlen(row);

            (void)snprintf(row + used, sizeof row - used, "%s%s |", rows[i][column][0] == '\0' ? "" : " ",
                           rows[i][column]);
        }
        if (strncmp(at, row, strlen(row)) != 0) {
            fail_msg("docs/protocol.md: the next row should be%s", row);
        }
        at += strlen(row);
    }
    assert_memory_equal(at, "\n\n", 2);
    free(document);
}

/* Each number from 1 on is one request's, and only these are requests. */
static void
numbers_have_no_gaps(void **state)
{
    (void)state;
    assert_null(gr_store_request(0));
    for (unsigned op = 1; op <= ROWS; op++) {
        assert_non_null(gr_store_request(op));
    }
    assert_null(gr_store_request(ROWS + 1));
    assert_null(gr_store_request(UINT16_MAX));
}

/* A body with items behind it has a whole number of them, and not too many. */
static void
sizes_are_exact(void **state)
{
    const struct gr_request_size *contain = &gr_store_request(GR_STORE_CONTAIN)->body;
    const struct gr_request_size *room = &gr_store_request(GR_STORE_ROOM)->body;
    uint32_t head = sizeof(struct gr_contain);

    (void)state;
    assert_true(gr_request_size_fits(room, sizeof(struct gr_room)));
    assert_false(gr_request_size_fits(room, sizeof(struct gr_room) - 1));
    assert_false(gr_request_size_fits(room, sizeof(struct gr_room) + 1));
    assert_true(gr_request_size_fits(contain, head));
    assert_true(gr_request_size_fits(contain, head + 16 * GR_CONTAIN_MOST));
    assert_false(gr_request_size_fits(contain, head + 16 * (GR_CONTAIN_MOST + 1)));
    assert_false(gr_request_size_fits(contain, head + 15));
    assert_false(gr_request_size_fits(contain, head - 16));
    assert_true(gr_request_size_fits(&gr_store_request(GR_STORE_HELLO)->body, 8));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_has_every_request),
        cmocka_unit_test(numbers_have_no_gaps),
        cmocka_unit_test(sizes_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
