/*
 * A row for each kind of thing that a usage line names. What an instance has is asked of a command that lists it, in a
 * child process: an instance that hangs ends the child by its alarm, and the shell goes on without these words.
 */
#include "cli/manual/candidates.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 2 /* until the shell's user has the prompt back */
#define WORDS_MOST 5
#define LEAST_ID   2 /* characters that must be typed before all objects are listed */

/* A command whose lines are candidates. */
struct list {
    const char *words[WORDS_MOST];
    bool has_head;
    int column;       /* from 0; columns have two blanks between them */
    const char *only; /* lines whose next column is this one; NULL: all */
    const char *before;
};

static const struct list objects = {.words = {"ls"}, .has_head = true};
static const struct list names = {{"names"}, .column = 1};
static const struct list object_names = {{"names"}, .column = 1, .before = "name:"};
static const struct list graphs = {{"info", "graphs", "--fields", "key"}, .has_head = true};
static const struct list targets = {{"info", "tileables", "--fields", "key"}, .has_head = true};
static const struct list sessions = {{"sessions"}, .has_head = true, .column = 1};
static const struct list counters = {{"counters"}, .column = 1};
static const struct list tables = {{"table", "list"}, .has_head = true, .only = "table"};
static const struct list tensors = {{"tensor", "list"}, .has_head = true, .only = "tensor"};
static const struct list channels = {{"channel", "list"}, .has_head = true};
static const struct list executors = {{"info", "executors", "--fields", "number"}, .has_head = true};
static const struct list bands = {{"info", "bands", "--fields", "node"}, .has_head = true};
static const struct list functions = {{"info", "functions", "--fields", "name"}, .has_head = true};
static const struct list operators = {.words = {"operators"}};

#define SUBJECT(name, meaning) #name "|"
#define FIELD(subject, name, kind, what)
static const char subjects[] =
#include "contract/subjects.def"
    ;
#undef SUBJECT
#undef FIELD

#define ERR(name, value, exit_status, text) #name "|"
static const char errors[] =
#include "contract/errors.def"
    ;
#undef ERR

/* The first row that fits is taken. NULL fits everything. */
static const struct kind {
    const char *word;
    const char *command;
    const char *option;
    const struct list *lists[2];
    const char *choices; /* "a|b" */
    const char *shell;   /* ":files" */
} kinds[] = {
    {"NAME", NULL, "session", .lists = {&sessions}},
    {"NAME", "session", NULL, .lists = {&sessions}},
    {"NAME", "counter", NULL, .lists = {&counters}},
    {"NAME", "table", NULL, .lists = {&tables}},
    {"NAME", "tensor", NULL, .lists = {&tensors}},
    {"NAME", "channel", NULL, .lists = {&channels}},
    {"NAME", "operators", NULL, .lists = {&operators}},
    {"NAME", "functions", NULL, .lists = {&functions}},
    {"NAME", "unexport", NULL, .lists = {&functions}},
    {"NAME", "name", NULL, .lists = {&names}},
    {"NAME", "wait", NULL, .lists = {&names}},
    {"FUNCTION", NULL, NULL, .lists = {&functions}},
    {"SUBJECT", NULL, NULL, .choices = subjects},
    {"ID", NULL, NULL, .lists = {&object_names, &objects}},
    {"PREFIX", NULL, NULL, .lists = {&objects}},
    {"KEY", NULL, NULL, .lists = {&graphs}},
    {"GRAPH", "read", NULL, .lists = {&targets}},
    {"GRAPH", NULL, NULL, .lists = {&graphs}},
    {"NUMBER", "executors", NULL, .lists = {&executors}},
    {"EXECUTOR", NULL, NULL, .lists = {&executors}},
    {"CODE", NULL, NULL, .choices = errors},
    {"NODE", NULL, NULL, .lists = {&bands}},
    {"LEVEL", NULL, NULL, .choices = "memory|disk|remote"},
    {"LEVELS", NULL, NULL, .choices = "memory|disk|remote"},
    {"FILE", NULL, NULL, .shell = ":files"},
    {"GRAPH.json", NULL, NULL, .shell = ":files"},
    {"LIBRARY.so", NULL, NULL, .shell = ":files"},
    {"STATEMENTS", NULL, NULL, .shell = ":files"},
    {"DIR", NULL, NULL, .shell = ":directories"},
};

void
candidate(const struct asked *asked, const char *word, size_t length, const char *meaning)
{
    size_t begun = strlen(asked->begun);

    if (length >= begun && memcmp(word, asked->begun, begun) == 0) {
        (void)printf("%s%.*s%s%s\n", asked->before, (int)length, word, meaning == NULL ? "" : "\t",
                     meaning == NULL ? "" : meaning);
    }
}

/* ---- lists ---- */

static void
list_in_child(const struct asked *asked, const struct list *list, int out)
{
    char *words[WORDS_MOST + 4];
    int count = 0, nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct cli cli = {0};
    int status = 1;

    while (list->words[count] != NULL) {
        words[count] = (char *)(uintptr_t)list->words[count];
        count++;
    }
    if (asked->instance != NULL) {
        words[count++] = (char *)(uintptr_t) "--instance";
        words[count++] = (char *)(uintptr_t)asked->instance;
    }
    if (asked->session != NULL) {
        words[count++] = (char *)(uintptr_t) "--session";
        words[count++] = (char *)(uintptr_t)asked->session;
    }
    words[count] = NULL;
    (void)alarm(PATIENCE_S);
    if (nowhere >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(nowhere, STDERR_FILENO) >= 0 &&
        dup2(nowhere, STDIN_FILENO) >= 0) {
        status = cli_run(command_find(asked->rows, words[0]), &cli, count, words);
    }
    exit(status); /* with what is in stdout's buffer */
}

/* The column of a line; its length is 0 when there is none. */
static const char *
column_of(const char *line, int column, size_t *ret_length)
{
    const char *end;

    line += strspn(line, " ");
    for (; column > 0 && *line != '\0'; column--) {
        end = strstr(line, "  ");
        line = end == NULL ? line + strlen(line) : end + strspn(end, " ");
    }
    end = strstr(line, "  ");
    *ret_length = end == NULL ? strcspn(line, "\n") : (size_t)(end - line);
    return line;
}

static void
print_list(const struct asked *asked, const struct list *list, FILE *in)
{
    char *line = NULL;
    size_t room = 0;
    char word[256];

    for (bool head = list->has_head; getline(&line, &room, in) > 0; head = false) {
        size_t length, other;
        const char *found = column_of(line, list->column, &length);
        const char *kind = column_of(line, list->column + 1, &other);
        bool wanted = list->only == NULL || (other == strlen(list->only) && memcmp(kind, list->only, other) == 0);

        if (!head && wanted && length > 0) {
            int all =
                snprintf(word, sizeof word, "%s%.*s", list->before == NULL ? "" : list->before, (int)length, found);

            if (all > 0 && (size_t)all < sizeof word) {
                candidate(asked, word, (size_t)all, NULL);
            }
        }
    }
    free(line);
}

static void
list_now(const struct asked *asked, const struct list *list)
{
    int ends[2];
    FILE *in;
    pid_t child;

    (void)fflush(stdout); /* the child has a copy of what is in it */
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    child = fork();
    if (child == 0) {
        list_in_child(asked, list, ends[1]);
    }
    (void)close(ends[1]);
    in = fdopen(ends[0], "re");
    if (in == NULL) {
        (void)close(ends[0]);
    } else {
        print_list(asked, list, in);
        (void)fclose(in);
    }
    if (child > 0) {
        (void)waitpid(child, NULL, 0);
    }
}

/* Those that this user has by name. */
static void
list_instances(const struct asked *asked)
{
    struct gr_instance instance;
    struct dirent *entry;
    char *slash;
    DIR *directory;

    if (gr_instance_resolve("default", &instance) != GRANARY_OK) {
        return;
    }
    slash = strrchr(instance.runtime, '/');
    *slash = '\0';
    directory = opendir(instance.runtime);
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.') {
            candidate(asked, entry->d_name, strlen(entry->d_name), NULL);
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
}

/* ---- kinds ---- */

static void
print_choices(const struct asked *asked, const char *choices)
{
    for (size_t length; *choices != '\0'; choices += length + (choices[length] == '|')) {
        length = strcspn(choices, "|");
        candidate(asked, choices, length, NULL);
    }
}

static bool
fits(const char *wanted, const char *given)
{
    return wanted == NULL || (given != NULL && strcmp(wanted, given) == 0);
}

static void
print_kind(const struct asked *asked, const struct kind *kind)
{
    for (size_t i = 0; i < 2 && kind->lists[i] != NULL; i++) {
        if (kind->lists[i] != &objects || strlen(asked->begun) >= LEAST_ID) {
            list_now(asked, kind->lists[i]);
        }
    }
    if (kind->choices != NULL) {
        print_choices(asked, kind->choices);
    }
    if (kind->shell != NULL) {
        (void)puts(kind->shell);
    }
}

void
candidates_for(const struct asked *asked, const char *word, size_t length, const char *option)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%.*s", (int)length, word);
    if (strcmp(name, "INSTANCE") == 0 || (option != NULL && strcmp(option, "instance") == 0)) {
        list_instances(asked);
        (void)puts(":directories");
        return;
    }
    if (islower((unsigned char)name[0])) {
        candidate(asked, name, strlen(name), NULL);
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].word, name) == 0 && fits(kinds[i].command, asked->command) &&
            fits(kinds[i].option, option)) {
            print_kind(asked, &kinds[i]);
            return;
        }
    }
}
