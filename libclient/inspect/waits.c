/* What clients wait for, as their lease pages say. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/sized.h"
#include "inspect/inspector.h"

granary_err
granary_inspect_waits_sized(granary_inspector *inspector, granary_wait_info **ret_infos, size_t *ret_count,
                            size_t info_size)
{
    struct lease_page_copy *page = malloc(sizeof *page);
    granary_wait_info *infos = NULL;
    struct client_copy *clients = NULL;
    size_t clients_count = 0;
    size_t count = 0;
    granary_err err = root_clients(inspector, &clients, &clients_count);

    if (err == GRANARY_OK) {
        infos = calloc(clients_count + 1, sizeof *infos);
    }
    if (err == GRANARY_OK && (page == NULL || infos == NULL)) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to list who waits");
    }
    for (size_t i = 0; i < clients_count && err == GRANARY_OK; i++) {
        const struct client_copy *client = &clients[i];
        bool stopped = false;

        if (lease_page_read(inspector, client->session, client->number, page) != GRANARY_OK ||
            page->wait_kind == GR_WAIT_none || page->wait_kind >= GR_WAIT_COUNT ||
            (!inspector->copy && !process_alive(client->pid, client->start_time, &stopped))) {
            continue;
        }
        infos[count] = (granary_wait_info){.kind = (granary_wait_kind)page->wait_kind,
                                           .client = client->number,
                                           .session = client->session,
                                           .pid = client->pid,
                                           .id = page->wait_id,
                                           .bytes = page->wait_bytes,
                                           .since_ms = page->wait_since_ms};
        memcpy(infos[count++].tag, client->tag, sizeof infos->tag);
    }
    free(page);
    free(clients);
    return gr_sized_give_list(err, infos, sizeof *infos, count, ret_infos, info_size, ret_count);
}

const char *
granary_wait_name(granary_wait_kind kind)
{
    static const char *const names[] = {
#define WAIT(name, summary) [GR_WAIT_##name] = (summary),
#include "contract/waits.def"
#undef WAIT
    };

    return (unsigned)kind < GR_WAIT_COUNT ? names[kind] : "?";
}
