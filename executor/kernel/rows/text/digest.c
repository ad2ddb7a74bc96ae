/* md5, sha1 and sha256 of texts and binaries, as RFC 1321 and FIPS 180-4 have them: blocks of 64 bytes, padded with a bit and the
 * size in bits. They tell whether two texts are the same; they keep no secrets. */
#include <string.h>

#include "kernel/rows/text/text.h"

enum { BLOCK = 64 };

struct digest {
    uint32_t state[8];
    int words;   /* of the state */
    bool little; /* how words lie in bytes */
    void (*add)(struct digest *digest, const uint8_t *block);
};

static uint32_t
rotated(uint32_t value, int bits)
{
    return value << bits | value >> (32 - bits);
}

static uint32_t
word_at(const struct digest *digest, const uint8_t *at)
{
    return digest->little ? (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24
                          : (uint32_t)at[3] | (uint32_t)at[2] << 8 | (uint32_t)at[1] << 16 | (uint32_t)at[0] << 24;
}

/* The sines of 1 to 64, the first 32 bits behind the point. */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

static void
add_md5(struct digest *digest, const uint8_t *block)
{
    static const uint8_t turns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t a = digest->state[0];
    uint32_t b = digest->state[1];
    uint32_t c = digest->state[2];
    uint32_t d = digest->state[3];

    for (int i = 0; i < 64; i++) {
        int round = i / 16;
        uint32_t mixed = round == 0   ? (b & c) | (~b & d)
                         : round == 1 ? (d & b) | (~d & c)
                         : round == 2 ? b ^ c ^ d
                                      : c ^ (b | ~d);
        int place = round == 0 ? i : round == 1 ? (5 * i + 1) % 16 : round == 2 ? (3 * i + 5) % 16 : 7 * i % 16;
        uint32_t sum = a + mixed + sines[i] + word_at(digest, block + (size_t)place * 4);

        a = d;
        d = c;
        c = b;
        b += rotated(sum, turns[round][i % 4]);
    }
    digest->state[0] += a;
    digest->state[1] += b;
    digest->state[2] += c;
    digest->state[3] += d;
}

static void
add_sha1(struct digest *digest, const uint8_t *block)
{
    static const uint32_t constants[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t words[80];
    uint32_t s[5];

    memcpy(s, digest->state, sizeof s);
    for (int i = 0; i < 80; i++) {
        words[i] = i < 16 ? word_at(digest, block + (size_t)i * 4)
                          : rotated(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    }
    for (int i = 0; i < 80; i++) {
        int round = i / 20;
        uint32_t mixed = round == 0   ? (s[1] & s[2]) | (~s[1] & s[3])
                         : round == 2 ? (s[1] & s[2]) | (s[1] & s[3]) | (s[2] & s[3])
                                      : s[1] ^ s[2] ^ s[3];
        uint32_t sum = rotated(s[0], 5) + mixed + s[4] + words[i] + constants[round];

        s[4] = s[3];
        s[3] = s[2];
        s[2] = rotated(s[1], 30);
        s[1] = s[0];
        s[0] = sum;
    }
    for (int i = 0; i < 5; i++) {
        digest->state[i] += s[i];
    }
}

/* The first 32 bits behind the point of the cube roots of the first 64 primes. */
static const uint32_t roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void
add_sha256(struct digest *digest, const uint8_t *block)
{
    uint32_t words[64];
    uint32_t s[8];

    memcpy(s, digest->state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t near = i < 16 ? 0 : words[i - 15];
        uint32_t far = i < 16 ? 0 : words[i - 2];

        words[i] = i < 16 ? word_at(digest, block + (size_t)i * 4)
                          : words[i - 16] + words[i - 7] + (rotated(near, 25) ^ rotated(near, 14) ^ near >> 3) +
                                (rotated(far, 15) ^ rotated(far, 13) ^ far >> 10);
    }
    for (int i = 0; i < 64; i++) {
        uint32_t one = s[7] + (rotated(s[4], 26) ^ rotated(s[4], 21) ^ rotated(s[4], 7)) +
                       ((s[4] & s[5]) ^ (~s[4] & s[6])) + roots[i] + words[i];
        uint32_t two = (rotated(s[0], 30) ^ rotated(s[0], 19) ^ rotated(s[0], 10)) +
                       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++) {
        digest->state[i] += s[i];
    }
}

static void
add_all(struct digest *digest, const struct rows_text *text)
{
    uint8_t end[2 * BLOCK] = {0};
    size_t whole = text->size / BLOCK * BLOCK;
    size_t rest = text->size - whole;
    size_t padded = rest + 9 > BLOCK ? 2 * BLOCK : BLOCK;
    uint64_t bits = (uint64_t)text->size * 8;

    for (size_t at = 0; at < whole; at += BLOCK) {
        digest->add(digest, (const uint8_t *)text->bytes + at);
    }
    if (rest > 0) {
        memcpy(end, text->bytes + whole, rest);
    }
    end[rest] = 0x80;
    for (size_t i = 0; i < 8; i++) {
        end[digest->little ? padded - 8 + i : padded - 1 - i] = (uint8_t)(bits >> 8 * i);
    }
    for (size_t at = 0; at < padded; at += BLOCK) {
        digest->add(digest, end + at);
    }
}

bool
text_digest(struct text_call *call)
{
    static const struct digest begins[] = {
        {{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}, 4, true, add_md5},
        {{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}, 5, false, add_sha1},
        {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
         8,
         false,
         add_sha256},
    };
    enum gr_expr_op op = call->node->op;
    struct digest digest = begins[op == GR_OP_MD5 ? 0 : op == GR_OP_SHA1 ? 1 : 2];

    add_all(&digest, &call->texts[0]);
    for (int i = 0; i < digest.words; i++) {
        uint32_t word = digest.state[i];

        gr_buf_addf(call->out, "%08x", digest.little ? __builtin_bswap32(word) : word);
    }
    return true;
}
