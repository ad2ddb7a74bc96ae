/*
 * granary: structs that grow. Callers need not read this: they call granary_connect() with their
 * granary_connect_options.
 *
 * A struct of options or of results lies in the caller's memory. A later version may give it members at its end, and
 * programs that were built before go on as they are. For that, each function that takes such a struct has a twin named
 * NAME_sized. Behind the other parameters it takes the sizeof of the caller's struct:
 *
 *     granary_connect(&options, &client)
 *     granary_connect_sized(&options, &client, sizeof options)
 *
 * In C and C++, a call of the plain name is compiled to a call of its twin. Other languages call the twin, with the
 * size of the struct as they declared it; an array has elements of that size. The libraries export the plain names,
 * too. Those take each struct as it was when it was first published. Programs that look a name up with dlsym() may use
 * them.
 *
 *   the caller's struct is smaller  options that it lacks are 0, which is the default; results that it lacks are left
 *                                   out
 *   the caller's struct is larger   an option that the library does not know is EUNSUPPORTED, unless it is 0; results
 *                                   that the library does not know are 0
 *
 * Structs that are data, or stand for something that is held, never grow: granary_id, granary_buffer, granary_view,
 * granary_column, granary_columns, granary_tensor, granary_slice, granary_cell_value. Those that the library hands out
 * by pointer, such as granary_call_context and granary_finding, may grow too.
 */
#ifndef GRANARY_SIZED_H
#define GRANARY_SIZED_H

#include "granary/types.h"

/*
 * The rows at the end of each header: what the function returns, its name, parameters and arguments, and the structs
 * whose sizes follow those. The definition is for calls only and makes no symbol (as in glibc's checked functions).
 */
#if defined(__GNUC__)
#define GRANARY__CALLS(function, arguments)                                                                            \
    extern __inline __attribute__((__gnu_inline__, __always_inline__)) function                                        \
    {                                                                                                                  \
        arguments;                                                                                                     \
    }
#else
#define GRANARY__CALLS(function, arguments)
#endif
#define GRANARY__LIST(...) __VA_ARGS__

#define GRANARY_SIZED_1(type, name, parameters, arguments, a)                                                          \
    GRANARY_API type name##_sized(GRANARY__LIST parameters, size_t a##_size);                                          \
    GRANARY__CALLS(type name parameters, return name##_sized(GRANARY__LIST arguments, sizeof(a)))                      \
    struct granary_client
#define GRANARY_SIZED_2(type, name, parameters, arguments, a, b)                                                       \
    GRANARY_API type name##_sized(GRANARY__LIST parameters, size_t a##_size, size_t b##_size);                         \
    GRANARY__CALLS(type name parameters, return name##_sized(GRANARY__LIST arguments, sizeof(a), sizeof(b)))           \
    struct granary_client
#define GRANARY_SIZED_3(type, name, parameters, arguments, a, b, c)                                                    \
    GRANARY_API type name##_sized(GRANARY__LIST parameters, size_t a##_size, size_t b##_size, size_t c##_size);        \
    GRANARY__CALLS(type name parameters,                                                                               \
                   return name##_sized(GRANARY__LIST arguments, sizeof(a), sizeof(b), sizeof(c)))                      \
    struct granary_client
/* What returns nothing. */
#define GRANARY_SIZED_0(name, parameters, arguments, a)                                                                \
    GRANARY_API void name##_sized(GRANARY__LIST parameters, size_t a##_size);                                          \
    GRANARY__CALLS(void name parameters, name##_sized(GRANARY__LIST arguments, sizeof(a)))                             \
    struct granary_client

#endif
