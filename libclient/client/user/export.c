/* granary_export(): a library is looked at, tried, and sealed, before the scheduler hears of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/process/elf.h"
#include "client/trial.h"
#include "client/user/library.h"
#include "granary/call.h"
#include "graph/user/function.h"
#include "object/object.h"

#define FILE_MAX ((size_t)1 << 30)

/* Of a file "folder/libNAME.so.1": NAME. */
static void
name_of_file(const char *path, char ret_name[GR_LIBRARY_MAX])
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *end;

    name += strncmp(name, "lib", 3) == 0 && name[3] != '\0' && name[3] != '.' ? 3 : 0;
    end = strstr(name, ".so");
    (void)snprintf(ret_name, GR_LIBRARY_MAX, "%.*s", end == NULL ? (int)strlen(name) : (int)(end - name), name);
}

/* Errors: ENOENT · EINVAL no file whose end would come · errno's */
static granary_err
read_library(const char *path, char **ret_bytes, size_t *ret_size)
{
    struct stat st;

    if (stat(path, &st) < 0) {
        return gr_fail_errno("%s", path);
    }
    return S_ISREG(st.st_mode) ? gr_file_read(path, FILE_MAX, ret_bytes, ret_size)
                               : gr_fail(GRANARY_EINVAL, "%s: not a file, and so not a shared object", path);
}

/* Errors: EINVAL */
static granary_err
check_file(const void *bytes, size_t size)
{
    granary_err err = gr_elf_check(bytes, size);
    size_t at = 0;

    if (err == GRANARY_OK && gr_elf_symbol(bytes, size, "granary_function_", &at) == NULL) {
        err = gr_fail(GRANARY_EINVAL, "it declares no function: define one with GRANARY_FUNCTION() of granary/call.h");
    }
    return err;
}

/* The file as an object, and the library as the scheduler is told. */
static granary_err
seal_and_send(granary_client *client, const void *bytes, size_t size, Granary__Library *library)
{
    granary_id id = granary_id_random();
    granary_err err = granary_object_put(client, id, bytes, size, NULL, 0, 0);

    if (err != GRANARY_OK) {
        return err;
    }
    library->object = (ProtobufCBinaryData){.len = sizeof id.bytes, .data = id.bytes};
    err = gr_export_send(client, library);
    library->object = (ProtobufCBinaryData){.len = 0};
    if (err != GRANARY_OK && err != GRANARY_EUNREACHABLE && err != GRANARY_ETIMEDOUT) {
        (void)granary_object_delete(client, id, 0); /* refused; else it may have been accepted */
    }
    return err;
}

granary_err
granary_export(granary_client *client, const char *path, const char *name, char ret_version[33])
{
    char own_name[GR_LIBRARY_MAX];
    char version[33];
    Granary__Library *library = NULL;
    char *bytes = NULL;
    size_t size = 0;
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK && path == NULL) {
        err = gr_fail(GRANARY_EINVAL, "library: NULL");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    name_of_file(path, own_name);
    name = name == NULL ? own_name : name;
    if (!gr_library_name_good(name)) {
        return gr_fail(GRANARY_EINVAL,
                       "library '%.100s': its name needs letters, digits, '_', '-', '.' or '+', at most "
                       "%d: give it another one",
                       name, GR_LIBRARY_MAX - 1);
    }
    err = read_library(path, &bytes, &size);
    if (err == GRANARY_OK) {
        err = check_file(bytes, size);
        err = err == GRANARY_OK ? trial_run(bytes, size, &library) : err;
        err = err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "%s", path);
    }
    if (err == GRANARY_OK) {
        char *was_name = library->name;
        char *was_version = library->version;

        gr_hash128_format(bytes, size, version);
        library->name = (char *)(uintptr_t)name;
        library->version = version;
        err = seal_and_send(client, bytes, size, library);
        library->name = was_name;
        library->version = was_version;
    }
    if (err == GRANARY_OK && ret_version != NULL) {
        memcpy(ret_version, version, sizeof version);
    }
    if (library != NULL) {
        granary__library__free_unpacked(library, NULL);
    }
    free(bytes);
    return err;
}
