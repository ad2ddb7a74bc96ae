/* See question.h. */
#include "sql/question.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "granary/read.h"
#include "granary/sql.h"
#include "sql/execute/change.h"

/* ---- while it is translated ---- */

const struct sql_answer *
sql_find_answer(const struct sql_statement *q, int position, size_t place)
{
    const struct sql_answer *found = NULL;

    for (size_t i = 0; q->asking != NULL && q->views == NULL && i < q->asking->count && found == NULL; i++) {
        const struct sql_answer *answer = &q->asking->answers[i];

        found = answer->position == position && answer->place == place ? answer : NULL;
    }
    return found;
}

bool
sql_ask(struct sql_statement *q, struct sql_rel rel, const char *column, const struct sql_answer *what, int position)
{
    struct sql_output output = {.name = "value", .frame = column};
    struct sql_result result = {.outputs = &output, .count = 1};
    const char *text = sql_quoted(q, column);

    if (q->views != NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, position,
                        "a view does not depend on data: write the values that become columns, ON k IN ('a', 'b')");
    }
    if (q->asking == NULL && q->client != NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, position,
                        "columns must not depend on data here: write the values that become columns, ON k IN ('a', "
                        "'b')");
    }
    if (q->client == NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, position,
                        "which values become columns is asked of an instance, and there is none: write them, ON k IN "
                        "('a', 'b')");
    }
    if (text == NULL || !sql_rel_filter(q, &rel, sql_printf(q, "%s is not null", text), position) ||
        !sql_rel_first(q, &rel, &column, 1, position)) {
        return false;
    }
    result.rel = rel;
    if (sql_add_target(q, &result, NULL)) {
        q->asking->asked = *what;
        q->asking->pending = true;
        (void)sql_fail(q, GRANARY_ESTATE, position, "the values that become columns are asked for");
    }
    return false;
}

bool
sql_ask_columns(struct sql_statement *q, struct sql_result *result, const struct sql_answer *what, int position)
{
    if (q->views != NULL || q->asking == NULL || q->client == NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, position,
                        q->views != NULL    ? "DESCRIBE and SUMMARIZE in a view are not supported: ask them of the view"
                        : q->client == NULL ? "types of columns are known to an instance: there is none"
                                            : "columns must not depend on data here");
    }
    if (sql_rel_head(q, &result->rel, 0, 0, position) && sql_add_target(q, result, NULL)) {
        q->asking->asked = *what;
        q->asking->asked.is_columns = true;
        q->asking->pending = true;
        (void)sql_fail(q, GRANARY_ESTATE, position, "the types of columns are asked for");
    }
    return false;
}

bool
sql_asks(const struct sql_statement *q)
{
    return q->asking != NULL && q->asking->pending;
}

/* ---- the answer ---- */

granary_err
sql_read_result(granary_client *client, const char *key, granary_frame **ret_frame, const granary_frame **ret_plain)
{
    granary_result result = {.chunk_count = 0};
    granary_frame **frames = NULL;
    granary_err err = granary_graph_result(client, key, GRANARY_SQL_TARGET, &result);

    if (err == GRANARY_OK) {
        frames = calloc(result.chunk_count + 1, sizeof(granary_frame *));
        err = frames == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    for (size_t i = 0; err == GRANARY_OK && i < result.chunk_count;
         i++) { /* a copy: all leased at once may be too much */
        err = granary_frame_read_rows(client, result.chunks[i], 0, GRANARY_ROWS_REST, NULL, 0, GRANARY_FOREVER,
                                      &frames[i]);
    }
    err =
        err == GRANARY_OK ? gr_frame_concat((const granary_frame *const *)frames, result.chunk_count, ret_frame) : err;
    err = err == GRANARY_OK ? gr_frame_plain(*ret_frame, ret_plain) : err;
    for (size_t i = 0; frames != NULL && i < result.chunk_count; i++) {
        granary_frame_close(frames[i]);
    }
    free(frames);
    granary_result_free(&result);
    return err;
}

static int
compare_values(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static granary_err
take_values(const granary_frame *frame, struct sql_answer *answer)
{
    const granary_column *column = granary_frame_column(frame, 0);
    const int64_t rows = granary_frame_rows(frame);
    granary_err err = GRANARY_OK;

    if (rows > SQL_PIVOT_MAX) {
        return gr_fail(GRANARY_EUNSUPPORTED,
                       "PIVOT would make %lld columns, and %d are the most: write the values, IN "
                       "('a', 'b')",
                       (long long)rows, SQL_PIVOT_MAX);
    }
    answer->values = calloc((size_t)rows + 1, sizeof(char *));
    for (int64_t row = 0; answer->values != NULL && row < rows && err == GRANARY_OK; row++) {
        size_t length = 0;
        const char *text = gr_text_at(column, row, &length);

        if (memchr(text, '\0', length) != NULL) {
            err = gr_fail(GRANARY_EUNSUPPORTED, "a value of PIVOT has a NUL, and cannot name a column");
        } else if ((answer->values[row] = strndup(text, length)) == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        answer->count += answer->values[row] != NULL;
    }
    if (answer->values == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (answer->sorted) {
        qsort(answer->values, answer->count, sizeof(char *), compare_values);
    }
    return err;
}

static void
free_answer(struct sql_answer *answer)
{
    for (size_t i = 0; answer->values != NULL && i < answer->count; i++) {
        free(answer->values[i]);
    }
    free(answer->values);
    gr_frame_destroy(answer->columns);
    *answer = (struct sql_answer){.position = -1};
}

static granary_err
keep_answer(struct sql_asking *asking, struct sql_answer *answer)
{
    struct sql_answer *grown = realloc(asking->answers, (asking->count + 1) * sizeof *grown);

    if (grown == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    grown[asking->count++] = *answer;
    asking->answers = grown;
    *answer = (struct sql_answer){.position = -1};
    return GRANARY_OK;
}

granary_err
sql_answer(const struct sql_statement *q)
{
    struct sql_answer answer = q->asking->asked;
    granary_frame *frame = NULL;
    const granary_frame *plain = NULL;
    char key[GRANARY_KEY_MAX];
    granary_err err = granary_graph_run(q->client, q->graph, NULL, GRANARY_FOREVER, key, NULL);
    const bool ran = err == GRANARY_OK;

    q->asking->pending = false;
    err = ran ? sql_read_result(q->client, key, &frame, &plain) : err;
    if (err == GRANARY_OK && answer.is_columns) {
        answer.columns = frame;
        frame = NULL;
    } else if (err == GRANARY_OK) {
        err = take_values(plain, &answer);
    }
    err = err == GRANARY_OK ? keep_answer(q->asking, &answer) : err;
    free_answer(&answer);
    gr_frame_destroy(frame);
    if (ran) {
        (void)granary_graph_delete(q->client, key);
    }
    return err;
}

void
sql_asking_free(struct sql_asking *asking)
{
    for (size_t i = 0; i < asking->count; i++) {
        free_answer(&asking->answers[i]);
    }
    free(asking->answers);
    *asking = (struct sql_asking){.count = 0};
}
