/* Parameters are texts of strangers: none becomes an option by what it begins with, and numbers are numbers. */
#include "web/ask/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "options/options.h"

#define TEXTS 8192 /* of all parameters together */

static const struct question_row rows[] = {
#define SUBJECT(name, text) {#name, NULL, "", true, QUESTION_JSON},
#define FIELD(subject, name, kind, text)
#include "contract/subjects.def"
#undef SUBJECT
#undef FIELD
    {"nodes", NULL, "", true, QUESTION_JSON}, /* the subtasks of a graph, counted by node and state */
#define QUESTION(name, words, options, keys, form) {#name, words, options, keys, QUESTION_##form},
#include "web/ask/questions.def"
#undef QUESTION
};

const struct question_row *
question_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

granary_err
question_begin(struct question *question, const struct question_row *row)
{
    *question = (struct question){.row = row, .texts = malloc(TEXTS)};
    return question->texts != NULL ? GRANARY_OK : gr_no_memory("a question");
}

void
question_fini(struct question *question)
{
    free(question->texts);
    question->texts = NULL;
}

/* Keeps front and text, one behind the other; NULL: they are too long. */
static const char *
keep(struct question *question, const char *front, const char *text)
{
    char *at = question->texts + question->used;
    size_t room = TEXTS - question->used;
    size_t size = strlen(front) + strlen(text) + 1;

    if (size > room) {
        return NULL;
    }
    (void)snprintf(at, room, "%s%s", front, text);
    question->used += size;
    return at;
}

static granary_err
too_much(const char *name)
{
    return gr_fail(GRANARY_EINVAL, "%.32s: there are too many of them, or they are too long", name);
}

static granary_err
add_fields(struct question *question, const char *value)
{
    char *text = (char *)(uintptr_t)keep(question, "", value); /* in texts, which are ours */
    char *rest = NULL;

    if (text == NULL) {
        return too_much("fields");
    }
    for (char *name = strtok_r(text, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        if (question->field_count == QUESTION_FIELDS) {
            return too_much("fields");
        }
        question->fields[question->field_count++] = name;
    }
    return GRANARY_OK;
}

static granary_err
add_number(const char *name, const char *value, uint64_t most, uint64_t *ret_number)
{
    int64_t number;
    granary_err err = gr_option_number(value, 0, most, &number);

    if (err == GRANARY_OK) {
        *ret_number = (uint64_t)number;
    }
    return err == GRANARY_OK ? err : gr_fail_in(err, "%s", name);
}

/* Whether a word is among those of a list. */
static bool
is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; length > 0 && (at = strstr(at, word)) != NULL; at += length) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static granary_err
add_option(struct question *question, const char *name, const char *value)
{
    char front[32];
    const char *text;

    (void)snprintf(front, sizeof front, "--%s=", name);
    text = question->option_count < sizeof question->options / sizeof question->options[0]
               ? keep(question, front, value)
               : NULL;
    if (text == NULL) {
        return too_much(name);
    }
    question->options[question->option_count++] = text;
    return GRANARY_OK;
}

granary_err
question_add(struct question *question, const char *name, const char *value)
{
    bool table = question->row->words == NULL;
    uint64_t number = 0;
    granary_err err;

    if (value == NULL || value[0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "the parameter %.32s has no value", name);
    }
    if (strcmp(name, "key") == 0 && question->row->keys) {
        const char *text = question->key_count < QUESTION_KEYS ? keep(question, "", value) : NULL;

        if (text == NULL) {
            return too_much(name);
        }
        question->keys[question->key_count++] = text;
        return GRANARY_OK;
    }
    if (is_listed(question->row->options, name)) {
        return add_option(question, name, value);
    }
    if (table && strcmp(name, "fields") == 0) {
        return add_fields(question, value);
    }
    if (table && strcmp(name, "cursor") == 0) {
        return add_number(name, value, UINT64_MAX, &question->cursor);
    }
    if (table && (strcmp(name, "limit") == 0 || strcmp(name, "last") == 0)) {
        err = add_number(name, value, 8192, &number);
        if (err == GRANARY_OK) {
            *(name[1] == 'i' ? &question->limit : &question->last) = (uint32_t)number;
        }
        return err;
    }
    return gr_fail(GRANARY_EINVAL, "%s has no parameter '%.32s'", question->row->name, name);
}
