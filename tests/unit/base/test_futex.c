#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/futex.h"

static void
a_changed_word_does_not_wait(void **state)
{
    _Atomic uint32_t word = 1;
    int64_t before = gr_now_ns();

    (void)state;
    gr_futex_wait(&word, 0, INT64_MAX);
    assert_true(gr_now_ns() - before < 5000000000);
}

static void
waiting_ends_at_the_deadline(void **state)
{
    _Atomic uint32_t word = 0;
    int64_t deadline = gr_deadline_ns(20);

    (void)state;
    while (gr_now_ns() < deadline) {
        gr_futex_wait(&word, 0, deadline);
    }
    assert_int_equal(gr_left_ms(deadline), 0);
    gr_futex_wait(&word, 0, deadline - 1000000000); /* one that is over already */
}

static void *
wait_for_one(void *word)
{
    while (atomic_load((_Atomic uint32_t *)word) == 0) {
        gr_futex_wait(word, 0, INT64_MAX);
    }
    return NULL;
}

static void
everybody_is_woken(void **state)
{
    _Atomic uint32_t *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_t threads[4];

    (void)state;
    assert_true((void *)word != MAP_FAILED);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_one, word), 0);
    }
    atomic_store(word, 1);
    gr_futex_wake(word);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(munmap(word, 4096), 0);
}

static void
deadlines_do_not_overflow(void **state)
{
    (void)state;
    assert_true(gr_deadline_ns(-1) == INT64_MAX);
    assert_true(gr_deadline_ns(INT64_MAX) == INT64_MAX);
    assert_int_equal(gr_left_ms(INT64_MAX), -1);
    assert_int_equal(gr_left_ms(INT64_MIN / 2), 0);
    assert_int_equal(gr_left_ms(INT64_MAX - 1), 86400000);
    assert_in_range(gr_left_ms(gr_deadline_ns(1000)), 1, 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_word_does_not_wait),
        cmocka_unit_test(waiting_ends_at_the_deadline),
        cmocka_unit_test(everybody_is_woken),
        cmocka_unit_test(deadlines_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
