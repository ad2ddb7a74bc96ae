#include "image.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "contract/shm.h"
#include "granary/hold.h"
#include "world.h"

#define FILES_MOST   64u
#define PATH_MOST    256u
#define PAGE         4096u
#define SPOTS_MOST   8192u
#define SPOTS_A_FILE 1500u
#define DAMAGES_MOST 8u

enum kind { KIND_SAYS, KIND_INDEX, KIND_DATA, KIND_SPILL };

struct page {
    uint64_t at;
    unsigned char bytes[PAGE];
};

struct file {
    char path[PATH_MOST];
    enum kind kind;
    uint64_t size;
    struct page *pages; /* that are not all zero */
    size_t page_count;
};

struct spot {
    unsigned file;
    uint64_t at;
};

struct image_object image_objects[IMAGE_OBJECTS];
static struct file files[FILES_MOST];
static unsigned file_count;
static struct spot spots[SPOTS_MOST];
static unsigned spot_count;

void
image_fill(void *bytes, size_t size, unsigned seed)
{
    unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++) {
        at[i] = (unsigned char)(seed * 41 + i % 251);
    }
}

/* ---- taken ---- */

static void
put(granary_client *client, unsigned n, const char *session, const granary_object_options *options)
{
    static unsigned char data[1 << 16];
    struct image_object *object = &image_objects[n];

    *object = (struct image_object){.session = session, .data_size = 200 + n * 3000, .seed = n + 1};
    object->id.bytes[0] = (unsigned char)(n + 1);
    object->id.bytes[9] = (unsigned char)(n * 77);
    image_fill(data, object->data_size, object->seed);
    MUST(granary_object_put_with(client, object->id, data, object->data_size, data, n % 2 == 0 ? 0 : 100, options, 0) ==
             GRANARY_OK,
         "object %u", n);
}

/* Half of everything: held, named, leased, deleted, on its way. */
static void
furnish(granary_client *a, granary_client *b)
{
    granary_object_options persistent = {.persist = GRANARY_LEVEL_DISK};
    granary_object_options containing = {.contains = &image_objects[1].id, .contains_count = 1};
    granary_object_options counted = {.counted = true};
    granary_id alias = {{99, 1}};
    granary_view leased, gone;
    granary_buffer building;

    for (unsigned n = 0; n < 8; n++) {
        put(a, n, "a", n == 3 ? &persistent : n == 4 ? &containing : n == 5 ? &counted : NULL);
    }
    for (unsigned n = 8; n < IMAGE_OBJECTS; n++) {
        put(b, n, "b", n == 9 ? &persistent : NULL);
    }
    MUST(granary_object_move(a, image_objects[6].id, 0, GRANARY_LEVEL_MEMORY, 5000) == GRANARY_OK, "a spill");
    MUST(granary_object_move(b, image_objects[10].id, GRANARY_LEVEL_DISK, 0, 5000) == GRANARY_OK, "a copy");
    MUST(granary_object_move(b, image_objects[11].id, 0, GRANARY_LEVEL_MEMORY, 5000) == GRANARY_OK, "a spill");
    MUST(granary_object_pin(a, image_objects[0].id, GRANARY_PIN_SESSION) == GRANARY_OK, "a pin");
    MUST(granary_object_pin(b, image_objects[8].id, GRANARY_PIN_CLIENT) == GRANARY_OK, "a pin");
    MUST(granary_reference(a, image_objects[2].id, "owner", NULL) == GRANARY_OK, "a reference");
    MUST(granary_reference(a, image_objects[5].id, NULL, NULL) == GRANARY_OK, "a reference");
    MUST(granary_name_set(a, "name", image_objects[3].id, GRANARY_NAME_ANY, alias, NULL) == GRANARY_OK, "a name");
    MUST(granary_alias(a, alias, image_objects[4].id) == GRANARY_OK, "an alias");
    MUST(granary_object_get(a, image_objects[1].id, 0, &leased) == GRANARY_OK, "a lease");
    MUST(granary_object_get(a, image_objects[7].id, 0, &gone) == GRANARY_OK, "a lease");
    MUST(granary_object_delete(a, image_objects[7].id, 0) == GRANARY_OK, "a deletion");
    MUST(granary_object_delete(a, image_objects[2].id, 0) == GRANARY_OK, "a deletion");
    MUST(granary_object_create(b, alias, 1000, 0, 0, &building) == GRANARY_OK, "a buffer");
}

static bool
is_zero(const unsigned char *bytes)
{
    static const unsigned char zero[PAGE];

    return memcmp(bytes, zero, PAGE) == 0;
}

static void
take_file(const char *path, enum kind kind)
{
    struct file *file = &files[file_count++];
    struct page page;
    struct stat st;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    MUST(file_count < FILES_MOST && fd >= 0 && fstat(fd, &st) == 0, "%s", path);
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    file->kind = kind;
    file->size = (uint64_t)st.st_size;
    for (off_t at = 0; (at = lseek(fd, at, SEEK_DATA)) >= 0; at += PAGE) {
        at = at / PAGE * PAGE;
        page.at = (uint64_t)at;
        memset(page.bytes, 0, PAGE);
        n = pread(fd, page.bytes, PAGE, at);
        if (n > 0 && (kind == KIND_INDEX || !is_zero(page.bytes))) { /* an index counts the memory behind it */
            file->pages = realloc(file->pages, (file->page_count + 1) * sizeof page);
            file->pages[file->page_count++] = page;
        }
    }
    (void)close(fd);
}

static void
take_folder(const char *folder, const char *prefix, bool spill)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    char path[PATH_MOST + 256];
    struct stat st;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            take_folder(path, "", spill);
        } else {
            const char *name = entry->d_name + strlen(prefix);

            take_file(path, spill                            ? KIND_SPILL
                            : strstr(name, ".data") != NULL  ? KIND_DATA
                            : strstr(name, ".index") != NULL ? KIND_INDEX
                                                             : KIND_SAYS);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

static int
by_path(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static void
find_spots(void)
{
    for (unsigned f = 0; f < file_count; f++) {
        unsigned found = 0;

        for (size_t p = 0; p < files[f].page_count && files[f].kind != KIND_DATA; p++) {
            for (size_t at = 0; at < PAGE && found < SPOTS_A_FILE && spot_count < SPOTS_MOST; at += 8) {
                uint64_t word;

                memcpy(&word, files[f].pages[p].bytes + at, sizeof word);
                if (word != 0) {
                    spots[spot_count++] = (struct spot){f, files[f].pages[p].at + at};
                    found++;
                }
            }
        }
    }
}

void
image_take(uint64_t memory_bytes)
{
    granary_connect_options options = {.session = "a", .tag = "image", .reconnect_ms = -1};
    granary_client *a, *b;

    world_open(memory_bytes, 0);
    options.instance = world.instance;
    MUST(granary_connect(&options, &a) == GRANARY_OK, "a client");
    options.session = "b";
    MUST(granary_connect(&options, &b) == GRANARY_OK, "a client");
    furnish(a, b);
    world_settle();
    world_die();
    take_folder("/dev/shm", world.paths.shm_prefix + 1, false);
    take_folder(world.spill, "", true);
    qsort(files, file_count, sizeof files[0], by_path);
    find_spots();
    granary_disconnect(a);
    granary_disconnect(b);
}

/* ---- laid out ---- */

static void
make_folder(const char *path)
{
    char folder[PATH_MOST];
    char *slash;

    (void)snprintf(folder, sizeof folder, "%s", path);
    slash = strrchr(folder, '/');
    *slash = '\0';
    if (mkdir(folder, 0700) < 0 && access(folder, F_OK) != 0) {
        make_folder(folder);
        (void)mkdir(folder, 0700);
    }
}

void
image_clear(void)
{
    (void)gr_instance_sweep_shm(&world.paths);
    gr_remove_tree(world.spill);
}

void
image_restore(void)
{
    image_clear();
    for (unsigned f = 0; f < file_count; f++) {
        int fd;

        if (files[f].kind == KIND_SPILL) {
            make_folder(files[f].path);
        }
        fd = open(files[f].path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        MUST(fd >= 0 && ftruncate(fd, (off_t)files[f].size) == 0, "%s", files[f].path);
        for (size_t p = 0; p < files[f].page_count; p++) {
            (void)!pwrite(fd, files[f].pages[p].bytes, PAGE, (off_t)files[f].pages[p].at);
        }
        (void)ftruncate(fd, (off_t)files[f].size);
        (void)close(fd);
    }
    for (unsigned n = 0; n < IMAGE_OBJECTS; n++) {
        image_objects[n].touched = n == 7; /* deleted, and may be there or not */
    }
}

/* ---- damaged ---- */

static uint64_t
word_at(unsigned f, uint64_t at)
{
    uint64_t word = 0;

    for (size_t p = 0; p < files[f].page_count; p++) {
        if (files[f].pages[p].at == at / PAGE * PAGE) {
            memcpy(&word, files[f].pages[p].bytes + at % PAGE / 8 * 8, sizeof word);
        }
    }
    return word;
}

/* Whose slot it is, is not known for sure any more; nor is any id's when an id may have changed. */
static void
mark(unsigned f, uint64_t at)
{
    uint64_t line = at / 64 * 64;
    bool all = files[f].kind == KIND_DATA;
    uint64_t id[2];

    if (files[f].kind == KIND_INDEX && at >= GR_INDEX_PAGES_AT) {
        all = at % 64 >= 8 && at % 64 < 24;
        id[0] = word_at(f, line + 8);
        id[1] = word_at(f, line + 16);
        for (unsigned n = 0; n < IMAGE_OBJECTS; n++) {
            image_objects[n].touched =
                image_objects[n].touched || memcmp(id, image_objects[n].id.bytes, sizeof id) == 0;
        }
    }
    for (unsigned n = 0; all && n < IMAGE_OBJECTS; n++) {
        image_objects[n].touched = true;
    }
}

static void
write_word(unsigned f, uint64_t at, uint64_t word)
{
    int fd = open(files[f].path, O_RDWR | O_CLOEXEC);

    if (fd >= 0) {
        (void)!pwrite(fd, &word, sizeof word, (off_t)at);
        (void)close(fd);
        mark(f, at);
        mark(f, at + 7);
    }
}

static void
damage_once(struct input *input)
{
    uint8_t how = input_byte(input);
    uint64_t which = input_byte(input);
    struct spot spot;
    unsigned f;

    which = which << 8 | input_byte(input);
    spot = spots[which % spot_count];
    f = (unsigned)(which % file_count);
    switch (how % 8) {
    case 0:
    case 1:
        write_word(spot.file, spot.at, input_number(input));
        break;
    case 2:
        write_word(spot.file, spot.at, word_at(spot.file, spot.at) ^ (uint64_t)1 << (how >> 3));
        break;
    case 3: { /* what is true elsewhere: in the same place of another record, or anywhere */
        struct spot from = spots[input_word(input) % spot_count];

        write_word(spot.file, spot.at, word_at(from.file, from.at));
        break;
    }
    case 4:
        write_word(spot.file, spot.at, word_at(spot.file, spot.at) + input_byte(input) - 128);
        break;
    case 5:
        write_word(f, input_number(input) % (files[f].size + 1), input_number(input));
        break;
    case 6:
        if (files[f].kind != KIND_DATA) {
            (void)!truncate(files[f].path, (off_t)(input_number(input) % (files[f].size + PAGE)));
        }
        break;
    default:
        (void)unlink(files[f].path);
        break;
    }
}

void
image_damage(struct input *input)
{
    for (unsigned i = 0; i < DAMAGES_MOST && input->left > 0; i++) {
        damage_once(input);
    }
}
