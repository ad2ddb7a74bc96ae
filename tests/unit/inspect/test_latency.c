/* Latencies: their buckets, and those of an instance summed up from its root and its lease pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "inspect/latency.h"
#include "made.h"

static void
cut(const struct made *made, const char *name, size_t size)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", made->dir, name);
    assert_int_equal(truncate(path, (off_t)size), 0);
}

static void
test_buckets(void **state)
{
    (void)state;
    assert_int_equal(gr_latency_bound(0), 32);
    assert_int_equal(gr_latency_bound(1), 48);
    assert_int_equal(gr_latency_bound(2), 64);
    assert_int_equal(gr_latency_bucket(0), 0);
    for (unsigned bucket = 0; bucket + 1 < GR_LATENCY_BUCKETS; bucket++) {
        assert_true(bucket == 0 || gr_latency_bound(bucket) > gr_latency_bound(bucket - 1));
        assert_int_equal(gr_latency_bucket(gr_latency_bound(bucket)), bucket);
        assert_int_equal(gr_latency_bucket(gr_latency_bound(bucket) + 1), bucket + 1);
    }
    assert_int_equal(gr_latency_bucket(UINT64_MAX), GR_LATENCY_BUCKETS - 1);
}

static void
test_add(void **state)
{
    struct gr_latency latency = {.sum_ns = 0};

    (void)state;
    gr_latency_add(&latency, -5); /* a clock that went back */
    gr_latency_add(&latency, 32);
    gr_latency_add(&latency, 33);
    assert_int_equal(latency.sum_ns, 65);
    assert_int_equal(latency.buckets[0], 2);
    assert_int_equal(latency.buckets[1], 1);
}

static void
test_root_and_clients(void **state)
{
    struct gr_latency latencies[GR_LATENCY_COUNT];
    granary_inspector *inspector = NULL;
    struct made made;

    (void)state;
    made_init(&made);
    assert_int_equal(granary_inspect_open_copy(made.dir, &inspector), GRANARY_OK);
    gr_latency_add(&made.root->latencies[GR_LATENCY_get], 40);
    gr_latency_add(&made.root->latencies[GR_LATENCY_spill], 100);
    gr_latency_add(&made.lease->latencies[GR_LATENCY_get], 40);
    assert_int_equal(gr_inspect_latencies(inspector, latencies), GRANARY_OK);
    assert_int_equal(latencies[GR_LATENCY_get].sum_ns, 80);
    assert_int_equal(latencies[GR_LATENCY_get].buckets[1], 2);
    assert_int_equal(latencies[GR_LATENCY_spill].sum_ns, 100);

    /* A store that died while it added a client's: what can be read is told. */
    made.root->latency_turn = 3;
    assert_int_equal(gr_inspect_latencies(inspector, latencies), GRANARY_OK);
    assert_int_equal(latencies[GR_LATENCY_get].sum_ns, 80);

    /* Pages and roots of earlier releases end before. */
    cut(&made, "s1.lease7", offsetof(struct gr_lease_page, latencies));
    assert_int_equal(gr_inspect_latencies(inspector, latencies), GRANARY_OK);
    assert_int_equal(latencies[GR_LATENCY_get].sum_ns, 40);
    cut(&made, "root", offsetof(struct gr_root, latency_turn));
    assert_int_equal(gr_inspect_latencies(inspector, latencies), GRANARY_EUNSUPPORTED);
    granary_inspect_close(inspector);
    made_fini(&made);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_root_and_clients),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
