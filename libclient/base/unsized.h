/*
 * The plain names of functions that take structs which grow, as symbols: programs that look one up by name, and those
 * that were built when it had no twin, give it each struct as it was when it was first published.
 *
 * A room includes the public headers of the rooms below it, then this, then its own: their rows (granary/sized.h) become
 * definitions. A struct that is new comes to the table below with the size it has then, and that stays.
 */
#ifndef BASE_UNSIZED_H
#define BASE_UNSIZED_H

#include "granary/sized.h"

/* Bytes. */
enum {
    first_granary_channel_info = 120,
    first_granary_channel_options = 16,
    first_granary_check_summary = 96,
    first_granary_chunk = 256,
    first_granary_chunk_request = 304,
    first_granary_client_info = 96,
    first_granary_connect_options = 40,
    first_granary_counter_info = 112,
    first_granary_cut_options = 40,
    first_granary_event = 40,
    first_granary_executor_info = 40,
    first_granary_flight_event = 64,
    first_granary_graph_options = 40,
    first_granary_graph_status = 48,
    first_granary_hold = 128,
    first_granary_inspect_session_info = 168,
    first_granary_instance_info = 1232,
    first_granary_lease_info = 88,
    first_granary_live_step = 88,
    first_granary_message = 64,
    first_granary_mutable_info = 120,
    first_granary_mutable_options = 8,
    first_granary_mutable_tensor = 144,
    first_granary_name = 72,
    first_granary_object_filter = 48,
    first_granary_object_info = 120,
    first_granary_object_options = 40,
    first_granary_query = 72,
    first_granary_read_options = 24,
    first_granary_receipt = 40,
    first_granary_result = 176,
    first_granary_retain = 24,
    first_granary_segment_info = 80,
    first_granary_session_info = 128,
    first_granary_session_options = 24,
    first_granary_spill_dir_info = 552,
    first_granary_sql_done = 24,
    first_granary_store_stat = 312,
    first_granary_table_info = 152,
    first_granary_table_part = 56,
    first_granary_wait_info = 80,
    first_granary_worker_options = 16,
    first_granary_write_options = 16,
};

#undef GRANARY_SIZED_0
#undef GRANARY_SIZED_1
#undef GRANARY_SIZED_2
#undef GRANARY_SIZED_3

#define GRANARY_SIZED_0(name, parameters, arguments, a)                                                                \
    GRANARY_API void name##_sized(GRANARY__LIST parameters, size_t a##_size);                                          \
    void name parameters                                                                                               \
    {                                                                                                                  \
        name##_sized(GRANARY__LIST arguments, first_##a);                                                              \
    }                                                                                                                  \
    struct granary_client
#define GRANARY_SIZED_1(type, name, parameters, arguments, a)                                                          \
    GRANARY_API type name##_sized(GRANARY__LIST parameters, size_t a##_size);                                          \
    type name parameters                                                                                               \
    {                                                                                                                  \
        return name##_sized(GRANARY__LIST arguments, first_##a);                                                       \
    }                                                                                                                  \
    struct granary_client
#define GRANARY_SIZED_2(type, name, parameters, arguments, a, b)                                                       \
    GRANARY_API type name##_sized(GRANARY__LIST parameters, size_t a##_size, size_t b##_size);                         \
    type name parameters                                                                                               \
    {                                                                                                                  \
        return name##_sized(GRANARY__LIST arguments, first_##a, first_##b);                                            \
    }                                                                                                                  \
    struct granary_client
#define GRANARY_SIZED_3(type, name, parameters, arguments, a, b, c)                                                    \
    GRANARY_API type name##_sized(GRANARY__LIST parameters, size_t a##_size, size_t b##_size, size_t c##_size);        \
    type name parameters                                                                                               \
    {                                                                                                                  \
        return name##_sized(GRANARY__LIST arguments, first_##a, first_##b, first_##c);                                 \
    }                                                                                                                  \
    struct granary_client

#endif
