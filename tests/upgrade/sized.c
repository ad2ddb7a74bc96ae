/*
 * A client that hands over every struct that may grow, each with a guard behind it. sized.py compiles it three times:
 * with the headers as they are, with smaller structs, and (GROWN) with larger ones. It prints what it got of the members
 * that all of these have, which must be the same each time.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <granary/granary.h>
#include <granary/inspect.h>
#include <granary/worker.h>

#define MOST  4
#define GUARD 0xa5

/* Room for MOST structs, and the guard. */
#define GUARDED(type, name)                                                                                            \
    union {                                                                                                            \
        type array[MOST];                                                                                              \
        unsigned char bytes[sizeof(type) * MOST + 256];                                                                \
    } name;                                                                                                            \
    memset(name.bytes, GUARD, sizeof name.bytes)

#define CHECK_GUARD(name, used) guard_check(#name, name.bytes, (used) * sizeof name.array[0], sizeof name.bytes)

static void
guard_check(const char *name, const unsigned char *bytes, size_t used, size_t size)
{
    for (size_t i = used; i < size; i++) {
        if (bytes[i] != GUARD) {
            (void)printf("%s: byte %zu behind it was written\n", name, i - used);
            exit(1);
        }
    }
}

static void
ok(const char *what, granary_err err)
{
    if (err != GRANARY_OK) {
        (void)printf("%s: %s\n", what, granary_error_message());
        exit(1);
    }
}

#ifdef GROWN
#define UNKNOWN(options, call)                                                                                         \
    do {                                                                                                               \
        options.grown[0] = 1;                                                                                          \
        if (call != GRANARY_EUNSUPPORTED) {                                                                            \
            (void)printf("an option that is not known was taken: " #call "\n");                                        \
            exit(1);                                                                                                   \
        }                                                                                                              \
        options.grown[0] = 0;                                                                                          \
    } while (0)
#define IS_ZERO(name)                                                                                                  \
    if (name.array[0].grown[0] != 0 || name.array[0].grown[2] != 0) {                                                  \
        (void)printf(#name ": what the library does not know is not 0\n");                                             \
        exit(1);                                                                                                       \
    }
#else
#define UNKNOWN(options, call)
#define IS_ZERO(name)
#endif

static const granary_id first = {.bytes = {1}}, second = {.bytes = {2}}, third = {.bytes = {3}};

static void
objects(granary_client *client)
{
    granary_object_options options = {.importance = 7};
    granary_object_filter filter = {.prefix = "01"};
    granary_object_info *list;
    granary_writer *writer;
    uint64_t cursor = 0;
    size_t count;

    GUARDED(granary_object_info, infos);
    GUARDED(granary_store_stat, stat);
    ok("put", granary_object_put_with(client, first, "one", 3, NULL, 0, &options, 0));
    ok("writer", granary_writer_open(client, second, 0, &options, &writer));
    ok("append", granary_writer_append(writer, "second", 6));
    ok("seal", granary_writer_seal(writer, NULL, 0));
    UNKNOWN(options, granary_object_put_with(client, second, "one", 3, NULL, 0, &options, 0));
    UNKNOWN(filter, granary_object_list_page(client, &filter, &cursor, MOST, infos.array, &count));
    ok("info", granary_object_info_get(client, first, infos.array));
    CHECK_GUARD(infos, 1);
    IS_ZERO(infos);
    (void)printf("info %d importance %d\n", (int)infos.array[0].data_size, infos.array[0].importance);
    ok("page", granary_object_list_page(client, &filter, &cursor, MOST, infos.array, &count));
    CHECK_GUARD(infos, count);
    (void)printf("page %zu: %d\n", count, (int)infos.array[0].data_size);
    ok("list", granary_object_list(client, &list, &count));
    (void)printf("list %zu: %d\n", count, (int)(list[0].data_size + list[1].data_size));
    free(list);
    ok("stat", granary_store_stat_get(client, stat.array));
    CHECK_GUARD(stat, 1);
    IS_ZERO(stat);
    (void)printf("stat: %d objects, %d seals\n", (int)stat.array[0].objects, (int)stat.array[0].seals);
}

static void
sessions_and_holds(granary_client *client)
{
    granary_session_options options = {.quota_bytes = 1 << 20};
    granary_subscription *subscription;
    granary_counter_info *counters;
    granary_session_info *sessions;
    granary_counter *counter;
    granary_hold *holds;
    uint64_t quota = 0;
    size_t count;

    GUARDED(granary_event, event);
    GUARDED(granary_name, names);
    UNKNOWN(options, granary_session_create(client, "other", &options));
    ok("session", granary_session_create(client, "other", &options));
    ok("sessions", granary_session_list(client, &sessions, &count));
    for (size_t i = 0; i < count; i++) {
        quota += sessions[i].quota_bytes;
    }
    (void)printf("sessions %zu, quota %d\n", count, (int)quota);
    free(sessions);
    ok("counter", granary_counter_open(client, "turns", &counter));
    (void)granary_counter_add(counter, 5);
    ok("counters", granary_counter_list(client, &counters, &count));
    (void)printf("counters %zu: %s %d\n", count, counters[0].name, (int)counters[0].value);
    free(counters);
    granary_counter_close(counter);
    ok("subscribe", granary_subscribe(client, 0, &subscription));
    ok("name", granary_name_set(client, "a", first, GRANARY_NAME_ANY, first, NULL));
    ok("name", granary_name_set(client, "b", second, GRANARY_NAME_ANY, first, NULL));
    ok("put", granary_object_put(client, third, NULL, 0, NULL, 0, 0));
    ok("event", granary_subscription_next(subscription, 30000, event.array));
    CHECK_GUARD(event, 1);
    (void)printf("event %d\n", (int)event.array[0].kind);
    granary_unsubscribe(subscription);
    ok("names", granary_name_list(client, NULL, names.array, MOST, &count));
    CHECK_GUARD(names, count);
    (void)printf("names %zu: %s %s\n", count, names.array[0].name, names.array[1].name);
    ok("holds", granary_holds(client, NULL, &holds, &count));
    (void)printf("holds %zu: %d %d\n", count, (int)holds[0].kind, (int)holds[1].kind);
    free(holds);
}

static void
graphs(granary_client *client)
{
    static const char text[] =
        "{\"nodes\": {\"numbers\": {\"op\": \"arange\", \"stop\": 4}}, \"targets\": [\"numbers\"]}";
    granary_graph_options options = {.key = "numbers"};
    granary_chunk_request requests[2] = {{.graph = "numbers", .target = "numbers"}, {.id = first}};
    granary_read_options read_options = {.checksum = true};
    granary_query query = {.subject = "graphs"};
    granary_executor_info *executors;
    granary_table *table;
    char key[GRANARY_KEY_MAX];
    size_t count;

    GUARDED(granary_graph_status, status);
    GUARDED(granary_receipt, receipt);
    GUARDED(granary_result, result);
    GUARDED(granary_chunk, chunks);
    UNKNOWN(options, granary_graph_submit_json(client, text, strlen(text), &options, key));
    ok("submit", granary_graph_submit_json(client, text, strlen(text), &options, key));
    ok("wait", granary_graph_wait(client, key, 60000, status.array));
    CHECK_GUARD(status, 1);
    IS_ZERO(status);
    (void)printf("graph %s: state %d\n", key, (int)status.array[0].state);
    ok("result", granary_graph_result(client, key, "numbers", result.array));
    CHECK_GUARD(result, 1);
    (void)printf("result: %zu chunk, %d dimension of %d\n", result.array[0].chunk_count, result.array[0].dims,
                 (int)result.array[0].shape[0]);
    granary_result_free(result.array);
    CHECK_GUARD(result, 1);
    UNKNOWN(read_options, granary_chunk_read_many(client, requests, 2, &read_options, chunks.array));
    ok("read", granary_chunk_read_many(client, requests, 2, &read_options, chunks.array));
    CHECK_GUARD(chunks, 2);
    (void)printf("chunks: tensor of %d, %d bytes\n", (int)chunks.array[0].tensor.shape[0],
                 (int)chunks.array[1].data_size);
    granary_chunk_release(client, chunks.array, 2);
    CHECK_GUARD(chunks, 2);
    ok("executors", granary_executor_list(client, &executors, &count));
    (void)printf("executors %zu: %u\n", count, executors[0].number);
    free(executors);
    UNKNOWN(query, granary_info(client, &query, &table));
    ok("table", granary_info(client, &query, &table));
    (void)printf("table: %zu row\n", granary_table_rows(table));
    granary_table_free(table);
    ok("cancel", granary_graph_cancel(client, key, 0, receipt.array));
    CHECK_GUARD(receipt, 1);
    (void)printf("receipt: %d\n", (int)receipt.array[0].dropped);
    ok("forget", granary_graph_delete(client, key));
}

#define LIST(type, name, number, call)                                                                                 \
    do {                                                                                                               \
        type *infos;                                                                                                   \
        size_t count;                                                                                                  \
                                                                                                                       \
        ok(name, call);                                                                                                \
        (void)printf(name " %s\n", count > 0 && infos[count - 1].number > 0 ? "there" : "none");                       \
        free(infos);                                                                                                   \
    } while (0)

static void
inspection(granary_client *client)
{
    granary_inspect_session_info *sessions;
    granary_inspector *inspector;
    granary_wait_info *waits;
    granary_object_filter filter = {.prefix = "01"};
    granary_hold *holds;
    granary_view view;
    uint64_t cursor = 0, next = 0;
    uint32_t session;
    size_t count;

    GUARDED(granary_instance_info, instance);
    GUARDED(granary_store_stat, stat);
    GUARDED(granary_object_info, infos);
    GUARDED(granary_flight_event, events);
    GUARDED(granary_check_summary, summary);
    ok("get", granary_object_get(client, first, 0, &view));
    ok("inspect", granary_inspect_open(NULL, &inspector));
    ok("find", granary_inspect_session_find(inspector, "default", &session));
    ok("instance", granary_inspect_instance(inspector, instance.array));
    CHECK_GUARD(instance, 1);
    (void)printf("instance: %s\n", granary_store_life_name(instance.array[0].life));
    ok("sessions", granary_inspect_sessions(inspector, &sessions, &count));
    (void)printf("sessions %zu: %s %s\n", count, sessions[0].name, sessions[1].name);
    free(sessions);
    ok("stat", granary_inspect_stat(inspector, session, stat.array));
    CHECK_GUARD(stat, 1);
    (void)printf("stat: %d seals\n", stat.array[0].seals > 0);
    UNKNOWN(filter, granary_inspect_objects(inspector, session, &filter, &cursor, MOST, infos.array, &count));
    ok("objects", granary_inspect_objects(inspector, session, &filter, &cursor, MOST, infos.array, &count));
    CHECK_GUARD(infos, count);
    ok("object", granary_inspect_object(inspector, session, first, infos.array));
    (void)printf("objects %zu: %d\n", count, (int)infos.array[0].data_size);
    LIST(granary_segment_info, "segments", session, granary_inspect_segments(inspector, &infos, &count));
    LIST(granary_spill_dir_info, "spill dirs", path[0], granary_inspect_spill_dirs(inspector, &infos, &count));
    LIST(granary_client_info, "clients", session, granary_inspect_clients(inspector, &infos, &count));
    LIST(granary_lease_info, "leases", session, granary_inspect_leases(inspector, NULL, &infos, &count));
    ok("waits", granary_inspect_waits(inspector, &waits, &count));
    free(waits);
    ok("holds", granary_inspect_holds(inspector, session, NULL, &holds, &count));
    (void)printf("holds %zu: %d %d\n", count, (int)holds[0].kind, (int)holds[1].kind);
    free(holds);
    ok("events", granary_inspect_events(inspector, &next, MOST, events.array, &count));
    CHECK_GUARD(events, count);
    (void)printf("events %zu: %d\n", count, events.array[count - 1].time_ns > 0);
    ok("check", granary_inspect_check(inspector, 0, NULL, NULL, summary.array));
    CHECK_GUARD(summary, 1);
    (void)printf("check: %d\n", summary.array[0].sessions > 0);
    granary_inspect_close(inspector);
    granary_object_release(client, &view);
}

/* The symbol takes the options of version 0.1, which end with `existing`, and says so of those. */
static void
looked_up(void)
{
#ifndef GROWN
    granary_err (*call)(const granary_connect_options *options, granary_client **ret_client);
    granary_client *client;
    char room[256] = {0};
    void *symbol = dlsym(RTLD_DEFAULT, "granary_connect");

    memcpy(&call, &symbol, sizeof call);
    ok("dlsym", call == NULL ? GRANARY_ENOENT : call((const granary_connect_options *)(void *)room, &client));
    granary_disconnect(client);
#endif
}

int
main(void)
{
    granary_connect_options options = {.session = "default", .timeout_ms = 30000};
    granary_worker_options worker_options = {.instance = NULL};
    granary_worker *worker;
    granary_client *client;

    UNKNOWN(options, granary_connect(&options, &client));
    ok("connect", granary_connect(&options, &client));
    objects(client);
    graphs(client);
    sessions_and_holds(client);
    inspection(client);
    UNKNOWN(worker_options, granary_worker_create(&worker_options, &worker));
    ok("worker", granary_worker_create(&worker_options, &worker));
    granary_worker_destroy(worker);
    looked_up();
    granary_disconnect(client);
    return 0;
}
