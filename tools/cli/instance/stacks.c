/* granary stacks: where the threads of a process are, in the kernel and in their own code. */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process/stacks.h"
#include "cli/command/command.h"
#include "cli/instance/processes.h"
#include "cli/instance/symbols.h"
#include "cli/print/show.h"

/* How long a thread may take to tell where it is. */
#define ANSWER_MS 500
#define LINE      1024

/* ---- what the kernel tells ---- */

/* A file of a thread below /proc, in one line; "" when it cannot be read. */
static const char *
proc_text(int64_t pid, long tid, const char *file, char text[LINE])
{
    char path[96];
    char *bytes = NULL;
    size_t size = 0;

    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%ld/%s", pid, tid, file);
    text[0] = '\0';
    if (gr_file_read(path, 65536, &bytes, &size) == GRANARY_OK) {
        (void)snprintf(text, LINE, "%.*s", (int)strcspn(bytes, "\n"), bytes);
    }
    free(bytes);
    return text;
}

static char
state_of(int64_t pid, long tid)
{
    char text[LINE];
    const char *end = strrchr(proc_text(pid, tid, "stat", text), ')');

    return end != NULL && end[1] == ' ' ? end[2] : '?';
}

static const char *
state_name(char state)
{
    return state == 'R'                   ? "running"
           : state == 'S'                 ? "sleeping"
           : state == 'D'                 ? "in the kernel, not to be interrupted"
           : state == 'T' || state == 't' ? "stopped"
           : state == 'Z'                 ? "dead"
                                          : "?";
}

/* Whether a signal is in one of the sets of a file "status" below /proc. */
static bool
has_signal(const char *path, const char *set, int signal)
{
    char *bytes = NULL;
    size_t size;
    const char *at;
    unsigned long long mask = 0;

    if (gr_file_read(path, 65536, &bytes, &size) == GRANARY_OK && (at = strstr(bytes, set)) != NULL) {
        (void)sscanf(at + strlen(set), "%llx", &mask);
    }
    free(bytes);
    return (mask >> (signal - 1) & 1) != 0;
}

/* Whether a process has a handler for the signal, which would end it otherwise. */
static bool
catches(int64_t pid)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
    return has_signal(path, "SigCgt:", GR_STACKS_SIGNAL);
}

static bool
blocks(int64_t pid, long tid)
{
    char path[96];

    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%ld/status", pid, tid);
    return has_signal(path, "SigBlk:", GR_STACKS_SIGNAL);
}

/* ---- what the thread tells ---- */

/* "FILE(+0xOFFSET) [ADDRESS]", as backtrace_symbols_fd(3) writes: with the function's name, when the file tells it. */
static void
print_frame(char *line)
{
    char *open = strchr(line, '(');
    char *close = open == NULL ? NULL : strchr(open, ')');
    char name[256];
    char shown[SHOW_TEXT];
    char *end;
    uint64_t offset;

    if (close != NULL && open[1] == '+') {
        offset = strtoull(open + 2, &end, 16);
        *open = '\0';
        /* A return address: the call is before it. */
        if (end == close && symbol_find(line, offset - 1, name, sizeof name)) {
            (void)printf("    %s in ", name);
            (void)printf("%s\n", show_text(line, shown));
            return;
        }
        *open = '(';
    } else if (close != NULL) {
        *open = *close = '\0';
        (void)printf("    %s in ", open + 1);
        (void)printf("%s\n", show_text(line, shown));
        return;
    }
    (void)printf("    %s\n", show_text(line, shown));
}

/* The frames it wrote, but for the handler's own. */
static void
print_stack(char *text)
{
    char *rest = NULL;
    bool begun = false;
    int skipped = 0;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        /* The handler, and what the C library puts around it. */
        if (!begun && skipped++ < 2) {
            continue;
        }
        begun = true;
        if (strncmp(line, GR_STACKS_END, sizeof GR_STACKS_END - 2) != 0) {
            print_frame(line);
        }
    }
}

static void
ask_thread(const struct gr_instance *instance, int64_t pid, long tid)
{
    char path[192];
    char *text = NULL;
    size_t size = 0;
    bool whole = false;

    (void)snprintf(path, sizeof path, "%s/" GR_STACKS "/%" PRId64 ".%ld", instance->runtime, pid, tid);
    (void)unlink(path);
    if (blocks(pid, tid)) {
        (void)printf("    it takes no signals, so it does not tell\n");
        return;
    }
    if (syscall(SYS_tgkill, (pid_t)pid, (pid_t)tid, GR_STACKS_SIGNAL) < 0) {
        return;
    }
    for (int waited = 0; waited < ANSWER_MS && !whole; waited += 5) {
        (void)poll(NULL, 0, 5);
        free(text);
        text = NULL;
        whole = gr_file_read(path, 1 << 20, &text, &size) == GRANARY_OK && strstr(text, GR_STACKS_END) != NULL;
    }
    if (whole) {
        print_stack(text);
    } else {
        (void)printf("    it does not tell: it gets no time, or is in a long system call\n");
    }
    free(text);
    (void)unlink(path);
}

static void
print_thread(const struct gr_instance *instance, int64_t pid, long tid, bool ask)
{
    char comm[LINE];
    char wchan[LINE];
    char call[LINE];
    char shown[SHOW_TEXT];
    char state = state_of(pid, tid);

    (void)printf("  thread %ld (%s): %s", tid, show_text(proc_text(pid, tid, "comm", comm), shown), state_name(state));
    if (proc_text(pid, tid, "wchan", wchan)[0] != '\0' && strcmp(wchan, "0") != 0) {
        (void)printf(", kernel function %s", wchan);
    }
    if (isdigit((unsigned char)proc_text(pid, tid, "syscall", call)[0])) {
        (void)printf(", system call %.*s", (int)strcspn(call, " "), call);
    }
    (void)putchar('\n');
    if (ask && (state == 'R' || state == 'S')) {
        ask_thread(instance, pid, tid);
    }
}

/* ---- processes ---- */

static granary_err
print_process(const struct gr_instance *instance, const struct process *process)
{
    char path[64];
    DIR *tasks;
    const struct dirent *entry;
    bool ask = catches(process->pid);

    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/task", process->pid);
    tasks = opendir(path);
    if (tasks == NULL) {
        return gr_fail(GRANARY_ENOENT, "process %" PRId64 ": it has ended", process->pid);
    }
    (void)printf("%s (pid %" PRId64 ")%s\n", process->name, process->pid,
                 ask ? "" : ": it does not tell its own stacks");
    while ((entry = readdir(tasks)) != NULL) {
        long tid = strtol(entry->d_name, NULL, 10);

        if (tid > 0) {
            print_thread(instance, process->pid, tid, ask);
        }
    }
    (void)closedir(tasks);
    return GRANARY_OK;
}

/* A pid, a daemon's name, or an executor's number, which the scheduler knows. */
static bool
is_meant(const struct process *process, const char *text, int64_t executor_pid)
{
    char *end;
    long long number = strtoll(text, &end, 10);

    return strcmp(process->name, text) == 0 || strcmp(text, "all") == 0 ||
           (*end == '\0' && (process->pid == number || process->pid == executor_pid));
}

/* The pid of an executor's number; 0 when the scheduler cannot tell. */
static int64_t
executor_pid(struct cli *cli, const char *text)
{
    granary_connect_options options = {.instance = cli->instance, .session = cli->session, .tag = "granary"};
    const granary_query query = {.subject = "executors", .keys = &text, .key_count = 1, .ignore_missing = true};
    granary_client *client = NULL;
    granary_table *table = NULL;
    int64_t pid = 0;

    if (granary_connect(&options, &client) == GRANARY_OK && granary_info(client, &query, &table) == GRANARY_OK) {
        pid = granary_table_int(table, 0, "pid");
    }
    granary_table_free(table);
    granary_disconnect(client);
    return pid;
}

static int
run_stacks(struct cli *cli)
{
    const char *wanted = cli->arguments[0];
    struct gr_instance instance;
    struct process *processes = NULL;
    size_t count = 0;
    size_t told = 0;
    int64_t pid = 0;
    granary_err err = gr_instance_resolve(cli->instance, &instance);

    if (err == GRANARY_OK) {
        err = processes_list(&instance, &processes, &count);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        told += is_meant(&processes[i], wanted, 0);
    }
    if (err == GRANARY_OK && told == 0 && isdigit((unsigned char)wanted[0])) {
        pid = executor_pid(cli, wanted);
    }
    told = 0;
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if (is_meant(&processes[i], wanted, pid)) {
            err = print_process(&instance, &processes[i]);
            told++;
        }
    }
    if (err == GRANARY_OK && told == 0) {
        err = gr_fail(GRANARY_ENOENT, "'%s': no process of this instance: `granary version --all` lists them", wanted);
    }
    free(processes);
    return err;
}

const struct command command_stacks = {.plain = true, .run = run_stacks};
