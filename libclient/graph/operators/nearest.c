/* The nearest name by edit distance, with neighbours exchanged (Damerau, 1964), letters of any case. */
#include "graph/operators/nearest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"

/* Longer names are compared by their beginnings: typing errors do not become likelier, the table would. */
enum { LONGEST = 63 };

static unsigned char
folded(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Changes between two words: insert, delete, replace, swap neighbours. A difference of case alone counts 0. */
static size_t
changes(const char *a, const char *b)
{
    size_t rows[3][LONGEST + 1];
    size_t a_size = strnlen(a, LONGEST);
    size_t b_size = strnlen(b, LONGEST);

    for (size_t j = 0; j <= b_size; j++) {
        rows[0][j] = j;
        rows[2][j] = j;
    }
    for (size_t i = 1; i <= a_size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *above2 = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            bool same = folded(a[i - 1]) == folded(b[j - 1]);
            size_t best = above[j - 1] + (same ? 0 : 1);

            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]) &&
                above2[j - 2] + 1 < best) {
                best = above2[j - 2] + 1;
            }
            row[j] = best;
        }
    }
    return rows[a_size % 3][b_size];
}

/* Twice the changes, so that one may weigh less than a change; SIZE_MAX: not near. */
static size_t
distance_of(const char *name, const char *candidate)
{
    size_t name_size = strnlen(name, LONGEST);
    size_t found = changes(name, candidate);
    size_t near = name_size < 3 ? 0 : name_size < 6 ? 1 : name_size < 9 ? 2 : name_size / 3;

    if (found <= near) {
        return 2 * found;
    }
    /* "Cost" for "Cost Total $": a beginning of three letters or more. */
    if (name_size >= 3 && strncasecmp(name, candidate, name_size) == 0) {
        return 2 * near + 1;
    }
    return SIZE_MAX;
}

void
gr_nearest_offer(struct gr_nearest *nearest, const char *candidate)
{
    size_t distance = distance_of(nearest->name, candidate);

    if (distance != SIZE_MAX && (nearest->best == NULL || distance < nearest->distance)) {
        nearest->best = candidate;
        nearest->distance = distance;
    }
}

const char *
gr_nearest_hint(const struct gr_nearest *nearest, char ret_text[GR_HINT_MAX])
{
    ret_text[0] = '\0';
    if (nearest->best != NULL) {
        (void)snprintf(ret_text, GR_HINT_MAX, "; did you mean '%.120s'?", nearest->best);
    }
    return ret_text;
}

bool
gr_is_utf8(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        uint32_t character;
        size_t step = gr_utf8_decode(text + at, size - at, &character);

        if (step == 0) {
            return false;
        }
        at += step;
    }
    return true;
}
