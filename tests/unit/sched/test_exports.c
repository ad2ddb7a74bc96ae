/* Libraries by themselves: which version a name means, what executors are sent, and what strangers may not export. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "sched/functions/exports.h"

#define V1 "11111111111111111111111111111111"
#define V2 "22222222222222222222222222222222"

/* A library with functions "f g ..."; "?r" is a reusable variable. Lives until the next call. */
static Granary__Library *
library(const char *name, const char *version, const char *functions)
{
    static Granary__Library made;
    static Granary__Symbol symbols[8];
    static Granary__Symbol *pointers[8];
    static char words[256];
    static uint8_t id[16];
    char *rest = NULL;

    memset(id, version[0], sizeof id);
    made = (Granary__Library)GRANARY__LIBRARY__INIT;
    made.session = (char *)(uintptr_t) "s";
    made.name = (char *)(uintptr_t)name;
    made.version = (char *)(uintptr_t)version;
    made.object.data = id;
    made.object.len = sizeof id;
    made.symbols = pointers;
    (void)snprintf(words, sizeof words, "%s", functions);
    for (char *word = strtok_r(words, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        pointers[made.n_symbols] = &symbols[made.n_symbols];
        symbols[made.n_symbols] = (Granary__Symbol)GRANARY__SYMBOL__INIT;
        symbols[made.n_symbols].is_reusable = word[0] == '?';
        symbols[made.n_symbols++].name = word[0] == '?' ? word + 1 : word;
    }
    return &made;
}

static uint64_t
add(struct exports *exports, const char *name, const char *version, const char *functions, bool want_changed)
{
    const struct exported *exported = NULL;
    bool changed = !want_changed;
    granary_id replaced;

    assert_int_equal(exports_add(exports, library(name, version, functions), &exported, &changed, &replaced),
                     GRANARY_OK);
    assert_int_equal(changed, want_changed);
    return exported->library->sequence;
}

/* The text means that function of that version; version "": it fails, with that in the message. */
static void
assert_means(const struct exports *exports, const char *text, const char *library_name, const char *version)
{
    struct gr_function function;
    granary_err err = exports_find(exports_of(exports, "s"), "s", text, &function);

    if (err != GRANARY_OK) {
        fail_msg("%s: %s", text, granary_error_message());
    }
    assert_string_equal(function.name.library, library_name);
    assert_string_equal(function.name.version, version);
    assert_int_equal(function.outputs, 1);
}

static void
assert_means_nothing(const struct exports *exports, const char *text, granary_err want, const char *message)
{
    struct gr_function function;

    assert_int_equal(exports_find(exports_of(exports, "s"), "s", text, &function), want);
    if (strstr(granary_error_message(), message) == NULL) {
        fail_msg("\"%s\" has no \"%s\"", granary_error_message(), message);
    }
}

/* Sequences of what an executor gets that has everything up to `after`. */
static void
assert_sends(const struct exports *exports, uint64_t after, const char *want)
{
    struct gr_buf bytes = {0};
    char text[256] = "";
    Granary__ToExecutor *message;

    (void)exports_pack(exports_of(exports, "s"), after, &bytes);
    message = granary__to_executor__unpack(NULL, bytes.size, (const uint8_t *)bytes.bytes);
    assert_non_null(message);
    for (size_t i = 0; i < message->n_exports; i++) {
        size_t length = strlen(text);

        (void)snprintf(text + length, sizeof text - length, "%s%u ", message->exports[i]->name,
                       (unsigned)message->exports[i]->sequence);
    }
    assert_string_equal(text, want);
    granary__to_executor__free_unpacked(message, NULL);
    gr_buf_free(&bytes);
}

/* ---- */

static void
the_newest_version_is_meant(void **state)
{
    struct exports *exports = exports_create();
    const struct exported *exported;
    granary_id replaced;
    bool changed;

    (void)state;
    assert_int_equal(add(exports, "a", V1, "f old", true), 1);
    assert_int_equal(add(exports, "a", V1, "f old", false), 1); /* again: as it is */
    assert_int_equal(add(exports, "a", V2, "f ?r", true), 2);
    assert_means(exports, "f", "a", V2);
    assert_means(exports, "a:f", "a", V2);
    assert_means(exports, "a@" V1 ":f", "a", V1);
    assert_means(exports, "a@" V1 ":old", "a", V1);
    assert_means_nothing(exports, "old", GRANARY_ENOENT,
                         "function 'old' is not exported in session 's'; there are: a:f");
    assert_means_nothing(exports, "r", GRANARY_ENOENT, "'r'"); /* a variable is no function */
    assert_means_nothing(exports, "fa", GRANARY_ENOENT, "'fa'");
    /* Back to the first: it is the newest from now on, and its file is the one that came last. */
    assert_int_equal(exports_add(exports, library("a", V1, "f old"), &exported, &changed, &replaced), GRANARY_OK);
    assert_int_equal(exported->library->sequence, 3);
    assert_int_equal(replaced.bytes[0], '1');
    assert_means(exports, "f", "a", V1);
    assert_sends(exports, 0, "a2 a3 ");
    assert_sends(exports, 2, "a3 ");
    assert_sends(exports, 3, "");
    exports_destroy(exports);
}

static void
a_function_of_two_libraries_is_ambiguous(void **state)
{
    struct exports *exports = exports_create();

    (void)state;
    assert_means_nothing(exports, "f", GRANARY_ENOENT, "export its library with `granary export");
    (void)add(exports, "a", V1, "f", true);
    (void)add(exports, "b", V1, "f halve", true);
    assert_means_nothing(exports, "f", GRANARY_EINVAL, "is in the libraries a and b: write a:f or b:f");
    assert_means(exports, "b:f", "b", V1);
    assert_means_nothing(exports, "halv", GRANARY_ENOENT, "did you mean 'halve'?");
    exports_destroy(exports);
}

/* A function may ask for variables of its own library, or of another one. */
static void
variables_that_are_asked_for_must_be_there(void **state)
{
    struct exports *exports = exports_create();
    const struct exported *exported;
    granary_id replaced;
    bool changed;
    Granary__Library *asking;
    char *names[] = {(char *)(uintptr_t) "mine", (char *)(uintptr_t) "theirs"};

    (void)state;
    asking = library("a", V1, "f ?mine");
    asking->symbols[0]->reusables = names;
    asking->symbols[0]->n_reusables = 2;
    assert_int_equal(exports_add(exports, asking, &exported, &changed, &replaced), GRANARY_OK);
    assert_means_nothing(exports, "f", GRANARY_ENOENT,
                         "function a:f asks for the reusable variable 'theirs', which no");
    (void)add(exports, "b", V1, "g ?theirs", true);
    assert_means(exports, "f", "a", V1);
    exports_destroy(exports);
}

static void
what_left_is_found_by_its_version_only(void **state)
{
    struct exports *exports = exports_create();
    struct shelf *shelf;
    const struct exported *left;
    size_t position = 0;

    (void)state;
    (void)add(exports, "a", V1, "f", true);
    (void)add(exports, "a", V2, "f", true);
    shelf = exports_of(exports, "s");
    assert_null(exports_leave(exports, shelf, "b", ""));
    assert_int_equal(exports_no_library(shelf, "s", "aa", ""), GRANARY_ENOENT);
    assert_non_null(exports_leave(exports, shelf, "a", V2));
    assert_null(exports_leave(exports, shelf, "a", V2)); /* once */
    assert_int_equal(exports_left(exports), 1);
    assert_means(exports, "f", "a", V1);
    assert_means(exports, "a@" V2 ":f", "a", V2); /* of a graph that runs */
    assert_sends(exports, 0, "a1 a2 ");
    left = exports_next_left(shelf, &position);
    assert_string_equal(left->library->version, V2);
    assert_true(left->library->unexported);
    exports_drop(exports, shelf, left);
    assert_null(exports_next_left(shelf, &position));
    assert_int_equal(exports_left(exports), 0);
    assert_means_nothing(exports, "a@" V2 ":f", GRANARY_ENOENT, "");
    /* Numbers go on: an executor that had the second is not misled. */
    assert_int_equal(add(exports, "a", V2, "f", true), 3);
    /* Exported again before it went. */
    assert_non_null(exports_leave(exports, shelf, "a", V1));
    assert_int_equal(add(exports, "a", V1, "f", true), 4);
    assert_int_equal(exports_left(exports), 0);
    assert_means(exports, "f", "a", V1);
    exports_destroy(exports);
}

static void
bad_libraries_are_refused(void **state)
{
    struct exports *exports = exports_create();
    const struct exported *exported;
    bool changed;
    granary_id replaced;
    static const struct {
        const char *name, *version, *functions, *want;
    } bad[] = {
        {"", V1, "f", "its name needs"},
        {"a/b", V1, "f", "its name needs"},
        {"a-name-that-is-longer-than-any-owner-of-a-reference-may-be", V1, "f", "its name needs"},
        {"a", "1", "f", "a version of 32 hex digits"},
        {"a", "1111111111111111111111111111111G", "f", "a version of 32 hex digits"},
        {"a", V1, "", "declares 0 functions"},
        {"a", V1, "f g f", "declares f twice"},
        {"a", V1, "1f", "'1f' is no name of a function"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        granary_err err = exports_add(exports, library(bad[i].name, bad[i].version, bad[i].functions), &exported,
                                      &changed, &replaced);

        assert_int_equal(err, GRANARY_EINVAL);
        if (strstr(granary_error_message(), bad[i].want) == NULL) {
            fail_msg("\"%s\" has no \"%s\"", granary_error_message(), bad[i].want);
        }
    }
    exports_destroy(exports);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_version_is_meant),
        cmocka_unit_test(a_function_of_two_libraries_is_ambiguous),
        cmocka_unit_test(variables_that_are_asked_for_must_be_there),
        cmocka_unit_test(what_left_is_found_by_its_version_only),
        cmocka_unit_test(bad_libraries_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
