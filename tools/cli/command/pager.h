/* What is larger than the terminal is read through a pager. */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Write to stdout; through $PAGER, else less, when stdout is a terminal that this does not fit. Without a pager that starts, all of it
 * is written. fits_width: lines were made for the terminal, so only their number counts. While the pager runs, Ctrl-C is the pager's. Returns the exit status, as cli_write_file().
 */
int pager_write(const char *bytes, size_t size, bool fits_width);

#endif
