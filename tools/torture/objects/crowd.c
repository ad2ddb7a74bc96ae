/* Clients are processes of a pack; when they have ended, their history is checked against the objects that are left. */
#include "torture/objects/crowd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "torture/common/client.h"
#include "torture/objects/check.h"

#define HISTORY_MOST ((uint64_t)4 << 20) /* operations of one client */
#define SETTLE_NS    10000000000ll       /* for the store to take note of the clients' ends */
#define STOP_MS      180000              /* for a client to end, when it was told to */

/* ---- setting up ---- */

static void
run_client(void *context, unsigned number, uint64_t seed)
{
    tormented_run(context, number, seed);
}

/* Objects of so many bytes together, most of which exist at any time. */
static void
choose_objects(struct torment *torment, uint64_t memory, uint64_t data)
{
    uint64_t bytes = 0;

    torment->largest = CROWD_LARGEST(memory);
    while (bytes < data) {
        bytes += tormented_size(torment, torment->objects++);
    }
}

granary_err
crowd_create(struct crowd *crowd, const char *instance, const char *directory, unsigned clients, uint64_t memory,
             uint64_t data, uint64_t seed)
{
    struct torment *torment = mmap(NULL, sizeof *torment, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (torment == MAP_FAILED) {
        return gr_fail_errno("torture: map");
    }
    *crowd = (struct crowd){
        .torment = torment,
        .pack = {.what = "client", .count = clients, .run = run_client, .context = torment, .seed = seed}};
    torment->patience_ms = CLIENT_PATIENCE_MS;
    torment->room_ms = TORMENTED_ROOM_MS;
    choose_objects(torment, memory, data);
    (void)snprintf(torment->instance, sizeof torment->instance, "%s", instance);
    for (unsigned i = 0; i <= clients; i++) {
        torment->histories[i] = history_create(directory, HISTORY_MOST);
        if (torment->histories[i] == NULL) {
            return gr_fail_errno("torture: history");
        }
    }
    return GRANARY_OK;
}

void
crowd_destroy(struct crowd *crowd)
{
    if (crowd->torment != NULL) {
        for (unsigned i = 0; i <= crowd->pack.count; i++) {
            history_destroy(crowd->torment->histories[i]);
        }
        (void)munmap(crowd->torment, sizeof *crowd->torment);
    }
}

void
crowd_start(struct crowd *crowd)
{
    atomic_store(&crowd->torment->stop, false);
    pack_start(&crowd->pack);
}

void
crowd_stop(struct crowd *crowd)
{
    atomic_store(&crowd->torment->stop, true);
    pack_await(&crowd->pack, STOP_MS);
}

/* ---- the verdict ---- */

static void
nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Everybody is gone: nothing is in use by the dead. */
static void
await_settled(struct crowd *crowd, granary_client *client)
{
    int64_t deadline = gr_now_ns() + SETTLE_NS;
    granary_store_stat *stat = &crowd->stat;

    while (!client_account(client, stat) || stat->retiring_bytes > 0 ||
           (crowd->alone && (stat->writing_bytes > 0 || stat->clients != 1))) {
        if (gr_now_ns() > deadline) {
            (void)fprintf(stderr,
                          "torture: still writing %" PRIu64 " retiring %" PRIu64 " clients %" PRIu64
                          " after all clients have gone\n",
                          stat->writing_bytes, stat->retiring_bytes, stat->clients);
            atomic_fetch_add(&crowd->torment->account_errors, 1);
            break;
        }
        nap();
    }
}

/* All objects deleted: no byte is left anywhere. */
static void
await_empty(struct crowd *crowd, granary_client *client)
{
    granary_object_info *infos = NULL;
    size_t count = 0;

    if (granary_object_list(client, &infos, &count) != GRANARY_OK) {
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        (void)granary_object_delete(client, infos[i].id, GRANARY_NOWAIT);
    }
    (void)granary_flush(client);
    free(infos);
    if (!client_await_empty(client)) {
        atomic_fetch_add(&crowd->torment->account_errors, 1);
    }
}

void
crowd_inspect(struct crowd *crowd)
{
    struct torment *torment = crowd->torment;
    granary_client *client = tormented_connect(torment);

    if (client == NULL) {
        return;
    }
    await_settled(crowd, client);
    for (uint32_t object = 0; object < torment->objects; object++) {
        tormented_get(torment, client, crowd->pack.count, object);
    }
    crowd->lost += check_histories(torment->histories, crowd->pack.count + 1, torment->objects, stderr);
    await_empty(crowd, client);
    (void)granary_store_stat_get(client, &crowd->stat);
    granary_disconnect(client);
    for (unsigned i = 0; i <= crowd->pack.count; i++) {
        history_forget(torment->histories[i]);
    }
}

bool
crowd_is_clean(const struct crowd *crowd)
{
    const struct torment *torment = crowd->torment;

    return crowd->lost + crowd->pack.crashes + atomic_load(&torment->damaged) + atomic_load(&torment->refused) +
               atomic_load(&torment->late) + atomic_load(&torment->account_errors) ==
           0;
}

bool
crowd_report(const struct crowd *crowd)
{
    const struct torment *torment = crowd->torment;

    (void)printf("operations         %" PRIu64 " by %u clients on %u objects\n", atomic_load(&torment->operations),
                 crowd->pack.count, torment->objects);
    (void)printf("spills             %" PRIu64 ", restores %" PRIu64 ", calls without room %" PRIu64 "\n",
                 crowd->stat.spills, crowd->stat.restores, atomic_load(&torment->full));
    (void)printf("checksums verified %" PRIu64 "\n", atomic_load(&torment->verified));
    (void)printf("damaged            %" PRIu64 "\n", atomic_load(&torment->damaged));
    (void)printf("objects lost       %" PRIu64 "\n", crowd->lost);
    (void)printf("calls timed out    %" PRIu64 "\n", atomic_load(&torment->late));
    (void)printf("calls failed       %" PRIu64 "\n", atomic_load(&torment->refused));
    (void)printf("clients crashed    %" PRIu64 "\n", crowd->pack.crashes);
    (void)printf("account errors     %" PRIu64 "\n", atomic_load(&torment->account_errors));
    return crowd_is_clean(crowd) && atomic_load(&torment->verified) > 0;
}
