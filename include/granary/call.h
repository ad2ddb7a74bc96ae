/*
 * granary: functions that executors call.
 *
 *     #include <granary/call.h>
 *
 *     GRANARY_FUNCTION(halve, .summary = "fare / 2")
 *     {
 *         int64_t rows;
 *         const double *fare = granary_call_column(call, "fare", GRANARY_FLOAT64, &rows);
 *         double *half = granary_call_new_column(call, "half", GRANARY_FLOAT64);
 *
 *         for (int64_t i = 0; fare != NULL && half != NULL && i < rows; i++) {
 *             half[i] = fare[i] / 2;
 *         }
 *         return GRANARY_OK;
 *     }
 *
 *     cc -shared -fPIC -o libhalf.so half.c          granary export libhalf.so
 *
 * Every executor of the session loads an exported library. The executor has the functions below, so link the library
 * with nothing of granary. It may use any other library of the machine. A faulty function fails only its own subtask:
 * a crash, an endless loop or too much memory costs an executor process, which is replaced.
 *
 * Threads   A call belongs to the thread that runs the function. Any thread of the process may use
 *           granary_call_cancelled() and granary_call_progress() while the function runs.
 */
#ifndef GRANARY_CALL_H
#define GRANARY_CALL_H

#include "granary/frame.h"
#include "granary/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One run of a function. */
typedef struct granary_call granary_call;

typedef granary_err granary_function(granary_call *call);

/* ---- declaring ---- */

#define GRANARY_CALL_ABI 1

/* A function, as the library says. All zero but run: any number of inputs, one output. */
typedef struct granary_function_info {
    uint32_t abi;
    const char *name;
    granary_function *run;
    const char *summary; /* one line; NULL */
    uint32_t inputs_min;
    uint32_t inputs_max;   /* 0: any number */
    uint32_t outputs;      /* 0: one */
    uint32_t max_calls;    /* an executor process is replaced after so many, for functions that leak, and what it was
                              given ahead meanwhile; 0: never */
    const char *reusables; /* those it asks for, separated by spaces; NULL */
} granary_function_info;

/*
 * A variable an executor keeps between calls: a connection, a model, a table. It is made when a function first asks
 * for it. Before the next function that asks for it, reinit may put it in order.
 */
typedef struct granary_reusable_info {
    uint32_t abi;
    const char *name;
    const char *summary;
    granary_err (*init)(granary_call *call, void **ret_value); /* not OK: the subtask fails so */
    granary_err (*reinit)(granary_call *call,
                          void **value); /* NULL: it stays as it is. Not OK: fini, then init again */
    void (*fini)(void *value);           /* NULL: nothing to do */
} granary_reusable_info;

#define GRANARY_EXPORTED __attribute__((visibility("default")))

/* Declare a function and begin its definition; fields of granary_function_info may be given (in C++ in their order). */
#define GRANARY_FUNCTION(function, ...)                                                                                \
    static granary_err function(granary_call *call);                                                                   \
    GRANARY_EXPORTED extern const granary_function_info granary_function_##function;                                   \
    __attribute__((used)) const granary_function_info granary_function_##function = {                                  \
        .abi = GRANARY_CALL_ABI, .name = #function, .run = function, __VA_ARGS__};                                     \
    static granary_err function(granary_call *call)

/* Declare a reusable variable; fields of granary_reusable_info follow: .init = ... */
#define GRANARY_REUSABLE(variable, ...)                                                                                \
    GRANARY_EXPORTED extern const granary_reusable_info granary_reusable_##variable;                                   \
    __attribute__((used)) const granary_reusable_info granary_reusable_##variable = {                                  \
        .abi = GRANARY_CALL_ABI, .name = #variable, __VA_ARGS__}

/* ---- inputs ---- */

/* How many the node has. */
GRANARY_API size_t granary_call_inputs(const granary_call *call);

/* Input i, leased while the function runs: read-only memory, a write to it is a SIGSEGV. NULL: there is none. */
GRANARY_API const granary_view *granary_call_input(granary_call *call, size_t i);

/* Input i as a frame, which is the call's. Errors: EINVAL there is none · as granary_frame_open() */
GRANARY_API granary_err granary_call_frame(granary_call *call, size_t i, const granary_frame **ret_frame);
/* Input i as a tensor, which is the call's. Errors: EINVAL there is none · as granary_tensor_open() */
GRANARY_API granary_err granary_call_tensor(granary_call *call, size_t i, granary_tensor *ret_tensor);

/*
 * The values of a column of the first input, of that dtype.
 *
 * Returns NULL when there is no such column, it has another dtype, or the input is no frame. The call has then failed
 *         (granary_call_fail()), and the function may just return. Nulls: granary_call_frame() tells them.
 */
GRANARY_API const void *
granary_call_column(granary_call *call, const char *name, granary_dtype dtype, int64_t *ret_rows);

/* A parameter of the node as text; the fallback when it was not given. */
GRANARY_API const char *granary_call_param(granary_call *call, const char *key, const char *fallback);
/* A parameter as a whole number; the fallback when it was not given, or is no number: the call is then failed. */
GRANARY_API int64_t granary_call_param_int(granary_call *call, const char *key, int64_t fallback);
/* The same as a number with a point or without. */
GRANARY_API double granary_call_param_double(granary_call *call, const char *key, double fallback);

/* ---- outputs: created in place, sealed when the function has returned OK ---- */

/* How many the node has. */
GRANARY_API size_t granary_call_outputs(const granary_call *call);

/*
 * Room for output i: size bytes, 64-byte aligned, zeroed or not. Every output must be given, once.
 *
 * Errors  EINVAL no such output, or given before · EFULL · ENOMEM
 */
GRANARY_API granary_err granary_call_output(granary_call *call, size_t i, uint64_t size, void **ret_data);

/* Output i as a tensor (an NPY file): room for its elements, C order. Errors: as granary_call_output() */
GRANARY_API granary_err granary_call_output_tensor(granary_call *call, size_t i, granary_dtype dtype, int dims,
                                                   const int64_t *shape, void **ret_values);

/*
 * The first output is a frame: the columns of the first input and these. A column of an existing name replaces that.
 *
 * Returns room for as many values as the first input has rows (or granary_call_set_rows() said), without nulls; NULL:
 *         the call is failed. Dtypes of fixed size but BOOL.
 */
GRANARY_API void *granary_call_new_column(granary_call *call, const char *name, granary_dtype dtype);

/* A new column of strings: count offsets (int32) into bytes; both are copied. Errors: EINVAL · ENOMEM */
GRANARY_API granary_err granary_call_new_strings(granary_call *call, const char *name, const int32_t *offsets,
                                                 const char *bytes);

/* Before the first new column: the output has so many rows and only new columns. Errors: ESTATE · EINVAL */
GRANARY_API granary_err granary_call_set_rows(granary_call *call, int64_t rows);

/* Only the rows whose byte in keep is not 0. To be called after the new columns are filled. Errors: ESTATE · ENOMEM */
GRANARY_API granary_err granary_call_keep_rows(granary_call *call, const uint8_t *keep);

/* ---- context ---- */

typedef enum granary_env {
    GRANARY_ENV_CLIENT = 0, /* any program */
    GRANARY_ENV_EXEC = 1,   /* inside a subtask: waiting for a graph is an error, see granary_call_go_on() */
} granary_env;

/*
 * The call that the calling thread is inside of, for code that does not know its caller. Any program may ask. A
 * thread that a function has started is inside of no call.
 *
 * While a function or a program runs, $GRANARY_INSTANCE and $GRANARY_SESSION name where it belongs.
 */
GRANARY_API granary_env granary_env_get(void);

typedef struct granary_call_context {
    granary_env env;
    const char *session;
    const char *graph; /* key */
    const char *node;  /* name */
    const char *function;
    uint64_t subtask;    /* in the graph, from 0 */
    uint32_t attempt;    /* from 1 */
    uint64_t index;      /* of this call in an array */
    uint64_t count;      /* calls of the array; 1 */
    uint32_t executor;   /* number */
    int numa_node;       /* its band */
    int cpus;            /* it may use */
    uint64_t seed;       /* the same for every attempt, another for every subtask of every graph */
    int64_t deadline_ms; /* since the Unix epoch; 0: none */
} granary_call_context;

/* Where and for whom the function runs. Valid while it does; never NULL. */
GRANARY_API const granary_call_context *granary_call_context_get(const granary_call *call);

/* Whether the subtask is to be given up: a function that runs long asks now and then, and returns ECANCELLED. One load.
 */
GRANARY_API bool granary_call_cancelled(const granary_call *call);

/* How much is done, 0 to 1; shown by `granary top`, and a sign of life for the hang watch. */
GRANARY_API void granary_call_progress(granary_call *call, double part);

/*
 * A process works for this call until the call ends, or this is called again. Its memory counts as the call's. Its
 * process group, if it leads one of this session, is killed when the executor dies.
 *
 * pid  0: none any more
 */
GRANARY_API void granary_call_program(granary_call *call, int64_t pid);

/* Fail with a message (printf). Errors: err itself, so that a function may `return granary_call_fail(...)` */
GRANARY_API granary_err granary_call_fail(granary_call *call, granary_err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A reusable variable of the session, made when it is not there. NULL: the call is failed. */
GRANARY_API void *granary_call_reusable(granary_call *call, const char *name);

/* The executor's connection to the session: objects may be put, got and named with it. It must not be closed. */
GRANARY_API granary_client *granary_call_client(granary_call *call);

/*
 * This subtask goes on as a graph: it ends now, holds no slot, and its outputs are what the graph's targets give. The
 * way to start other work and use its results without waiting inside a subtask.
 *
 * graph    copied; its targets' results (one chunk each) become the outputs, in order
 * Errors   EINVAL not as many targets as outputs, or outputs were given · ENOMEM
 */
GRANARY_API granary_err granary_call_go_on(granary_call *call, const granary_graph *graph);

/* ---- from a program ---- */

/*
 * Make the functions and reusable variables of a shared object callable in the client's session. The file is copied
 * into a sealed object: it may be rebuilt or removed afterwards. Another file of the same name is another version; a
 * graph uses the newest there was when it was submitted. A program that is killed meanwhile may leave the object: it
 * goes with the session, or by `granary delete`.
 *
 * name         of the library; NULL: the file's name without "lib" and ".so"
 * ret_version  32 hex digits and a NUL; may be NULL
 * Errors       ENOENT no file · EINVAL not a shared object, of another architecture, with symbols nobody has, or
 *              without a declared function: the message says which · EFULL · EUNREACHABLE
 */
GRANARY_API granary_err granary_export(granary_client *client, const char *path, const char *name,
                                       char ret_version[33]);

/* Forget a library (version NULL: all versions). Graphs that use it keep it until they end. Errors: ENOENT */
GRANARY_API granary_err granary_unexport(granary_client *client, const char *name, const char *version);

#ifdef __cplusplus
}
#endif
#endif
