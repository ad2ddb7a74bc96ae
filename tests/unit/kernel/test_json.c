/* JSON in texts: what passes the check is read to its end and no further, whatever was done to the text. */
#include "rows_tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/buf.h"
#include "kernel/rows/json/path.h"
#include "kernel/rows/json/tree.h"

static enum json_checked
check(const char *text)
{
    struct rows_text all = {text, strlen(text)};

    return json_check(&all);
}

static void
the_grammar_of_json(void **state)
{
    static const char *const good[] = {
        "1",    "-0",          "0.5e-3",   " [ ] ",      "{}",       "[1,[2,{\"a\":[]}]]",
        "\"\"", "\"\\u00e9\"", "[1,]",     "{\"a\":1,}", "-Inf",     "[nAn]",
        "true", "null",        "\"\\\\\"", "[[],[],{}]", "infinity", "\"\\ud83d\\ude00\""};
    static const char *const broken[] = {
        "",    " ",      "[",     "]",    "[1",      "{\"a\"}",     "{\"a\":}",    "{\"a\":1 2}",
        "01",  "1.",     ".5",    "+1",   "1e",      "-",           "nul",         "[1}",
        "[,]", "{,}",    "[1,,]", "\"a",  "\"\\x\"", "\"\\u12\"",   "\"\\ud800\"", "\"\\ude00\"",
        "1 2", "\"\t\"", "{1:2}", "infi", "[1]]",    "{\"a\":1,,}", "\"\\",        "True"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (check(good[i]) != JSON_GOOD) {
            fail_msg("%s is JSON", good[i]);
        }
    }
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        if (check(broken[i]) != JSON_BROKEN) {
            fail_msg("%s is no JSON", broken[i]);
        }
    }
}

static void
depth_is_bounded(void **state)
{
    char text[2 * JSON_DEPTH_MOST + 3];
    struct rows_text all = {text, 2 * (size_t)JSON_DEPTH_MOST};

    (void)state;
    memset(text, '[', JSON_DEPTH_MOST);
    memset(text + JSON_DEPTH_MOST, ']', JSON_DEPTH_MOST);
    assert_int_equal(json_check(&all), JSON_GOOD);
    memset(text, '[', JSON_DEPTH_MOST + 1);
    memset(text + JSON_DEPTH_MOST + 1, ']', JSON_DEPTH_MOST + 1);
    all.size += 2;
    assert_int_equal(json_check(&all), JSON_DEEP);
}

static void
paths(void **state)
{
    static const char *const good[] = {"",  "$",      "a", "$.a", "$[0]", "$[-1]", "$[#-1]", "$[#]", "$.\"a.b\"[2].c",
                                       "/", "/a~0b/0"};
    static const char *const broken[] = {"$a",
                                         "$.",
                                         "$[",
                                         "$[]",
                                         "$[1",
                                         "$[#1]",
                                         "$[+1]",
                                         "$[-]",
                                         "$[1x]",
                                         "$.a.",
                                         "$..a",
                                         "$.*",
                                         "$[*]",
                                         "$.\"\"",
                                         "$.\"a",
                                         "*",
                                         "a\"b",
                                         "a\\b",
                                         "$[9999999999999999999]",
                                         "$]",
                                         "$.a[0]b"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!json_path_check(&(struct json_path){.text = {good[i], strlen(good[i])}})) {
            fail_msg("%s is a path", good[i]);
        }
    }
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        if (json_path_check(&(struct json_path){.text = {broken[i], strlen(broken[i])}})) {
            fail_msg("%s is no path", broken[i]);
        }
    }
}

/* What is written is JSON, and written alike again. */
static void
assert_stable(const struct rows_text *text)
{
    struct json_path root = {.text = {NULL, 0}};
    struct gr_buf once = {0};
    struct gr_buf again = {0};
    size_t size = 0;
    const char *value = json_find(text, &root, &size);

    assert_non_null(value);
    json_add_value(value, size, &once);
    assert_int_equal(json_check(&(struct rows_text){once.bytes, once.size}), JSON_GOOD);
    json_add_value(once.bytes, once.size, &again);
    assert_int_equal(once.size, again.size);
    assert_memory_equal(once.bytes, again.bytes, once.size);
    gr_buf_free(&once);
    gr_buf_free(&again);
}

/* Every item is found by its place, and every member by its name. */
static void
assert_found(const struct rows_text *text)
{
    struct json_path root = {.text = {NULL, 0}};
    size_t size = 0;
    const char *value = json_find(text, &root, &size);
    struct json_walk walk = json_walk_begin(value, size);
    struct rows_text key;
    struct rows_text item;

    for (int64_t i = 0; json_walk_next(&walk, &key, &item); i++) {
        struct json_path path = {.is_index = true, .index = i};
        struct gr_buf name = {0};
        size_t found_size = 0;
        const char *found;

        if (walk.is_object) {
            gr_buf_addf(&name, "$.\"%.*s\"", (int)key.size - 2, key.bytes + 1);
            path = (struct json_path){.text = {name.bytes, name.size}};
        }
        found = json_path_check(&path) && memchr(key.bytes != NULL ? key.bytes : "", '\\', key.size) == NULL
                    ? json_find(text, &path, &found_size)
                    : value;
        assert_non_null(found);
        if (!walk.is_object) {
            assert_ptr_equal(found, item.bytes);
            assert_int_equal(found_size, item.size);
        }
        gr_buf_free(&name);
    }
}

/* All values in one pass: each is JSON, lies in the one that it is in, and is found where it begins. */
static void
assert_tree(const struct rows_text *text)
{
    struct json_tree tree = {.text = NULL};

    assert_int_equal(json_tree_read(&tree, text), GRANARY_OK);
    assert_true(tree.count > 0);
    assert_int_equal(tree.nodes[0].end, tree.count);
    for (int32_t i = 0; i < (int32_t)tree.count; i++) {
        const struct json_node *node = &tree.nodes[i];
        struct rows_text value = json_tree_value(&tree, i);
        const struct json_node *around = i == 0 ? node : &tree.nodes[node->parent];

        assert_int_equal(json_check(&value), JSON_GOOD);
        assert_int_equal(json_tree_at(&tree, value.bytes), i);
        assert_true(node->at >= around->at && node->at + node->size <= around->at + around->size);
        assert_true(node->end > i && node->end <= around->end);
    }
    json_tree_free(&tree);
}

static void
garbled_texts(void **state)
{
    static const char *const seeds[] = {
        "{\"a\": {\"b\" : [1, 2.50, \"x\\u0041\\/\\n\\u00e9\", null]}, \"a.b\": [ ], \"q\\\"r\": true}",
        "[1e2, -0, -0.0, 100000000000000000000, 5e-324, inf, -NaN, [1,], {\"a\":2,}, \"\\ud83d\\ude00\"]",
        " [ { } , [ [ ] , { \"\" : \"\" } ] , \"\\\\\" , false ] "};
    static const char bytes[] = "{}[]\",:\\u0 1-.eEnatrfi\t\n\x01\xc3";
    int good = 0;

    (void)state;
    srandom(7);
    for (int run = 0; run < 60000; run++) {
        const char *seed = seeds[random() % 3];
        size_t size = strlen(seed);
        char *copy = malloc(size); /* of that size: a sanitizer sees what is read behind it */
        struct rows_text text = {copy, size};

        assert_non_null(copy);
        memcpy(copy, seed, size);
        for (long k = random() % 4; k > 0; k--) {
            copy[(size_t)random() % size] = bytes[(size_t)random() % (sizeof bytes - 1)];
        }
        text.size = random() % 4 == 0 ? (size_t)random() % size : size;
        if (json_check(&text) == JSON_GOOD) {
            good++;
            assert_stable(&text);
            assert_found(&text);
            assert_tree(&text);
        }
        free(copy);
    }
    assert_true(good > 5000);
}

/* Steps of any path end with it, and no step lies behind it. */
static void
garbled_paths(void **state)
{
    static const char bytes[] = "$.[]*#-09a\"\\/~ ";
    static const char json[] = "{\"a\": [1, {\"a\": {\"*\": 2}}], \"\": [], \"~0\": 3, \"9\": {}}";
    const struct rows_text text = {json, sizeof json - 1};
    int good = 0;
    int found = 0;

    (void)state;
    srandom(8);
    for (int run = 0; run < 60000; run++) {
        size_t size = (size_t)random() % 9;
        char *copy = malloc(size + 1);
        struct json_path path = {.text = {copy, size}};
        struct json_step step;
        const char *at = NULL;
        enum json_step_found is;
        int steps = 0;

        assert_non_null(copy);
        for (size_t i = 0; i < size; i++) {
            copy[i] = i == 0 && random() % 4 != 0 ? '$' : bytes[(size_t)random() % (sizeof bytes - 1)];
        }
        copy = realloc(copy, size > 0 ? size : 1); /* of that size: a sanitizer sees what is read behind it */
        assert_non_null(copy);
        path.text.bytes = copy;
        while ((is = json_path_step(&path, &at, &step)) == JSON_STEP) {
            assert_true(at <= copy + size && ++steps <= (int)size);
            assert_true(step.key.size == 0 ||
                        (step.key.bytes >= copy && step.key.bytes + step.key.size <= copy + size));
        }
        if (json_path_check(&path)) {
            assert_int_equal(is, JSON_NO_MORE);
            good++;
            found += json_find(&text, &path, &size) != NULL;
        }
        free(copy);
    }
    assert_true(good > 5000 && found > 1000);
}

static void
what_is_no_json_is_an_error(void **state)
{
    granary_frame *frame = frame_text("j:string,p:string,i:int64", "[1;2],$.a,1\n[1],$a,0\n,,\n[4],$[0],-1\n");
    static const struct expectation want[] = {
        {"json_valid(j)", "bool", "false true - true"},
        {"case when json_valid(j) then json_extract(j, i) end", "string", "- 1 - 4"},
        {"case when json_valid(j) then json_extract(j, null) end", "string", "- - - -"},
        {"case when json_valid(j) then list_length(json_keys(j)) end", "int64", "- 0 - 0"},
    };

    (void)state;
    ASSERT_ALL(frame, want);
    assert_error(frame, "json_type(j)", GRANARY_EFAILED, "this is no JSON (ask `json_valid`), or no path");
    assert_error(frame, "json_keys(j)", GRANARY_EFAILED, "this is no JSON");
    assert_error(frame, "json_extract('[1]', p)", GRANARY_EFAILED, "no path to one value in it: '[1]' and '$a'");
    assert_error(frame, "json_extract_all('[1]', p)", GRANARY_EFAILED, "no path, or it leads to more than");
    assert_error(frame, "json_each(j, '/a', 'key')", GRANARY_EFAILED, "no path from `$` to one value");
    assert_error(frame, "json_each(j, p, 'what')", GRANARY_ETYPE, "'key', 'value', 'type'");
    assert_error(frame, "json_contains(j, '1')", GRANARY_EFAILED, "this is no JSON (ask `json_valid`), is deeper");
    assert_error(frame, "json_merge_patch('{}', j)", GRANARY_EFAILED, "this is no JSON (ask `json_valid`), is deeper");
    assert_error(frame, "json_structure(j)", GRANARY_EFAILED, "this is no JSON (ask `json_valid`), is deeper");
    assert_error(frame, "json_pretty(j)", GRANARY_EFAILED, "this is no JSON");
    gr_frame_destroy(frame);
}

/* What looks into two values at once, or calls itself, knows where to end. */
static void
what_is_large_is_an_error(void **state)
{
    granary_frame *frame = frame_text("n:int64", "512\n513\n");
    static const struct expectation want[] = {
        {"n > 512 or json_contains(repeat('[', n) || repeat(']', n), '[]')", "bool", "true true"},
        {"n > 512 or json_structure(repeat('[', n) || repeat(']', n)) != ''", "bool", "true true"},
        {"list_length(json_extract_all(repeat('[', n) || repeat(']', n), '$..*'))", "int64", "511 512"},
        {"list_length(json_tree(repeat('[', n) || repeat(']', n), '$', 'fullkey'))", "int64", "512 513"},
    };

    (void)state;
    ASSERT_ALL(frame, want);
    assert_error(frame, "json_contains(repeat('[', n) || repeat(']', n), '1')", GRANARY_EFAILED, "is deeper than 512");
    assert_error(frame, "json_structure(repeat('[', n) || repeat(']', n))", GRANARY_EFAILED, "is deeper than 512");
    assert_error(frame, "json_merge_patch('{}', repeat('[', n) || repeat(']', n))", GRANARY_EFAILED,
                 "is deeper than 512");
    assert_error(frame, "json_contains('[' || repeat('1,', n - n + 20000) || '2]', '[' || repeat('2,', 20000) || '2]')",
                 GRANARY_EFAILED, "too large to compare");
    assert_error(frame, "json_extract_all(repeat('[', n) || repeat(']', n), '$..*..*..*')", GRANARY_EFAILED,
                 "leads to more than 1048576 values");
    gr_frame_destroy(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_grammar_of_json),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(paths),
        cmocka_unit_test(garbled_texts),
        cmocka_unit_test(garbled_paths),
        cmocka_unit_test(what_is_no_json_is_an_error),
        cmocka_unit_test(what_is_large_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
