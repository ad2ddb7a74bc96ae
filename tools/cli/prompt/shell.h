/*
 * Statements one after the other, from an argument, a file, a pipe or a prompt; and commands of a prompt, which begin with a dot.
 * Each statement runs in a process of its own, as `granary sql STATEMENT` does: Ctrl-C, a fault, and an instance that has gone are
 * the end of that process alone.
 */
#ifndef CLI_SHELL_H
#define CLI_SHELL_H

#include "base/text/buf.h"
#include "cli/work/run/run.h"
#include "sql/select/split.h"

struct shell {
    struct cli *cli;
    struct run *run; /* options, which dot commands change */
    bool is_alone;   /* there is one statement: it needs every parameter that has a value */
    bool is_prompt;  /* a failure does not end it */
    struct sql_split split;
    struct gr_buf pending; /* of the statement that has not ended */
    int line;              /* of the text, from 0: where the next byte stands */
    int column;
    int begin_line; /* where pending begins */
    int begin_column;
    bool timer;
    int output_fd;                           /* .output; -1: stdout */
    const struct gr_format *terminal_format; /* run->format when output_fd was opened */
    const struct gr_format *plain_format;    /* run->format before .plot; NULL: nothing is plotted */
    char *null_text;
    int depth; /* of .read in .read */
    bool ended;
};

void shell_begin(struct shell *shell, struct cli *cli);
void shell_end(struct shell *shell);

/* Whether the next line begins a statement, or is a dot command. */
bool shell_is_fresh(const struct shell *shell);
/* Forget a statement that has not ended. */
void shell_clear(struct shell *shell);

/* Whether a statement may have parameters, which are bound before it is run. */
bool shell_has_params(const struct run *run, const char *text);
/* Take more of the text: lines with their ends. What ends there is run. Returns the exit status: the first that is not 0, after
 * which nothing is run, unless it is a prompt. */
int shell_feed(struct shell *shell, const char *text, size_t size);
/* The text has ended: the last statement may lack its semicolon. */
int shell_finish(struct shell *shell);

/* A file of statements and dot commands. */
int shell_read(struct shell *shell, const char *path);

/* Run a function in a process of its own, with a connection. Returns the exit status. */
int shell_in_process(struct shell *shell, int (*work)(struct shell *shell, const void *argument), const void *argument);

/* A line that begins with a dot. Returns the exit status. (dots.c) */
int shell_dot(struct shell *shell, char *line);
/* The names of dot commands, one a call, from index 0; NULL: there are no more. */
const char *shell_dot_name(size_t index);

/* A prompt on the terminal, until it ends. Returns the exit status. (edit.c) */
int shell_prompt(struct shell *shell);

#endif
