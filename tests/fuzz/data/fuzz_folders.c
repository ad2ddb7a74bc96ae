/*
 * Names of files and a pattern: lines of text. What folders tell is read of the names, and each value of the dtype that
 * its kind has must be a literal; a line is a condition on them. The pattern is looked for in a small folder: what it
 * finds is there, each once, in order.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/file/paths/hive.h"
#include "data/file/paths/paths.h"
#include "fuzz/fuzz.h"
#include "graph/folders/constant.h"

#define LINES_MOST 16

static char top[] = "/tmp/granary-fuzz-XXXXXX";
static const char *const folders[] = {"a", "a/k=1", "a/k=1/b", "a/.h"};
static const char *const files[] = {"x.csv", "a/y.csv", "a/k=1/x.csv", "a/k=1/b/{z}.csv", "a/.h/x.csv", "a/_x.csv"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void
remove_all(void)
{
    char path[256];

    for (size_t i = 0; i < COUNT(files); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", top, files[i]);
        (void)unlink(path);
    }
    for (size_t i = COUNT(folders); i-- > 0;) {
        (void)snprintf(path, sizeof path, "%s/%s", top, folders[i]);
        (void)rmdir(path);
    }
    (void)rmdir(top);
}

static void
make_all(void)
{
    char path[256];

    must(mkdtemp(top) != NULL && atexit(remove_all) == 0);
    for (size_t i = 0; i < COUNT(folders); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", top, folders[i]);
        (void)mkdir(path, 0700);
    }
    for (size_t i = 0; i < COUNT(files); i++) {
        int fd;

        (void)snprintf(path, sizeof path, "%s/%s", top, files[i]);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        must(fd >= 0 && close(fd) == 0);
    }
}

/* Not from the root, which an alternative of nothing leads to, too. */
static void
look_for(const char *pattern)
{
    struct gr_paths found = {0};
    char path[1024];

    if (strspn(pattern, "/{},") > 0 || strstr(pattern, "..") != NULL ||
        gr_paths_find(top, &pattern, 1, NULL, &found) != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < found.count && found.many; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", top, found.names[i]);
        must(strlen(path) + 1 == sizeof path || access(path, F_OK) == 0);
        must(i == 0 || strcmp(found.names[i - 1], found.names[i]) < 0);
    }
    gr_paths_free(&found);
}

static struct gr_expr *
literal_of(const char *value)
{
    const struct gr_schema nothing = {0};
    struct gr_expr *literal = NULL;
    char *text = NULL;

    must(constant_text(value, gr_dtype_of_kinds(constant_kind(value)), &text) == GRANARY_OK);
    must(gr_expr_parse(text, &literal) == GRANARY_OK && gr_expr_check(literal, &nothing) == GRANARY_OK);
    free(text);
    return literal;
}

static void
try_condition(const struct gr_hive *hive, const char *text)
{
    struct gr_expr *where = NULL;
    struct gr_expr **values = calloc(hive->count + 1, sizeof(struct gr_expr *));
    const struct constants constants = {
        .count = hive->count, .names = (const char *const *)hive->keys, .values = values};

    for (size_t v = 0; values != NULL && v < hive->count * hive->files; v++) {
        gr_expr_destroy(values[v % hive->count]);
        values[v % hive->count] = literal_of(hive->values[v]);
    }
    if (values != NULL && gr_expr_parse(text, &where) == GRANARY_OK) {
        (void)constants_exclude(&constants, where);
    }
    for (size_t k = 0; values != NULL && k < hive->count; k++) {
        gr_expr_destroy(values[k]);
    }
    gr_expr_destroy(where);
    free(values);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static bool made;
    char *text = size == 0 ? NULL : strndup((const char *)bytes, size);
    char *lines[LINES_MOST];
    size_t count = 0;

    if (!made) {
        make_all();
        made = true;
    }
    for (char *rest = text, *line; count < LINES_MOST && (line = strsep(&rest, "\n")) != NULL;) {
        lines[count++] = line;
    }
    for (int must = 0; count > 2 && must < 2; must++) {
        struct gr_hive hive = {0};

        if (gr_hive_read(lines + 2, count - 2, must == 1, &hive) == GRANARY_OK) {
            try_condition(&hive, lines[1]);
        }
        gr_hive_free(&hive);
    }
    if (count > 0) {
        look_for(lines[0]);
    }
    free(text);
    return 0;
}
