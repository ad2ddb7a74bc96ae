/* Places are read from the strongest on: a row that has values takes none of a weaker place, which are only checked. */
#include "cli/instance/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/instance/logs.h"
#include "graph/operators/nearest.h"
#include "options/config.h"

#define VARIABLE_MAX 64

/* ---- the table ---- */

/* A value behind those before it, with something in between. */
static granary_err
append(char *list, size_t size, const char *text, char between)
{
    size_t used = strlen(list);

    if (used + strlen(text) + 2 > size) {
        return gr_fail(GRANARY_EINVAL, "more than %zu bytes, all together", size);
    }
    (void)snprintf(list + used, size - used, "%.1s%s", used > 0 ? &between : "", text);
    return GRANARY_OK;
}

/* A directory in a list as in PATH. */
static granary_err
append_directory(char *list, const char *directory)
{
    char path[PATH_MAX];

    if (realpath(directory, path) == NULL || strchr(path, ':') != NULL) {
        return gr_fail(GRANARY_EINVAL, "'%s' is no directory that executors could use: %s", directory,
                       strchr(directory, ':') != NULL ? "it has a ':' in its name" : strerror(errno));
    }
    return append(list, SETTING_LIST, path, ':');
}

static granary_err
take_confine(void *target, char *text)
{
    if (text != NULL && strcmp(text, "strict") != 0 && strcmp(text, "yes") != 0 && strcmp(text, "no") != 0) {
        return gr_fail(GRANARY_EINVAL, "'%s': only strict may follow, or yes or no", text);
    }
    ((struct settled *)target)->confine = text == NULL ? "yes" : text;
    return GRANARY_OK;
}

static granary_err
take_pressure(void *target, char *text)
{
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0) {
        return gr_fail(GRANARY_EINVAL, "'%s' is none of yes, no", text);
    }
    ((struct settled *)target)->pressure = text[0] == 'y';
    return GRANARY_OK;
}

static granary_err
take_http(void *target, char *text)
{
    bool is_yes = text == NULL || strcmp(text, "yes") == 0;

    ((struct settled *)target)->options.http = is_yes ? "" : strcmp(text, "no") == 0 ? NULL : text;
    return GRANARY_OK;
}

static granary_err
take_confine_read(void *target, char *text)
{
    return append_directory(((struct settled *)target)->confine_read, text);
}

static granary_err
take_confine_write(void *target, char *text)
{
    return append_directory(((struct settled *)target)->confine_write, text);
}

static granary_err
take_resource(void *target, char *text)
{
    struct settled *settled = target;
    const char *equals = strchr(text, '=');
    int64_t amount;

    if (equals == NULL || equals == text || strchr(text, ',') != NULL || equals[1] == '+' ||
        gr_option_number(equals + 1, 1, UINT64_MAX - 1, &amount) != GRANARY_OK) {
        return gr_fail(GRANARY_EINVAL, "'%s' is not NAME=AMOUNT with a whole number from 1 up", text);
    }
    if (strncmp(text, "slots=", 6) == 0 || strncmp(text, "memory=", 7) == 0) {
        return gr_fail(GRANARY_EINVAL, "slots and memory are there already: --executors and --memory say how much");
    }
    settled->options.resources = settled->resources;
    return append(settled->resources, sizeof settled->resources, text, ',');
}

static granary_err
take_spill_dir(void *target, char *text)
{
    struct settled *settled = target;

    if (settled->spill_count == GR_SPILL_DIRS) {
        return gr_fail(GRANARY_EINVAL, "'%s' is one more than the %u that there can be", text, GR_SPILL_DIRS);
    }
    settled->spill_dirs[settled->spill_count++] = text;
    return GRANARY_OK;
}

const struct gr_option settings_options[] = {
    {"executors", 'e', "N", "start N executors; default: one for each CPU",
     GR_OPTION_NUMBER(struct settled, options.executors, 0, 1024)},
    {"schedulers", 0, "N", "start N schedulers: one is active, the others take over when it ends; default: 1",
     GR_OPTION_NUMBER(struct settled, options.schedulers, 1, SUPERVISOR_SCHEDULERS_MAX)},
    {"memory", 0, "SIZE", "give objects so much memory; default: half of what the machine allows",
     GR_OPTION_SIZE(struct settled, options.memory, 1), .as_text = true},
    {"spill-dir", 0, "DIR[=SIZE]",
     "write objects there when memory is full, at most so many bytes; may be given several times; default: below "
     "/var/tmp",
     GR_OPTION_TAKE(take_spill_dir), .separator = ':'},
    {"disk-quota", 0, "SIZE", "write at most so many bytes to disk, in all directories; default: what the disks hold",
     GR_OPTION_SIZE(struct settled, options.disk_quota, 0), .as_text = true},
    {"remote-dir", 0, "DIR", "use this directory, such as a mounted share, as the remote level; default: none",
     GR_OPTION_TEXT(struct settled, options.remote_dir)},
    {"levels", 0, "SET", "use these levels, such as 'memory|disk'; default: all that are there",
     GR_OPTION_LEVELS(struct settled, options.levels), .as_text = true},
    {"state", 0, "memory|sqlite", "keep the scheduler's graphs in memory or in a SQLite file; default: sqlite",
     GR_OPTION_CHOICE(struct settled, options.state, "memory|sqlite")},
    {"chunk-bytes", 0, "SIZE", "aim at chunks of this size; default: automatic",
     GR_OPTION_SIZE(struct settled, options.chunk_bytes, 1), .as_text = true},
    {"history", 0, "RUNS", "let the scheduler remember so many runs, 104 bytes each; default: 262144",
     GR_OPTION_NUMBER(struct settled, options.history, 1, 1 << 24), .as_text = true},
    {"resource", 0, "NAME=AMOUNT", "offer subtasks a resource, such as gpu=2; may be given several times",
     GR_OPTION_TAKE(take_resource), .separator = ','},
    {"group", 0, "GROUP", "let members of this group connect to the store; default: only the user who runs it",
     GR_OPTION_TEXT(struct settled, options.group)},
    {"user-memory", 0, "SIZE", "let each member of the group have so much memory; default: no limit",
     GR_OPTION_SIZE(struct settled, options.user_memory, 0), .as_text = true},
    {"pressure", 0, "yes|no",
     "give memory back, down to an eighth, while the machine has too little of it; default: yes in the foreground",
     GR_OPTION_TAKE(take_pressure)},
    {"log", 0, "debug|info|warn|error", "write events of this level and above to the logs; default: info",
     GR_OPTION_CHOICE(struct settled, options.log, "debug|info|warn|error")},
    {"log-dir", 0, "DIR", "keep the logs in DIR/NAME, where they outlive the instance; default: with the instance",
     GR_OPTION_TEXT(struct settled, options.log_dir)},
    {"log-size", 0, "SIZE", "begin a log anew when it has so many bytes; default: 16M",
     GR_OPTION_SIZE(struct settled, options.log_size, 4096)},
    {"log-files", 0, "N", "keep N older logs of each daemon; default: 3",
     GR_OPTION_NUMBER(struct settled, options.log_files, 0, 100)},
    {"http", 0, "ADDRESS",
     "serve the page of the instance, at unix:PATH or 127.0.0.1:PORT; default: web.sock in its directory",
     GR_OPTION_TAKE(take_http), .optional = true},
    {"topology", 0, "FILE", "read the NUMA nodes from FILE; default: those of the machine",
     GR_OPTION_TEXT(struct settled, topology)},
    {"confine", 0, "strict",
     "take from executors the rights that they do not need; strict: fail when the kernel cannot take all of them",
     GR_OPTION_TAKE(take_confine), .optional = true, .group = 1},
    {"confine-read", 0, "DIR", "let confined executors read below DIR; may be given several times; implies --confine",
     GR_OPTION_TAKE(take_confine_read), .group = 1, .separator = ':'},
    {"confine-write", 0, "DIR",
     "let confined executors read and write below DIR; may be given several times; implies --confine",
     GR_OPTION_TAKE(take_confine_write), .group = 1, .separator = ':'},
    {0}};

/* ---- rows ---- */

static struct setting *
row_of(struct settings *settings, const struct gr_option *option)
{
    for (unsigned i = 0; i < settings->count; i++) {
        if (settings->rows[i].option == option) {
            return &settings->rows[i];
        }
    }
    settings->rows[settings->count] = (struct setting){.option = option};
    return &settings->rows[settings->count++];
}

/* A value of a place: it counts unless a stronger place has said something. */
static granary_err
add(struct setting *row, enum setting_from from, const char *path, unsigned line, char *text)
{
    if (row->from > from) {
        return GRANARY_OK;
    }
    if (row->from == from && row->option->separator == 0 && from != FROM_COMMAND) {
        return gr_fail(GRANARY_EINVAL, "%s is set in line %u already: remove one of the two", row->option->name,
                       row->lines[0]);
    }
    if (row->from < from || row->option->separator == 0) {
        row->count = 0;
    }
    if (row->count == SETTING_VALUES) {
        return gr_fail(GRANARY_EINVAL, "'%s' is one more than the %d that there can be", text, SETTING_VALUES);
    }
    row->from = from;
    row->path = path;
    row->lines[row->count] = line;
    row->values[row->count++] = text;
    return GRANARY_OK;
}

granary_err
settings_note(void *settings, const struct gr_option *option, char *text)
{
    static char yes[] = "yes";

    return add(row_of(settings, option), FROM_COMMAND, NULL, 0, text == NULL ? yes : text);
}

const char *
settings_place(const struct setting *setting, unsigned value, char *buffer, size_t size)
{
    static const char *const names[] = {[FROM_BUILT_IN] = "built in", [FROM_COMMAND] = "command line"};

    if (setting->from == FROM_ENVIRONMENT) {
        (void)snprintf(buffer, size, "$%s", setting->path);
    } else if (setting->path != NULL) {
        (void)snprintf(buffer, size, "%s:%u", setting->path, setting->lines[value]);
    } else {
        (void)snprintf(buffer, size, "%s", names[setting->from]);
    }
    return buffer;
}

/* ---- places ---- */

struct reading {
    struct settings *settings;
    enum setting_from from;
    const char *path;
};

/* That it can be taken, wherever it comes from. */
static granary_err
check_value(const struct gr_option *option, char *text)
{
    struct settled scratch = {.confine = NULL};

    return gr_option_take(option, &scratch, text);
}

static granary_err
take_line(void *context, unsigned line, const char *name, char *value)
{
    const struct reading *reading = context;
    const struct gr_option *option = gr_option_find(settings_options, name);
    struct gr_nearest nearest = {.name = name};
    char hint[GR_HINT_MAX];
    granary_err err;

    if (option == NULL) {
        for (const struct gr_option *other = settings_options; other->name != NULL; other++) {
            gr_nearest_offer(&nearest, other->name);
        }
        return gr_fail(GRANARY_EINVAL, "no setting '%.64s'%s `granary config` lists all", name,
                       nearest.best == NULL ? ":" : gr_nearest_hint(&nearest, hint));
    }
    err = check_value(option, value);
    if (err == GRANARY_OK && option->value != NULL && value[0] != '/' &&
        (strncmp(option->value, "DIR", 3) == 0 || strcmp(option->value, "FILE") == 0)) {
        err = gr_fail(GRANARY_EINVAL, "'%s' begins where `granary up` is called: write the whole path", value);
    }
    if (err != GRANARY_OK) {
        char message[512];

        (void)snprintf(message, sizeof message, "%s", granary_error_message());
        return gr_fail(err, "%s: %s", name, message);
    }
    return add(row_of(reading->settings, option), reading->from, reading->path, line, value);
}

/* A file that is not there says nothing; unless it was asked for by name. */
static granary_err
read_file(struct settings *settings, unsigned which, enum setting_from from, bool required)
{
    struct settings_file *file = &settings->files[which];
    struct reading reading = {settings, from, file->path};
    granary_err err =
        file->path[0] == '\0' ? GRANARY_ENOENT : gr_config_read(file->path, take_line, &reading, &file->text);

    file->read = err == GRANARY_OK;
    return err == GRANARY_ENOENT && !required ? GRANARY_OK : err;
}

static void
variable_of(const struct gr_option *option, char variable[VARIABLE_MAX])
{
    (void)snprintf(variable, VARIABLE_MAX, "GRANARY_%s", option->name);
    for (char *c = variable; *c != '\0'; c++) {
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    }
}

/* One variable: its values, separated as the row says. An empty one says nothing. */
static granary_err
read_variable(struct settings *settings, const struct gr_option *option, char **copy)
{
    char variable[VARIABLE_MAX];
    const char *wish;
    char *rest;
    granary_err err = GRANARY_OK;

    variable_of(option, variable);
    wish = getenv(variable);
    if (wish == NULL || wish[0] == '\0') {
        return GRANARY_OK;
    }
    if (asprintf(copy, "%s%c%s", variable, '\0', wish) < 0) {
        *copy = NULL;
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    rest = *copy + strlen(variable) + 1;
    while (rest != NULL && err == GRANARY_OK) {
        char *text = rest;

        rest = option->separator == 0 ? NULL : strchr(text, option->separator);
        if (rest != NULL) {
            *rest++ = '\0';
        }
        err = check_value(option, text);
        if (err == GRANARY_OK) {
            err = add(row_of(settings, option), FROM_ENVIRONMENT, *copy, 0, text);
        }
    }
    if (err != GRANARY_OK) {
        char message[512];

        (void)snprintf(message, sizeof message, "%s", granary_error_message());
        err = gr_fail(err, "$%s: %s", variable, message);
    }
    return err;
}

/* The paths of both files, of an instance that has a name; $GRANARY_ETC is for packages that are elsewhere, and tests. */
static void
find_files(struct settings *settings, const struct gr_instance *instance)
{
    const char *etc = getenv("GRANARY_ETC");
    const char *home = getenv("HOME");
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *wish = settings->config != NULL ? settings->config : getenv("GRANARY_CONFIG");

    settings->files[0].path[0] = settings->files[1].path[0] = '\0';
    if (wish != NULL && wish[0] != '\0') {
        if (settings->config_path[0] == '\0' && realpath(wish, settings->config_path) == NULL) {
            (void)snprintf(settings->config_path, PATH_MAX, "%s", wish);
        }
        (void)snprintf(settings->files[0].path, PATH_MAX, "%s", settings->config_path);
        return;
    }
    if (!instance->named) {
        return;
    }
    if (config != NULL && config[0] == '/') {
        (void)snprintf(settings->files[0].path, PATH_MAX, "%s/granary/%s.conf", config, instance->name);
    } else if (home != NULL && home[0] == '/') {
        (void)snprintf(settings->files[0].path, PATH_MAX, "%s/.config/granary/%s.conf", home, instance->name);
    }
    (void)snprintf(settings->files[1].path, PATH_MAX, "%s/%s.conf", etc != NULL && etc[0] == '/' ? etc : "/etc/granary",
                   instance->name);
}

/* ---- what counts ---- */

static bool
is_of_file(const struct setting *row)
{
    return row->from == FROM_SYSTEM || row->from == FROM_USER;
}

/* Two that one file says, and that cannot both be meant. */
static granary_err
contradict(struct settings *settings, const char *one, const char *other, const char *remedy)
{
    const struct setting *first = row_of(settings, gr_option_find(settings_options, one));
    const struct setting *second = row_of(settings, gr_option_find(settings_options, other));

    if (first->from != second->from || !is_of_file(first)) {
        return GRANARY_OK;
    }
    return gr_fail(GRANARY_EINVAL, "%s:%u: %s = %s contradicts %s in line %u: %s", second->path, second->lines[0],
                   second->option->name, second->values[0], first->option->name, first->lines[0], remedy);
}

/* A limit of members, where nobody is one. */
static granary_err
check_members(struct settings *settings)
{
    const struct setting *row = row_of(settings, gr_option_find(settings_options, "user-memory"));

    if (settings->settled.options.group != NULL || !is_of_file(row)) {
        return GRANARY_OK;
    }
    return gr_fail(GRANARY_EINVAL, "%s:%u: %s = %s is for members of a group: add group, or remove this line",
                   row->path, row->lines[0], row->option->name, row->values[0]);
}

static granary_err
check_together(struct settings *settings)
{
    const struct settled *settled = &settings->settled;
    granary_levels levels = 0;
    granary_err err = GRANARY_OK;

    if (settled->confine != NULL && strcmp(settled->confine, "no") == 0) {
        static const char remedy[] = "remove one of the two";

        err = contradict(settings, "confine", "confine-read", remedy);
        err = err == GRANARY_OK ? contradict(settings, "confine", "confine-write", remedy) : err;
    }
    if (err == GRANARY_OK && settled->options.schedulers > 1 && settled->options.state != NULL &&
        strcmp(settled->options.state, "memory") == 0) {
        err = contradict(settings, "schedulers", "state",
                         "who takes over would know no graph: write sqlite, or remove one of the two");
    }
    err = err == GRANARY_OK ? check_members(settings) : err;
    if (err == GRANARY_OK && settled->options.levels != NULL) {
        err = granary_levels_parse(settled->options.levels, &levels);
    }
    if (levels != 0 && (levels & GRANARY_LEVEL_DISK) == 0) {
        static const char remedy[] = "add disk to the levels, or remove the other line";

        err = err == GRANARY_OK ? contradict(settings, "levels", "spill-dir", remedy) : err;
        err = err == GRANARY_OK ? contradict(settings, "levels", "disk-quota", remedy) : err;
    }
    if (levels != 0 && (levels & GRANARY_LEVEL_REMOTE) == 0 && err == GRANARY_OK) {
        err = contradict(settings, "levels", "remote-dir", "add remote to the levels, or remove the other line");
    }
    return err;
}

/* Directories that executors may use mean that they are confined, unless a place as strong says no. */
static void
settle_confine(struct settings *settings)
{
    struct settled *settled = &settings->settled;
    enum setting_from wish = row_of(settings, gr_option_find(settings_options, "confine"))->from;
    enum setting_from read = row_of(settings, gr_option_find(settings_options, "confine-read"))->from;
    enum setting_from written = row_of(settings, gr_option_find(settings_options, "confine-write"))->from;

    if ((settled->confine == NULL && (read != FROM_BUILT_IN || written != FROM_BUILT_IN)) ||
        (settled->confine != NULL && strcmp(settled->confine, "no") == 0 && (read > wish || written > wish))) {
        settled->confine = "yes";
    }
}

/* All values into fields; what was there before is forgotten. */
static granary_err
settle(struct settings *settings)
{
    granary_err err = GRANARY_OK;

    settings->settled = (struct settled){.options = {.executors = -1,
                                                     .log_size = LOGS_SIZE,
                                                     .log_files = LOGS_FILES,
                                                     .instance = settings->settled.options.instance},
                                         .pressure = -1};
    for (unsigned i = 0; i < settings->count; i++) {
        struct setting *row = &settings->rows[i];

        for (unsigned v = 0; v < row->count && err == GRANARY_OK; v++) {
            err = gr_option_take(row->option, &settings->settled, row->values[v]);
            if (err != GRANARY_OK) {
                char message[512], place[PATH_MAX + 16];

                (void)snprintf(message, sizeof message, "%s", granary_error_message());
                err =
                    gr_fail(err, "%s: %s: %s", settings_place(row, v, place, sizeof place), row->option->name, message);
            }
        }
    }
    settle_confine(settings);
    return err == GRANARY_OK ? check_together(settings) : err;
}

granary_err
settings_read(struct settings *settings, const struct gr_instance *instance)
{
    bool chosen = settings->config != NULL || (getenv("GRANARY_CONFIG") != NULL && getenv("GRANARY_CONFIG")[0] != '\0');
    granary_err err = GRANARY_OK;

    settings_clear(settings);
    for (const struct gr_option *option = settings_options;
         option->name != NULL && err == GRANARY_OK && !settings->again; option++) {
        err = read_variable(settings, option, &settings->environment[option - settings_options]);
    }
    find_files(settings, instance);
    err = err == GRANARY_OK ? read_file(settings, 0, FROM_USER, chosen) : err;
    err = err == GRANARY_OK ? read_file(settings, 1, FROM_SYSTEM, false) : err;
    settings->settled.options.instance = *instance;
    return err == GRANARY_OK ? settle(settings) : err;
}

void
settings_again(const struct settings *settings, struct settings *ret_again)
{
    *ret_again = (struct settings){
        .settled = settings->settled, .config = settings->config, .count = settings->count, .again = true};
    memcpy(ret_again->rows, settings->rows, sizeof ret_again->rows);
    memcpy(ret_again->config_path, settings->config_path, sizeof ret_again->config_path);
    settings_clear(ret_again);
}

void
settings_clear(struct settings *settings)
{
    for (unsigned i = 0; i < settings->count; i++) {
        if (settings->rows[i].from < (settings->again ? FROM_ENVIRONMENT : FROM_COMMAND)) {
            settings->rows[i] = (struct setting){.option = settings->rows[i].option};
        }
    }
    for (unsigned i = 0; i < SETTINGS_MOST; i++) {
        free(settings->environment[i]);
        settings->environment[i] = NULL;
    }
    for (unsigned i = 0; i < 2; i++) {
        free(settings->files[i].text);
        settings->files[i] = (struct settings_file){.read = false};
    }
}
