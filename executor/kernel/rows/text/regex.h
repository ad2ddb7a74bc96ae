/*
 * Inside rows: regular expressions, PCRE2's, of Unicode's characters, with their letters, digits and cases. A search
 * has an end: one that would take too many steps is given up, whatever the machine.
 */
#ifndef KERNEL_ROWS_REGEX_H
#define KERNEL_ROWS_REGEX_H

#include "base/text/buf.h"
#include "kernel/rows/rows.h"

struct regex;

/*
 * Make a pattern ready.
 * often    it is searched for in many texts: worth a translation into machine code
 * Returns  0: *ret_regex is NULL: out of memory · else what is wrong with it, for regex_explain(); the regex is NULL
 */
int regex_create(const struct rows_text *pattern, bool often, struct regex **ret_regex);
void regex_destroy(struct regex *regex); /* NULL is fine */

/* How many groups it has, beside group 0, the whole match. */
size_t regex_groups(const struct regex *regex);

enum regex_found { REGEX_NONE, REGEX_FOUND, REGEX_GIVEN_UP, REGEX_NO_MEMORY };

/* The first match from a byte on. *ret_groups: of each group where it begins and ends, SIZE_MAX where it is not in the
 * match; valid until the next search. */
enum regex_found regex_find(struct regex *regex, const struct rows_text *text, size_t from, const size_t **ret_groups);

/* What regex_create() found wrong, in words. */
void regex_explain(int wrong, struct gr_buf *out);

#endif
