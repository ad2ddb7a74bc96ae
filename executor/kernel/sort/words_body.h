/* The body of words.c, for words of one width: WORD, WORDS(name), BITS_OF(word) are set. No include guard. */

static void
WORDS(insertion)(WORD *words, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        WORD moving = words[i];
        size_t at = i;

        for (; at > 0 && words[at - 1] > moving; at--) {
            words[at] = words[at - 1];
        }
        words[at] = moving;
    }
}

/* How far the bits reach in which the words differ; no further than low: they are equal, as far as they count. */
static unsigned
WORDS(differ)(const WORD *words, size_t n)
{
    WORD first = words[0];
    WORD differ = 0;

    for (size_t i = 1; i < n; i++) {
        differ |= words[i] ^ first;
    }
    return BITS_OF(differ);
}

/* By digit bits from shift on, through buffers of a cache line each. ends[b]: where bucket b ends in `to`. */
static void
WORDS(scatter)(const WORD *from, WORD *to, size_t n, unsigned shift, size_t ends[1 << DIGIT_BITS])
{
    enum { BUCKETS = 1 << DIGIT_BITS, PER_LINE = LINE / sizeof(WORD) };
    _Alignas(LINE) WORD lines[BUCKETS][PER_LINE];
    uint8_t filled[BUCKETS] = {0};
    size_t counts[BUCKETS] = {0};
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        counts[(size_t)(from[i] >> shift) & (BUCKETS - 1)]++;
    }
    for (size_t b = 0; b < BUCKETS; b++) {
        ends[b] = at; /* the beginning, until words were put there */
        at += counts[b];
    }
    for (size_t i = 0; i < n; i++) {
        size_t b = (size_t)(from[i] >> shift) & (BUCKETS - 1);

        lines[b][filled[b]++] = from[i];
        if (filled[b] == PER_LINE) {
            memcpy(to + ends[b], lines[b], LINE);
            ends[b] += PER_LINE;
            filled[b] = 0;
        }
    }
    for (size_t b = 0; b < BUCKETS; b++) {
        memcpy(to + ends[b], lines[b], filled[b] * sizeof(WORD));
        ends[b] += filled[b];
    }
}

/* One pass within the cache; counts: of the digit, overwritten. */
static void
WORDS(pass)(const WORD *from, WORD *to, size_t n, unsigned shift, size_t mask, uint32_t *counts)
{
    uint32_t at = 0;

    for (size_t digit = 0; digit <= mask; digit++) {
        uint32_t many = counts[digit];

        counts[digit] = at;
        at += many;
    }
    for (size_t i = 0; i < n; i++) {
        to[counts[(size_t)(from[i] >> shift) & mask]++] = from[i];
    }
}

static void WORDS(sort)(WORD *words, WORD *other, size_t n, unsigned low, bool into_other);

/* What fits the cache: words that differ below high only. The result is in words, or in other. */
static void
WORDS(sort_cached)(WORD *words, WORD *other, size_t n, unsigned low, unsigned high, bool into_other)
{
    uint32_t counts[8][1 << LARGE_DIGIT_BITS];
    unsigned digit = n < LARGE_MIN ? SMALL_DIGIT_BITS : LARGE_DIGIT_BITS;
    unsigned wanted = bit_length(n) + SPARE_BITS;
    unsigned bits = high - low < wanted ? high - low : wanted;
    unsigned passes = (bits + digit - 1) / digit;
    unsigned from;
    size_t mask;
    WORD *source = words;
    WORD *target = other;

    digit = (bits + passes - 1) / passes;
    from = high - low <= passes * digit ? low : high - passes * digit;
    mask = ((size_t)1 << digit) - 1;
    for (unsigned p = 0; p < passes; p++) {
        memset(counts[p], 0, (mask + 1) * sizeof counts[p][0]);
    }
    for (size_t i = 0; i < n; i++) {
        for (unsigned p = 0; p < passes; p++) {
            counts[p][(size_t)(words[i] >> (from + p * digit)) & mask]++;
        }
    }
    for (unsigned p = 0; p < passes; p++) {
        WORD *swap = source;

        WORDS(pass)(source, target, n, from + p * digit, mask, counts[p]);
        source = target;
        target = swap;
    }
    if ((source == other) != into_other) {
        memcpy(target, source, n * sizeof *source);
        source = target;
    }
    /* Words that are equal in what was sorted by: few, or many of one key. */
    for (size_t i = 0, to; from > low && i < n; i = to) {
        for (to = i + 1; to < n && source[to] >> from == source[i] >> from; to++) {
        }
        if (to - i > 1) {
            WORDS(sort)(source + i, (source == words ? other : words) + i, to - i, low, false);
        }
    }
}

/* words, by the bits from low up. The result is in words, or in other. */
static void
WORDS(sort)(WORD *words, WORD *other, size_t n, unsigned low, bool into_other)
{
    size_t ends[1 << DIGIT_BITS];
    unsigned high;
    unsigned shift;
    size_t begin = 0;

    if (n <= INSERTION_MAX) {
        WORDS(insertion)(words, n);
        high = low;
    } else {
        high = WORDS(differ)(words, n);
    }
    if (high <= low) { /* in order */
        if (into_other && n > 0) {
            memcpy(other, words, n * sizeof *words);
        }
        return;
    }
    if (2 * n * sizeof *words <= CACHE_BYTES) {
        WORDS(sort_cached)(words, other, n, low, high, into_other);
        return;
    }
    shift = high - low > DIGIT_BITS ? high - DIGIT_BITS : low;
    WORDS(scatter)(words, other, n, shift, ends);
    for (size_t b = 0; b < 1 << DIGIT_BITS; b++) {
        if (ends[b] > begin) {
            WORDS(sort)(other + begin, words + begin, ends[b] - begin, low, !into_other);
        }
        begin = ends[b];
    }
}

void
WORDS(sort_words)(WORD *words, WORD *spare, size_t count, unsigned low_bits)
{
    WORDS(sort)(words, spare, count, low_bits, false);
}
