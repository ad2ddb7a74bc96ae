/* Ids: random ones, ones hashed from a name (XXH3, 128 bits), those of a plan's chunks, and their text. */
#include "base/id.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

#define RANDOM_TRIES 10

/* Never all zero. */
static granary_id
id_of_hash(XXH128_hash_t hash)
{
    granary_id id = gr_id_from_words(hash.low64, hash.high64);

    if (gr_id_is_zero(id)) {
        id.bytes[0] = 1;
    }
    return id;
}

granary_id
gr_id_of_bytes(const void *bytes, size_t size)
{
    return id_of_hash(XXH3_128bits(bytes, size));
}

granary_id
gr_id_of_part(granary_id whole, uint32_t kind, uint32_t lane, uint64_t number)
{
    uint64_t parts[5] = {[2] = kind, [3] = lane, [4] = number};

    gr_id_words(whole, parts);
    return gr_id_of_bytes(parts, sizeof parts);
}

void
gr_hash128_format(const void *bytes, size_t size, char ret_text[33])
{
    XXH128_canonical_t canonical;

    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size));
    for (size_t i = 0; i < sizeof canonical.digest; i++) {
        (void)snprintf(ret_text + 2 * i, 3, "%02x", canonical.digest[i]);
    }
}

uint64_t
gr_hash64(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

uint64_t
gr_hash64_seeded(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}

granary_id
granary_id_random(void)
{
    granary_id id = {{0}};
    int failures = 0;

    while (gr_id_is_zero(id)) {
        /* 16 bytes are always given at once; a kernel without random numbers cannot run us */
        if (getrandom(id.bytes, sizeof id.bytes, 0) != (ssize_t)sizeof id.bytes) {
            memset(id.bytes, 0, sizeof id.bytes);
            if (++failures == RANDOM_TRIES) {
                abort();
            }
        }
    }
    return id;
}

granary_id
granary_id_from_key(const char *session, const void *key, size_t size)
{
    const char *in = session == NULL ? "default" : session;
    XXH3_state_t state;

    XXH3_INITSTATE(&state);
    (void)XXH3_128bits_reset(&state);
    (void)XXH3_128bits_update(&state, in, strlen(in));
    (void)XXH3_128bits_update(&state, "/", 1);
    if (size > 0) {
        (void)XXH3_128bits_update(&state, key, size);
    }
    return id_of_hash(XXH3_128bits_digest(&state));
}

granary_id
granary_id_from_name(const char *session, const char *name)
{
    return granary_id_from_key(session, name, strlen(name));
}

granary_id
gr_id_of_name(const char *name)
{
    return granary_id_from_key("name", name, strlen(name));
}

granary_id
gr_id_of_chunk(uint64_t plan, uint32_t op, uint32_t output)
{
    granary_id id = gr_id_from_words(plan, gr_mix64((uint64_t)op << 32 | output));

    if (gr_id_is_zero(id)) {
        id.bytes[0] = 1;
    }
    return id;
}

void
granary_id_format(granary_id id, char ret_text[GRANARY_ID_TEXT + 1])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < GRANARY_ID_BYTES; i++) {
        ret_text[2 * i] = digits[id.bytes[i] >> 4];
        ret_text[2 * i + 1] = digits[id.bytes[i] & 15];
    }
    ret_text[GRANARY_ID_TEXT] = '\0';
}

static int
digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

granary_err
granary_id_parse(const char *text, size_t length, granary_id *ret_id)
{
    granary_id id;

    if (length != GRANARY_ID_TEXT) {
        return gr_fail(GRANARY_EINVAL, "object id: %zu characters instead of %d hex digits", length, GRANARY_ID_TEXT);
    }
    for (size_t i = 0; i < GRANARY_ID_BYTES; i++) {
        int high = digit_value(text[2 * i]);
        int low = digit_value(text[2 * i + 1]);

        if (high < 0 || low < 0) {
            return gr_fail(GRANARY_EINVAL, "object id '%.32s': not a hex digit at %zu", text, 2 * i + (high >= 0));
        }
        id.bytes[i] = (unsigned char)(high << 4 | low);
    }
    if (gr_id_is_zero(id)) {
        return gr_fail(GRANARY_EINVAL, "object id: all zero names no object");
    }
    *ret_id = id;
    return GRANARY_OK;
}
