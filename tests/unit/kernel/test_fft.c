/* Fourier transforms of lines of many lengths, beside sums in long doubles. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/tensor/linalg/fft_plan.h"

#define LENGTH_MOST 260

static long double cosines[LENGTH_MOST], sines[LENGTH_MOST];

/* sum of line[j] e^(sign 2 pi i j k / n) */
static struct fft_number
sum_of(const struct fft_number *line, int n, int k, int sign)
{
    long double re = 0, im = 0;

    for (int j = 0; j < n; j++) {
        long double c = cosines[(int64_t)j * k % n], s = sign * sines[(int64_t)j * k % n];

        re += line[j].re * c - line[j].im * s;
        im += line[j].re * s + line[j].im * c;
    }
    return (struct fft_number){(double)re, (double)im};
}

static void
check_length(int n)
{
    static struct fft_number line[LENGTH_MOST], made[LENGTH_MOST];
    struct fft_plan *plan;

    for (int j = 0; j < n; j++) {
        line[j] = (struct fft_number){(double)(random() % 2001 - 1000) / 64, (double)(random() % 2001 - 1000) / 64};
        cosines[j] = cosl(2 * acosl(-1) * j / n);
        sines[j] = sinl(2 * acosl(-1) * j / n);
    }
    assert_int_equal(fft_plan_create(n, &plan), GRANARY_OK);
    for (int backward = 0; backward < 2; backward++) {
        double wrong = 0, size = 0;

        memcpy(made, line, sizeof made);
        fft_plan_run(plan, made, backward == 1);
        for (int k = 0; k < n; k++) {
            struct fft_number want = sum_of(line, n, k, backward == 1 ? 1 : -1);

            wrong = fmax(wrong, hypot(made[k].re - want.re, made[k].im - want.im));
            size = fmax(size, hypot(want.re, want.im));
        }
        assert_true(wrong <= 3e-15 * size);
    }
    fft_plan_destroy(plan);
}

static void
lines_of_every_length(void **state)
{
    (void)state;
    srandom(1);
    for (int n = 1; n <= LENGTH_MOST; n++) {
        check_length(n);
    }
}

static void
a_line_comes_back(void **state)
{
    static const int lengths[] = {1 << 14, 3 * 5 * 7 * 11 * 13, 10007, 61 * 61};

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        int n = lengths[i];
        struct fft_number *line = malloc((size_t)n * sizeof *line);
        struct fft_plan *plan;

        assert_non_null(line);
        assert_int_equal(fft_plan_create(n, &plan), GRANARY_OK);
        for (int j = 0; j < n; j++) {
            line[j] = (struct fft_number){j % 17 - 8, j % 5};
        }
        fft_plan_run(plan, line, false);
        fft_plan_run(plan, line, true);
        for (int j = 0; j < n; j++) {
            assert_true(fabs(line[j].re / n - (j % 17 - 8)) < 1e-13 && fabs(line[j].im / n - j % 5) < 1e-13);
        }
        fft_plan_destroy(plan);
        free(line);
    }
}

static void
roots_are_as_near_as_doubles_are(void **state)
{
    (void)state;
    for (int n = 1; n < 200; n++) {
        for (int k = 0; k < n; k++) {
            long double angle = 2 * acosl(-1) * k / n;
            struct fft_number root = fft_root(k, n);

            assert_true(fabs(root.re - (double)cosl(angle)) < 2.3e-16);
            assert_true(fabs(root.im - (double)sinl(angle)) < 2.3e-16);
        }
    }
    assert_true(fft_root(1, 4).re == 0 && fft_root(1, 4).im == 1 && fft_root(1, 2).re == -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_every_length),
        cmocka_unit_test(a_line_comes_back),
        cmocka_unit_test(roots_are_as_near_as_doubles_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
