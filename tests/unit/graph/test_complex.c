/* Complex numbers in graphs: written ones, dtypes that meet, what functions give, and who takes them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/tensor/types.h"

static void
written_numbers_are_read(void **state)
{
    static const struct {
        const char *text;
        double real, imaginary;
    } good[] = {{"1+2j", 1, 2},        {"-0.5-1e3j", -0.5, -1000},
                {"2.5j", 0, 2.5},      {"inf-infj", INFINITY, -INFINITY},
                {"1e-3+0j", 0.001, 0}, {"-1j", 0, -1}};
    static const char *const bad[] = {"",   "j",     "1",      "1+2",   "1+2i", "1 + 2j", "1+j2",
                                      "+j", "1++2j", "0x1+2j", "1+2jj", " 1j",  "nan"};
    double real, imaginary;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(gr_complex_parse(good[i].text, &real, &imaginary));
        assert_true(real == good[i].real && imaginary == good[i].imaginary);
    }
    assert_true(gr_complex_parse("nan+nanj", &real, &imaginary) && isnan(real) && isnan(imaginary));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        real = imaginary = 7;
        assert_false(gr_complex_parse(bad[i], &real, &imaginary));
        assert_true(real == 7 && imaginary == 7);
    }
}

static void
dtypes_meet_as_in_numpy(void **state)
{
    static const granary_dtype cases[][3] = {{GRANARY_COMPLEX64, GRANARY_FLOAT32, GRANARY_COMPLEX64},
                                             {GRANARY_COMPLEX64, GRANARY_FLOAT64, GRANARY_COMPLEX128},
                                             {GRANARY_COMPLEX64, GRANARY_INT16, GRANARY_COMPLEX64},
                                             {GRANARY_COMPLEX64, GRANARY_INT32, GRANARY_COMPLEX128},
                                             {GRANARY_COMPLEX64, GRANARY_BOOL, GRANARY_COMPLEX64},
                                             {GRANARY_COMPLEX128, GRANARY_COMPLEX64, GRANARY_COMPLEX128},
                                             {GRANARY_COMPLEX64, GRANARY_UINT64, GRANARY_COMPLEX128},
                                             {GRANARY_COMPLEX64, GRANARY_COMPLEX64, GRANARY_COMPLEX64}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(gr_dtype_promote(cases[i][0], cases[i][1]), cases[i][2]);
        assert_int_equal(gr_dtype_promote(cases[i][1], cases[i][0]), cases[i][2]);
    }
}

static granary_err
types_of(const char *name, granary_dtype a, granary_dtype b, granary_dtype to, granary_dtype *ret_dtype)
{
    const struct gr_map_operand operands[3] = {{a, false}, {b, false}, {b, false}};
    granary_dtype compute;

    return gr_map_types(gr_map_find(name, strlen(name)), operands, to, &compute, ret_dtype);
}

static void
functions_give_what_the_table_says(void **state)
{
    granary_dtype dtype;

    (void)state;
    assert_int_equal(types_of("absolute", GRANARY_COMPLEX64, 0, 0, &dtype), GRANARY_OK);
    assert_int_equal(dtype, GRANARY_FLOAT32);
    assert_int_equal(types_of("exp", GRANARY_COMPLEX128, 0, 0, &dtype), GRANARY_OK);
    assert_int_equal(dtype, GRANARY_COMPLEX128);
    assert_int_equal(types_of("equal", GRANARY_INT8, GRANARY_COMPLEX64, 0, &dtype), GRANARY_OK);
    assert_int_equal(dtype, GRANARY_BOOL);
    assert_int_equal(types_of("make_complex", GRANARY_INT8, GRANARY_FLOAT32, 0, &dtype), GRANARY_OK);
    assert_int_equal(dtype, GRANARY_COMPLEX64);
    assert_int_equal(types_of("astype", GRANARY_COMPLEX64, 0, GRANARY_BOOL, &dtype), GRANARY_OK);
    assert_int_equal(types_of("astype", GRANARY_INT8, 0, GRANARY_COMPLEX64, &dtype), GRANARY_OK);
    for (const char *const
             names[] = {"less", "maximum", "floor", "make_complex", "hypot", "erf", "signbit", "bitwise_and"},
             *const *name = names;
         name < names + 8; name++) {
        assert_int_equal(types_of(*name, GRANARY_COMPLEX64, GRANARY_FLOAT32, 0, &dtype), GRANARY_ETYPE);
        assert_non_null(strstr(granary_error_message(), *name));
        assert_non_null(strstr(granary_error_message(), "complex64"));
    }
    assert_int_equal(types_of("astype", GRANARY_COMPLEX64, 0, GRANARY_FLOAT32, &dtype), GRANARY_ETYPE);
}

static void
frames_have_none(void **state)
{
    (void)state;
    assert_int_equal(gr_dtype_parse("complex64"), GRANARY_NULLTYPE);
    assert_int_equal(gr_dtype_parse("list(complex128)"), GRANARY_NULLTYPE);
    assert_int_equal(gr_tensor_dtype_parse("complex64"), GRANARY_COMPLEX64);
    assert_int_equal(gr_tensor_dtype_parse("float32"), GRANARY_FLOAT32);
    assert_false(gr_dtype_is(GRANARY_COMPLEX128) || gr_dtype_is(GRANARY_LIST(GRANARY_COMPLEX64)));
    assert_string_equal(granary_dtype_name(GRANARY_COMPLEX128), "complex128");
    assert_false(gr_tensor_dtype_good(GRANARY_COMPLEX64));
    assert_true(gr_tensor_dtype_valid(GRANARY_COMPLEX64));
    assert_false(gr_tensor_dtype_valid(GRANARY_STRING));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_numbers_are_read),
        cmocka_unit_test(dtypes_meet_as_in_numpy),
        cmocka_unit_test(functions_give_what_the_table_says),
        cmocka_unit_test(frames_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
