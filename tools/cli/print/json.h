/*
 * JSON on stdout or another stream, value by value: commas, quotes and escapes are put here, so what is printed is JSON
 * whatever the texts hold. Entries of an outermost array stand on lines of their own.
 */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "granary/info.h"

/* Zero is the state before the first value. */
struct json {
    FILE *out; /* NULL: stdout */
    int depth;
    bool filled[16]; /* something is in the value that is open at this depth */
    char closing[16];
};

/* key: NULL within an array and at the top. */
void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json);                               /* at the top: ends the line */
void json_text(struct json *json, const char *key, const char *text);
void json_id(struct json *json, const char *key, granary_id id);
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
void json_float(struct json *json, const char *key, double value);
void json_number(struct json *json, const char *key, const char *digits); /* as they are */
void json_bool(struct json *json, const char *key, bool value);
void json_cell(struct json *json, const char *key, granary_cell_value cell); /* of a table of the scheduler */

#endif
