/* Functions of libraries, called by one real executor for a test that plays the scheduler. */
#ifndef TEST_FUNCTION_FIXTURE_H
#define TEST_FUNCTION_FIXTURE_H

#include "contract/executor_page.h"
#include "granary/call.h"
#include "unit/executor/pool_fixture.h"

struct function_test {
    struct pool_test pool;
    granary_client *client;
    size_t executor; /* the one at work */
    uint64_t number; /* of the last subtask */
    char logs[GR_LOGS_MAX];
    char good[33]; /* version of library "good", once it was exported */
};

int function_test_start(struct function_test *test);
/* ... with the library "good". */
int function_test_start_good(struct function_test *test);
int function_test_stop(struct function_test *test);

/* Put a library into the store and tell the executor: its version. bytes NULL: the file of that name. */
void function_export(struct function_test *test, const char *name, const char *file, char ret_version[33]);
void function_export_bytes(struct function_test *test, const char *name, const void *bytes, size_t size,
                           char ret_version[33]);
/* A library's file, to be freed. */
char *function_file(const char *file, size_t *ret_size);

/* Operator "call" of a function without inputs and outputs. */
Granary__ChunkOp *call_new(const char *library, const char *version, const char *function);
Granary__ChunkOp *call_good(const struct function_test *test, const char *function);
/* params: key, value, ..., NULL */
void call_params(Granary__ChunkOp *op, ...);
/* Operator "exec" of `sh -c script`. */
Granary__ChunkOp *exec_new(const char *script);

/* Send a subtask of these operators, freed then, of graph "graph". */
void function_send(struct function_test *test, Granary__ChunkOp **ops, size_t count, int64_t timeout_ms);
/* ... and its answer, which must have this error: to be freed. */
Granary__Done *function_run(struct function_test *test, Granary__ChunkOp **ops, size_t count, granary_err err);
Granary__Done *function_done(struct function_test *test, granary_err err);
/* One operator with one output object, and what that object contains then. */
void function_expect(struct function_test *test, Granary__ChunkOp *op, const char *text);
/* It fails with that error, of the user's making or not, and a message in which text is found. */
void
function_expect_failure(struct function_test *test, Granary__ChunkOp *op, granary_err err, bool user, const char *text);
/* The executor dies of it with this signal, or exit status when signal is 0; another one takes its place. */
void function_expect_death(struct function_test *test, Granary__ChunkOp *op, int signal, int status);
/* What the last subtask printed, to be freed; NULL: there is no file. */
char *function_log(struct function_test *test);

/* The executor's page, mapped: munmap(). Fails the test when there is none. */
struct gr_executor_page *function_page(struct function_test *test);
/* Until a word of the page has that value. */
void function_await(_Atomic uint64_t *word, uint64_t value);

/* A frame object of the column fare: 1.0, 2.5, 8.0, made by the executor. */
granary_id function_fares(struct function_test *test);

#endif
