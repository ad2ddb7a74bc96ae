/*
 * Every allocation of a kernel fails once: the call then returns ENOMEM and keeps nothing (leaks are seen by the
 * address sanitizer).
 */
#include "rows_tools.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/core/exact_sum.h"
#include "support/allocations.h"

/* Run with the first, the second, ... allocation failing, until none does; the outputs of the last run stay. */
static void
run_starved(struct kernel_test *test, gr_kernel *kernel)
{
    granary_err err = GRANARY_ENOMEM;
    long n;

    for (n = 0; err != GRANARY_OK; n++) {
        allocations_left = n;
        err = kernel_test_run(test, kernel);
        allocations_left = -1;
        if (err != GRANARY_OK) {
            if (err != GRANARY_ENOMEM) {
                fail_msg("allocation %ld: %s", n, granary_error_message());
            }
            for (size_t i = 0; i < test->output_count; i++) {
                gr_value_free(&test->outputs[i]);
            }
        }
        assert_true(n < 10000);
    }
    assert_true(n > 1); /* some allocation did fail */
}

static void
rows(void **state)
{
    granary_frame *frame = frame_random(1, 1200, true);
    granary_frame *few = frame_random(1, 100, true); /* each row of a list allocates: runs grow by the square of rows */
    struct kernel_test test;

    (void)state;
    kernel_test_init(&test, "select");
    kernel_test_strings(&test, "columns", "text,key");
    kernel_test_frame(&test, frame);
    run_starved(&test, run_select);
    kernel_test_fini(&test);
    kernel_test_init(&test, "filter");
    kernel_test_attr(&test, gr_attr_new_string("where", "lower(text) = 'ab' or key + 1.5 > 2"));
    kernel_test_frame(&test, frame);
    run_starved(&test, run_filter);
    kernel_test_fini(&test);
    kernel_test_init(&test, "assign");
    kernel_test_map(&test, "columns", "a=lower(text);key=key * 2;b=day is null");
    kernel_test_frame(&test, frame);
    run_starved(&test, run_assign);
    kernel_test_fini(&test);
    kernel_test_init(&test, "assign");
    kernel_test_map(
        &test, "columns",
        "a=list_order_by(list_value(text, 'b'), 'd', list_value(key, 2));"
        "b=list_concat(list_value(text), list_value('a'));c=list_where(list_value(key), list_value(flag));"
        "d=list_value(text, 'ab') < list_value('ab');e=list_intersect(list_value(key, 3), list_value(3, 4));"
        "f=list_pad(list_value(key), 3);g=list_median(list_value(key, 3));h=list_unique(list_value(text, 'a'));"
        "i=list_select(list_value(text), list_value(1, 2));"
        "j=cast(list_where(list_value(key), list_value(true)) as list(string));"
        "k=regexp_split_to_array(text, 'a');l=list_bool_or(list_value(flag));"
        "m=json(concat('[\"\\n', hex(text), '\"]'));n=json_keys(concat('{\"', hex(text), '\":1}'))");
    kernel_test_frame(&test, few);
    run_starved(&test, run_assign);
    kernel_test_fini(&test);
    granary_frame *codes = encoded(frame);

    kernel_test_init(&test, "filter");
    kernel_test_attr(&test,
                     gr_attr_new_string("where", "text like '%a%' and row > 3 and coalesce(text, 'b') in ('ab', 'a')"));
    kernel_test_map(&test, "columns",
                    "u=upper(text);v=case when u = 'A' then u else concat(u, cast(key as string)) end");
    kernel_test_strings(&test, "select", "v,u,text,row");
    kernel_test_frame(&test, codes);
    run_starved(&test, run_filter);
    kernel_test_fini(&test);
    kernel_test_init(&test, "assign");
    kernel_test_map(&test, "columns",
                    "a=cast(real as decimal(4)) * 0.25;b=greatest(key, length(text));c=date_trunc('month', day);"
                    "d=regexp_matches(text, 'a+');e=hash(text, key);f=try_cast(text as int64);g=nullif(flag, true)");
    kernel_test_frame(&test, codes);
    run_starved(&test, run_assign);
    kernel_test_fini(&test);
    gr_frame_destroy(codes);
    kernel_test_init(&test, "concat");
    kernel_test_attr(&test, gr_attr_new_int("limit", 2000));
    kernel_test_frame(&test, frame);
    kernel_test_frame(&test, frame);
    run_starved(&test, run_concat);
    kernel_test_fini(&test);
    gr_frame_destroy(few);
    gr_frame_destroy(frame);
}

static const char aggregates[] = "n=size;s=sum(real);w=mean(wide);t=max(text);u=nunique(text);a=array(text);b=array("
                                 "real);d=unique(wide);e=entropy(text);"
                                 "f=mad(real);g=arg_most(text, real);h=arg_least(real, text);i=bit_xor(key);"
                                 "j=mode_count(text)";

static void
call_groupby(struct kernel_test *test, const char *op)
{
    kernel_test_init(test, op);
    kernel_test_strings(test, "keys", "flag,number");
    kernel_test_map(test, "aggregate", aggregates);
}

static void
groupby(void **state)
{
    granary_frame *frame = frame_random(2, 300, true);
    struct kernel_test map;
    struct kernel_test merge;
    struct kernel_test final;

    (void)state;
    call_groupby(&map, "groupby_map");
    kernel_test_frame(&map, frame);
    run_starved(&map, run_groupby_map);
    call_groupby(&merge, "groupby_merge");
    kernel_test_bytes(&merge, &map.outputs[0]);
    kernel_test_bytes(&merge, &map.outputs[0]);
    run_starved(&merge, run_groupby_merge);
    call_groupby(&final, "groupby_final");
    kernel_test_bytes(&final, &merge.outputs[0]);
    kernel_test_bytes(&final, &map.outputs[0]);
    run_starved(&final, run_groupby_final);
    kernel_test_fini(&final);
    kernel_test_fini(&merge);
    kernel_test_fini(&map);
    gr_frame_destroy(frame);
}

static void
call_sort(struct kernel_test *test, const char *op)
{
    kernel_test_init(test, op);
    kernel_test_strings(test, "by", "text,number");
    kernel_test_bools(test, "descending", "1");
    kernel_test_attr(test, gr_attr_new_int("samples", 5));
    kernel_test_attr(test, gr_attr_new_int("chunk", 0));
    kernel_test_attr(test, gr_attr_new_int("parts", 3));
}

static void
sort(void **state)
{
    granary_frame *frame = frame_random(3, 300, true);
    struct kernel_test sorting;
    struct kernel_test sampling;
    struct kernel_test pivots;
    struct kernel_test split;

    (void)state;
    call_sort(&sorting, "sort");
    kernel_test_frame(&sorting, frame);
    run_starved(&sorting, run_sort);
    call_sort(&sampling, "sort_sample");
    kernel_test_frame(&sampling, sorting.outputs[0].frame);
    run_starved(&sampling, run_sort_sample);
    call_sort(&pivots, "sort_pivots");
    kernel_test_frame(&pivots, sampling.outputs[0].frame);
    run_starved(&pivots, run_sort_pivots);
    call_sort(&split, "sort_split");
    kernel_test_frame(&split, sorting.outputs[0].frame);
    kernel_test_frame(&split, pivots.outputs[0].frame);
    run_starved(&split, run_sort_split);
    kernel_test_fini(&split);
    kernel_test_fini(&pivots);
    kernel_test_fini(&sampling);
    kernel_test_fini(&sorting);
    gr_frame_destroy(frame);
}

static void
join(void **state)
{
    granary_frame *frame = frame_random(4, 100, true);
    struct kernel_test build;
    struct kernel_test test;

    (void)state;
    kernel_test_init(&build, "join_build");
    kernel_test_strings(&build, "keys", "key,text");
    kernel_test_strings(&build, "types", "int64,string");
    kernel_test_frame(&build, frame);
    run_starved(&build, run_join_build);
    kernel_test_init(&test, "join_probe");
    kernel_test_strings(&test, "keys", "key,text");
    kernel_test_attr(&test, gr_attr_new_string("how", "left"));
    kernel_test_attr(&test, gr_attr_new_string("where", "row < 90"));
    kernel_test_map(&test, "where_columns", "row=built.row");
    kernel_test_map(&test, "result", "a=probe.text;b=built.text;c=built.flag;d=indicator.left_only;e=null.string");
    kernel_test_frame(&test, frame);
    kernel_test_frame(&test, frame);
    kernel_test_bytes(&test, &build.outputs[0]);
    run_starved(&test, run_join_probe);
    kernel_test_fini(&test);
    kernel_test_fini(&build);
    gr_frame_destroy(frame);
}

/* A sum that ran out of memory stays marked, whatever is added later. */
static void
exact_sums(void **state)
{
    struct exact_sum sum = {0};
    struct exact_sum other = {0};

    (void)state;
    exact_sum_add(&sum, 1.0);
    allocations_left = 0;
    exact_sum_add(&sum, 1e305);
    allocations_left = -1;
    assert_false(exact_sum_ok(&sum));
    exact_sum_add(&sum, 1.0);
    assert_false(exact_sum_ok(&sum));
    exact_sum_merge(&other, &sum);
    assert_false(exact_sum_ok(&other));
    exact_sum_fini(&sum);
    exact_sum_fini(&other);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows), cmocka_unit_test(groupby),    cmocka_unit_test(sort),
        cmocka_unit_test(join), cmocka_unit_test(exact_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
