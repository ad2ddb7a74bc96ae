/* Threads of a library's own, in a program whose signals are for the program's threads. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* As pthread_create(), without attributes: all signals are blocked in it. Returns 0, or the error's number. */
static inline int
gr_thread_start(pthread_t *thread, void *(*run)(void *own), void *own)
{
    sigset_t all, before;
    int error;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, NULL, run, own);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

#endif
