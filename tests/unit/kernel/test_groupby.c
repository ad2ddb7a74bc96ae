#include "contract/int128.h"
#include "frame_tools.h"
#include "kernel/keys/hashes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/layout/packed.h"

static const char every_aggregate[] =
    "size=size;count=count(real);sum=sum(real);mean=mean(real);min=min(real);max=max(real);wsum=sum(wide);"
    "wmean=mean(wide);wmin=min(wide);nsum=sum(number);nmin=min(number);nmax=max(number);ncount=count(number);"
    "nunique=nunique(number);tmin=min(text);tmax=max(text);tunique=nunique(text);fsum=sum(flag);fmax=max(flag);"
    "dmin=min(day);dunique=nunique(day);mmax=max(moment)";

static void
call_groupby(struct kernel_test *test, const char *op, const char *keys, const char *aggregates)
{
    kernel_test_init(test, op);
    kernel_test_strings(test, "keys", keys);
    kernel_test_map(test, "aggregate", aggregates);
}

static struct gr_value
mapped(const granary_frame *frame, const char *keys, const char *aggregates)
{
    struct kernel_test test;
    struct gr_value value;

    call_groupby(&test, "groupby_map", keys, aggregates);
    kernel_test_frame(&test, frame);
    assert_int_equal(kernel_test_run(&test, run_groupby_map), GRANARY_OK);
    value = test.outputs[0];
    assert_int_equal(value.kind, GR_VALUE_BYTES);
    test.outputs[0] = (struct gr_value){0};
    kernel_test_fini(&test);
    return value;
}

static struct gr_value
merged(const struct gr_value *values, size_t count, const char *keys, const char *aggregates)
{
    struct kernel_test test;
    struct gr_value value;

    call_groupby(&test, "groupby_merge", keys, aggregates);
    for (size_t i = 0; i < count; i++) {
        kernel_test_bytes(&test, &values[i]);
    }
    assert_int_equal(kernel_test_run(&test, run_groupby_merge), GRANARY_OK);
    value = test.outputs[0];
    test.outputs[0] = (struct gr_value){0};
    kernel_test_fini(&test);
    return value;
}

static granary_frame *
finished(const struct gr_value *values, size_t count, const char *keys, const char *aggregates)
{
    struct kernel_test test;

    call_groupby(&test, "groupby_final", keys, aggregates);
    for (size_t i = 0; i < count; i++) {
        kernel_test_bytes(&test, &values[i]);
    }
    return kernel_test_to_frame(&test, run_groupby_final);
}

static granary_frame *
grouped(const granary_frame *frame, const char *keys, const char *aggregates)
{
    struct gr_value value = mapped(frame, keys, aggregates);
    granary_frame *result = finished(&value, 1, keys, aggregates);

    gr_value_free(&value);
    return result;
}

/* ---- against a plain reference ---- */

/* A row's key as text, or false when a key is null. The two zeros are one key. */
static bool
key_text(const granary_frame *frame, const char *keys, int64_t row, char *out, size_t size)
{
    char *copy = strdup(keys);
    bool there = true;

    out[0] = '\0';
    for (char *name = strtok(copy, ","); name != NULL; name = strtok(NULL, ",")) {
        char *cell = cell_text(frame, name, row);
        size_t used = strlen(out);

        there = there && strcmp(cell, "<null>") != 0;
        snprintf(out + used, size - used, "%s|", strcmp(cell, "-0.0") == 0 ? "0.0" : cell);
        free(cell);
    }
    free(copy);
    return there;
}

static const granary_column *
column_of(const granary_frame *frame, const char *name)
{
    return &frame->columns[gr_frame_find(frame, name)].view;
}

static int64_t
int_at(const granary_frame *frame, const char *name, int64_t row)
{
    return ((const int64_t *)column_of(frame, name)->values)[row];
}

static double
double_at(const granary_frame *frame, const char *name, int64_t row)
{
    return ((const double *)column_of(frame, name)->values)[row];
}

/* One group's aggregates of `real`, which is never NaN, `wide` and `text`, row by row. */
struct reference {
    int64_t size, count, wide_count, text_unique;
    __float128 sum; /* exact for these values */
    gr_int128 wide_sum;
    double min, max;
    char *text_min;
    char *texts[16];
};

static void
reference_add(struct reference *reference, const granary_frame *frame, int64_t row)
{
    reference->size++;
    if (!gr_is_null(column_of(frame, "real"), row)) {
        double value = double_at(frame, "real", row);

        reference->sum += (__float128)value;
        reference->min = reference->count == 0 || value < reference->min ? value : reference->min;
        reference->max = reference->count == 0 || value > reference->max ? value : reference->max;
        reference->count++;
    }
    if (!gr_is_null(column_of(frame, "wide"), row)) {
        reference->wide_sum += int_at(frame, "wide", row);
        reference->wide_count++;
    }
    if (!gr_is_null(column_of(frame, "text"), row)) {
        char *text = cell_text(frame, "text", row);
        int64_t i = 0;

        while (i < reference->text_unique && strcmp(reference->texts[i], text) != 0) {
            i++;
        }
        if (i < reference->text_unique) {
            free(text);
            return;
        }
        reference->texts[reference->text_unique++] = text;
        if (reference->text_min == NULL || strcmp(text, reference->text_min) < 0) {
            reference->text_min = text;
        }
    }
}

static void
assert_group(const granary_frame *result, int64_t group, const struct reference *want)
{
    char *text = cell_text(result, "tmin", group);

    assert_int_equal(int_at(result, "size", group), want->size);
    assert_int_equal(int_at(result, "count", group), want->count);
    assert_true(double_at(result, "sum", group) == (double)want->sum);
    assert_int_equal(gr_is_null(column_of(result, "mean"), group), want->count == 0);
    assert_int_equal(gr_is_null(column_of(result, "min"), group), want->count == 0);
    if (want->count > 0) {
        assert_true(double_at(result, "mean", group) == (double)want->sum / (double)want->count);
        assert_true(double_at(result, "min", group) == want->min);
        assert_true(double_at(result, "max", group) == want->max);
    }
    assert_true(int_at(result, "wsum", group) == (int64_t)want->wide_sum);
    if (want->wide_count > 0) {
        assert_true(double_at(result, "wmean", group) == (double)want->wide_sum / (double)want->wide_count);
    }
    assert_int_equal(int_at(result, "tunique", group), want->text_unique);
    assert_string_equal(text, want->text_min == NULL ? "<null>" : want->text_min);
    free(text);
}

static void
check_against_reference(const granary_frame *frame, const char *keys)
{
    granary_frame *result = grouped(frame, keys, every_aggregate);
    int64_t rows_grouped = 0;
    char previous[256] = "";

    for (int64_t group = 0; group < result->rows; group++) {
        struct reference want = {0};
        char key[256];
        char other[256];

        assert_true(key_text(result, keys, group, key, sizeof key));
        assert_string_not_equal(key, previous);
        for (int64_t row = 0; row < frame->rows; row++) {
            if (key_text(frame, keys, row, other, sizeof other) && strcmp(other, key) == 0) {
                reference_add(&want, frame, row);
            }
        }
        assert_group(result, group, &want);
        rows_grouped += want.size;
        for (int64_t i = 0; i < want.text_unique; i++) {
            free(want.texts[i]);
        }
        memcpy(previous, key, sizeof previous);
    }
    for (int64_t row = 0; row < frame->rows; row++) {
        rows_grouped -= key_text(frame, keys, row, previous, sizeof previous);
    }
    assert_int_equal(rows_grouped, 0);
    gr_frame_destroy(result);
}

static const char *const key_sets[] = {"key", "text", "number", "flag", "day", "flag,text", "text,key,number"};
enum { KEY_SETS = sizeof key_sets / sizeof key_sets[0] };

static void
groups_are_what_a_plain_loop_finds(void **state)
{
    static const int64_t sizes[] = {0, 1, 3, 40, 400};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        granary_frame *frame = frame_random(i + 1, sizes[i], true);

        for (size_t j = 0; j < KEY_SETS; j++) {
            check_against_reference(frame, key_sets[j]);
        }
        gr_frame_destroy(frame);
    }
}

/* What pandas gives for the same data. */
static void
golden_as_in_pandas(void **state)
{
    granary_frame *frame = frame_text("k:string,n:int64,f:float64,s:string", "b,1,0.1,x\na,2,nan,y\n,3,1,z\nb,,0.2,x\n"
                                                                             "a,5,inf,\nc,,nan,\nb,-4,0.3,\xc3\xa9\n");
    granary_frame *result = grouped(
        frame, "k",
        "size=size;c=count(n);t=sum(n);m=mean(n);lo=min(n);u=nunique(s);fs=sum(f);fm=mean(f);fx=max(f);fc=count(f)");

    (void)state;
    assert_frame(result, "k,size,c,t,m,lo,u,fs,fm,fx,fc\na,2,2,7,3.5,2,1,inf,inf,inf,1\n"
                         "b,3,2,-3,-1.5,-4,2,0.6,0.19999999999999998,0.3,3\nc,1,0,0,,,0,0.0,,,0\n");
    gr_frame_destroy(result);
    gr_frame_destroy(frame);
}

/* Texts are counted without it, groups with it. */
static void
a_null_is_a_group_among_texts(void **state)
{
    static const char *const tables[] = {"b,1\n,2\na,3\nc,4\n,5\nb,6\n", "d,7\na,8\n,9\ne,10\n"};
    struct gr_value values[2];
    struct kernel_test test;
    granary_frame *result;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        granary_frame *frame = frame_text("k:string,v:int64", tables[i]);

        call_groupby(&test, "groupby_map", "k", "n=size;s=sum(v)");
        kernel_test_attr(&test, gr_attr_new_bool("dropna", false));
        kernel_test_frame(&test, frame);
        assert_int_equal(kernel_test_run(&test, run_groupby_map), GRANARY_OK);
        values[i] = test.outputs[0];
        test.outputs[0] = (struct gr_value){0};
        kernel_test_fini(&test);
        gr_frame_destroy(frame);
    }
    call_groupby(&test, "groupby_final", "k", "n=size;s=sum(v)");
    kernel_test_attr(&test, gr_attr_new_bool("dropna", false));
    kernel_test_bytes(&test, &values[0]);
    kernel_test_bytes(&test, &values[1]);
    result = kernel_test_to_frame(&test, run_groupby_final);
    assert_frame(result, "k,n,s\na,2,11\nb,2,7\nc,1,4\nd,1,7\ne,1,10\n,3,16\n");
    gr_frame_destroy(result);
    gr_value_free(&values[0]);
    gr_value_free(&values[1]);
}

static void
keys_are_ordered(void **state)
{
    granary_frame *frame =
        frame_text("f:float64,b:bool", "nan,true\n-0,false\ninf,true\n0,true\n-inf,\n,true\nnan,false\n1,true\n");
    granary_frame *result = grouped(frame, "f", "n=size");

    (void)state;
    assert_frame(result, "f,n\n-inf,1\n0.0,2\n1.0,1\ninf,1\nnan,2\n");
    gr_frame_destroy(result);
    result = grouped(frame, "b,f", "n=size");
    assert_frame(result, "b,f,n\nfalse,0.0,1\nfalse,nan,1\ntrue,0.0,1\ntrue,1.0,1\ntrue,inf,1\ntrue,nan,1\n");
    gr_frame_destroy(result);
    gr_frame_destroy(frame);
}

static void
zeros_have_an_order_for_min_and_max(void **state)
{
    granary_frame *frame = frame_text("k:int64,f:float64", "1,0\n1,-0\n2,-0\n2,0\n");
    granary_frame *result = grouped(frame, "k", "lo=min(f);hi=max(f);u=nunique(f);s=sum(f)");

    (void)state;
    assert_frame(result, "k,lo,hi,u,s\n1,-0.0,0.0,1,0.0\n2,-0.0,0.0,1,0.0\n");
    gr_frame_destroy(result);
    gr_frame_destroy(frame);
}

/* ---- chunks ---- */

enum { CHUNKS_MAX = 12 };

/* Merge the values in random groups until few are left. */
static granary_frame *
merged_at_random(struct gr_value *values, size_t count, struct random *random, const char *keys)
{
    granary_frame *result;

    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)random_below(random, (int64_t)i);
        struct gr_value swap = values[i - 1];

        values[i - 1] = values[other];
        values[other] = swap;
    }
    while (count > 1 && random_below(random, 4) != 0) {
        size_t many = 1 + (size_t)random_below(random, (int64_t)count);
        struct gr_value value = merged(values + count - many, many, keys, every_aggregate);

        for (size_t i = 0; i < many; i++) {
            gr_value_free(&values[count - many + i]);
        }
        count -= many;
        values[count++] = value;
    }
    result = finished(values, count, keys, every_aggregate);
    for (size_t i = 0; i < count; i++) {
        gr_value_free(&values[i]);
    }
    return result;
}

static void
chunks_do_not_change_a_byte(void **state)
{
    struct random random = {17};

    (void)state;
    for (int round = 0; round < 70; round++) {
        const char *keys = key_sets[round % KEY_SETS];
        granary_frame *frame = frame_random((uint64_t)round, random_below(&random, 600), true);
        granary_frame *whole = grouped(frame, keys, every_aggregate);
        size_t count = 1 + (size_t)random_below(&random, CHUNKS_MAX);
        struct gr_value values[CHUNKS_MAX];
        granary_frame *result;
        int64_t from = 0;

        for (size_t i = 0; i < count; i++) {
            int64_t many = i == count - 1 ? frame->rows - from : random_below(&random, frame->rows - from + 1);
            granary_frame *chunk;

            assert_int_equal(gr_frame_slice(frame, from, many, &chunk), GRANARY_OK);
            values[i] = mapped(chunk, keys, every_aggregate);
            gr_frame_destroy(chunk);
            from += many;
        }
        result = merged_at_random(values, count, &random, keys);
        assert_same_bytes(result, whole);
        gr_frame_destroy(result);
        gr_frame_destroy(whole);
        gr_frame_destroy(frame);
    }
}

/* ---- parts ---- */

static const char all_functions[] =
    "size=size;sum=sum(real);mean=mean(wide);lo=min(real);hi=max(text);fi=first(text);la=last(number);u=nunique(text);"
    "var=var(real);sd=std(number);sem=sem(key);skew=skew(real);kurt=kurtosis(real);prod=prod(number);any=any(flag);"
    "all=all(key);med=median(real);q=quantile(real, 0.3);mode=mode(text);corr=corr(real, number);cov=cov(real, key);"
    "e=sum(key * 2);a=array(text);b=array(real);c=array(flag);d=unique(wide);f=mad(real);g=entropy(text);"
    "h=bit_and(key);i=bit_xor(key);j=mode_count(text);k=mode_count(real)";

enum { PARTS = 3, PIECES = 4 };

/* The groups of a frame in pieces, each dealt to parts, in the order of hashes. */
static granary_frame *
dealt(const granary_frame *frame, const char *keys)
{
    struct gr_value values[PARTS][PIECES];
    granary_frame *results[PARTS];
    granary_frame *whole;

    for (int i = 0; i < PIECES; i++) {
        int64_t from = frame->rows * i / PIECES;
        struct kernel_test test;
        granary_frame *piece;

        assert_int_equal(gr_frame_slice(frame, from, frame->rows * (i + 1) / PIECES - from, &piece), GRANARY_OK);
        call_groupby(&test, "groupby_map", keys, all_functions);
        kernel_test_attr(&test, gr_attr_new_int("parts", PARTS));
        kernel_test_attr(&test, gr_attr_new_bool("dropna", false));
        kernel_test_frame(&test, piece);
        test.output_count = PARTS;
        assert_int_equal(kernel_test_run(&test, run_groupby_map), GRANARY_OK);
        for (int p = 0; p < PARTS; p++) {
            values[p][i] = test.outputs[p];
            test.outputs[p] = (struct gr_value){0};
        }
        kernel_test_fini(&test);
        gr_frame_destroy(piece);
    }
    for (int p = 0; p < PARTS; p++) {
        struct kernel_test test;

        call_groupby(&test, "groupby_final", keys, all_functions);
        kernel_test_attr(&test, gr_attr_new_bool("dropna", false));
        kernel_test_attr(&test, gr_attr_new_bool("sort", false));
        for (int i = 0; i < PIECES; i++) {
            kernel_test_bytes(&test, &values[p][i]);
        }
        results[p] = kernel_test_to_frame(&test, run_groupby_final);
        for (int i = 0; i < PIECES; i++) {
            gr_value_free(&values[p][i]);
        }
    }
    assert_int_equal(gr_frame_concat((const granary_frame *const *)results, PARTS, &whole), GRANARY_OK);
    for (int p = 0; p < PARTS; p++) {
        gr_frame_destroy(results[p]);
    }
    return whole;
}

/* Frame i of packed ones. */
static granary_frame *
packed_frame(const struct gr_value *value, uint32_t i)
{
    const char *bytes = value->bytes;
    struct gr_packed_entry entry;
    granary_frame *frame;

    assert_int_equal(gr_packed_check(bytes, bytes + gr_packed_entry_at(i), i, value->bytes_size, &entry), GRANARY_OK);
    assert_int_equal(gr_packed_open(bytes + entry.data_offset, &entry, &frame), GRANARY_OK);
    return frame;
}

static void
call_rows(struct kernel_test *test, const char *op, const char *keys, const char *aggregates, const int64_t *texts,
          size_t text_count, bool dropna)
{
    call_groupby(test, op, keys, aggregates);
    kernel_test_attr(test, gr_attr_new_bool("dropna", dropna));
    kernel_test_attr(test, gr_attr_new_ints("texts", texts, text_count));
}

static void
refer_to(struct kernel_test *test, const granary_frame *reference)
{
    if (reference != NULL) {
        kernel_test_attr(test, gr_attr_new_bool("reference", true));
        kernel_test_frame(test, reference);
    }
}

/* The same as dealt(), but rows are dealt. reference: has dictionaries; may be NULL. */
static granary_frame *
rows_dealt(const granary_frame *frame, const char *keys, const char *aggregates, const int64_t *texts,
           size_t text_count, bool dropna, const granary_frame *reference)
{
    struct gr_value values[PIECES];
    granary_frame *results[PARTS];
    granary_frame *whole;

    for (int i = 0; i < PIECES; i++) {
        int64_t from = frame->rows * i / PIECES;
        struct kernel_test test;
        granary_frame *piece;

        assert_int_equal(gr_frame_slice(frame, from, frame->rows * (i + 1) / PIECES - from, &piece), GRANARY_OK);
        call_rows(&test, "groupby_deal", keys, aggregates, texts, text_count, dropna);
        kernel_test_attr(&test, gr_attr_new_int("parts", PARTS));
        refer_to(&test, reference);
        kernel_test_frame(&test, piece);
        assert_int_equal(kernel_test_run(&test, run_groupby_deal), GRANARY_OK);
        values[i] = test.outputs[0];
        test.outputs[0] = (struct gr_value){0};
        kernel_test_fini(&test);
        gr_frame_destroy(piece);
    }
    for (uint32_t p = 0; p < PARTS; p++) {
        granary_frame *frames[PIECES * 4];
        struct kernel_test test;
        size_t count = 0;

        call_rows(&test, "groupby_part", keys, aggregates, texts, text_count, dropna);
        refer_to(&test, reference);
        for (int i = 0; i < PIECES; i++) {
            for (uint32_t t = 0; t <= text_count; t++) {
                frames[count] = packed_frame(&values[i], t == 0 ? p : PARTS + t - 1);
                kernel_test_frame(&test, frames[count++]);
            }
        }
        results[p] = kernel_test_to_frame(&test, run_groupby_part);
        while (count > 0) {
            gr_frame_destroy(frames[--count]);
        }
    }
    for (int i = 0; i < PIECES; i++) {
        gr_value_free(&values[i]);
    }
    assert_int_equal(gr_frame_concat((const granary_frame *const *)results, PARTS, &whole), GRANARY_OK);
    for (int p = 0; p < PARTS; p++) {
        gr_frame_destroy(results[p]);
    }
    return whole;
}

static granary_frame *
whole_by_hash(const granary_frame *frame, const char *keys, const char *aggregates, bool dropna)
{
    struct gr_value value;
    struct kernel_test test;
    granary_frame *whole;

    call_groupby(&test, "groupby_map", keys, aggregates);
    kernel_test_attr(&test, gr_attr_new_bool("dropna", dropna));
    kernel_test_frame(&test, frame);
    assert_int_equal(kernel_test_run(&test, run_groupby_map), GRANARY_OK);
    value = test.outputs[0];
    test.outputs[0] = (struct gr_value){0};
    kernel_test_fini(&test);
    call_groupby(&test, "groupby_final", keys, aggregates);
    kernel_test_attr(&test, gr_attr_new_bool("dropna", dropna));
    kernel_test_attr(&test, gr_attr_new_bool("sort", false));
    kernel_test_bytes(&test, &value);
    whole = kernel_test_to_frame(&test, run_groupby_final);
    gr_value_free(&value);
    return whole;
}

/* Whether texts are encoded or not. */
static void
assert_same_values(const granary_frame *a, const granary_frame *b)
{
    const granary_frame *plain[2];

    assert_int_equal(gr_frame_plain(a, &plain[0]), GRANARY_OK);
    assert_int_equal(gr_frame_plain(b, &plain[1]), GRANARY_OK);
    assert_same_bytes(plain[0], plain[1]);
}

/* Rows that are dealt before anything is grouped give the same as tables do: every kind of key, encoded or not. */
static void
dealt_rows_give_the_same(void **state)
{
    static const struct {
        const char *keys;
        int64_t texts[2];
        size_t text_count;
    } cases[] = {{"key,text", {1}, 1},    {"number", {0}, 0}, {"text,wide,day", {0}, 1},       {"row", {0}, 0},
                 {"flag,number", {0}, 0}, {"text", {0}, 1},   {"moment,text,real,row", {1}, 1}};

    (void)state;
    for (size_t k = 0; k < 4 * (sizeof cases / sizeof cases[0]); k++) {
        size_t c = k / 4;
        bool encodes = k % 2 != 0;
        bool dropna = k / 2 % 2 != 0;
        granary_frame *plain = frame_random(k + 170, k == 5 ? 0 : 500, true);
        granary_frame *frame;
        granary_frame *dealt;
        granary_frame *whole;
        int64_t *all = malloc(sizeof *all * 501);

        assert_non_null(all);
        for (int64_t i = 0; i < plain->rows; i++) {
            all[i] = i;
        }
        assert_int_equal(gr_frame_take(plain, all, plain->rows, &frame), GRANARY_OK);
        for (size_t i = 0; i < frame->count && encodes; i++) {
            struct gr_column encoded;
            bool pays = false;

            if (frame->columns[i].view.dtype == GRANARY_STRING) {
                assert_int_equal(gr_column_encode(&frame->columns[i].view, &pays, &encoded), GRANARY_OK);
            }
            if (pays) {
                char name[] = "text";

                assert_int_equal(gr_frame_set(frame, i, name, &encoded), GRANARY_OK);
            }
        }
        whole = whole_by_hash(plain, cases[c].keys, all_functions, dropna);
        for (int referred = 0; referred <= encodes; referred++) {
            dealt = rows_dealt(frame, cases[c].keys, all_functions, cases[c].texts, cases[c].text_count, dropna,
                               referred ? frame : NULL);
            assert_same_values(dealt, whole);
            gr_frame_destroy(dealt);
        }
        free(all);
        gr_frame_destroy(whole);
        gr_frame_destroy(frame);
        gr_frame_destroy(plain);
    }
}

/* The hash of two keys is a function of a sum, in which the second can make up for the first: different keys, one hash.
 */
static void
keys_with_one_hash_are_told_apart(void **state)
{
    enum { ROWS = 12 };
    granary_frame *frame = gr_frame_create(3, ROWS);
    int64_t values[3][ROWS];
    granary_frame *whole;
    granary_frame *dealt;

    (void)state;
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t key = 1 + (i * 5) % 6;

        values[0][i] = key;
        values[1][i] = (int64_t)(UINT64_C(77) - key_hash(0, (uint64_t)key) * UINT64_C(0x9e3779b97f4a7c15));
        values[2][i] = i;
    }
    for (size_t c = 0; c < 3; c++) {
        static const char *const names[] = {"a", "b", "v"};
        struct gr_column column;

        assert_int_equal(gr_column_alloc(GRANARY_INT64, ROWS, 0, false, &column), GRANARY_OK);
        memcpy((void *)(uintptr_t)column.view.values, values[c], sizeof values[c]);
        assert_int_equal(gr_frame_set(frame, c, names[c], &column), GRANARY_OK);
    }
    whole = whole_by_hash(frame, "a,b", "n=size;s=sum(v);f=first(v)", true);
    dealt = rows_dealt(frame, "a,b", "n=size;s=sum(v);f=first(v)", NULL, 0, true, NULL);
    assert_int_equal(whole->rows, 6);
    assert_same_values(dealt, whole);
    gr_frame_destroy(whole);
    gr_frame_destroy(dealt);
    gr_frame_destroy(frame);
}

/* One after the other, the parts are what one table gives, for every function, and with null keys. */
static void
parts_are_ranges_of_the_whole(void **state)
{
    static const char *const keys[] = {"key,text", "number", "text", "text,wide,day", "row"};

    (void)state;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        granary_frame *frame = frame_random(k + 70, 500, true);
        granary_frame *parts = dealt(frame, keys[k]);
        struct gr_value value;
        struct kernel_test test;
        granary_frame *plain[2];
        granary_frame *whole;

        call_groupby(&test, "groupby_map", keys[k], all_functions);
        kernel_test_attr(&test, gr_attr_new_bool("dropna", false));
        kernel_test_frame(&test, frame);
        assert_int_equal(kernel_test_run(&test, run_groupby_map), GRANARY_OK);
        value = test.outputs[0];
        test.outputs[0] = (struct gr_value){0};
        kernel_test_fini(&test);
        call_groupby(&test, "groupby_final", keys[k], all_functions);
        kernel_test_attr(&test, gr_attr_new_bool("dropna", false));
        kernel_test_attr(&test, gr_attr_new_bool("sort", false));
        kernel_test_bytes(&test, &value);
        whole = kernel_test_to_frame(&test, run_groupby_final);
        gr_value_free(&value);
        assert_int_equal(gr_frame_plain(parts, (const granary_frame **)&plain[0]), GRANARY_OK);
        assert_int_equal(gr_frame_plain(whole, (const granary_frame **)&plain[1]), GRANARY_OK);
        assert_same_bytes(plain[0], plain[1]);
        gr_frame_destroy(whole);
        gr_frame_destroy(parts);
        gr_frame_destroy(frame);
    }
}

static void
nothing_gives_columns_without_rows(void **state)
{
    granary_frame *frame = frame_random(1, 0, false);
    granary_frame *result = grouped(frame, "text,day", every_aggregate);
    static const struct {
        const char *name;
        granary_dtype dtype;
    } want[] = {{"text", GRANARY_STRING}, {"day", GRANARY_DATE},       {"size", GRANARY_INT64},
                {"sum", GRANARY_FLOAT64}, {"wsum", GRANARY_INT64},     {"wmean", GRANARY_FLOAT64},
                {"tmin", GRANARY_STRING}, {"mmax", GRANARY_TIMESTAMP}, {"fmax", GRANARY_BOOL}};

    (void)state;
    assert_int_equal(result->rows, 0);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        assert_int_equal(column_of(result, want[i].name)->dtype, want[i].dtype);
    }
    gr_frame_destroy(result);
    gr_frame_destroy(frame);
}

/* ---- errors ---- */

/* Partial sums may leave int64 as long as the whole does not. */
static void
overflow_is_that_of_the_whole_sum(void **state)
{
    granary_frame *up = frame_text("k:int64,cost:int64", "1,9223372036854775807\n1,9223372036854775807\n");
    granary_frame *down = frame_text("k:int64,cost:int64", "1,-9223372036854775807\n");
    struct gr_value values[2] = {mapped(up, "k", "t=sum(cost)"), mapped(down, "k", "t=sum(cost)")};
    struct kernel_test test;
    granary_frame *result;

    (void)state;
    result = finished(values, 2, "k", "t=sum(cost)");
    assert_frame(result, "k,t\n1,9223372036854775807\n");
    gr_frame_destroy(result);
    call_groupby(&test, "groupby_final", "k", "t=sum(cost)");
    kernel_test_bytes(&test, &values[0]);
    kernel_test_fails(&test, run_groupby_final, GRANARY_EFAILED, "'cost' exceeds int64");
    for (int i = 0; i < 2; i++) {
        gr_value_free(&values[i]);
    }
    result = grouped(up, "k", "m=mean(cost)");
    assert_frame(result, "k,m\n1,9.223372036854776e+18\n");
    gr_frame_destroy(result);
    gr_frame_destroy(up);
    gr_frame_destroy(down);
}

static void
wrong_calls_are_answered(void **state)
{
    granary_frame *frame = frame_text("a:int64,s:string", "1,x\n2,y\n");
    struct gr_value value = mapped(frame, "a", "n=min(s)");
    struct kernel_test test;

    (void)state;
    call_groupby(&test, "groupby_map", "b", "n=size");
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_groupby_map, GRANARY_ENOENT, "'b'");
    call_groupby(&test, "groupby_map", "a", "n=sum(x)");
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_groupby_map, GRANARY_ENOENT, "'x'");
    call_groupby(&test, "groupby_map", "a", "n=sum(s)");
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_groupby_map, GRANARY_ETYPE, "'n'");
    call_groupby(&test, "groupby_map", "a", "n=size");
    kernel_test_bytes(&test, &value);
    kernel_test_fails(&test, run_groupby_map, GRANARY_ETYPE, "no frame");
    call_groupby(&test, "groupby_final", "a", "n=min(s)");
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_groupby_final, GRANARY_ETYPE, "no partial result");
    call_groupby(&test, "groupby_final", "a,s", "n=min(s)");
    kernel_test_bytes(&test, &value);
    kernel_test_fails(&test, run_groupby_final, GRANARY_EINVAL, "other keys");
    call_groupby(&test, "groupby_final", "a", "n=max(s)");
    kernel_test_bytes(&test, &value);
    kernel_test_fails(&test, run_groupby_final, GRANARY_EINVAL, "other aggregates");
    call_groupby(&test, "groupby_merge", "a", "n=min(s)");
    kernel_test_fails(&test, run_groupby_merge, GRANARY_EINVAL, "no input");
    gr_value_free(&value);
    gr_frame_destroy(frame);
}

static granary_err
final_of(const void *bytes, uint64_t size, const char *keys, const char *aggregates)
{
    struct kernel_test test;
    struct gr_value value = {.kind = GR_VALUE_BYTES, .bytes = bytes, .bytes_size = size};
    granary_err err;

    call_groupby(&test, "groupby_final", keys, aggregates);
    kernel_test_bytes(&test, &value);
    err = kernel_test_run(&test, run_groupby_final);
    kernel_test_fini(&test);
    return err;
}

/* Cut off anywhere it is ECORRUPT; with any bit changed it is an error or some result, never a crash. */
static void
damaged_partials_are_refused(void **state)
{
    const char *aggregates = "n=size;s=sum(real);w=mean(wide);t=max(text);u=nunique(text)";
    granary_frame *frame = frame_random(5, 30, true);
    struct gr_value value = mapped(frame, "text,flag", aggregates);
    char *bytes = gr_data_alloc(value.bytes_size);

    (void)state;
    assert_non_null(bytes);
    memcpy(bytes, value.bytes, value.bytes_size);
    assert_int_equal(final_of(bytes, value.bytes_size, "text,flag", aggregates), GRANARY_OK);
    for (uint64_t size = 0; size < value.bytes_size; size += size < 400 ? 1 : 61) {
        char *shorter = gr_data_alloc(size);

        memcpy(shorter, bytes, size);
        assert_int_equal(final_of(shorter, size, "text,flag", aggregates), GRANARY_ECORRUPT);
        free(shorter);
    }
    for (uint64_t at = 0; at < value.bytes_size; at++) {
        bytes[at] ^= (char)(1 << (at % 8));
        (void)final_of(bytes, value.bytes_size, "text,flag", aggregates);
        bytes[at] ^= (char)(1 << (at % 8));
        bytes[at] = (char)~bytes[at];
        (void)final_of(bytes, value.bytes_size, "text,flag", aggregates);
        bytes[at] = (char)~bytes[at];
    }
    free(bytes);
    gr_value_free(&value);
    gr_frame_destroy(frame);
}

/* More groups than the first table of slots has room for, and a key for each row. */
static void
many_groups(void **state)
{
    granary_frame *frame = frame_random(8, 30000, false);
    granary_frame *result = grouped(frame, "row", "n=size;t=sum(row)");

    (void)state;
    assert_int_equal(result->rows, 30000);
    for (int64_t i = 0; i < result->rows; i++) {
        assert_int_equal(int_at(result, "row", i), i);
        assert_int_equal(int_at(result, "t", i), i);
    }
    gr_frame_destroy(result);
    gr_frame_destroy(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_what_a_plain_loop_finds),  cmocka_unit_test(golden_as_in_pandas),
        cmocka_unit_test(a_null_is_a_group_among_texts),       cmocka_unit_test(keys_are_ordered),
        cmocka_unit_test(zeros_have_an_order_for_min_and_max), cmocka_unit_test(chunks_do_not_change_a_byte),
        cmocka_unit_test(parts_are_ranges_of_the_whole),       cmocka_unit_test(dealt_rows_give_the_same),
        cmocka_unit_test(keys_with_one_hash_are_told_apart),   cmocka_unit_test(nothing_gives_columns_without_rows),
        cmocka_unit_test(overflow_is_that_of_the_whole_sum),   cmocka_unit_test(wrong_calls_are_answered),
        cmocka_unit_test(damaged_partials_are_refused),        cmocka_unit_test(many_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
