/* See hive.h. */
#include "data/file/paths/hive.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/value/bytes.h"
#include "data/value/utf8.h"

#define NULL_VALUE "__HIVE_DEFAULT_PARTITION__"
#define KEYS_MOST  64

/* One KEY=VALUE, within a path. */
struct pair {
    const char *key;
    size_t key_size;
    const char *value;
    size_t value_size;
};

/* Those of a path, in order. Returns how many, KEYS_MOST at most. */
static size_t
pairs_of(const char *path, struct pair pairs[KEYS_MOST])
{
    size_t count = 0;

    for (const char *slash; (slash = strchr(path, '/')) != NULL && count < KEYS_MOST; path = slash + 1) {
        const char *equals = memchr(path, '=', (size_t)(slash - path));

        if (equals != NULL && equals > path) {
            pairs[count++] = (struct pair){.key = path,
                                           .key_size = (size_t)(equals - path),
                                           .value = equals + 1,
                                           .value_size = (size_t)(slash - equals - 1)};
        }
    }
    return count;
}

/* To be freed; NULL: no memory. A % without two digits, or of a zero byte, stays as it is. */
static char *
decode(const char *text, size_t size)
{
    char *decoded = malloc(size + 1);
    size_t made = 0;

    for (size_t i = 0; decoded != NULL && i < size; i++) {
        int byte = text[i] == '%' && i + 2 < size ? gr_hex_byte(text + i + 1) : -1;

        if (byte > 0) {
            decoded[made++] = (char)byte;
            i += 2;
        } else {
            decoded[made++] = text[i];
        }
    }
    if (decoded != NULL) {
        decoded[made] = '\0';
    }
    return decoded;
}

/* *ret_text: NULL, it is null. */
static granary_err
decode_value(const char *path, const struct pair *pair, char **ret_text)
{
    char *text;

    *ret_text = NULL;
    if (pair->value_size == strlen(NULL_VALUE) && memcmp(pair->value, NULL_VALUE, pair->value_size) == 0) {
        return GRANARY_OK;
    }
    text = decode(pair->value, pair->value_size);
    if (text == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (utf8_first_invalid(text, strlen(text)) != NULL) {
        free(text);
        return gr_fail(GRANARY_EINVAL, "%s: the value of '%.*s' is not UTF-8", path, (int)pair->key_size, pair->key);
    }
    *ret_text = text;
    return GRANARY_OK;
}

/* The keys of the first file, whose order is that of the columns. */
static granary_err
take_keys(const char *path, const struct pair *pairs, size_t count, struct gr_hive *hive)
{
    hive->keys = calloc(count + 1, sizeof *hive->keys);
    for (size_t k = 0; hive->keys != NULL && k < count; k++) {
        char *key = decode(pairs[k].key, pairs[k].key_size);

        if (key == NULL) {
            return gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        hive->keys[hive->count++] = key;
        if (utf8_first_invalid(key, strlen(key)) != NULL) {
            return gr_fail(GRANARY_EINVAL, "%s: the name of a folder before '=' is not UTF-8", path);
        }
        for (size_t other = 0; other < k; other++) {
            if (strcmp(hive->keys[other], key) == 0) {
                return gr_fail(GRANARY_EINVAL, "%s: two folders tell '%s'", path, key);
            }
        }
    }
    return hive->keys == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
}

/* *ret_same: the file has all the keys, and no other. */
static granary_err
take_values(const char *path, const struct pair *pairs, size_t count, struct gr_hive *hive, bool *ret_same)
{
    char **values = hive->values + hive->files * hive->count;
    size_t found = 0;
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < hive->count && err == GRANARY_OK; k++) {
        for (size_t p = 0; p < count && err == GRANARY_OK; p++) {
            char *key = decode(pairs[p].key, pairs[p].key_size);
            bool is_it = key != NULL && strcmp(key, hive->keys[k]) == 0;

            err = key == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
            free(key);
            if (is_it) {
                err = decode_value(path, &pairs[p], &values[k]);
                found++;
                break;
            }
        }
    }
    hive->files++;
    *ret_same = found == hive->count && count == hive->count;
    return err;
}

granary_err
gr_hive_read(char *const *names, size_t count, bool must, struct gr_hive *ret_hive)
{
    struct gr_hive hive = {0};
    struct pair pairs[KEYS_MOST];
    size_t keys = count == 0 ? 0 : pairs_of(names[0], pairs);
    bool same = true;
    granary_err err = count == 0 ? GRANARY_OK : take_keys(names[0], pairs, keys, &hive);

    if (err == GRANARY_OK && (hive.values = calloc(count * hive.count + 1, sizeof *hive.values)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < count && err == GRANARY_OK && same; i++) {
        keys = pairs_of(names[i], pairs);
        err = take_values(names[i], pairs, keys, &hive, &same);
        if (err == GRANARY_OK && !same && must) {
            err = gr_fail(GRANARY_EINVAL, "%s: its folders tell other columns than those of %s", names[i], names[0]);
        }
    }
    if (err == GRANARY_OK && must && hive.count == 0) {
        err = gr_fail(GRANARY_EINVAL, "%s: none of its folders is named KEY=VALUE", count == 0 ? "" : names[0]);
    }
    if (err != GRANARY_OK || !same) {
        gr_hive_free(&hive);
    }
    *ret_hive = hive;
    return err == GRANARY_EINVAL && !must ? GRANARY_OK : err;
}

void
gr_hive_free(struct gr_hive *hive)
{
    for (size_t k = 0; k < hive->count; k++) {
        free(hive->keys[k]);
    }
    for (size_t v = 0; hive->values != NULL && v < hive->files * hive->count; v++) {
        free(hive->values[v]);
    }
    free(hive->keys);
    free(hive->values);
    *hive = (struct gr_hive){0};
}

/* ---- written ---- */

/* As Hive escapes, and what a reader would take for something else. */
static void
put_escaped(const char *text, size_t size, struct gr_buf *out)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c < 0x20 || c == 0x7f || strchr("\"#%'*/:=?\\{[]^", c) != NULL) {
            gr_buf_addf(out, "%%%02X", c);
        } else {
            gr_buf_add(out, text + i, 1);
        }
    }
}

granary_err
gr_hive_put(const char *key, const char *value, size_t size, struct gr_buf *out)
{
    bool hides = key[0] == '.' || key[0] == '_'; /* folders of such names are left out */

    if (hides) {
        gr_buf_addf(out, "%%%02X", key[0]);
    }
    put_escaped(key + hides, strlen(key) - hides, out);
    gr_buf_addf(out, "=");
    if (value == NULL) {
        gr_buf_addf(out, NULL_VALUE);
    } else if (memchr(value, '\0', size) != NULL) {
        return gr_fail(GRANARY_EINVAL, "column '%s': a value with a zero byte cannot be a folder's name", key);
    } else if (size == strlen(NULL_VALUE) && memcmp(value, NULL_VALUE, size) == 0) { /* it is none */
        gr_buf_addf(out, "%%%02X", value[0]);
        put_escaped(value + 1, size - 1, out);
    } else {
        put_escaped(value, size, out);
    }
    return gr_buf_ok(out) ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "out of memory");
}
