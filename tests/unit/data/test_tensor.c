#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/frame.h"
#include "data/print/print.h"
#include "data/tensor.h"

static void
shapes_are_checked(void **state)
{
    static const int64_t shape[] = {2, 3, 4};
    static const int64_t negative[] = {2, -1};
    static const int64_t huge[] = {INT64_MAX, 4};
    static const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const int64_t empty[] = {5, 0};
    struct gr_tensor tensor = {.owned = NULL};

    (void)state;
    assert_int_equal(gr_tensor_alloc(GRANARY_FLOAT64, 2, negative, &tensor), GRANARY_EINVAL);
    assert_int_equal(gr_tensor_alloc(GRANARY_FLOAT64, 9, nine, &tensor), GRANARY_EINVAL);
    assert_int_equal(gr_tensor_alloc(GRANARY_FLOAT64, -1, nine, &tensor), GRANARY_EINVAL);
    assert_int_equal(gr_tensor_alloc(GRANARY_FLOAT64, 2, huge, &tensor), GRANARY_ENOMEM);
    assert_null(tensor.owned);
    assert_int_equal(gr_tensor_alloc(GRANARY_FLOAT64, 3, shape, &tensor), GRANARY_OK);
    assert_int_equal(gr_tensor_elements(&tensor.view), 24);
    assert_true(((const double *)tensor.view.values)[23] == 0);
    gr_tensor_free(&tensor);
    assert_int_equal(gr_tensor_alloc(GRANARY_INT64, 0, NULL, &tensor), GRANARY_OK);
    assert_int_equal(gr_tensor_elements(&tensor.view), 1);
    gr_tensor_free(&tensor);
    assert_int_equal(gr_tensor_alloc(GRANARY_INT64, 2, empty, &tensor), GRANARY_OK);
    assert_int_equal(gr_tensor_elements(&tensor.view), 0);
    gr_tensor_free(&tensor);
    gr_tensor_free(&tensor);
}

/* Every dtype and number of dimensions: data at a multiple of 64, the same after reading. */
static void
files_read_back(void **state)
{
    static const granary_dtype dtypes[] = {GRANARY_BOOL, GRANARY_INT32, GRANARY_INT64, GRANARY_FLOAT32,
                                           GRANARY_FLOAT64};
    static const int64_t shape[8] = {3, 1, 2, 1, 1, 2, 1, 5};

    (void)state;
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        for (int dims = 0; dims <= 8; dims++) {
            struct gr_tensor tensor;
            granary_tensor back;
            granary_view view = {.data = NULL};
            uint64_t size;
            void *file;

            assert_int_equal(gr_tensor_alloc(dtypes[d], dims, shape, &tensor), GRANARY_OK);
            memset(tensor.owned, 1, (size_t)gr_tensor_elements(&tensor.view) * (d == 0 ? 1 : d % 2 == 1 ? 4 : 8));
            size = gr_npy_measure(&tensor.view);
            file = gr_data_alloc(size);
            gr_npy_write(&tensor.view, file);
            view.data = file;
            view.data_size = size;
            assert_int_equal(granary_tensor_open(&view, &back), GRANARY_OK);
            assert_int_equal(back.dtype, dtypes[d]);
            assert_int_equal(back.dims, dims);
            assert_memory_equal(back.shape, tensor.view.shape, sizeof back.shape);
            assert_int_equal((uintptr_t)back.values % 64, 0);
            assert_memory_equal(back.values, tensor.view.values,
                                size - (uint64_t)((const char *)back.values - (char *)file));
            assert_int_equal(gr_npy_read(file, size - 1, &back), GRANARY_ECORRUPT);
            free(file);
            gr_tensor_free(&tensor);
        }
    }
}

/* An NPY file with this header text, padded so that the data are aligned, and 64 bytes of data. */
static granary_err
read_header(const char *header, unsigned char version, granary_tensor *ret_tensor)
{
    size_t text = strlen(header);
    size_t prefix = version == 1 ? 10 : 12;
    size_t length = (prefix + text + 15) / 16 * 16 - prefix;
    size_t size = prefix + length + 64;
    unsigned char *file = malloc(size);
    granary_err err;

    assert_non_null(file);
    memset(file, 0, size);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = version;
    file[8] = (unsigned char)length;
    file[9] = (unsigned char)(length >> 8);
    memset(file + prefix, ' ', length);
    memcpy(file + prefix, header, text);
    err = gr_npy_read(file, size, ret_tensor);
    free(file);
    return err;
}

static void
headers_of_others_are_understood(void **state)
{
    granary_tensor tensor;

    (void)state;
    assert_int_equal(
        read_header("{\"shape\":(2,4),\"fortran_order\":False,\"descr\":\"<f4\"}                \n", 1, &tensor),
        GRANARY_OK);
    assert_int_equal(tensor.dims, 2);
    assert_int_equal(tensor.shape[1], 4);
    assert_int_equal(tensor.dtype, GRANARY_FLOAT32);
    assert_int_equal(read_header("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 2, &tensor), GRANARY_OK);
    assert_int_equal(tensor.dims, 0);
    assert_int_equal(read_header("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", 3, &tensor), GRANARY_OK);
    assert_int_equal(tensor.shape[0], 3);
}

/* Old files begin their data at a multiple of 16 or 8; worse ones cannot be read in place. */
static void
misaligned_data_are_refused(void **state)
{
    static const int64_t shape[] = {2};
    struct gr_tensor tensor;
    granary_tensor back;
    _Alignas(64) char file[256];

    (void)state;
    assert_int_equal(gr_tensor_alloc(GRANARY_INT64, 1, shape, &tensor), GRANARY_OK);
    gr_npy_write(&tensor.view, file);
    assert_int_equal(gr_npy_measure(&tensor.view), 144);
    file[8]--; /* the header ends, and the data begin, one byte earlier */
    assert_int_equal(gr_npy_read(file, 144, &back), GRANARY_EUNSUPPORTED);
    gr_tensor_free(&tensor);
}

static void
what_we_cannot_read_is_refused(void **state)
{
    static const struct {
        const char *header;
        granary_err err;
    } cases[] = {
        {"{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }", GRANARY_EUNSUPPORTED},
        {"{'descr': '<U5', 'fortran_order': False, 'shape': (1,), }", GRANARY_EUNSUPPORTED},
        {"{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }", GRANARY_EUNSUPPORTED},
        {"{'descr': '|b1', 'fortran_order': True, 'shape': (1,), }", GRANARY_EUNSUPPORTED},
        {"{'descr': '|b1', 'fortran_order': Maybe, 'shape': (1,), }", GRANARY_ECORRUPT},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (65,), }", GRANARY_ECORRUPT},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (-1,), }", GRANARY_ECORRUPT},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (999999999999999999,999999999999999999), }",
         GRANARY_ECORRUPT},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (9999999999999999999,), }", GRANARY_ECORRUPT},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", GRANARY_ECORRUPT},
        {"{'descr': '|b1', 'fortran_order': False, }", GRANARY_ECORRUPT},
        {"{'descr': '|b1', 'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", GRANARY_ECORRUPT},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (1,", GRANARY_ECORRUPT},
        {"{'descr': '|b1", GRANARY_ECORRUPT},
        {"{'a very long key that nobody has': 1}", GRANARY_ECORRUPT},
        {"", GRANARY_ECORRUPT},
    };
    granary_tensor tensor = {.dims = 77};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(read_header(cases[i].header, 1, &tensor), cases[i].err);
    }
    assert_int_equal(read_header("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 9, &tensor),
                     GRANARY_EUNSUPPORTED);
    assert_int_equal(gr_npy_read("ARROW1, not this", 16, &tensor), GRANARY_ETYPE);
    assert_int_equal(gr_npy_read("", 0, &tensor), GRANARY_ETYPE);
    assert_int_equal(tensor.dims, 77);
}

/* Graphs read float16 as float32; whoever reads in place is told. */
static void
halves_become_floats(void **state)
{
    static const char header[] = "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }";
    static const uint16_t halves[] = {0x3e00, 0xc000, 0x7c00}; /* 1.5, -2, inf */
    _Alignas(64) char file[128 + sizeof halves];
    struct gr_tensor tensor = {.owned = NULL};
    granary_tensor view;

    (void)state;
    memset(file, ' ', sizeof file);
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(file + 10, header, sizeof header - 1);
    memcpy(file + 128, halves, sizeof halves);
    assert_int_equal(gr_npy_open(file, sizeof file, &tensor), GRANARY_OK);
    assert_int_equal(tensor.view.dtype, GRANARY_FLOAT32);
    assert_true(((const float *)tensor.view.values)[0] == 1.5F && ((const float *)tensor.view.values)[1] == -2);
    assert_true(isinf(((const float *)tensor.view.values)[2]));
    gr_tensor_free(&tensor);
    assert_int_equal(gr_npy_open(file, sizeof file - 1, &tensor), GRANARY_ECORRUPT);
    assert_int_equal(gr_npy_read(file, sizeof file, &view), GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "float16"));
}

static void
complex_numbers_are_two_floats(void **state)
{
    static const float values[] = {1, 2, 0.5F, -0.0F};
    const granary_tensor tensor = {.dtype = GRANARY_COMPLEX64, .dims = 1, .shape = {2}, .values = values};
    struct gr_buf text = {0};
    _Alignas(64) char file[256];
    granary_tensor back;

    (void)state;
    assert_int_equal(gr_npy_measure(&tensor), 128 + sizeof values);
    gr_npy_write(&tensor, file);
    assert_non_null(strstr(file + 10, "'<c8'"));
    assert_int_equal(gr_npy_read(file, gr_npy_measure(&tensor), &back), GRANARY_OK);
    assert_int_equal(back.dtype, GRANARY_COMPLEX64);
    assert_memory_equal(back.values, values, sizeof values);
    gr_print_tensor(&tensor, 0, &text);
    assert_int_equal(gr_print_tensor_json(&tensor, &text), GRANARY_OK);
    assert_string_equal(text.bytes,
                        "[1.0+2.0j 0.5-0.0j]\n{\"dtype\":\"complex64\",\"shape\":[2],\"values\":[[1.0,2.0],[0.5,"
                        "-0.0]]}\n");
    gr_buf_free(&text);
}

static void
damage_anywhere_is_survived(void **state)
{
    static const int64_t shape[] = {2, 3};
    struct gr_tensor tensor;
    granary_tensor back;
    uint64_t size;
    char *file;

    (void)state;
    assert_int_equal(gr_tensor_alloc(GRANARY_INT32, 2, shape, &tensor), GRANARY_OK);
    size = gr_npy_measure(&tensor.view);
    file = malloc(size);
    assert_non_null(file);
    gr_npy_write(&tensor.view, file);
    for (uint64_t i = 0; i < size; i++) {
        for (int value = 0; value < 256; value++) {
            char before = file[i];

            file[i] = (char)value;
            if (gr_npy_read(file, size, &back) == GRANARY_OK) {
                const char *end = (const char *)back.values + gr_tensor_elements(&back) * 1;

                assert_true((const char *)back.values >= file && end <= file + size);
            }
            file[i] = before;
        }
    }
    free(file);
    gr_tensor_free(&tensor);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_checked),
        cmocka_unit_test(files_read_back),
        cmocka_unit_test(halves_become_floats),
        cmocka_unit_test(complex_numbers_are_two_floats),
        cmocka_unit_test(headers_of_others_are_understood),
        cmocka_unit_test(misaligned_data_are_refused),
        cmocka_unit_test(what_we_cannot_read_is_refused),
        cmocka_unit_test(damage_anywhere_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
