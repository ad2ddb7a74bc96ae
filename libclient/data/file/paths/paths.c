/* Patterns are walked part by part; each part opens the folders that the parts before it have led to. */
#include "data/file/paths/paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory/grow.h"

#define ALTERNATIVES_MOST 1024    /* that braces may make of a pattern */
#define PATTERN_MOST      8192    /* bytes */
#define DEPTH_MOST        128     /* folders within each other */
#define NAMES_MOST        1000000 /* that are looked at: whoever walks a whole disk holds others up */

struct search {
    const char *directory;
    const struct gr_format *format;
    struct gr_paths *found;
    size_t room;
    size_t seen; /* names in folders */
};

/* ---- names ---- */

char *
gr_path_absolute(const char *directory, const char *name)
{
    char *path = NULL;

    if (name[0] == '/' || directory == NULL || directory[0] == '\0') {
        return strdup(name);
    }
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static granary_err
no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

static granary_err
add_name(struct search *search, const char *name)
{
    struct gr_paths *found = search->found;

    if (!gr_grow(&found->names, &search->room, found->count, sizeof *found->names) ||
        (found->names[found->count] = strdup(name)) == NULL) {
        return no_memory();
    }
    found->count++;
    return GRANARY_OK;
}

static bool
has_wildcard(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (strchr("*?[{", text[i]) != NULL && text[i] != '\0') {
            return true;
        }
    }
    return false;
}

enum what { IS_NOTHING, IS_FILE, IS_FOLDER };

/* Of a link, what it leads to. Something that is neither is taken for a file: who opens it says what is wrong. */
static enum what
what_is(const struct search *search, const char *name)
{
    bool is_whole = name[0] == '/' || search->directory == NULL || search->directory[0] == '\0';
    char path[PATH_MAX]; /* a longer one is none that can be opened */
    struct stat info;

    if (snprintf(path, sizeof path, "%s%s%s", is_whole ? "" : search->directory, is_whole ? "" : "/", name) >=
            (int)sizeof path ||
        stat(path, &info) != 0) {
        return IS_NOTHING;
    }
    return S_ISDIR(info.st_mode) ? IS_FOLDER : IS_FILE;
}

bool
gr_path_is_many(const char *directory, const char *name)
{
    struct search search = {.directory = directory};
    enum what what = what_is(&search, name);

    return what == IS_FOLDER || (what == IS_NOTHING && has_wildcard(name, strlen(name)));
}

/* ---- folders ---- */

struct entry {
    char *name;
    bool is_folder; /* and no link to one */
    bool is_link;
};

struct entries {
    struct entry *items;
    size_t count;
    size_t room;
};

static void
entries_free(struct entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        free(entries->items[i].name);
    }
    free(entries->items);
}

static granary_err
add_entry(struct entries *entries, const struct dirent *entry, int folder)
{
    struct entry made = {.is_folder = entry->d_type == DT_DIR, .is_link = entry->d_type == DT_LNK};
    struct stat info;

    if (entry->d_type == DT_UNKNOWN && fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
        made.is_folder = S_ISDIR(info.st_mode);
        made.is_link = S_ISLNK(info.st_mode);
    }
    made.name = strdup(entry->d_name);
    if (made.name == NULL || !gr_grow(&entries->items, &entries->room, entries->count, sizeof *entries->items)) {
        free(made.name);
        return no_memory();
    }
    entries->items[entries->count++] = made;
    return GRANARY_OK;
}

/* What is in a folder, but `.` and `..`. */
static granary_err
read_folder(struct search *search, const char *name, struct entries *entries)
{
    char *path = gr_path_absolute(search->directory, name[0] == '\0' ? "." : name);
    DIR *folder = path == NULL ? NULL : opendir(path);
    const struct dirent *entry;
    granary_err err = path == NULL ? no_memory() : folder == NULL ? gr_fail_errno("%s", path) : GRANARY_OK;

    errno = 0;
    while (err == GRANARY_OK && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            err = search->seen++ < NAMES_MOST
                      ? add_entry(entries, entry, dirfd(folder))
                      : gr_fail(GRANARY_EINVAL, "more than %d names in the folders: name less of them", NAMES_MOST);
        }
        errno = 0;
    }
    if (err == GRANARY_OK && errno != 0) {
        err = gr_fail_errno("%s", path);
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    free(path);
    return err;
}

/* "folder/name"; the folder is "" or ends with a slash. NULL: no memory */
static char *
join(const char *folder, const char *name, const char *end)
{
    char *path = NULL;

    return asprintf(&path, "%s%s%s", folder, name, end) < 0 ? NULL : path;
}

static bool
has_ending(const struct search *search, const char *name)
{
    const struct gr_format_ending *ending = NULL;
    const struct gr_format *format = gr_format_of_path(name, &ending);

    if (format == NULL || ending->is_vague) {
        return false;
    }
    return search->format != NULL ? format == search->format : format->sketch != NULL;
}

/* ---- the walk ---- */

static granary_err walk(struct search *search, const char *folder, const char *rest, int depth);

/* All files of the format below a folder, whose name ends with a slash. */
static granary_err
take_all(struct search *search, const char *folder, int depth)
{
    struct entries entries = {0};
    granary_err err = depth > DEPTH_MOST ? gr_fail(GRANARY_EINVAL, "%s: more than %d folders deep", folder, DEPTH_MOST)
                                         : read_folder(search, folder, &entries);

    for (size_t i = 0; i < entries.count && err == GRANARY_OK; i++) {
        const struct entry *entry = &entries.items[i];
        char *path = entry->name[0] == '.' || entry->name[0] == '_'
                         ? NULL
                         : join(folder, entry->name, entry->is_folder ? "/" : "");

        if (path == NULL) {
            err = entry->name[0] == '.' || entry->name[0] == '_' ? GRANARY_OK : no_memory();
        } else if (entry->is_folder) {
            err = take_all(search, path, depth + 1);
        } else if (has_ending(search, path) && !(entry->is_link && what_is(search, path) == IS_FOLDER)) {
            err = add_name(search, path);
        }
        free(path);
    }
    entries_free(&entries);
    return err;
}

/* What a whole pattern has led to: a file, or a folder of them. */
static granary_err
take(struct search *search, const char *path, int depth)
{
    enum what what = what_is(search, path);
    char *folder;
    granary_err err;

    if (what != IS_FOLDER) {
        return what == IS_FILE ? add_name(search, path) : GRANARY_OK;
    }
    folder = join(path, path[0] != '\0' && path[strlen(path) - 1] != '/' ? "/" : "", "");
    err = folder == NULL ? no_memory() : take_all(search, folder, depth);
    free(folder);
    return err;
}

/* Entries of a folder that a part of the pattern matches, each followed by the rest of it: NULL, there is none. */
static granary_err
match_part(struct search *search, const char *folder, const char *part, const char *rest, int depth)
{
    struct entries entries = {0};
    granary_err err = read_folder(search, folder, &entries);

    for (size_t i = 0; i < entries.count && err == GRANARY_OK; i++) {
        const struct entry *entry = &entries.items[i];
        char *path;

        if (fnmatch(part, entry->name, FNM_PERIOD) != 0) {
            continue;
        }
        path = join(folder, entry->name, rest != NULL ? "/" : "");
        if (path == NULL) {
            err = no_memory();
        } else if (!entry->is_folder && !(entry->is_link && what_is(search, path) == IS_FOLDER)) {
            err = rest == NULL ? add_name(search, path) : GRANARY_OK;
        } else if (rest != NULL) { /* else it is no file: its files need a further part */
            err = rest[0] == '\0' ? take_all(search, path, depth) : walk(search, path, rest, depth + 1);
        }
        free(path);
    }
    entries_free(&entries);
    return err;
}

/* The rest of the pattern in this folder, and in all below it. */
static granary_err
match_depths(struct search *search, const char *folder, const char *rest, int depth)
{
    struct entries entries = {0};
    granary_err err = depth > DEPTH_MOST ? gr_fail(GRANARY_EINVAL, "%s: more than %d folders deep", folder, DEPTH_MOST)
                                         : walk(search, folder, rest, depth + 1);

    err = err == GRANARY_OK ? read_folder(search, folder, &entries) : err;
    for (size_t i = 0; i < entries.count && err == GRANARY_OK; i++) {
        char *path;

        if (!entries.items[i].is_folder || entries.items[i].name[0] == '.') {
            continue;
        }
        path = join(folder, entries.items[i].name, "/");
        err = path == NULL ? no_memory() : match_depths(search, path, rest, depth + 1);
        free(path);
    }
    entries_free(&entries);
    return err;
}

/* folder: "", or ends with a slash. rest: what of the pattern is left. */
static granary_err
walk(struct search *search, const char *folder, const char *rest, int depth)
{
    const char *slash = strchr(rest, '/');
    size_t size = slash == NULL ? strlen(rest) : (size_t)(slash - rest);
    const char *next = slash == NULL ? rest + size : slash + strspn(slash, "/");
    char *part = strndup(rest, size);
    char *path = NULL;
    granary_err err = GRANARY_OK;

    if (part == NULL) {
        return no_memory();
    }
    if (strcmp(part, "**") == 0) {
        err = match_depths(search, folder, next[0] == '\0' ? "*" : next, depth);
    } else if (has_wildcard(part, size)) {
        err = match_part(search, folder, part, slash == NULL ? NULL : next, depth);
    } else { /* named: no folder needs to be read */
        path = join(folder, part, slash == NULL ? "" : "/");
        err = path == NULL                         ? no_memory()
              : next[0] == '\0'                    ? take(search, path, depth)
              : what_is(search, path) != IS_FOLDER ? GRANARY_OK
                                                   : walk(search, path, next, depth);
    }
    free(path);
    free(part);
    return err;
}

/* ---- braces ---- */

/* The first group of braces, its end, and whether there is one. */
static bool
find_braces(const char *pattern, const char **ret_open, const char **ret_close)
{
    const char *open = strchr(pattern, '{');
    int depth = 0;

    for (const char *p = open; p != NULL && *p != '\0'; p++) {
        depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
        if (depth == 0) {
            *ret_open = open;
            *ret_close = p;
            return true;
        }
    }
    return false;
}

/* Walk each pattern that the alternatives make. */
static granary_err
walk_alternatives(struct search *search, const char *pattern, size_t *left)
{
    const char *open;
    const char *close;
    granary_err err = GRANARY_OK;

    if (!find_braces(pattern, &open, &close)) {
        if ((*left)-- == 0) {
            *left = 0;
            return gr_fail(GRANARY_EINVAL, "its braces make more than %d patterns", ALTERNATIVES_MOST);
        }
        return pattern[0] == '/' ? walk(search, "/", pattern + strspn(pattern, "/"), 0) : walk(search, "", pattern, 0);
    }
    for (const char *from = open + 1, *p = from, *end; err == GRANARY_OK && from <= close; from = end + 1) {
        char *one = NULL;
        int depth = 0;

        for (p = from; p < close && (*p != ',' || depth > 0); p++) {
            depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
        }
        end = p;
        if (asprintf(&one, "%.*s%.*s%s", (int)(open - pattern), pattern, (int)(end - from), from, close + 1) < 0) {
            return no_memory();
        }
        err = walk_alternatives(search, one, left);
        free(one);
    }
    return err;
}

/* ---- all of it ---- */

static int
compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Those from `first` on in the order of their bytes, each once. */
static void
sort_from(struct gr_paths *found, size_t first)
{
    size_t kept = first;

    if (found->count - first < 2) {
        return;
    }
    qsort(found->names + first, found->count - first, sizeof *found->names, compare_names);
    for (size_t i = first; i < found->count; i++) {
        if (kept > first && strcmp(found->names[i], found->names[kept - 1]) == 0) {
            free(found->names[i]);
        } else {
            found->names[kept++] = found->names[i];
        }
    }
    found->count = kept;
}

static granary_err
nothing_found(const struct search *search, const char *name, bool is_folder)
{
    const char *ending = search->format == NULL ? NULL : search->format->endings[0].text;

    if (!is_folder) {
        return gr_fail(GRANARY_ENOENT, "%s: no file matches the pattern", name);
    }
    return ending == NULL ? gr_fail(GRANARY_ENOENT, "%s: the folder has no file whose ending tells its format", name)
                          : gr_fail(GRANARY_ENOENT, "%s: the folder has no file that ends in %s", name, ending);
}

static granary_err
find_one(struct search *search, const char *name)
{
    enum what what = what_is(search, name);
    size_t first = search->found->count;
    size_t left = ALTERNATIVES_MOST;
    granary_err err;

    if (what == IS_FILE || (what == IS_NOTHING && !has_wildcard(name, strlen(name)))) {
        return add_name(search, name);
    }
    search->found->many = true;
    if (strlen(name) > PATTERN_MOST) {
        return gr_fail(GRANARY_EINVAL, "%.60s...: the pattern has more than %d bytes", name, PATTERN_MOST);
    }
    err = what == IS_FOLDER ? take(search, name, 0) : walk_alternatives(search, name, &left);
    if (err != GRANARY_OK) {
        return what == IS_FOLDER ? err : gr_fail_in(err, "%s", name);
    }
    sort_from(search->found, first);
    return search->found->count > first ? GRANARY_OK : nothing_found(search, name, what == IS_FOLDER);
}

granary_err
gr_paths_find(const char *directory, const char *const *names, size_t count, const struct gr_format *format,
              struct gr_paths *ret_paths)
{
    struct gr_paths found = {.many = count > 1};
    struct search search = {.directory = directory, .format = format, .found = &found};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = find_one(&search, names[i]);
    }
    if (err != GRANARY_OK) {
        gr_paths_free(&found);
        return err;
    }
    *ret_paths = found;
    return GRANARY_OK;
}

void
gr_paths_free(struct gr_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        free(paths->names[i]);
    }
    free(paths->names);
    *paths = (struct gr_paths){0};
}
