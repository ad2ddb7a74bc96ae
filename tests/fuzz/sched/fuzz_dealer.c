/*
 * Any bytes as what the other end of a dealer sends, in pieces as the first byte says, while the dealer sends, too. It
 * takes messages apart or leaves the connection; whatever it hands out lies in memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dealer/dealer.h"
#include "fuzz/fuzz.h"

static char folder[] = "/tmp/granary-fuzz-XXXXXX";
static char path[64];
static int listener = -1;

static void
leave(void)
{
    (void)close(listener);
    (void)unlink(path);
    (void)rmdir(folder);
}

static bool
listen_once(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (listener >= 0) {
        return true;
    }
    if (mkdtemp(folder) == NULL) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/socket", folder);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return listener >= 0 && atexit(leave) == 0 &&
           bind(listener, (const struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 8) == 0;
}

/* Every byte of every message that is there is touched. */
static void
take(struct gr_dealer *dealer)
{
    const void *bytes;
    size_t size;

    while (gr_dealer_receive(dealer, &bytes, &size) == GRANARY_OK && bytes != NULL) {
        char *copy = malloc(size + 1);

        if (copy != NULL) {
            memcpy(copy, bytes, size);
        }
        free(copy);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct gr_dealer *dealer = NULL;
    size_t piece = size > 0 ? (size_t)bytes[0] + 1 : 1;
    int peer;

    if (!listen_once()) {
        abort();
    }
    if (gr_dealer_open(path, &dealer) != GRANARY_OK) {
        return 0;
    }
    peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    (void)gr_dealer_send(dealer, "hello", 5);
    for (size_t at = 1; at < size; at += piece) {
        size_t many = size - at < piece ? size - at : piece;

        if (send(peer, bytes + at, many, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)many) {
            break; /* it has left */
        }
        take(dealer);
    }
    (void)close(peer);
    take(dealer);
    gr_dealer_close(dealer);
    return 0;
}
