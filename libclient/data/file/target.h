/* Where files in folders are to be written. */
#ifndef DATA_FILE_TARGET_H
#define DATA_FILE_TARGET_H

#include "granary/types.h"

/* Errors: EEXIST there is a folder, and something in it; the message says what can be done */
granary_err gr_folder_check_free(const char *path);

#endif
