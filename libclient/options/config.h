/*
 * Configuration files: lines of NAME = VALUE, whose names are those of a table of options.
 *
 *      # a comment, alone or behind a value
 *      memory = 4G        # half of the machine
 *      spill-dir = "/data/with blanks # and such"
 *
 * A value in quotes is taken as it is, up to the quote that ends the line.
 */
#ifndef OPTIONS_CONFIG_H
#define OPTIONS_CONFIG_H

#include <stddef.h>

#include "granary/types.h"

/* What a line says. name and value lie in the text and live as long. Errors: EINVAL, with a message that quotes it. */
typedef granary_err (*gr_config_take)(void *context, unsigned line, const char *name, char *value);

/*
 * Read a text, which is cut up, and has a NUL behind its size. Each line goes to take().
 *
 * path    as messages begin: "PATH:LINE: ..."
 * Errors  EINVAL a line that is none of these, bytes that are no text · what take() returns: the first one ends it
 */
granary_err gr_config_parse(const char *path, char *text, size_t size, gr_config_take take, void *context);

/*
 * The same of a file, whose text is *ret_text, to be freed when the values are not needed any more: also after an error.
 *
 * Errors  ENOENT there is none · EINVAL it is no regular file, or larger than 1 MiB · errno's · as above
 */
granary_err gr_config_read(const char *path, gr_config_take take, void *context, char **ret_text);

#endif
