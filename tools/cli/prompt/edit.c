/*
 * The prompt. libedit edits a line; without a terminal that can do that (TERM is dumb, or not set) lines are read as they come. Signals
 * only set flags: reads end with EINTR, and what was meant is done between two lines.
 */
#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/print/output.h"
#include "cli/print/show.h"
#include "cli/prompt/complete.h"
#include "cli/prompt/history.h"
#include "cli/prompt/paste.h"
#include "cli/prompt/shell.h"

/* Keys that libedit is told of: what it means when Ctrl-C came, and when a text was pasted. */
#define KEY_CANCEL  L'\003'
#define KEY_PASTED  L'\036'
#define LISTED_MAX  200
#define ECHOED_MAX  ((size_t)8192)
#define PROMPT_SIZE 16

static volatile sig_atomic_t interrupted, hung, resized;

struct prompt {
    struct shell *shell;
    struct complete complete;
    struct paste paste;
    struct kept_lines file;
    EditLine *editor; /* NULL: there is none */
    History *history;
    HistEvent event;
    bool cancelled;
    bool pasted;
    FILE *said; /* prompts go there: rows alone go to a file that stdout is */
    char text[PROMPT_SIZE];
};

static void
on_signal(int signal)
{
    interrupted = interrupted || signal == SIGINT;
    hung = hung || signal == SIGHUP || signal == SIGTERM;
    resized = resized || signal == SIGWINCH;
}

static void
set_signals(void)
{
    static const int signals[] = {SIGINT, SIGHUP, SIGTERM, SIGWINCH};
    const struct sigaction action = {.sa_handler = on_signal}; /* reads do not go on */

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        (void)sigaction(signals[i], &action, NULL);
    }
    (void)signal(SIGPIPE, SIG_IGN);
}

/* ---- keys ---- */

static struct prompt *
prompt_of(EditLine *editor)
{
    void *prompt = NULL;

    (void)el_get(editor, EL_CLIENTDATA, &prompt);
    return prompt;
}

static int
get_character(EditLine *editor, wchar_t *ret_character)
{
    struct prompt *prompt = prompt_of(editor);

    for (;;) {
        switch (paste_next(&prompt->paste, ret_character)) {
        case PASTE_CHARACTER:
            return 1;
        case PASTE_TEXT:
            *ret_character = KEY_PASTED;
            return 1;
        case PASTE_END:
            return 0;
        case PASTE_INTERRUPTED:
            break;
        }
        if (hung) {
            return 0;
        }
        if (interrupted) {
            interrupted = 0;
            *ret_character = KEY_CANCEL;
            return 1;
        }
        if (resized) {
            resized = 0;
            el_resize(editor);
        }
    }
}

static unsigned char
on_cancel(EditLine *editor, int character)
{
    (void)character;
    prompt_of(editor)->cancelled = true;
    return CC_NEWLINE;
}

static unsigned char
on_pasted(EditLine *editor, int character)
{
    (void)character;
    prompt_of(editor)->pasted = true;
    return CC_NEWLINE;
}

/* The candidates, as many as fit beside each other. */
static void
list(const struct complete_result *result)
{
    const int width = output_terminal_width() > 0 ? output_terminal_width() : 80;
    char shown[SHOW_TEXT];
    int column = 0;
    size_t number = 0;

    (void)printf("\n");
    for (size_t at = 0; at < result->shown.size && number < LISTED_MAX; at += strlen(result->shown.bytes + at) + 1) {
        int size = (int)strlen(show_text(result->shown.bytes + at, shown)) + 2;

        if (column > 0 && column + size > width) {
            (void)printf("\n");
            column = 0;
        }
        column += printf("%s  ", shown);
        number++;
    }
    (void)printf("\n");
    if (number < result->count) {
        (void)printf("... and %zu more\n", result->count - number);
    }
    (void)fflush(stdout);
}

static unsigned char
on_complete(EditLine *editor, int character)
{
    struct prompt *prompt = prompt_of(editor);
    const LineInfo *line = el_line(editor);
    struct complete_result result;
    unsigned char what = CC_REFRESH_BEEP;

    (void)character;
    complete_line(&prompt->complete, line->buffer, (size_t)(line->cursor - line->buffer), &result);
    if (gr_buf_ok(&result.insert) && result.insert.size > 0) {
        what = el_insertstr(editor, result.insert.bytes) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
    } else if (result.count > 1 && gr_buf_ok(&result.shown)) {
        list(&result);
        what = CC_REDISPLAY;
    }
    gr_buf_free(&result.insert);
    gr_buf_free(&result.shown);
    return what;
}

/* ---- the editor ---- */

static char *
get_prompt(EditLine *editor)
{
    return prompt_of(editor)->text;
}

static void
add_history(void *to, const char *line)
{
    struct prompt *prompt = to;

    (void)history(prompt->history, &prompt->event, H_ENTER, line);
}

/* Characters are UTF-8, whatever the locale is. */
static void
set_characters(void)
{
    if (setlocale(LC_CTYPE, "") == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    }
}

static bool
can_edit(void)
{
    const char *terminal = getenv("TERM");

    return terminal != NULL && terminal[0] != '\0' && strcmp(terminal, "dumb") != 0 && isatty(STDOUT_FILENO) != 0;
}

static void
begin_editor(struct prompt *prompt)
{
    set_characters();
    prompt->history = history_init();
    prompt->editor = prompt->history == NULL ? NULL : el_init("granary", stdin, stdout, stderr);
    if (prompt->editor == NULL) {
        return;
    }
    (void)history(prompt->history, &prompt->event, H_SETSIZE, HISTORY_LINES);
    (void)history(prompt->history, &prompt->event, H_SETUNIQUE, 1);
    (void)el_set(prompt->editor, EL_CLIENTDATA, prompt);
    (void)el_set(prompt->editor, EL_EDITOR, "emacs");
    (void)el_set(prompt->editor, EL_PROMPT, get_prompt);
    (void)el_set(prompt->editor, EL_HIST, history, prompt->history);
    (void)el_set(prompt->editor, EL_GETCFN, get_character);
    /* el_set() would copy the names, and never free them. */
    (void)el_wset(prompt->editor, EL_ADDFN, L"granary-cancel", L"clear the statement", on_cancel);
    (void)el_wset(prompt->editor, EL_ADDFN, L"granary-pasted", L"take a pasted text", on_pasted);
    (void)el_wset(prompt->editor, EL_ADDFN, L"granary-complete", L"complete the word", on_complete);
    (void)el_set(prompt->editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    (void)el_source(prompt->editor, NULL); /* ~/.editrc */
    (void)el_set(prompt->editor, EL_BIND, "^I", "granary-complete", NULL);
    (void)el_set(prompt->editor, EL_BIND, "^C", "granary-cancel", NULL);
    (void)el_set(prompt->editor, EL_BIND, "\036", "granary-pasted", NULL);
    kept_begin(&prompt->file, add_history, prompt);
}

/* What the statement waits for stands in front of its next line. */
static void
set_prompt(struct prompt *prompt)
{
    const struct sql_split *split = &prompt->shell->split;
    char sign = split->brackets > 0 ? '(' : '.';

    if (shell_is_fresh(prompt->shell)) {
        (void)snprintf(prompt->text, sizeof prompt->text, "granary> ");
        return;
    }
    sign = split->mode == SQL_SPLIT_STRING    ? '\''
           : split->mode == SQL_SPLIT_NAME    ? '"'
           : split->mode == SQL_SPLIT_DOLLAR  ? '$'
           : split->mode == SQL_SPLIT_COMMENT ? '*'
                                              : sign;
    (void)snprintf(prompt->text, sizeof prompt->text, "   ...%c> ", sign);
}

static void
take(struct prompt *prompt, const char *text, size_t size)
{
    (void)shell_feed(prompt->shell, text, size);
    complete_forget(&prompt->complete);
}

static void
keep_line(struct prompt *prompt, const char *line, size_t size)
{
    const size_t length = size > 0 && line[size - 1] == '\n' ? size - 1 : size;
    char *copy = length > 0 && length <= HISTORY_LINE ? strndup(line, length) : NULL;

    if (copy != NULL && strspn(copy, " \t") < length) {
        add_history(prompt, copy);
        kept_add(&prompt->file, copy, length);
    }
    free(copy);
}

/* A pasted text is shown, unless it is long; it follows what was typed before it. */
static void
take_pasted(struct prompt *prompt, const char *line, size_t size)
{
    struct gr_buf text = prompt->paste.text;
    struct gr_buf whole = {0};

    prompt->paste.text = (struct gr_buf){.bytes = NULL};
    gr_buf_add(&whole, line, size);
    gr_buf_add(&whole, text.bytes, text.size);
    if (text.size <= ECHOED_MAX) {
        (void)show_lines(text.bytes, text.size, false);
    } else {
        (void)printf("[%zu bytes pasted]", text.size);
    }
    (void)printf("%s", text.size <= ECHOED_MAX && text.bytes[text.size - 1] == '\n' ? "" : "\n");
    (void)fflush(stdout);
    if (gr_buf_ok(&whole)) {
        take(prompt, whole.bytes, whole.size);
    } else {
        (void)cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "sql");
    }
    gr_buf_free(&whole);
    gr_buf_free(&text);
}

/* Returns false: the terminal has ended. */
static bool
edit_line(struct prompt *prompt)
{
    char *copy = NULL;
    const char *line;
    int size = 0;
    bool goes_on = true;

    prompt->cancelled = prompt->pasted = false;
    (void)gr_write_all(STDOUT_FILENO, PASTE_BEGIN, strlen(PASTE_BEGIN));
    /* Else the editor shows its prompt a moment before it takes keys: a Ctrl-D in between would become a NUL. */
    (void)el_set(prompt->editor, EL_PREP_TERM, 1);
    line = el_gets(prompt->editor, &size);
    (void)gr_write_all(STDOUT_FILENO, PASTE_STOP, strlen(PASTE_STOP));
    if (line != NULL && size > 0 && (copy = strndup(line, (size_t)size)) == NULL) {
        (void)cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "sql");
    }
    if (prompt->cancelled) {
        (void)printf("^C\n");
        (void)fflush(stdout);
        shell_clear(prompt->shell);
    } else if (prompt->pasted) {
        take_pasted(prompt, copy == NULL ? "" : copy, copy == NULL ? 0 : strlen(copy));
    } else if (copy != NULL && !hung) {
        keep_line(prompt, copy, strlen(copy));
        take(prompt, copy, strlen(copy));
    } else {
        goes_on = size < 0 && !hung && !prompt->paste.ended;
    }
    free(copy);
    return goes_on && !hung;
}

/* ---- without an editor ---- */

/* Read up to the end of a line. */
static bool
read_line(struct prompt *prompt)
{
    char block[4096];
    ssize_t size;

    (void)fprintf(prompt->said, "%s", prompt->text);
    (void)fflush(prompt->said);
    size = read(STDIN_FILENO, block, sizeof block); /* a terminal gives a line */
    if (size < 0 && errno == EINTR) {
        if (interrupted) {
            interrupted = 0;
            (void)fprintf(prompt->said, "\n");
            shell_clear(prompt->shell);
        }
        return !hung;
    }
    if (size <= 0) {
        return false;
    }
    take(prompt, block, (size_t)size);
    return !hung;
}

int
shell_prompt(struct shell *shell)
{
    struct prompt prompt = {.shell = shell,
                            .complete = {.shell = shell},
                            .paste = {.fd = STDIN_FILENO},
                            .file = {.fd = -1},
                            .said = isatty(STDOUT_FILENO) != 0 ? stdout : stderr};

    set_signals();
    if (can_edit()) {
        begin_editor(&prompt);
    }
    (void)fprintf(prompt.said, "granary: statements end with ';'. .help tells more, Ctrl-D ends.\n");
    do {
        set_prompt(&prompt);
    } while ((prompt.editor != NULL ? edit_line(&prompt) : read_line(&prompt)) && !shell->ended);
    if (!shell->ended && !hung) {
        (void)fprintf(prompt.said, "\n");
    }
    if (!shell_is_fresh(shell)) {
        cli_note("the last statement did not end with ';': it is not run");
    }
    (void)fflush(stdout);
    kept_end(&prompt.file);
    if (prompt.editor != NULL) {
        el_end(prompt.editor);
    }
    if (prompt.history != NULL) {
        history_end(prompt.history);
    }
    gr_buf_free(&prompt.complete.tables);
    gr_buf_free(&prompt.paste.queue);
    gr_buf_free(&prompt.paste.text);
    return hung ? 128 + SIGHUP : 0;
}
