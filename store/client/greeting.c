/* Strangers in the order they came; the first is the first to go. */
#include "store/client/greeting.h"

#include "store/client/client.h"

#define GREETING_NS 5000000000

void
greeting_await(struct client *client, int64_t now_ns)
{
    client->greeting_ns = now_ns + GREETING_NS;
    list_append(&client->store->clients.strangers, &client->in_strangers);
}

static struct client *
first(const struct store *store)
{
    return list_empty(&store->clients.strangers)
               ? NULL
               : list_owner(store->clients.strangers.next, struct client, in_strangers);
}

bool
greeting_cut_short(struct store *store)
{
    struct client *client = first(store);

    if (client != NULL) {
        client_drop(client, "it has not said HELLO, and others want its place");
    }
    return client != NULL;
}

bool
greeting_turn(struct store *store, int64_t now_ns)
{
    struct client *client;

    while ((client = first(store)) != NULL && now_ns >= client->greeting_ns) {
        client_drop(client, "it has not said HELLO within 5 s");
    }
    return false;
}

int64_t
greeting_next_ns(const struct store *store)
{
    const struct client *client = first(store);

    return client == NULL ? INT64_MAX : client->greeting_ns;
}
