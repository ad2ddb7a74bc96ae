/*
 * How fast a large object leaves memory and comes back, beside what the disk and LZ4 can do alone: bytes that compress,
 * and bytes that do not. The limit is the slower of both.
 */
#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/run.h"

#define MIB   ((uint64_t)1 << 20)
#define FRAME ((size_t)256 << 10) /* what the store packs at once */
#define WRITE ((size_t)1 << 20)   /* ... and writes at once */

/* What is measured of one kind of bytes, in bytes of the object a second. */
struct rates {
    double disk_write, disk_read; /* of stored bytes */
    double pack, unpack;
    double stored; /* bytes stored for one of the object */
    struct samples spill, restore;
};

static double
per_second(uint64_t bytes, int64_t began_ns)
{
    return (double)bytes / ((double)(bench_now_ns() - began_ns) / 1e9);
}

/* Half of the words are random in bytes that compress. */
static void
fill(uint64_t *words, size_t count, bool compressible)
{
    uint64_t seed = 7;

    for (size_t i = 0; i < count; i++) {
        words[i] = compressible && i % 2 == 0 ? i / 512 : run_random(&seed);
    }
}

/* O_DIRECT, front to back, in the pieces the store writes; plain where the file system refuses. False: errno. */
static bool
time_disk(const char *directory, const char *bytes, uint64_t size, struct rates *rates)
{
    char path[256];
    char *piece = aligned_alloc(4096, WRITE);
    int64_t began;
    bool good;
    int fd;

    (void)snprintf(path, sizeof path, "%s/granary-bench-%d", directory, (int)getpid());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_DIRECT, 0600);
    fd = fd < 0 && errno == EINVAL ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : fd;
    good = fd >= 0 && piece != NULL;
    began = bench_now_ns();
    for (uint64_t at = 0; at < size && good; at += WRITE) {
        memcpy(piece, bytes + at, WRITE);
        good = pwrite(fd, piece, WRITE, (off_t)at) == (ssize_t)WRITE;
    }
    rates->disk_write = per_second(size, began);
    began = bench_now_ns();
    for (uint64_t at = 0; at < size && good; at += WRITE) {
        good = pread(fd, piece, WRITE, (off_t)at) == (ssize_t)WRITE;
    }
    rates->disk_read = per_second(size, began);
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(path);
    }
    free(piece);
    return good;
}

/* One thread packs, as the store does; every cpu unpacks, so that is not counted as slower than so many threads. */
static bool
time_lz4(const char *bytes, uint64_t size, struct rates *rates)
{
    size_t frames = size / FRAME;
    int *sizes = calloc(frames, sizeof *sizes);
    char *packed = malloc(size);
    char *raw = malloc(FRAME);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t stored = 0;
    bool good = sizes != NULL && packed != NULL && raw != NULL;
    int64_t began = bench_now_ns();

    for (size_t i = 0; i < frames && good; i++) {
        sizes[i] = LZ4_compress_default(bytes + i * FRAME, packed + i * FRAME, (int)FRAME, (int)FRAME);
        good = sizes[i] > 0;
        stored += good ? (uint64_t)sizes[i] : 0;
    }
    rates->pack = per_second(size, began);
    began = bench_now_ns();
    for (size_t i = 0; i < frames && good; i++) {
        good = LZ4_decompress_safe(packed + i * FRAME, raw, sizes[i], (int)FRAME) == (int)FRAME;
    }
    rates->unpack = per_second(size, began) * (double)(cpus < 2 ? 1 : cpus > 4 ? 4 : cpus);
    rates->stored = (double)stored / (double)size;
    free(sizes);
    free(packed);
    free(raw);
    return good;
}

/* Out of memory and back; disk and store take turns, for a disk's speed changes with time. */
static void
time_store(struct run *run, const char *directory, const char *bytes, uint64_t size, struct rates *rates)
{
    struct samples writes = {.values = NULL};
    struct samples reads = {.values = NULL};

    for (uint64_t i = 0; i < (run->scale > 1 ? 5 : 9) && !run->failed; i++) {
        granary_id id = run_id(((uint64_t)8 << 32) + i);
        granary_view view;
        int64_t began;

        if (!run_good(run, granary_object_put(run->client, id, bytes, size, NULL, 0, 0))) {
            break;
        }
        began = bench_now_ns();
        (void)run_good(run, granary_object_move(run->client, id, 0, GRANARY_LEVEL_MEMORY, 60000));
        samples_add(&rates->spill, per_second(size, began));
        began = bench_now_ns();
        if (run_good(run, granary_object_get(run->client, id, 60000, &view))) {
            samples_add(&rates->restore, per_second(size, began));
            run->failed = run->failed || memcmp(view.data, bytes, size) != 0;
            granary_object_release(run->client, &view);
        }
        (void)run_good(run, granary_object_delete(run->client, id, 0));
        if (!time_disk(directory, bytes, size, rates)) {
            run->failed = true;
        }
        samples_add(&writes, rates->disk_write);
        samples_add(&reads, rates->disk_read);
    }
    rates->disk_write = samples_quantile(&writes, 0.5);
    rates->disk_read = samples_quantile(&reads, 0.5);
    samples_free(&writes);
    samples_free(&reads);
}

static double
slower(double a, double b)
{
    return a < b ? a : b;
}

static void
add(struct run *run, const char *name, double rate, double limit, const char *what)
{
    char key[40];

    (void)snprintf(key, sizeof key, "%s_gib_s", name);
    results_add_value(run->results, key, "GiB/s", NULL, what, rate / (1024.0 * MIB));
    (void)snprintf(key, sizeof key, "%s_ratio", name);
    results_add_value(run->results, key, "ratio", NULL, "of the slower of disk and LZ4, in the same run", rate / limit);
}

void
bench_spill(struct run *run, const char *directory)
{
    const uint64_t size = (run->scale > 1 ? 64 : 256) * MIB;
    uint64_t *bytes = malloc(size);
    struct rates raw = {.stored = 1};
    struct rates packed = {.stored = 1};

    if (bytes == NULL) {
        run->failed = true;
        return;
    }
    fill(bytes, size / sizeof *bytes, false);
    time_store(run, directory, (const char *)bytes, size, &raw);
    fill(bytes, size / sizeof *bytes, true);
    if (!time_lz4((const char *)bytes, size, &packed)) {
        run->failed = true;
    }
    time_store(run, directory, (const char *)bytes, size, &packed);
    free(bytes);
    results_add_value(run->results, "disk_write_gib_s", "GiB/s", NULL, "O_DIRECT, 1 MiB at a time, one thread",
                      raw.disk_write / (1024.0 * MIB));
    results_add_value(run->results, "disk_read_gib_s", "GiB/s", NULL, "the same", raw.disk_read / (1024.0 * MIB));
    results_add_value(run->results, "lz4_pack_gib_s", "GiB/s", NULL, "256 KiB at a time, one thread",
                      packed.pack / (1024.0 * MIB));
    results_add_value(run->results, "lz4_unpack_gib_s", "GiB/s", NULL, "the same, times the cpus that restore",
                      packed.unpack / (1024.0 * MIB));
    add(run, "spill_raw", samples_quantile(&raw.spill, 0.5), raw.disk_write,
        "an object that does not compress; median");
    add(run, "restore_raw", samples_quantile(&raw.restore, 0.5), raw.disk_read, "the same, back; median");
    add(run, "spill_lz4", samples_quantile(&packed.spill, 0.5), slower(packed.pack, packed.disk_write / packed.stored),
        "an object that compresses by half; median");
    add(run, "restore_lz4", samples_quantile(&packed.restore, 0.5),
        slower(packed.unpack, packed.disk_read / packed.stored), "the same, back; median");
    samples_free(&raw.spill);
    samples_free(&raw.restore);
    samples_free(&packed.spill);
    samples_free(&packed.restore);
}
