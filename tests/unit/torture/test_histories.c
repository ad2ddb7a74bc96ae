/* The checker of histories: what can be true passes, what cannot is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "torture/objects/check.h"

/* An operation on object 0 from `began` to `ended` (0: never). */
struct line {
    int64_t began;
    int64_t ended;
    enum op_kind kind;
    enum op_outcome outcome;
    uint64_t value;
};

static size_t
wrong_objects(const struct line *lines, size_t count)
{
    struct history *history = history_create("/tmp", 128);
    FILE *nowhere = fopen("/dev/null", "w");
    size_t wrong;

    assert_non_null(history);
    assert_non_null(nowhere);
    for (size_t i = 0; i < count; i++) {
        struct op *op = history_begin(history, lines[i].kind, OP_PLAIN, 0);

        assert_non_null(op);
        op->began_ns = lines[i].began;
        op->outcome = (uint8_t)lines[i].outcome;
        op->value = lines[i].value;
        atomic_store(&op->ended_ns, lines[i].ended);
    }
    wrong = check_histories(&history, 1, 1, nowhere);
    (void)fclose(nowhere);
    history_destroy(history);
    return wrong;
}

#define assert_true_history(...)  assert_int_equal(WRONG(__VA_ARGS__), 0)
#define assert_false_history(...) assert_int_equal(WRONG(__VA_ARGS__), 1)
#define WRONG(...)                                                                                                     \
    wrong_objects((const struct line[]){__VA_ARGS__}, sizeof((struct line[]){__VA_ARGS__}) / sizeof(struct line))

#define PUT(began, ended, outcome, value)                                                                              \
    {                                                                                                                  \
        began, ended, OP_PUT, outcome, value                                                                           \
    }
#define DELETE(began, ended, outcome)                                                                                  \
    {                                                                                                                  \
        began, ended, OP_DELETE, outcome, 0                                                                            \
    }
#define GET(began, ended, outcome, value)                                                                              \
    {                                                                                                                  \
        began, ended, OP_GET, outcome, value                                                                           \
    }

static void
one_after_the_other(void **state)
{
    (void)state;
    assert_true_history(GET(1, 2, OP_NO, 0), PUT(3, 4, OP_YES, 7), GET(5, 6, OP_YES, 7), PUT(7, 8, OP_NO, 9),
                        DELETE(9, 10, OP_YES), DELETE(11, 12, OP_NO), GET(13, 14, OP_NO, 0), PUT(15, 16, OP_YES, 9),
                        GET(17, 18, OP_YES, 9));
    assert_false_history(PUT(1, 2, OP_YES, 7), GET(3, 4, OP_NO, 0));                        /* lost */
    assert_false_history(PUT(1, 2, OP_YES, 7), DELETE(3, 4, OP_NO));                        /* ... */
    assert_false_history(PUT(1, 2, OP_YES, 7), PUT(3, 4, OP_YES, 8));                       /* ... */
    assert_false_history(PUT(1, 2, OP_YES, 7), GET(3, 4, OP_YES, 8));                       /* of nobody's making */
    assert_false_history(GET(1, 2, OP_YES, 7), PUT(3, 4, OP_YES, 7));                       /* before it was put */
    assert_false_history(PUT(1, 2, OP_NO, 7));                                              /* there already? */
    assert_false_history(PUT(1, 2, OP_YES, 7), DELETE(3, 4, OP_YES), GET(5, 6, OP_YES, 7)); /* came back */
    assert_false_history(PUT(1, 2, OP_YES, 7), DELETE(3, 4, OP_YES), PUT(5, 6, OP_YES, 8), GET(7, 8, OP_YES, 7));
}

/* As many as could have happened in more ways than can be tried. */
static void
many_without_an_end(void **state)
{
    struct line lines[96];
    size_t count = 0;

    (void)state;
    for (int i = 0; i < 45; i++) {
        lines[count++] = (struct line)PUT(i + 1, 0, OP_UNKNOWN, (uint64_t)i + 1);
        lines[count++] = (struct line)DELETE(i + 1, 0, OP_UNKNOWN);
    }
    lines[count++] = (struct line)GET(50, 51, OP_YES, 7);
    lines[count++] = (struct line)GET(52, 53, OP_NO, 0);
    lines[count++] = (struct line)GET(54, 55, OP_YES, 9);
    lines[count++] = (struct line)DELETE(56, 57, OP_NO);
    assert_int_equal(wrong_objects(lines, count), 0);
    lines[count++] = (struct line)GET(58, 59, OP_YES, 7); /* came back */
    assert_int_equal(wrong_objects(lines, count), 1);
}

static void
at_the_same_time(void **state)
{
    (void)state;
    /* The get may be before or behind the delete, but gets of one order must agree. */
    assert_true_history(PUT(1, 2, OP_YES, 7), DELETE(3, 10, OP_YES), GET(4, 5, OP_YES, 7), GET(6, 7, OP_NO, 0));
    assert_false_history(PUT(1, 2, OP_YES, 7), DELETE(3, 10, OP_YES), GET(4, 5, OP_NO, 0), GET(6, 7, OP_YES, 7));
    assert_true_history(PUT(1, 9, OP_YES, 7), PUT(2, 8, OP_NO, 8), GET(3, 4, OP_YES, 7));
    assert_false_history(PUT(1, 9, OP_YES, 7), PUT(2, 8, OP_YES, 8), GET(10, 11, OP_YES, 8));
    assert_true_history(PUT(1, 9, OP_YES, 7), PUT(2, 8, OP_YES, 8), DELETE(3, 7, OP_YES), GET(10, 11, OP_YES, 8));
}

static void
what_nobody_knows(void **state)
{
    (void)state;
    assert_true_history(PUT(1, 0, OP_UNKNOWN, 7), GET(3, 4, OP_NO, 0), GET(5, 6, OP_YES, 7));
    assert_true_history(PUT(1, 0, OP_UNKNOWN, 7), GET(3, 4, OP_NO, 0), PUT(5, 6, OP_YES, 8), GET(7, 8, OP_YES, 8));
    assert_false_history(PUT(1, 0, OP_UNKNOWN, 7), GET(3, 4, OP_YES, 7), GET(5, 6, OP_NO, 0));
    assert_false_history(PUT(3, 0, OP_UNKNOWN, 7), GET(1, 2, OP_YES, 7));
    assert_true_history(PUT(1, 2, OP_YES, 7), DELETE(3, 0, OP_UNKNOWN), GET(5, 6, OP_YES, 7), GET(7, 8, OP_NO, 0));
    assert_false_history(PUT(1, 2, OP_YES, 7), DELETE(3, 0, OP_UNKNOWN), GET(5, 6, OP_NO, 0), GET(7, 8, OP_YES, 7));
    /* Once only. */
    assert_false_history(PUT(1, 2, OP_YES, 7), DELETE(3, 0, OP_UNKNOWN), GET(5, 6, OP_NO, 0), PUT(7, 8, OP_YES, 8),
                         GET(9, 10, OP_NO, 0));
    /* A death inside the note itself: the outcome stands there, the end does not. */
    assert_true_history(PUT(1, 0, OP_YES, 7), GET(3, 4, OP_NO, 0));
    /* Yes or no, but over: not later. */
    assert_true_history(PUT(1, 2, OP_EITHER, 7), GET(3, 4, OP_NO, 0));
    assert_true_history(PUT(1, 2, OP_EITHER, 7), GET(3, 4, OP_YES, 7));
    assert_false_history(PUT(1, 2, OP_EITHER, 7), GET(3, 4, OP_NO, 0), GET(5, 6, OP_YES, 7));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(many_without_an_end),
        cmocka_unit_test(at_the_same_time),
        cmocka_unit_test(what_nobody_knows),
    };

    return cmocka_run_group_tests_name("histories", tests, NULL, NULL);
}
