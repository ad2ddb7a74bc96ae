/*
 * granary-tpch-gen: the tables of TPC-H as CSV files, by the rules of its specification (revision 3, 4.2).
 *
 *   granary-tpch-gen SCALE DIRECTORY [--tables T,...] [--part K/N]
 *
 * Rows depend on the scale and their number only, so parts (NAME.K.csv) can be made at the same time and are together
 * what one run makes. Numbers and words are of this program's own stream, not dbgen's: the answers the specification
 * prints are those of other data. Its comments are cut out of one text of its grammar, as dbgen's are.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "contract/int128.h"
#include "tpch_words.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT_BYTES   ((size_t)4 << 20)
#define START_DATE   8035 /* 1992-01-01 in days since 1970 */
#define ORDER_DAYS   2406 /* orders until 1998-08-02 */
#define CURRENT_DATE 9298 /* 1995-06-17 */
#define DAYS         2600
#define LINES_MAX    7
#define FILE_BUFFER  ((size_t)1 << 20)

enum table { REGION, NATION, SUPPLIER, CUSTOMER, PART, PARTSUPP, ORDERS, LINEITEM, TABLES };

static const char *const table_names[TABLES] = {"region", "nation",   "supplier", "customer",
                                                "part",   "partsupp", "orders",   "lineitem"};

struct generator {
    int64_t suppliers;
    int64_t customers;
    int64_t parts;
    int64_t orders;
    double scale;
    bool wanted[TABLES];
    int64_t part; /* of part_count, from 0 */
    int64_t part_count;
    const char *directory;
    char dates[DAYS][11];
    char *text;
};

/* ---- numbers: splitmix64, begun anew for every row ---- */

struct stream {
    uint64_t state;
};

static uint64_t
next(struct stream *stream)
{
    uint64_t z = stream->state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static struct stream
stream_of(enum table table, int64_t row)
{
    struct stream stream = {.state = (uint64_t)table << 56 ^ (uint64_t)row * 0xd1342543de82ef95ULL};

    (void)next(&stream);
    return stream;
}

/* From least to most. */
static int64_t
between(struct stream *stream, int64_t least, int64_t most)
{
    uint64_t range = (uint64_t)(most - least) + 1;

    return least + (int64_t)((gr_uint128)next(stream) * range >> 64);
}

static const char *
pick(struct stream *stream, const char *const *words, size_t count)
{
    return words[between(stream, 0, (int64_t)count - 1)];
}

/* ---- text ---- */

/* The grammar's sentences: each letter stands for a kind of word, or for a phrase. */
static const char *const sentences[] = {"NVT", "NVPT", "NVNT", "NPVNT", "NPVPT"};
static const char *const noun_phrases[] = {"n", "jn", "j, jn", "djn"};
static const char *const verb_phrases[] = {"v", "xv", "vd", "xvd"};

static size_t
add_word(char *text, size_t size, const char *word)
{
    size_t length = strlen(word);

    if (size > 0 && text[size - 1] != ' ') {
        text[size++] = ' ';
    }
    memcpy(text + size, word, length);
    return size + length;
}

static size_t
add_phrase(struct stream *stream, char *text, size_t size, const char *phrase)
{
    for (; *phrase != '\0'; phrase++) {
        switch (*phrase) {
        case 'n':
            size = add_word(text, size, pick(stream, nouns, COUNT(nouns)));
            break;
        case 'v':
            size = add_word(text, size, pick(stream, verbs, COUNT(verbs)));
            break;
        case 'j':
            size = add_word(text, size, pick(stream, adjectives, COUNT(adjectives)));
            break;
        case 'd':
            size = add_word(text, size, pick(stream, adverbs, COUNT(adverbs)));
            break;
        case 'x':
            size = add_word(text, size, pick(stream, auxiliaries, COUNT(auxiliaries)));
            break;
        case 'N':
            size = add_phrase(stream, text, size, pick(stream, noun_phrases, COUNT(noun_phrases)));
            break;
        case 'V':
            size = add_phrase(stream, text, size, pick(stream, verb_phrases, COUNT(verb_phrases)));
            break;
        case 'P':
            size = add_word(text, size, pick(stream, prepositions, COUNT(prepositions)));
            size = add_word(text, size, "the");
            size = add_phrase(stream, text, size, "N");
            break;
        case 'T': /* a terminator follows its word without a space */
            text[size++] = *pick(stream, terminators, COUNT(terminators));
            break;
        case ',':
            text[size++] = ',';
            break;
        default:
            break;
        }
    }
    return size;
}

static char *
make_text(void)
{
    struct stream stream = stream_of(TABLES, 0);
    char *text = malloc(TEXT_BYTES + 1024); /* a sentence is shorter than that */
    size_t size = 0;

    while (text != NULL && size < TEXT_BYTES) {
        size = add_phrase(&stream, text, size, pick(&stream, sentences, COUNT(sentences)));
    }
    return text;
}

/* ---- fields ---- */

/* Quoted when it has a comma. */
static void
put_text(FILE *out, const char *text, size_t length)
{
    bool quoted = memchr(text, ',', length) != NULL;

    if (quoted) {
        (void)putc_unlocked('"', out);
    }
    (void)fwrite_unlocked(text, 1, length, out);
    if (quoted) {
        (void)putc_unlocked('"', out);
    }
}

static void
put_comment(const struct generator *generator, struct stream *stream, FILE *out, int64_t least, int64_t most)
{
    int64_t length = between(stream, least, most);

    put_text(out, generator->text + between(stream, 0, (int64_t)TEXT_BYTES - length), (size_t)length);
}

static void
put_address(struct stream *stream, FILE *out)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    char text[40];
    size_t length = (size_t)between(stream, 10, (int64_t)sizeof text);

    for (size_t i = 0; i < length; i++) {
        text[i] = letters[between(stream, 0, (int64_t)sizeof letters - 2)];
    }
    put_text(out, text, length);
}

static void
put_phone(struct stream *stream, FILE *out, int64_t nation)
{
    int64_t first = between(stream, 100, 999);
    int64_t second = between(stream, 100, 999);

    (void)fprintf(out, "%" PRId64 "-%" PRId64 "-%" PRId64 "-%" PRId64, nation + 10, first, second,
                  between(stream, 1000, 9999));
}

static void
put_money(FILE *out, int64_t cents)
{
    (void)fprintf(out, "%s%" PRId64 ".%02d", cents < 0 ? "-" : "", (cents < 0 ? -cents : cents) / 100,
                  (int)((cents < 0 ? -cents : cents) % 100));
}

static int64_t
retail_price(int64_t part)
{
    return 90000 + part / 10 % 20001 + 100 * (part % 1000);
}

/* The supplier of a part's i-th row in partsupp. */
static int64_t
supplier_of(const struct generator *generator, int64_t part, int64_t i)
{
    int64_t all = generator->suppliers;

    return (part + i * (all / 4 + (part - 1) / all)) % all + 1;
}

/* ---- rows ---- */

static void
put_region(const struct generator *generator, int64_t row, FILE *out)
{
    struct stream stream = stream_of(REGION, row);

    (void)fprintf(out, "%" PRId64 ",%s,", row, regions[row]);
    put_comment(generator, &stream, out, 31, 115);
    (void)putc_unlocked('\n', out);
}

static void
put_nation(const struct generator *generator, int64_t row, FILE *out)
{
    struct stream stream = stream_of(NATION, row);

    (void)fprintf(out, "%" PRId64 ",%s,%d,", row, nations[row].name, nations[row].region);
    put_comment(generator, &stream, out, 31, 114);
    (void)putc_unlocked('\n', out);
}

/* A few suppliers are complained about, as many are recommended: the words with others around and between. */
static void
put_supplier_comment(const struct generator *generator, struct stream *stream, int64_t row, FILE *out)
{
    int64_t rate = generator->suppliers < 2000 ? generator->suppliers : 2000; /* 5 in 10 000 of each, one at least */
    bool complaint = row % rate == 913 % rate;
    char text[101];
    int64_t length = between(stream, 25, 100);
    int64_t start = between(stream, 0, (int64_t)TEXT_BYTES - length);

    memcpy(text, generator->text + start, (size_t)length);
    if (complaint || row % rate == 1607 % rate) {
        const char *verdict = complaint ? "Complaints" : "Recommends";
        int64_t room = length - 8 - 10;
        int64_t gap = between(stream, 0, room);
        int64_t at = between(stream, 0, room - gap);

        memcpy(text + at, "Customer", 8);
        memcpy(text + at + 8 + gap, verdict, 10);
    }
    put_text(out, text, (size_t)length);
}

static void
put_supplier(const struct generator *generator, int64_t row, FILE *out)
{
    struct stream stream = stream_of(SUPPLIER, row);
    int64_t nation = between(&stream, 0, COUNT(nations) - 1);

    (void)fprintf(out, "%" PRId64 ",Supplier#%09" PRId64 ",", row + 1, row + 1);
    put_address(&stream, out);
    (void)fprintf(out, ",%" PRId64 ",", nation);
    put_phone(&stream, out, nation);
    (void)putc_unlocked(',', out);
    put_money(out, between(&stream, -99999, 999999));
    (void)putc_unlocked(',', out);
    put_supplier_comment(generator, &stream, row, out);
    (void)putc_unlocked('\n', out);
}

static void
put_customer(const struct generator *generator, int64_t row, FILE *out)
{
    struct stream stream = stream_of(CUSTOMER, row);
    int64_t nation = between(&stream, 0, COUNT(nations) - 1);

    (void)fprintf(out, "%" PRId64 ",Customer#%09" PRId64 ",", row + 1, row + 1);
    put_address(&stream, out);
    (void)fprintf(out, ",%" PRId64 ",", nation);
    put_phone(&stream, out, nation);
    (void)putc_unlocked(',', out);
    put_money(out, between(&stream, -99999, 999999));
    (void)fprintf(out, ",%s,", pick(&stream, segments, COUNT(segments)));
    put_comment(generator, &stream, out, 29, 116);
    (void)putc_unlocked('\n', out);
}

static void
put_part(const struct generator *generator, int64_t row, FILE *out)
{
    struct stream stream = stream_of(PART, row);
    int64_t used[5];
    int64_t maker = between(&stream, 1, 5);

    (void)fprintf(out, "%" PRId64 ",", row + 1);
    for (int i = 0; i < 5; i++) { /* five different words */
        bool again = true;

        while (again) {
            used[i] = between(&stream, 0, COUNT(colors) - 1);
            again = false;
            for (int k = 0; k < i; k++) {
                again = again || used[k] == used[i];
            }
        }
        (void)fprintf(out, i == 0 ? "%s" : " %s", colors[used[i]]);
    }
    (void)fprintf(out, ",Manufacturer#%" PRId64 ",Brand#%" PRId64 "%" PRId64, maker, maker, between(&stream, 1, 5));
    (void)fprintf(out, ",%s", pick(&stream, type_first, COUNT(type_first)));
    (void)fprintf(out, " %s", pick(&stream, type_second, COUNT(type_second)));
    (void)fprintf(out, " %s", pick(&stream, type_third, COUNT(type_third)));
    (void)fprintf(out, ",%" PRId64, between(&stream, 1, 50));
    (void)fprintf(out, ",%s", pick(&stream, container_first, COUNT(container_first)));
    (void)fprintf(out, " %s,", pick(&stream, container_second, COUNT(container_second)));
    put_money(out, retail_price(row + 1));
    (void)putc_unlocked(',', out);
    put_comment(generator, &stream, out, 5, 22);
    (void)putc_unlocked('\n', out);
}

static void
put_partsupp(const struct generator *generator, int64_t row, FILE *out)
{
    struct stream stream = stream_of(PARTSUPP, row);

    for (int64_t i = 0; i < 4; i++) {
        (void)fprintf(out, "%" PRId64 ",%" PRId64 ",%" PRId64 ",", row + 1, supplier_of(generator, row + 1, i),
                      between(&stream, 1, 9999));
        put_money(out, between(&stream, 100, 100000));
        (void)putc_unlocked(',', out);
        put_comment(generator, &stream, out, 49, 198);
        (void)putc_unlocked('\n', out);
    }
}

/* One line of an order, before its comment. */
struct line {
    int64_t part;
    int64_t supplier;
    int64_t quantity;
    int64_t price;    /* cents */
    int64_t discount; /* percent */
    int64_t tax;
    int64_t ship; /* days since START_DATE */
    int64_t commit;
    int64_t receipt;
    char returned;
};

/* Orders and their lines are drawn from one stream: both tables can be made alone. Returns how many lines. */
static int
draw_order(const struct generator *generator, struct stream *stream, int64_t *ret_date, struct line lines[LINES_MAX])
{
    int count = (int)between(stream, 1, LINES_MAX);

    *ret_date = between(stream, 0, ORDER_DAYS - 1);
    for (int i = 0; i < count; i++) {
        struct line *line = &lines[i];

        line->part = between(stream, 1, generator->parts);
        line->supplier = supplier_of(generator, line->part, between(stream, 0, 3));
        line->quantity = between(stream, 1, 50);
        line->price = line->quantity * retail_price(line->part);
        line->discount = between(stream, 0, 10);
        line->tax = between(stream, 0, 8);
        line->ship = *ret_date + between(stream, 1, 121);
        line->commit = *ret_date + between(stream, 30, 90);
        line->receipt = line->ship + between(stream, 1, 30);
        line->returned = "RA"[between(stream, 0, 1)];
    }
    return count;
}

static bool
has_shipped(const struct line *line)
{
    return line->ship + START_DATE <= CURRENT_DATE;
}

/* Eight keys of every 32 are used. */
static int64_t
order_key(int64_t row)
{
    return row / 8 * 32 + row % 8 + 1;
}

static void
put_order(const struct generator *generator, int64_t row, FILE *out)
{
    struct stream stream = stream_of(ORDERS, row);
    struct line lines[LINES_MAX];
    int64_t date;
    int64_t customer;
    int64_t total = 0;
    int shipped = 0;
    int count = draw_order(generator, &stream, &date, lines);

    for (int i = 0; i < count; i++) {
        /* cents times 10 000, rounded for each line */
        total += (lines[i].price * (100 - lines[i].discount) * (100 + lines[i].tax) + 5000) / 10000;
        shipped += has_shipped(&lines[i]);
    }
    do { /* a third of the customers has no order */
        customer = between(&stream, 1, generator->customers);
    } while (customer % 3 == 0);
    (void)fprintf(out, "%" PRId64 ",%" PRId64 ",%c,", order_key(row), customer,
                  shipped == count ? 'F'
                  : shipped == 0   ? 'O'
                                   : 'P');
    put_money(out, total);
    (void)fprintf(out, ",%s,%s", generator->dates[date], pick(&stream, priorities, COUNT(priorities)));
    (void)fprintf(out, ",Clerk#%09" PRId64 ",0,",
                  between(&stream, 1, generator->scale < 0.001 ? 1 : (int64_t)(generator->scale * 1000)));
    put_comment(generator, &stream, out, 19, 78);
    (void)putc_unlocked('\n', out);
}

static void
put_lines(const struct generator *generator, int64_t row, FILE *out)
{
    struct stream stream = stream_of(ORDERS, row);
    struct stream words = stream_of(LINEITEM, row);
    struct line lines[LINES_MAX];
    int64_t date;
    int count = draw_order(generator, &stream, &date, lines);

    for (int i = 0; i < count; i++) {
        const struct line *line = &lines[i];
        bool received = line->receipt + START_DATE <= CURRENT_DATE;

        (void)fprintf(out, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%d,%" PRId64 ",", order_key(row), line->part,
                      line->supplier, i + 1, line->quantity);
        put_money(out, line->price);
        (void)fprintf(out, ",0.%02d,0.%02d,%c,%c,%s,%s,%s", (int)line->discount, (int)line->tax,
                      received ? line->returned : 'N', has_shipped(line) ? 'F' : 'O', generator->dates[line->ship],
                      generator->dates[line->commit], generator->dates[line->receipt]);
        (void)fprintf(out, ",%s", pick(&words, instructions, COUNT(instructions)));
        (void)fprintf(out, ",%s,", pick(&words, modes, COUNT(modes)));
        put_comment(generator, &words, out, 10, 43);
        (void)putc_unlocked('\n', out);
    }
}

/* ---- tables ---- */

static const struct {
    const char *header;
    void (*put)(const struct generator *generator, int64_t row, FILE *out);
} tables[TABLES] = {
    [REGION] = {"r_regionkey,r_name,r_comment", put_region},
    [NATION] = {"n_nationkey,n_name,n_regionkey,n_comment", put_nation},
    [SUPPLIER] = {"s_suppkey,s_name,s_address,s_nationkey,s_phone,s_acctbal,s_comment", put_supplier},
    [CUSTOMER] = {"c_custkey,c_name,c_address,c_nationkey,c_phone,c_acctbal,c_mktsegment,c_comment", put_customer},
    [PART] = {"p_partkey,p_name,p_mfgr,p_brand,p_type,p_size,p_container,p_retailprice,p_comment", put_part},
    [PARTSUPP] = {"ps_partkey,ps_suppkey,ps_availqty,ps_supplycost,ps_comment", put_partsupp},
    [ORDERS] = {"o_orderkey,o_custkey,o_orderstatus,o_totalprice,o_orderdate,o_orderpriority,o_clerk,o_shippriority,"
                "o_comment",
                put_order},
    [LINEITEM] = {"l_orderkey,l_partkey,l_suppkey,l_linenumber,l_quantity,l_extendedprice,l_discount,l_tax,"
                  "l_returnflag,l_linestatus,l_shipdate,l_commitdate,l_receiptdate,l_shipinstruct,l_shipmode,"
                  "l_comment",
                  put_lines},
};

/* Turns of put, not rows: partsupp and lineitem give several at each. */
static int64_t
turns(const struct generator *generator, enum table table)
{
    const int64_t counts[TABLES] = {
        [REGION] = COUNT(regions),         [NATION] = COUNT(nations),     [SUPPLIER] = generator->suppliers,
        [CUSTOMER] = generator->customers, [PART] = generator->parts,     [PARTSUPP] = generator->parts,
        [ORDERS] = generator->orders,      [LINEITEM] = generator->orders};

    return counts[table];
}

static int
write_table(const struct generator *generator, enum table table)
{
    static char buffer[FILE_BUFFER];
    int64_t all = turns(generator, table);
    char path[4096];
    FILE *out;
    bool failed;

    if (generator->part_count == 1) {
        (void)snprintf(path, sizeof path, "%s/%s.csv", generator->directory, table_names[table]);
    } else {
        (void)snprintf(path, sizeof path, "%s/%s.%" PRId64 ".csv", generator->directory, table_names[table],
                       generator->part + 1);
    }
    out = fopen(path, "we");
    if (out == NULL) {
        (void)fprintf(stderr, "granary-tpch-gen: %s: %s\n", path, strerror(errno));
        return 1;
    }
    (void)setvbuf(out, buffer, _IOFBF, sizeof buffer);
    (void)fprintf(out, "%s\n", tables[table].header);
    for (int64_t row = all * generator->part / generator->part_count;
         row < all * (generator->part + 1) / generator->part_count; row++) {
        tables[table].put(generator, row, out);
    }
    failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        (void)fprintf(stderr, "granary-tpch-gen: %s: %s\n", path, strerror(errno));
        return 1;
    }
    return 0;
}

static void
make_dates(struct generator *generator)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    unsigned year = 1992;
    unsigned month = 1;
    unsigned day = 1;

    for (int i = 0; i < DAYS; i++) {
        unsigned length = (unsigned)lengths[month - 1] + (month == 2 && year % 4 == 0);

        (void)snprintf(generator->dates[i], sizeof generator->dates[i], "%04u-%02u-%02u", year % 10000, month % 100,
                       day % 100);
        if (++day > length) {
            day = 1;
            month = month % 12 + 1;
            year += month == 1;
        }
    }
}

/* ---- the command ---- */

static bool
choose_tables(struct generator *generator, char *list)
{
    char *rest = NULL;

    memset(generator->wanted, 0, sizeof generator->wanted);
    for (char *name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        int table = 0;

        while (table < TABLES && strcmp(table_names[table], name) != 0) {
            table++;
        }
        if (table == TABLES) {
            (void)fprintf(stderr, "granary-tpch-gen: there is no table '%s'\n", name);
            return false;
        }
        generator->wanted[table] = true;
    }
    return true;
}

static bool
read_arguments(struct generator *generator, int argc, char **argv)
{
    char *end = NULL;

    if (argc < 3) {
        return false;
    }
    generator->scale = strtod(argv[1], &end);
    generator->directory = argv[2];
    if (*end != '\0' || !(generator->scale > 0 && generator->scale <= 1000)) {
        (void)fprintf(stderr, "granary-tpch-gen: '%s' is no scale: above 0, up to 1000\n", argv[1]);
        return false;
    }
    for (int i = 3; i < argc; i += 2) {
        if (i + 1 == argc) {
            return false;
        }
        if (strcmp(argv[i], "--tables") == 0) {
            if (!choose_tables(generator, argv[i + 1])) {
                return false;
            }
        } else if (strcmp(argv[i], "--part") == 0) {
            if (sscanf(argv[i + 1], "%" SCNd64 "/%" SCNd64, &generator->part, &generator->part_count) != 2 ||
                generator->part < 1 || generator->part > generator->part_count) {
                (void)fprintf(stderr, "granary-tpch-gen: '%s' is no part: 1/4 to 4/4\n", argv[i + 1]);
                return false;
            }
            generator->part--;
        } else {
            return false;
        }
    }
    return true;
}

static int64_t
scaled(double scale, int64_t rows)
{
    int64_t count = (int64_t)((double)rows * scale + 0.5);

    return count < 4 ? 4 : count;
}

int
main(int argc, char **argv)
{
    static struct generator generator = {.part = 0, .part_count = 1};
    int status = 0;

    memset(generator.wanted, 1, sizeof generator.wanted);
    if (!read_arguments(&generator, argc, argv)) {
        (void)fprintf(stderr, "usage: granary-tpch-gen SCALE DIRECTORY [--tables NAME,...] [--part K/N]\n");
        return 2;
    }
    generator.suppliers = scaled(generator.scale, 10000);
    generator.customers = scaled(generator.scale, 150000);
    generator.parts = scaled(generator.scale, 200000);
    generator.orders = scaled(generator.scale, 1500000);
    generator.text = make_text();
    if (generator.text == NULL) {
        (void)fprintf(stderr, "granary-tpch-gen: out of memory\n");
        return 1;
    }
    make_dates(&generator);
    if (mkdir(generator.directory, 0777) != 0 && errno != EEXIST) {
        (void)fprintf(stderr, "granary-tpch-gen: %s: %s\n", generator.directory, strerror(errno));
        status = 1;
    }
    for (int table = 0; table < TABLES && status == 0; table++) {
        if (generator.wanted[table]) {
            status = write_table(&generator, (enum table)table);
        }
    }
    free(generator.text);
    return status;
}
