/* Characters as they are drawn: extended grapheme clusters of Unicode's Annex 29, without rule 9c of Indic conjuncts. */
#include "kernel/rows/text/utf8.h"

enum kind { OTHER, CONTROL, EXTEND, PREPEND, SPACING, JOINER, FLAG, PICTURE, LEAD, VOWEL, TRAIL, LEAD_VOWEL, SYLLABLE };

static const struct {
    int32_t from;
    int32_t to;
    enum kind kind;
} ranges[] = {
#define DRAWN(from, to, kind) {from, to, kind},
#include "kernel/rows/text/drawn.def"
};

static enum kind
kind_of(int32_t point)
{
    size_t low = 0;
    size_t high = sizeof ranges / sizeof ranges[0];

    if (point >= 0xac00 && point <= 0xd7a3) {
        return (point - 0xac00) % 28 == 0 ? LEAD_VOWEL : SYLLABLE;
    }
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (point > ranges[middle].to) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < sizeof ranges / sizeof ranges[0] && point >= ranges[low].from ? ranges[low].kind : OTHER;
}

/* What was read of a cluster. */
struct cluster {
    int32_t last;
    enum kind kind;
    bool picture; /* a picture, and marks behind it */
    bool paired;  /* two halves of a flag */
};

static bool
joins(const struct cluster *cluster, int32_t point, enum kind kind)
{
    switch (cluster->kind) {
    case CONTROL:
        return cluster->last == '\r' && point == '\n';
    case PREPEND:
        return kind != CONTROL;
    case LEAD:
        if (kind == LEAD || kind == VOWEL || kind == LEAD_VOWEL || kind == SYLLABLE) {
            return true;
        }
        break;
    case VOWEL:
    case LEAD_VOWEL:
        if (kind == VOWEL || kind == TRAIL) {
            return true;
        }
        break;
    case TRAIL:
    case SYLLABLE:
        if (kind == TRAIL) {
            return true;
        }
        break;
    case JOINER:
        if (kind == PICTURE && cluster->picture) {
            return true;
        }
        break;
    case FLAG:
        if (kind == FLAG && !cluster->paired) {
            return true;
        }
        break;
    default:
        break;
    }
    return kind == EXTEND || kind == JOINER || kind == SPACING;
}

/* The byte behind the cluster that begins there, which is before the end. */
static size_t
cluster_end(const struct rows_text *text, size_t at)
{
    struct cluster cluster;
    size_t size;

    cluster.last = rows_utf8_decode(text->bytes + at, text->size - at, &size);
    cluster.kind = kind_of(cluster.last);
    cluster.picture = cluster.kind == PICTURE;
    cluster.paired = false;
    for (at += size; at < text->size; at += size) {
        int32_t point = rows_utf8_decode(text->bytes + at, text->size - at, &size);
        enum kind kind = kind_of(point);

        if (!joins(&cluster, point, kind)) {
            break;
        }
        cluster.paired = cluster.kind == FLAG && kind == FLAG;
        cluster.picture = kind == PICTURE || (cluster.picture && (kind == EXTEND || kind == JOINER));
        cluster.last = point;
        cluster.kind = kind;
    }
    return at;
}

int64_t
rows_drawn_count(const struct rows_text *text)
{
    int64_t count = 0;

    for (size_t at = 0; at < text->size; at = cluster_end(text, at)) {
        count++;
    }
    return count;
}

size_t
rows_drawn_offset(const struct rows_text *text, int64_t n)
{
    size_t at = 0;

    for (; n > 0 && at < text->size; n--) {
        at = cluster_end(text, at);
    }
    return at;
}
