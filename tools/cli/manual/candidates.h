/* What there is to choose from: words of tables, and what an instance has, as its own commands list it. */
#ifndef CLI_MANUAL_CANDIDATES_H
#define CLI_MANUAL_CANDIDATES_H

#include "cli/command/command.h"

struct asked {
    const struct command_row *rows;
    const char *command;  /* "table"; "": of all commands */
    const char *instance; /* as it was given on the line; NULL: it was not */
    const char *session;
    const char *begun;  /* what the words begin with */
    const char *before; /* printed before each: "--session=" */
};

/* Print a word, when it begins as asked; with what it means, behind a tab, unless that is NULL. */
void candidate(const struct asked *asked, const char *word, size_t length, const char *meaning);

/*
 * Print what may stand for a word of a usage line: "ID", "KEY", "FILE", or a word that stands for itself.
 *
 * option  of which it is the value; NULL: it is an argument
 */
void candidates_for(const struct asked *asked, const char *word, size_t length, const char *option);

#endif
