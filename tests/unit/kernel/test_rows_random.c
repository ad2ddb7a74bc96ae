/* Random expressions over every dtype: a block gives what its rows give one by one, encoded strings what plain ones
 * give. */
#include <stdlib.h>
#include <string.h>

#include "graph/expr.h"
#include "rows_tools.h"
#include "support/expressions.h"

static granary_frame *
every_dtype(void)
{
    return frame_text(
        "a:int64,i:int32,x:float64,r:float32,s:string,d:date,b:bool,t:timestamp,l:duration,m:decimal(2),u:uint64,"
        "end:int8",
        "1,2,0.5,1.5,ab,0,true,0,1000000,12,7,3\n"
        ",,,,,,,,,,,\n"
        "9223372036854775807,2147483647,1e300,3e38,aB\xc3\xa9,2147483647,false,9223372036854775807,"
        "9223372036854775807,9000000000000000000,18446744073709551615,127\n"
        "-9223372036854775808,-2147483648,-inf,-0.0,\"\",-2147483648,true,-9223372036854775808,-1,-7,0,-128\n"
        "0,0,nan,nan,12,11016,,951825600000000,0,0,9223372036854775808,0\n"
        "-3,7,-0.0,inf,\xf0\x9f\x90\xa6"
        "b,-1,false,-1,3,-1,12,1\n"
        ",5,2.5,,ab,11017,true,,,3,,-1\n");
}

/* A row of the only column as text; "-" is null. */
static char *
cell_of(const granary_frame *frame, int64_t row)
{
    struct gr_buf out = {0};
    const granary_column *column = &frame->columns[0].view;

    gr_buf_addf(&out, "%s:", granary_dtype_name(column->dtype));
    if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row)) {
        gr_buf_addf(&out, "-");
    } else {
        gr_value_format(column, row, &out);
    }
    return gr_buf_take(&out);
}

/* Returns whether all rows could be computed. */
static bool
compare_with_rows(const granary_frame *frame, const char *text, granary_err whole, const granary_frame *made)
{
    bool all = true;

    for (int64_t row = 0; row < frame->rows; row++) {
        granary_frame *one = NULL;
        granary_frame *single = NULL;

        assert_int_equal(gr_frame_slice(frame, row, 1, &one), GRANARY_OK);
        if (computed(text, one, &single) != GRANARY_OK) {
            all = false;
        } else if (whole == GRANARY_OK) {
            char *want = cell_of(single, 0);
            char *got = cell_of(made, row);

            if (strcmp(want, got) != 0) {
                fail_msg("%s: row %lld is '%s' in a block, '%s' alone", text, (long long)row, got, want);
            }
            free(want);
            free(got);
        }
        gr_frame_destroy(single);
        gr_frame_destroy(one);
    }
    return all;
}

static void
blocks_rows_and_codes_agree(void **state)
{
    uint64_t random = 20240607;
    granary_frame *frame = every_dtype();
    granary_frame *codes = encoded(frame);
    int computed_all = 0;
    int failed = 0;

    (void)state;
    for (int n = 0; n < 9000; n++) {
        struct gr_buf text = {0};
        granary_frame *made = NULL;
        granary_frame *same = NULL;
        granary_err err;

        expression_write(&random, 1 + n % 3, &text);
        err = computed(text.bytes, frame, &made);
        if (err != GRANARY_OK && err != GRANARY_EFAILED) {
            gr_buf_free(&text); /* it was refused: its operands do not fit */
            continue;
        }
        if (computed(text.bytes, codes, &same) != err) {
            fail_msg("%s: encoded strings: %s", text.bytes, granary_error_message());
        }
        for (int64_t row = 0; err == GRANARY_OK && row < frame->rows; row++) {
            char *a = cell_of(made, row);
            char *b;
            struct gr_column plain = {0};

            if (same->columns[0].view.dictionary != NULL) {
                assert_int_equal(gr_column_decode(&same->columns[0].view, &plain), GRANARY_OK);
                assert_int_equal(gr_frame_set(same, 0, "plain", &plain), GRANARY_OK);
            }
            b = cell_of(same, row);
            if (strcmp(a, b) != 0) {
                fail_msg("%s: row %lld is '%s' of plain strings, '%s' of encoded ones", text.bytes, (long long)row, a,
                         b);
            }
            free(a);
            free(b);
        }
        if (compare_with_rows(frame, text.bytes, err, made) != (err == GRANARY_OK)) {
            fail_msg("%s: the block and its rows do not agree on whether it can be computed", text.bytes);
        }
        computed_all += err == GRANARY_OK;
        failed += err != GRANARY_OK;
        gr_frame_destroy(made);
        gr_frame_destroy(same);
        gr_buf_free(&text);
    }
    assert_true(computed_all > 500);
    assert_true(failed > 100);
    gr_frame_destroy(codes);
    gr_frame_destroy(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_rows_and_codes_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
