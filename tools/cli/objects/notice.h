/* A command that waits for room says so, once, on stderr. */
#ifndef CLI_NOTICE_H
#define CLI_NOTICE_H

#include <pthread.h>
#include <stdbool.h>

#include "cli/command/cli.h"

struct notice {
    granary_client *client;
    const char *command;
    int timeout_ms; /* of each wait; negative: for ever */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool begun, ended;
};

/* From here on until notice_end(); nothing is said when there is no thread to be had. */
void notice_begin(struct notice *notice, granary_client *client, const char *command, int timeout_ms);
void notice_end(struct notice *notice);

#endif
