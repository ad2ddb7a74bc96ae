/* See content.h. Keys are XXH3-128 of a node's canonical bytes: operator, sorted parameters, its inputs' keys. */
#include "sched/recall/content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/id.h"
#include "base/memory/grow.h"
#include "base/text/buf.h"
#include "data/file/paths/paths.h"
#include "graph/graph.h"

enum {
    NODES_MAX = 4096,  /* larger graphs have no keys */
    SETTLED_MS = 2000, /* a file's times are of clock ticks; a change behind this one has a later one */
};

/* What a file was. Its path is none of that: renamed, it is the same. */
struct identity {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;
    uint64_t log_size; /* of a database's log, which has what was written last; 0: there is none */
    int64_t log_changed_ns;
};

struct file {
    char *path;
    bool has_log; /* it is a database, which may have one */
    struct identity identity;
};

/* What a node reads, where that stands for many files. */
struct folder {
    const struct gr_format *format;
    char **names; /* patterns, folders, files */
    size_t count;
    uint64_t found; /* a hash of the names of the files there were */
};

struct named_key {
    char *name;
    granary_id key;
};

struct content {
    struct named_key *nodes; /* by name */
    size_t node_count;
    struct named_key *targets;
    size_t target_count;
    struct file *files;
    size_t file_count, file_room;
    char *directory; /* relative names start there */
    struct folder *folders;
    size_t folder_count, folder_room;
};

enum state { STATE_NEW, STATE_OPEN, STATE_DONE };

struct work {
    const Granary__Submit *submit;
    const Granary__Node **nodes; /* by name */
    granary_id *keys;            /* of those */
    uint8_t *states;
    size_t count;
    int64_t unix_ms;
    content_origin *origin;
    void *context;
    struct content *content;
};

/* ---- what an operator is ---- */

enum kind { KIND_NEVER, KIND_PURE, KIND_FILE, KIND_STORED, KIND_FUNCTION };

static enum kind
kind_of(const char *op)
{
    /* An operator that is none of these depends on its inputs and parameters alone. */
    static const struct {
        const char *op;
        enum kind kind;
    } kinds[] = {
#define FORMAT_READ(name, kind)  {"read_" #name, KIND_FILE},
#define FORMAT_WRITE(name, kind) {"write_" #name, KIND_NEVER},
#include "contract/formats.def"
        {"table", KIND_STORED},       {"array", KIND_STORED},  {"append_to", KIND_NEVER}, {"object", KIND_NEVER},
        {"map_chunk", KIND_FUNCTION}, {"call", KIND_FUNCTION}, {"exec", KIND_NEVER},      {"null", KIND_NEVER},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].op, op) == 0) {
            return kinds[i].kind;
        }
    }
    return KIND_PURE;
}

/* ---- bytes of parameters ---- */

static void
add_number(struct gr_buf *out, uint64_t number)
{
    gr_buf_add(out, &number, sizeof number);
}

static void
add_text(struct gr_buf *out, const char *text)
{
    add_number(out, strlen(text));
    gr_buf_add(out, text, strlen(text));
}

static void
add_texts(struct gr_buf *out, char *const *texts, size_t count)
{
    add_number(out, count);
    for (size_t i = 0; i < count; i++) {
        add_text(out, texts[i]);
    }
}

static void
add_attr(struct gr_buf *out, const Granary__Attr *attr)
{
    add_text(out, attr->name);
    add_number(out, (uint64_t)attr->kind);
    add_number(out, attr->n_ints);
    gr_buf_add(out, attr->ints, attr->n_ints * sizeof *attr->ints);
    add_number(out, attr->n_doubles);
    gr_buf_add(out, attr->doubles, attr->n_doubles * sizeof *attr->doubles);
    add_texts(out, attr->strings, attr->n_strings);
    add_texts(out, attr->keys, attr->n_keys);
}

static int
compare_attrs(const void *a, const void *b)
{
    return strcmp((*(Granary__Attr *const *)a)->name, (*(Granary__Attr *const *)b)->name);
}

/* All but one, which stands for something else: the path of a file, the name of a table. */
static bool
add_attrs(struct gr_buf *out, const Granary__Node *node, const char *without)
{
    Granary__Attr **sorted = calloc(node->n_attrs + 1, sizeof *sorted);
    size_t count = 0;

    for (size_t i = 0; sorted != NULL && i < node->n_attrs; i++) {
        if (without == NULL || strcmp(node->attrs[i]->name, without) != 0) {
            sorted[count++] = node->attrs[i];
        }
    }
    if (sorted != NULL && count > 1) {
        qsort(sorted, count, sizeof *sorted, compare_attrs);
    }
    add_number(out, count);
    for (size_t i = 0; sorted != NULL && i < count; i++) {
        add_attr(out, sorted[i]);
    }
    free(sorted);
    return sorted != NULL;
}

/* ---- what is read ---- */

static int64_t
ns_of(const struct timespec *time)
{
    return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

/* false: no memory */
static bool
add_log(const char *path, struct identity *identity)
{
    char *name = NULL;
    struct stat info;

    if (asprintf(&name, "%s-wal", path) < 0) {
        return false;
    }
    if (stat(name, &info) == 0 && info.st_size > 0) {
        identity->log_size = (uint64_t)info.st_size;
        identity->log_changed_ns = ns_of(&info.st_ctim);
    }
    free(name);
    return true;
}

static bool
identity_of(const struct file *file, struct identity *ret_identity)
{
    struct stat info;

    if (stat(file->path, &info) != 0 || !S_ISREG(info.st_mode)) {
        return false;
    }
    *ret_identity = (struct identity){.device = info.st_dev,
                                      .inode = info.st_ino,
                                      .size = (uint64_t)info.st_size,
                                      .modified_ns = ns_of(&info.st_mtim),
                                      .changed_ns = ns_of(&info.st_ctim)};
    return !file->has_log || add_log(file->path, ret_identity);
}

/* Also of one whose times lie ahead: nothing follows from those. */
static bool
is_settled(const struct identity *identity, int64_t unix_ms)
{
    int64_t latest = identity->modified_ns > identity->changed_ns ? identity->modified_ns : identity->changed_ns;

    latest = identity->log_changed_ns > latest ? identity->log_changed_ns : latest;

    return latest / 1000000 + SETTLED_MS <= unix_ms;
}

static void
folder_free(struct folder *folder)
{
    for (size_t i = 0; i < folder->count; i++) {
        free(folder->names[i]);
    }
    free(folder->names);
}

/* false: no memory */
static bool
folder_init(const Granary__Node *node, struct folder *folder)
{
    const Granary__Attr *more = gr_attr_find(node->attrs, node->n_attrs, "paths");
    size_t count = 1 + (more == NULL ? 0 : more->n_strings);
    const struct gr_format *const *format = gr_formats;

    while (*format != NULL && strcmp((*format)->name, node->op + strlen("read_")) != 0) {
        format++;
    }
    *folder = (struct folder){.format = *format, .names = calloc(count, sizeof *folder->names)};
    while (folder->names != NULL && folder->count < count) {
        const char *name = folder->count == 0 ? gr_attr_string(node->attrs, node->n_attrs, "path", "")
                                              : more->strings[folder->count - 1];

        if ((folder->names[folder->count] = strdup(name)) == NULL) {
            break;
        }
        folder->count++;
    }
    return folder->count == count;
}

static bool
folder_find(const struct folder *folder, const char *directory, struct gr_paths *ret_paths, uint64_t *ret_hash)
{
    bool found = gr_paths_find(directory, (const char *const *)folder->names, folder->count, folder->format,
                               ret_paths) == GRANARY_OK;

    *ret_hash = 0;
    for (size_t i = 0; i < ret_paths->count && found; i++) {
        *ret_hash = gr_hash64_seeded(ret_paths->names[i], strlen(ret_paths->names[i]) + 1, *ret_hash);
    }
    return found;
}

static bool
add_one_file(struct work *work, const char *name, bool has_log, struct gr_buf *out)
{
    struct content *content = work->content;
    struct file file = {.path = gr_path_absolute(work->submit->directory, name), .has_log = has_log};
    bool good = file.path != NULL && identity_of(&file, &file.identity) && is_settled(&file.identity, work->unix_ms) &&
                gr_grow(&content->files, &content->file_room, content->file_count, sizeof *content->files);

    if (!good) {
        free(file.path);
        return false;
    }
    content->files[content->file_count++] = file;
    gr_buf_add(out, &file.identity, sizeof file.identity);
    return true;
}

/* The names of many files are among what is read: folders are columns, and their order is that of the rows. */
static bool
add_files(struct work *work, const Granary__Node *node, struct gr_buf *out)
{
    struct content *content = work->content;
    struct gr_paths paths = {0};
    struct folder folder;
    bool named = gr_attr_find(node->attrs, node->n_attrs, "filename") != NULL ||
                 gr_attr_find(node->attrs, node->n_attrs, "hive") != NULL;
    bool good = folder_init(node, &folder) && folder_find(&folder, work->submit->directory, &paths, &folder.found);

    for (size_t i = 0; i < paths.count && good; i++) {
        good = add_one_file(work, paths.names[i], strcmp(node->op, "read_sqlite") == 0, out);
        if (paths.many || named) {
            add_text(out, paths.names[i]);
        }
    }
    if (good && paths.many) { /* later there may be others */
        good = gr_grow(&content->folders, &content->folder_room, content->folder_count, sizeof *content->folders);
        if (good) {
            content->folders[content->folder_count++] = folder;
            folder = (struct folder){.names = NULL};
        }
    }
    folder_free(&folder);
    gr_paths_free(&paths);
    return good;
}

/* A table that changes, at a moment that is final: no later write comes before it. Both are among the parameters. */
static bool
is_cut(const Granary__Node *node)
{
    return gr_attr_find(node->attrs, node->n_attrs, "version") != NULL &&
           gr_attr_find(node->attrs, node->n_attrs, "time") != NULL;
}

/* A graph's results are never other ones. */
static bool
add_stored(const struct work *work, const Granary__Node *node, struct gr_buf *out)
{
    const Granary__StoredTable *stored = NULL;
    granary_id made_by;

    if (is_cut(node)) {
        return true;
    }
    for (size_t i = 0; i < work->submit->n_tables && stored == NULL; i++) {
        stored = strcmp(work->submit->tables[i]->node, node->name) == 0 ? work->submit->tables[i] : NULL;
    }
    if (stored == NULL || stored->made_by == 0 || stored->snapshot.len > 0) {
        return false;
    }
    made_by = work->origin(work->context, stored->made_by);
    gr_buf_add(out, made_by.bytes, sizeof made_by.bytes);
    add_number(out, stored->n_ids);
    for (size_t i = 0; i < stored->n_ids; i++) {
        gr_buf_add(out, stored->ids[i].data, stored->ids[i].len);
    }
    return true;
}

/* A function is told by its library's bytes, which its bound name has. It sees chunks, so how they are cut matters. */
static bool
add_function(const struct work *work, const Granary__Node *node, struct gr_buf *out)
{
    const Granary__Attr *says = gr_attr_find(node->attrs, node->n_attrs, "deterministic");

    if (says == NULL || says->n_ints != 1 || says->ints[0] == 0) {
        return false;
    }
    add_number(out, work->submit->slots);
    add_number(out, work->submit->memory_bytes);
    return true;
}

/* ---- keys of nodes ---- */

static int
compare_nodes(const void *a, const void *b)
{
    return strcmp((*(const Granary__Node *const *)a)->name, (*(const Granary__Node *const *)b)->name);
}

static size_t
find_node(const struct work *work, const char *name)
{
    size_t low = 0;
    size_t high = work->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(work->nodes[middle]->name, name);

        if (order == 0) {
            return middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return SIZE_MAX;
}

static bool key_node(struct work *work, size_t at);

static bool
add_inputs(struct work *work, const Granary__Node *node, struct gr_buf *out)
{
    add_number(out, node->n_inputs);
    for (size_t i = 0; i < node->n_inputs; i++) {
        size_t input = find_node(work, node->inputs[i]);

        if (input == SIZE_MAX || !key_node(work, input)) {
            return false;
        }
        gr_buf_add(out, work->keys[input].bytes, GRANARY_ID_BYTES);
    }
    return true;
}

/* As deep as the graph has nodes, at most. A circle has no key. */
static bool
key_node(struct work *work, size_t at)
{
    const Granary__Node *node = work->nodes[at];
    enum kind kind = kind_of(node->op);
    struct gr_buf bytes = {0};
    bool known = kind != KIND_NEVER;

    if (work->states[at] != STATE_NEW) {
        return work->states[at] == STATE_DONE && !gr_id_is_zero(work->keys[at]);
    }
    work->states[at] = STATE_OPEN;
    add_text(&bytes, node->op);
    if (known) {
        known = add_attrs(&bytes, node,
                          kind == KIND_FILE     ? "path"
                          : kind == KIND_STORED ? "name"
                                                : NULL) &&
                add_inputs(work, node, &bytes);
    }
    if (known && kind == KIND_FILE) {
        known = add_files(work, node, &bytes);
    } else if (known && kind == KIND_STORED) {
        known = add_stored(work, node, &bytes);
    } else if (known && kind == KIND_FUNCTION) {
        known = add_function(work, node, &bytes);
    }
    if (known && gr_buf_ok(&bytes)) {
        work->keys[at] = gr_id_of_bytes(bytes.bytes, bytes.size);
    }
    gr_buf_free(&bytes);
    work->states[at] = STATE_DONE;
    return !gr_id_is_zero(work->keys[at]);
}

/* A target of other chunks is another one. */
static bool
key_target(struct work *work, const char *name)
{
    struct content *content = work->content;
    struct named_key *target = &content->targets[content->target_count];
    size_t at = find_node(work, name);
    struct gr_buf bytes = {0};

    target->name = strdup(name);
    if (target->name == NULL) {
        return false;
    }
    content->target_count++;
    if (at != SIZE_MAX && key_node(work, at)) {
        add_text(&bytes, GRANARY_VERSION);
        add_number(&bytes, (uint64_t)work->submit->chunk_bytes);
        gr_buf_add(&bytes, work->keys[at].bytes, GRANARY_ID_BYTES);
        if (gr_buf_ok(&bytes)) {
            target->key = gr_id_of_bytes(bytes.bytes, bytes.size);
        }
        gr_buf_free(&bytes);
    }
    return !gr_id_is_zero(target->key);
}

/* The keys of all nodes, for parts of the graph. false: out of memory */
static bool
note_nodes(const struct work *work)
{
    struct content *content = work->content;

    content->nodes = calloc(work->count + 1, sizeof *content->nodes);
    for (size_t i = 0; content->nodes != NULL && i < work->count; i++) {
        struct named_key *node = &content->nodes[content->node_count];

        if (!gr_id_is_zero(work->keys[i])) {
            *node = (struct named_key){.name = strdup(work->nodes[i]->name), .key = work->keys[i]};
            if (node->name == NULL) {
                return false;
            }
            content->node_count++;
        }
    }
    return content->nodes != NULL;
}

struct content *
content_create(const Granary__Submit *submit, int64_t unix_ms, content_origin *origin, void *context)
{
    const Granary__Graph *graph = submit->graph;
    struct work work = {.submit = submit, .unix_ms = unix_ms, .origin = origin, .context = context};
    bool good = false;

    if (graph->level != GRANARY__GRAPH__LEVEL__TILEABLE || graph->n_nodes > NODES_MAX || graph->n_targets == 0 ||
        submit->keep_going) {
        return NULL;
    }
    work.count = graph->n_nodes;
    work.nodes = calloc(work.count + 1, sizeof *work.nodes);
    work.keys = calloc(work.count + 1, sizeof *work.keys);
    work.states = calloc(work.count + 1, sizeof *work.states);
    work.content = calloc(1, sizeof *work.content);
    if (work.content != NULL) {
        work.content->targets = calloc(graph->n_targets, sizeof *work.content->targets);
        work.content->directory = strdup(submit->directory);
    }
    if (work.nodes != NULL && work.keys != NULL && work.states != NULL && work.content != NULL &&
        work.content->targets != NULL && work.content->directory != NULL) {
        for (size_t i = 0; i < work.count; i++) {
            work.nodes[i] = graph->nodes[i];
        }
        qsort(work.nodes, work.count, sizeof *work.nodes, compare_nodes);
        for (size_t i = 0; i < graph->n_targets; i++) {
            (void)key_target(&work, graph->targets[i]);
        }
        good = note_nodes(&work) && work.content->node_count > 0;
    }
    free(work.nodes);
    free(work.keys);
    free(work.states);
    if (!good) {
        content_destroy(work.content);
        return NULL;
    }
    return work.content;
}

void
content_destroy(struct content *content)
{
    if (content != NULL) {
        for (size_t i = 0; i < content->target_count; i++) {
            free(content->targets[i].name);
        }
        for (size_t i = 0; i < content->file_count; i++) {
            free(content->files[i].path);
        }
        for (size_t i = 0; i < content->node_count; i++) {
            free(content->nodes[i].name);
        }
        for (size_t i = 0; i < content->folder_count; i++) {
            folder_free(&content->folders[i]);
        }
        free(content->nodes);
        free(content->targets);
        free(content->files);
        free(content->folders);
        free(content->directory);
        free(content);
    }
}

granary_id
content_of(const struct content *content, const char *target)
{
    for (size_t i = 0; i < content->target_count; i++) {
        if (strcmp(content->targets[i].name, target) == 0) {
            return content->targets[i].key;
        }
    }
    return (granary_id){{0}};
}

static int
compare_names(const void *key, const void *node)
{
    return strcmp(key, ((const struct named_key *)node)->name);
}

bool
content_of_node(const struct content *content, const char *node, granary_id *ret_key)
{
    const struct named_key *found =
        bsearch(node, content->nodes, content->node_count, sizeof *content->nodes, compare_names);

    if (found != NULL) {
        *ret_key = found->key;
    }
    return found != NULL;
}

bool
content_holds(const struct content *content)
{
    for (size_t i = 0; i < content->file_count; i++) {
        struct identity now;

        if (!identity_of(&content->files[i], &now) || memcmp(&now, &content->files[i].identity, sizeof now) != 0) {
            return false;
        }
    }
    for (size_t i = 0; i < content->folder_count; i++) {
        struct gr_paths paths = {0};
        uint64_t now;
        bool same = folder_find(&content->folders[i], content->directory, &paths, &now);

        gr_paths_free(&paths);
        if (!same || now != content->folders[i].found) {
            return false;
        }
    }
    return true;
}
