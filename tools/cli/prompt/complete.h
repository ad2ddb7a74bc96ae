/* What a word at the prompt can become: keywords, functions, tables, columns, files, dot commands. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "cli/prompt/shell.h"

struct complete {
    struct shell *shell;
    struct gr_buf tables; /* as names_of_tables() gives them */
    bool asked;           /* for these, since the last statement */
};

struct complete_result {
    struct gr_buf insert; /* what follows what is typed */
    struct gr_buf shown;  /* the candidates, with a NUL each, when there are several */
    size_t count;
};

/* line: up to the cursor. The result is to be freed. */
void complete_line(struct complete *complete, const char *line, size_t size, struct complete_result *ret_result);
/* A statement has run: tables may be others. */
void complete_forget(struct complete *complete);

#endif
