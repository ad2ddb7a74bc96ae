/* parquet_read: a file that is other than when it was planned, or gone, is not read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../executor/op.h"

static granary_err
read_as(const char *path, int64_t size, int64_t modified)
{
    static char *const none[] = {NULL};
    Granary__ChunkOp *op = op_new("parquet_read");
    struct gr_value output = {0};
    granary_err err;

    op_attr(op, gr_attr_new_string("path", path));
    op_attr(op, gr_attr_new_int("size", size));
    op_attr(op, gr_attr_new_int("modified", modified));
    op_attr(op, gr_attr_new_strings("columns", none, 0));
    op_attr(op, gr_attr_new_strings("dtypes", none, 0));
    op_attr(op, gr_attr_new_int("first", 0));
    op_attr(op, gr_attr_new_int("count", 0));
    op_attr(op, gr_attr_new_int("from", 0));
    op_attr(op, gr_attr_new_int("rows", 0));
    err = op_run(run_parquet_read, op, NULL, 0, &output, 1, NULL);
    gr_value_free(&output);
    granary__chunk_op__free_unpacked(op, NULL);
    return err;
}

static void
test_changed(void **state)
{
    char *path = file_write("PAR1PAR1PAR1", 12);
    struct stat info;
    int64_t modified;

    (void)state;
    assert_int_equal(stat(path, &info), 0);
    modified = info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec;
    assert_int_equal(read_as(path, 13, modified), GRANARY_EIO);
    assert_non_null(strstr(granary_error_message(), "submit again"));
    assert_int_equal(read_as(path, 12, modified - 1), GRANARY_EIO);
    assert_int_equal(read_as(path, 12, modified), GRANARY_ECORRUPT); /* it is the file, and its footer is none */
    assert_int_equal(read_as("/nowhere/x.parquet", 12, modified), GRANARY_ENOENT);
    file_remove(path);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_changed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
