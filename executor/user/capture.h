/*
 * What user code prints: while a capture is on, descriptors 1 and 2 of the process lead to a file of the subtask below
 * the instance's logs (base/instance.h). The file can be read while it grows, and stays when the process dies; one that
 * is empty at the end goes. It holds CAPTURE_MAX bytes at most.
 */
#ifndef EXECUTOR_USER_CAPTURE_H
#define EXECUTOR_USER_CAPTURE_H

#include <stdbool.h>

#include "base/instance.h"
#include "base/text/buf.h"

#define CAPTURE_MAX  (16u << 20)
#define CAPTURE_TAIL 2048u /* so much of its end is told with an error */

struct capture {
    char logs[GR_LOGS_MAX];
    char name[64]; /* <folder>/<subtask>.<attempt>.log, of the capture that is on or was last */
    int file;      /* -1: no capture is on, or there is no file for it */
    int saved[2];  /* the process's own descriptors 1 and 2; -1: closed, or no capture is on */
    bool on;
    bool cut; /* with the watch's lock */
};

void capture_init(struct capture *capture, const struct gr_instance *instance);

/*
 * From here on what the process prints belongs to the subtask (its place in the graph, and attempt). Without a file
 * (disk full, no permission) it is thrown away: no reason to fail.
 */
void capture_begin(struct capture *capture, const char *graph_key, uint32_t subtask, uint32_t attempt);

/*
 * The process's own output again.
 *
 * ret_tail    the last CAPTURE_TAIL bytes, if there are any: added; may be NULL
 * Returns     false when user code has closed what the process needs: it should not go on for long
 */
bool capture_end(struct capture *capture, struct gr_buf *ret_tail);

#endif
