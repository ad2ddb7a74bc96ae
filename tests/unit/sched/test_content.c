/* Content keys: what is the same has the same key, whatever it is called, and anything that decides a result changes it. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/id.h"
#include "build.h"
#include "graph/graph.h"
#include "graph/node.h"
#include "sched/recall/content.h"

#define LINES(...) ((const char *const[]){__VA_ARGS__}), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

static char directory[] = "/tmp/granary-test-XXXXXX";

static granary_id
origin_of(void *context, uint32_t serial)
{
    return (granary_id){.bytes = {context != NULL && serial == 9 ? 8 : (uint8_t)serial}}; /* 9 has what 8 computed */
}

static int64_t
now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Of the only target, hours from now: files are settled then. */
static granary_id
key_at(Granary__Submit *submit, int64_t unix_ms)
{
    struct content *content = content_create(submit, unix_ms, origin_of, submit);
    granary_id key = content == NULL ? (granary_id){{0}} : content_of(content, submit->graph->targets[0]);

    content_destroy(content);
    return key;
}

static granary_id
key_of(const char *const *lines, size_t count)
{
    Granary__Submit submit = GRANARY__SUBMIT__INIT;
    granary_id key;

    submit.graph = build_graph(lines, count);
    key = key_at(&submit, now_ms() + 3600000);
    granary__graph__free_unpacked(submit.graph, NULL);
    return key;
}

#define KEY(...) key_of(LINES(__VA_ARGS__))

static void
keys_are_of_operators_and_parameters(void **state)
{
    granary_id key = KEY("a arange stop=5", "!b head a n=3");

    (void)state;
    assert_false(gr_id_is_zero(key));
    assert_true(gr_id_equal(key, KEY("!y head x n=3", "x arange stop=5"))); /* other names, another order */
    assert_true(gr_id_equal(key, KEY("a arange stop=5", "unused arange stop=7", "!b head a n=3")));
    assert_false(gr_id_equal(key, KEY("a arange stop=6", "!b head a n=3")));
    assert_false(gr_id_equal(key, KEY("a arange stop=5", "!b head a n=2")));
    assert_false(gr_id_equal(key, KEY("a arange stop=5", "!b tail a n=3")));
    assert_false(gr_id_equal(key, KEY("a arange stop=5 start=3", "!b head a")));
    assert_true(gr_id_equal(KEY("!a arange stop=5 start=3"), KEY("!a arange start=3 stop=5")));
    assert_false(gr_id_equal(KEY("a arange stop=5", "b arange stop=6", "!c concat a b"),
                             KEY("a arange stop=5", "b arange stop=6", "!c concat b a")));
    assert_false(gr_id_equal(KEY("!a random seed=1"), KEY("!a random seed=2")));
}

static void
what_nobody_can_tell_has_none(void **state)
{
    (void)state;
    assert_true(gr_id_is_zero(KEY("a arange stop=5", "!b map_chunk a")));
    assert_true(gr_id_is_zero(KEY("a arange stop=5", "b map_chunk a", "!c head b n=3")));
    assert_true(gr_id_is_zero(KEY("!a call")));
    assert_true(gr_id_is_zero(KEY("!a exec")));
    assert_true(gr_id_is_zero(KEY("!a object")));
    assert_true(gr_id_is_zero(KEY("a arange stop=5", "!b append_to a")));
    assert_true(gr_id_is_zero(KEY("a arange stop=5", "!b write_csv a")));
    assert_true(gr_id_is_zero(KEY("!a table")));        /* of objects, or one that changes */
    assert_true(gr_id_is_zero(KEY("!a table time=5"))); /* nobody has cut it */
    assert_true(gr_id_is_zero(KEY("!a head nothing n=3")));
    assert_true(gr_id_is_zero(KEY("!a head b", "b head a"))); /* a circle */
}

static void
a_cut_is_final(void **state)
{
    granary_id key = KEY("!a table time=5 version=7"); /* a number does as well as a text */

    (void)state;
    assert_false(gr_id_is_zero(key));
    assert_false(gr_id_equal(key, KEY("!a table time=6 version=7")));
    assert_false(gr_id_equal(key, KEY("!a table time=5 version=8")));
    assert_true(gr_id_equal(key, KEY("!b table version=7 time=5")));
}

/* ---- files ---- */

static void
path_of(const char *name, char path[128])
{
    (void)snprintf(path, 128, "%s/%s", directory, name);
}

static void
write_file(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    path_of(name, path);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A graph that reads a file, by a relative path. */
struct reading {
    Granary__Submit submit;
    struct content *content;
};

static granary_id
read_file(struct reading *reading, const char *name, int64_t unix_ms)
{
    granary__submit__init(&reading->submit);
    reading->submit.directory = directory;
    reading->submit.graph = build_graph(LINES("!a read_csv"));
    assert_int_equal(gr_node_give(reading->submit.graph->nodes[0], gr_attr_new_string("path", name)), GRANARY_OK);
    reading->content = content_create(&reading->submit, unix_ms, origin_of, NULL);
    return reading->content == NULL ? (granary_id){{0}} : content_of(reading->content, "a");
}

static void
reading_end(struct reading *reading)
{
    content_destroy(reading->content);
    granary__graph__free_unpacked(reading->submit.graph, NULL);
}

static granary_id
key_of_file(const char *name)
{
    struct reading reading;
    granary_id key = read_file(&reading, name, now_ms() + 3600000);

    reading_end(&reading);
    return key;
}

static void
files_are_what_they_were(void **state)
{
    const struct timespec tick = {.tv_nsec = 20000000}; /* longer than one of the file system's clock */
    struct reading reading;
    char one[128];
    char other[128];
    granary_id key;

    (void)state;
    path_of("one", one);
    path_of("other", other);
    write_file("one", "n\n1\n");
    key = key_of_file("one");
    assert_false(gr_id_is_zero(key));
    assert_true(gr_id_equal(key, key_of_file("one")));
    assert_true(gr_id_equal(key, key_of_file(one))); /* the same by its whole path */
    assert_true(gr_id_is_zero(key_of_file("nothing")));
    assert_true(gr_id_is_zero(key_of_file("."))); /* no regular file */

    /* Of the same size, and with its old mtime. */
    (void)nanosleep(&tick, NULL);
    write_file("one", "n\n2\n");
    assert_false(gr_id_equal(key, key_of_file("one")));
    assert_int_equal(utimensat(AT_FDCWD, one, (const struct timespec[]){{.tv_sec = 1000000}, {.tv_sec = 1000000}}, 0),
                     0);
    key = key_of_file("one");
    (void)nanosleep(&tick, NULL);
    write_file("one", "n\n3\n");
    assert_int_equal(utimensat(AT_FDCWD, one, (const struct timespec[]){{.tv_sec = 1000000}, {.tv_sec = 1000000}}, 0),
                     0);
    assert_false(gr_id_equal(key, key_of_file("one")));

    /* Another one gets its name. */
    write_file("other", "n\n3\n");
    key = key_of_file("one");
    assert_false(gr_id_equal(key, key_of_file("other")));
    assert_int_equal(rename(other, one), 0);
    assert_false(gr_id_equal(key, key_of_file("one")));

    /* While it is read. */
    (void)read_file(&reading, "one", now_ms() + 3600000);
    assert_true(content_holds(reading.content));
    (void)nanosleep(&tick, NULL);
    write_file("one", "n\n4\n");
    assert_false(content_holds(reading.content));
    reading_end(&reading);
    (void)read_file(&reading, "one", now_ms() + 3600000);
    assert_int_equal(unlink(one), 0);
    assert_false(content_holds(reading.content));
    reading_end(&reading);
}

static void
files_that_changed_lately_have_none(void **state)
{
    struct reading reading;
    int64_t now;

    (void)state;
    write_file("late", "n\n1\n");
    now = now_ms();
    assert_true(gr_id_is_zero(read_file(&reading, "late", now + 1900)));
    reading_end(&reading);
    assert_false(gr_id_is_zero(read_file(&reading, "late", now + 2001)));
    reading_end(&reading);
    assert_true(gr_id_is_zero(read_file(&reading, "late", now - 5000))); /* of a time to come */
    reading_end(&reading);
}

/* ---- tables ---- */

static granary_id
key_of_table(uint32_t made_by, const char *chunk, bool snapshot)
{
    Granary__Submit submit = GRANARY__SUBMIT__INIT;
    Granary__StoredTable table = GRANARY__STORED_TABLE__INIT;
    Granary__StoredTable *tables[] = {&table};
    granary_id id = build_id(chunk);
    ProtobufCBinaryData ids[] = {{sizeof id.bytes, id.bytes}};
    granary_id key;

    submit.graph = build_graph(LINES("a table", "!b head a n=3"));
    table.node = submit.graph->nodes[0]->name;
    table.made_by = made_by;
    table.ids = ids;
    table.n_ids = 1;
    table.snapshot = snapshot ? ids[0] : table.snapshot;
    submit.tables = tables;
    submit.n_tables = 1;
    key = key_at(&submit, now_ms());
    granary__graph__free_unpacked(submit.graph, NULL);
    return key;
}

static void
tables_are_told_by_who_made_them(void **state)
{
    granary_id key = key_of_table(8, "chunk", false);

    (void)state;
    assert_false(gr_id_is_zero(key));
    assert_true(gr_id_equal(key, key_of_table(8, "chunk", false)));
    assert_false(gr_id_equal(key, key_of_table(7, "chunk", false))); /* an earlier graph of the same key, say */
    assert_false(gr_id_equal(key, key_of_table(8, "other", false)));
    assert_true(gr_id_equal(key, key_of_table(9, "chunk", false))); /* recalled from 8 */
    assert_true(gr_id_is_zero(key_of_table(0, "chunk", false)));
    assert_true(gr_id_is_zero(key_of_table(8, "chunk", true)));
}

static int
make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL ? -1 : 0;
}

static int
remove_directory(void **state)
{
    char path[128];

    (void)state;
    path_of("late", path);
    (void)unlink(path);
    return rmdir(directory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_of_operators_and_parameters),
        cmocka_unit_test(what_nobody_can_tell_has_none),
        cmocka_unit_test(a_cut_is_final),
        cmocka_unit_test(files_are_what_they_were),
        cmocka_unit_test(files_that_changed_lately_have_none),
        cmocka_unit_test(tables_are_told_by_who_made_them),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
