/* Orders of joins: the cheapest by estimates, of few tables and of many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sql/select/order.h"

#define BIT(i) ((uint64_t)1 << (i))

static struct sql_statement statement;

static int
set_up(void **state)
{
    (void)state;
    statement.region = gr_region_create();
    return statement.region == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    gr_region_destroy(statement.region);
    return 0;
}

/* Every join takes two sides that are there, and makes them one; at last all is. */
static const struct sql_order_join *
checked(const struct sql_order_problem *problem)
{
    const struct sql_order_join *joins = sql_order_joins(&statement, problem);
    uint64_t sides[64];
    size_t count = problem->table_count;

    assert_non_null(joins);
    for (size_t i = 0; i < count; i++) {
        sides[i] = BIT(i);
    }
    for (size_t j = 0; j + 1 < problem->table_count; j++) {
        int found = 0;

        assert_int_equal(joins[j].left & joins[j].right, 0);
        assert_true(joins[j].rows >= 1);
        for (size_t i = 0; i < count;) {
            if (sides[i] == joins[j].left || sides[i] == joins[j].right) {
                found++;
                sides[i] = sides[--count];
            } else {
                i++;
            }
        }
        assert_int_equal(found, 2);
        sides[count++] = joins[j].left | joins[j].right;
    }
    assert_int_equal(count, 1);
    return joins;
}

static void
the_smallest_part_comes_first(void **state)
{
    const struct sql_order_table tables[] = {{1e3, 1e3}, {1e6, 1e6}, {10, 1e4}, {5e3, 1e4}};
    const struct sql_order_link links[] = {{.items = BIT(0) | BIT(1), .distinct = 1e3},
                                           {.items = BIT(1) | BIT(2), .distinct = 1e4},
                                           {.items = BIT(1) | BIT(3), .distinct = 1e4}};
    const struct sql_order_join *joins =
        checked(&(struct sql_order_problem){.tables = tables, .table_count = 4, .links = links, .link_count = 3});

    (void)state;
    assert_int_equal(joins[0].left, BIT(1)); /* the large one looks up */
    assert_int_equal(joins[0].right, BIT(2));
    assert_true(joins[0].rows == 1e3);
    assert_int_equal(joins[2].left | joins[2].right, 15);
}

/* What narrows a dimension is joined to it, before the facts look it up. */
static void
dimensions_are_narrowed_first(void **state)
{
    const struct sql_order_table tables[] = {{6e6, 6e6}, {2.4e5, 1.5e6}, {1.5e5, 1.5e5}, {1, 25}};
    const struct sql_order_link links[] = {{.items = BIT(0) | BIT(1), .distinct = 1.5e6},
                                           {.items = BIT(1) | BIT(2), .distinct = 1.5e5},
                                           {.items = BIT(2) | BIT(3), .distinct = 25}};
    const struct sql_order_join *joins =
        checked(&(struct sql_order_problem){.tables = tables, .table_count = 4, .links = links, .link_count = 3});

    (void)state;
    assert_int_equal(joins[0].left, BIT(2));
    assert_int_equal(joins[0].right, BIT(3));
    assert_int_equal(joins[1].left, BIT(1));
    assert_int_equal(joins[2].left, BIT(0));
}

/* Of values that are all equal any two join: no condition names 0 and 2 together. */
static void
equalities_follow_from_others(void **state)
{
    const struct sql_order_table tables[] = {{1e5, 1e5}, {1e6, 1e6}, {2, 25}};
    const struct sql_order_link links[] = {{.items = BIT(0) | BIT(1) | BIT(2), .distinct = 25},
                                           {.items = BIT(0) | BIT(1), .distinct = 1e5}};
    const struct sql_order_join *joins =
        checked(&(struct sql_order_problem){.tables = tables, .table_count = 3, .links = links, .link_count = 2});

    (void)state;
    assert_int_equal(joins[0].left, BIT(0));
    assert_int_equal(joins[0].right, BIT(2));
    assert_int_equal(sql_order_crosses(&links[0], BIT(0), BIT(2)), 1);
    assert_int_equal(sql_order_crosses(&links[1], BIT(0), BIT(2)), 0);
}

static void
sides_of_several_tables(void **state)
{
    const struct sql_order_link link = {.sides = {BIT(0) | BIT(1), BIT(2)}, .distinct = 10};

    (void)state;
    assert_int_equal(sql_order_crosses(&link, BIT(0) | BIT(1) | BIT(3), BIT(2)), 1);
    assert_int_equal(sql_order_crosses(&link, BIT(2), BIT(0) | BIT(1)), -1);
    assert_int_equal(sql_order_crosses(&link, BIT(0), BIT(2)), 0);
}

static void
tables_without_links_are_crossed_while_they_are_small(void **state)
{
    const struct sql_order_table tables[] = {{1e5, 1e5}, {1, 1}, {1e6, 1e6}};
    const struct sql_order_link links[] = {{.items = BIT(0) | BIT(2), .distinct = 1e5}};
    const struct sql_order_filter filters[] = {{BIT(0) | BIT(1), 0.1}};
    const struct sql_order_join *joins = checked(&(struct sql_order_problem){
        .tables = tables, .table_count = 3, .links = links, .link_count = 1, .filters = filters, .filter_count = 1});

    (void)state;
    assert_int_equal(joins[0].left | joins[0].right, BIT(0) | BIT(1));
    assert_true(joins[0].rows > 9e3 && joins[0].rows < 1.1e4);
    assert_true(joins[1].rows > 9e4 && joins[1].rows < 1.1e5);
}

/* One fact and many dimensions, each linked to it; then none linked at all; then 64 in a chain. */
static void
many_tables_have_an_order(void **state)
{
    struct sql_order_table tables[64];
    struct sql_order_link links[64] = {{.items = 0}};
    struct sql_order_problem problem = {.tables = tables, .links = links};

    (void)state;
    for (size_t i = 0; i < 64; i++) {
        tables[i] = i == 0 ? (struct sql_order_table){1e6, 1e6} : (struct sql_order_table){100.0 * (double)i, 1e4};
        links[i] = (struct sql_order_link){.items = BIT(0) | BIT(i), .distinct = 1e4};
    }
    problem.table_count = 14;
    problem.link_count = 14;
    assert_int_equal(checked(&problem)[0].right, BIT(1));
    for (size_t count = 1; count <= 64; count += 9) {
        problem.table_count = count;
        problem.link_count = 0;
        (void)checked(&problem);
        problem.link_count = count;
        (void)checked(&problem);
    }
    for (size_t i = 0; i + 1 < 64; i++) {
        links[i] = (struct sql_order_link){.items = BIT(i) | BIT(i + 1), .distinct = 1e4};
    }
    problem.table_count = 64;
    problem.link_count = 63;
    (void)checked(&problem);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_smallest_part_comes_first),
                                       cmocka_unit_test(dimensions_are_narrowed_first),
                                       cmocka_unit_test(equalities_follow_from_others),
                                       cmocka_unit_test(sides_of_several_tables),
                                       cmocka_unit_test(tables_without_links_are_crossed_while_they_are_small),
                                       cmocka_unit_test(many_tables_have_an_order)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
