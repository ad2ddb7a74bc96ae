/*
 * A report of a graph: the page in one file, with the answers to what it asks inside. It needs no instance, no network and
 * no other file. Long lists are cut, and the page says so.
 */
#ifndef WEB_REPORT_H
#define WEB_REPORT_H

#include "base/instance.h"

/* Errors: ENOENT no such graph · EUNREACHABLE · EIO, EFULL the file cannot be written: an older one stays */
granary_err report_write(const struct gr_instance *instance, const char *graph, const char *path);

#endif
