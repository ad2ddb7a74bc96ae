/* Kinds of places: each is a row with how it is opened, and the command that runs a fragment there. */
#include "cli/cluster/places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process/limits.h"
#include "cli/cluster/child.h"
#include "cli/cluster/slurm/node.h"
#include "cli/cluster/slurm/pilot.h"
#include "cli/instance/supervisor/leftovers.h"

struct places_kind {
    const char *name;
    granary_err (*open)(struct places *places, const struct places_options *options, const char *argument);
    /* Arguments in front of `cluster fragment`. Returns how many. */
    size_t (*prefix)(const struct places *places, const struct place *place, struct places_command *command);
    bool by_shell; /* the command is one text, for a shell there */
};

static granary_err
make_places(struct places *places, size_t count)
{
    places->list = calloc(count + 1, sizeof *places->list);
    if (places->list == NULL) {
        return gr_no_memory("places");
    }
    places->count = count;
    return GRANARY_OK;
}

/* The directory of results, whole; it has to be there. */
static granary_err
take_directory(struct places *places, const char *directory)
{
    if (directory == NULL) {
        return gr_fail(GRANARY_EINVAL, "--directory DIR: name a directory that all of these machines see");
    }
    return realpath(directory, places->directory) == NULL ? gr_fail_errno("--directory %s", directory) : GRANARY_OK;
}

/* ---- local:K ---- */

/* Results lie beside what the first instance spills, and go with it. */
static granary_err
make_local_directory(struct places *places)
{
    const struct gr_instance *instance = &places->list[0].private.instance;
    granary_err err = gr_mkdir_private(instance->spill_default);

    (void)snprintf(places->directory, sizeof places->directory, "%s/" LEFTOVERS_FRAGMENTS, instance->spill_default);
    return err == GRANARY_OK ? gr_mkdir_private(places->directory) : err;
}

static granary_err
open_local(struct places *places, const struct places_options *options, const char *argument)
{
    char *end;
    unsigned long count = strtoul(argument, &end, 10);
    static char memory[32];
    granary_err err;

    if (*end != '\0' || end == argument || count == 0 || count > 64) {
        return gr_fail(GRANARY_EINVAL, "--on local:%.20s: local:K takes 1 to 64 instances", argument);
    }
    (void)snprintf(memory, sizeof memory, "%llu", (unsigned long long)(gr_memory_default() / (count + 1)));
    err = options->directory == NULL ? GRANARY_OK : take_directory(places, options->directory);
    err = err == GRANARY_OK ? make_places(places, count) : err;
    for (size_t i = 0; i < places->count && err == GRANARY_OK; i++) {
        struct place *place = &places->list[i];
        int share = gr_usable_cpus() / (int)count;

        (void)snprintf(place->name, sizeof place->name, "local%zu", i + 1);
        place->private.memory = options->memory != NULL ? options->memory : memory;
        place->private.executors = options->executors > 0 ? options->executors : share > 0 ? share : 1;
        err = private_start(&place->private, NULL, place->instance, &place->private_pid);
    }
    return err == GRANARY_OK && options->directory == NULL ? make_local_directory(places) : err;
}

static size_t
prefix_local(const struct places *places, const struct place *place, struct places_command *command)
{
    (void)place;
    command->argv[0] = places->program;
    return 1;
}

/* ---- ssh:HOST,... ---- */

static granary_err
open_ssh(struct places *places, const struct places_options *options, const char *argument)
{
    size_t count = 1;
    granary_err err;

    for (const char *at = argument; *at != '\0'; at++) {
        count += *at == ',';
    }
    err = count > PLACES_MAX ? gr_fail(GRANARY_EINVAL, "--on ssh: more than %d hosts", PLACES_MAX)
                             : make_places(places, count);
    for (size_t i = 0; i < places->count && err == GRANARY_OK; i++) {
        size_t length = strcspn(argument, ",");
        struct place *place = &places->list[i];

        if (length == 0 || length >= sizeof place->name || argument[0] == '-') {
            return gr_fail(GRANARY_EINVAL, "--on ssh:HOST,...: '%.*s' is no host", (int)length, argument);
        }
        memcpy(place->name, argument, length);
        argument += length + (argument[length] == ',');
    }
    return err == GRANARY_OK && !options->looks ? take_directory(places, options->directory) : err;
}

static size_t
prefix_ssh(const struct places *places, const struct place *place, struct places_command *command)
{
    static const char *const words[] = {"ssh", "-o", "BatchMode=yes", "-n"};
    const size_t count = sizeof words / sizeof words[0] - command->listens; /* -n: its input is nothing */

    (void)places;
    memcpy(command->argv, words, count * sizeof *words);
    command->argv[count] = place->name;
    return count + 1;
}

/* ---- slurm ---- */

static granary_err
open_slurm(struct places *places, const struct places_options *options, const char *argument)
{
    struct pilot pilot;
    struct pilot_node *nodes = NULL;
    size_t count = 0;
    granary_err err;

    if (argument[0] != '\0') {
        return gr_fail(GRANARY_EINVAL, "--on slurm:%.60s: it is --on slurm, which is the job of `granary cluster up`",
                       argument);
    }
    err = pilot_find(options->instance, &pilot);
    err = err == GRANARY_OK ? pilot_nodes(&pilot, &nodes, &count) : err;
    err = err == GRANARY_OK ? pilot_check_versions(nodes, count) : err;
    err = err == GRANARY_OK ? make_places(places, count) : err;
    if (err == GRANARY_OK) {
        (void)snprintf(places->job, sizeof places->job, "%s", pilot.job);
        (void)snprintf(places->directory, sizeof places->directory, "%s", pilot.directory);
        for (size_t i = 0; i < count; i++) {
            (void)snprintf(places->list[i].name, sizeof places->list[i].name, "%s", nodes[i].name);
            (void)snprintf(places->list[i].instance, sizeof places->list[i].instance, "%s", nodes[i].instance);
        }
    }
    free(nodes);
    return err;
}

static size_t
prefix_slurm(const struct places *places, const struct place *place, struct places_command *command)
{
    size_t n = 0;

    (void)snprintf(command->texts[0], sizeof command->texts[0], "--jobid=%s", places->job);
    (void)snprintf(command->texts[1], sizeof command->texts[1], "--nodelist=%s", place->name);
    command->argv[n++] = "srun";
    command->argv[n++] = command->texts[0];
    command->argv[n++] = command->texts[1];
    command->argv[n++] = "--overlap";
    command->argv[n++] = "--nodes=1";
    command->argv[n++] = "--ntasks=1";
    command->argv[n++] = "--quiet";
    command->argv[n++] = "--chdir=/"; /* the working directory here need not be there */
    command->argv[n++] = places->program;
    return n;
}

/* ---- all kinds ---- */

static const struct places_kind kinds[] = {
    {.name = "local", .open = open_local, .prefix = prefix_local},
    {.name = "ssh", .open = open_ssh, .prefix = prefix_ssh, .by_shell = true},
    {.name = "slurm", .open = open_slurm, .prefix = prefix_slurm},
};

/* The instance that the command itself works with. */
static granary_err
set_home(struct places *places, const struct places_options *options)
{
    struct place *home = &places->list[places->count];
    struct gr_instance instance;
    granary_err err = gr_instance_resolve(options->home, &instance);

    if (err == GRANARY_OK) {
        (void)node_name(home->name);
        (void)snprintf(home->instance, sizeof home->instance, "%s", instance.runtime);
        places->session = options->session;
    }
    return err;
}

static granary_err
find_program(struct places *places)
{
    ssize_t length = readlink("/proc/self/exe", places->program, sizeof places->program - 1);

    if (length < 0) {
        return gr_fail_errno("/proc/self/exe");
    }
    places->program[length] = '\0';
    return GRANARY_OK;
}

granary_err
places_open(const struct places_options *options, struct places *ret_places)
{
    size_t length = strcspn(options->on, ":");
    const char *argument = options->on + length + (options->on[length] == ':');
    granary_err err = find_program(ret_places);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strlen(kinds[i].name) == length && strncmp(options->on, kinds[i].name, length) == 0) {
            ret_places->kind = &kinds[i];
            err = kinds[i].open(ret_places, options, argument);
            err = err == GRANARY_OK ? set_home(ret_places, options) : err;
            if (err != GRANARY_OK) {
                char message[CHILD_MESSAGE_MAX];

                (void)snprintf(message, sizeof message, "%s", granary_error_message());
                places_close(ret_places);
                (void)gr_fail(err, "%s", message); /* not what its end may say */
            }
            return err;
        }
    }
    return gr_fail(GRANARY_EINVAL, "--on %.60s: there is only " PLACES_HELP, options->on);
}

const char *
places_kind(const struct places *places)
{
    return places->kind->name;
}

granary_err
places_recall(const char *kind, const char *job, size_t count, struct places *ret_places)
{
    granary_err err = find_program(ret_places);

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, kind) == 0) {
            ret_places->kind = &kinds[i];
        }
    }
    if (err == GRANARY_OK && ret_places->kind == NULL) {
        return gr_fail(GRANARY_ECORRUPT, "'%.20s' is no kind of places", kind);
    }
    (void)snprintf(ret_places->job, sizeof ret_places->job, "%s", job);
    return err == GRANARY_OK ? make_places(ret_places, count) : err;
}

void
places_close(struct places *places)
{
    for (size_t i = places->count; i-- > 0;) {
        private_stop(&places->list[i].private, &places->list[i].private_pid);
    }
    free(places->list);
    places->list = NULL;
    places->count = 0;
}

/* Append a word in quotes that a shell takes off. Too long a text is cut, and the command then fails. */
static void
add_quoted(char *text, size_t room, const char *word)
{
    size_t at = strlen(text);

    if (at + 4 * strlen(word) + 4 > room) {
        return;
    }
    at += (size_t)sprintf(text + at, "%s'", at == 0 ? "" : " ");
    for (; *word != '\0'; word++) {
        at += (size_t)sprintf(text + at, *word == '\'' ? "'\\''" : "%c", *word);
    }
    (void)sprintf(text + at, "'");
}

/* Arguments of `granary cluster` for a machine; *count: so many there are. */
static void
add_words(const char **words, size_t *count, const char *first, const char *second)
{
    words[(*count)++] = first;
    if (second != NULL) {
        words[(*count)++] = second;
    }
}

/* Have a place do what the words say. */
static void
finish_command(const struct places *places, size_t place, const char *const *words, size_t w, bool listens,
               struct places_command *command)
{
    const struct places_kind *kind = place == places->count ? &kinds[0] : places->kind;
    size_t n;

    command->listens = listens;
    command->texts[2][0] = '\0';
    n = kind->prefix(places, &places->list[place], command);
    if (!kind->by_shell) {
        memcpy(command->argv + n, words, w * sizeof *words);
        n += w;
    } else {
        add_quoted(command->texts[2], sizeof command->texts[2], "granary");
        for (size_t i = 0; i < w; i++) {
            add_quoted(command->texts[2], sizeof command->texts[2], words[i]);
        }
        command->argv[n++] = command->texts[2];
    }
    command->argv[n] = NULL;
}

void
places_fragment(const struct places *places, size_t place, const char *plan, const char *stage, uint32_t partition,
                struct places_command *ret_command)
{
    const struct place *at = &places->list[place];
    const char *words[20];
    size_t w = 0;

    (void)snprintf(ret_command->number, sizeof ret_command->number, "%u", partition);
    add_words(words, &w, "cluster", "fragment");
    if (at->instance[0] != '\0') {
        add_words(words, &w, "--instance", at->instance);
    }
    if (place == places->count && places->session != NULL) {
        add_words(words, &w, "--session", places->session);
    }
    if (places->traces) {
        add_words(words, &w, "--runs", NULL);
    }
    add_words(words, &w, "--node", at->name);
    add_words(words, &w, "--directory", places->directory);
    add_words(words, &w, plan, stage);
    add_words(words, &w, ret_command->number, NULL);
    finish_command(places, place, words, w, false, ret_command);
}

void
places_look(const struct places *places, size_t place, const char *what, struct places_command *ret_command)
{
    const struct place *at = &places->list[place];
    const char *words[8];
    size_t w = 0;

    add_words(words, &w, "cluster", "look");
    if (at->instance[0] != '\0') {
        add_words(words, &w, "--instance", at->instance);
    }
    if (what != NULL) {
        add_words(words, &w, what, NULL);
    }
    finish_command(places, place, words, w, what != NULL, ret_command);
}
