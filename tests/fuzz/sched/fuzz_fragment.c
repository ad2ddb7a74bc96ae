/*
 * Any bytes as the results of a fragment that another machine has left in the shared directory: the text that tells of its chunks, or a
 * chunk's file that the text tells of. What is taken is what it says, else an error names the file.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cluster/chunks.h"
#include "fuzz/fuzz.h"

#define DIGEST "00112233445566778899aabbccddeeff"

static char folder[] = "/tmp/granary-fuzz-XXXXXX";
static char done_path[80], chunk_path[80];

static void
leave(void)
{
    (void)unlink(done_path);
    (void)unlink(chunk_path);
    (void)rmdir(folder);
}

static void
begin_once(void)
{
    if (done_path[0] == '\0') {
        must(mkdtemp(folder) != NULL && atexit(leave) == 0);
        (void)snprintf(done_path, sizeof done_path, "%s/%s-0.done", folder, DIGEST);
        (void)snprintf(chunk_path, sizeof chunk_path, "%s/%s-0.0.object", folder, DIGEST);
    }
}

static void
write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "we");

    must(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* The text that a writer of this one chunk would have put. */
static void
write_done(const uint8_t *bytes, size_t size)
{
    char text[200];
    uint64_t chain = 0;

    memcpy(&chain, bytes + (size < sizeof chain ? 0 : size - sizeof chain), size < sizeof chain ? size : sizeof chain);
    (void)snprintf(text, sizeof text, "granary fragment 1\nnode n1\nframe\nchunks 1\n%zu %llx\nend\n", size,
                   (unsigned long long)chain);
    write_file(done_path, text, strlen(text));
}

static void
check(const struct chunks *chunks, size_t size)
{
    must(chunks->dims >= 0 && chunks->dims <= CHUNKS_DIMS && memchr(chunks->node, '\0', sizeof chunks->node) != NULL);
    must(chunks->count <= size); /* each has a line */
}

/* The first byte tells what the others are. */
int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct chunks_of of = {.directory = folder, .digest = DIGEST};
    const bool is_chunk = size > 0 && bytes[0] % 2 == 1;
    struct chunks chunks;

    begin_once();
    bytes += size > 0;
    size -= size > 0;
    write_file(is_chunk ? chunk_path : done_path, bytes, size);
    if (is_chunk) {
        write_done(bytes, size);
    }
    if (chunks_read(&of, &chunks) != GRANARY_OK) {
        must(!is_chunk && strstr(granary_error_message(), DIGEST) != NULL);
        return 0;
    }
    check(&chunks, is_chunk ? 1 : size);
    if (is_chunk) {
        must(chunks_verify(&of, &chunks) == GRANARY_OK || strstr(granary_error_message(), DIGEST) != NULL);
    }
    chunks_free(&chunks);
    return 0;
}
