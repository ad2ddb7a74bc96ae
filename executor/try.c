/*
 * The library's symbols are read from its ELF tables before it is loaded, then loaded, and the declarations they
 * lead to are checked.
 */
#include "try.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process/elf.h"
#include "contract/versions.h"
#include "granary/call.h"
#include "schema/granary.pb-c.h"

#define FILE_MAX ((size_t)1 << 30)
/* Who waits for us gives up before; this is for when nobody does any more. */
#define SECONDS_MAX 30

/* One more symbol of the library; NULL: out of memory. */
static Granary__Symbol *
add_symbol(Granary__Library *library, const char *name, const char *summary)
{
    Granary__Symbol **grown = realloc(library->symbols, (library->n_symbols + 1) * sizeof *grown);
    Granary__Symbol *symbol = malloc(sizeof *symbol);

    if (grown != NULL) {
        library->symbols = grown;
    }
    if (grown == NULL || symbol == NULL) {
        free(symbol);
        return NULL;
    }
    granary__symbol__init(symbol);
    grown[library->n_symbols++] = symbol;
    symbol->name = strdup(name);
    symbol->summary = strdup(summary == NULL ? "" : summary);
    return symbol->name == NULL || symbol->summary == NULL ? NULL : symbol;
}

static granary_err
add_words(Granary__Symbol *symbol, const char *words)
{
    char *copy = strdup(words);
    char *rest = NULL;
    granary_err err = copy == NULL ? gr_no_memory("a library") : GRANARY_OK;

    for (char *word = copy == NULL ? NULL : strtok_r(copy, " ", &rest); err == GRANARY_OK && word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        char **grown = realloc(symbol->reusables, (symbol->n_reusables + 1) * sizeof *grown);

        if (grown == NULL || (symbol->reusables = grown, grown[symbol->n_reusables] = strdup(word)) == NULL) {
            err = gr_no_memory("a library");
        } else {
            symbol->n_reusables++;
        }
    }
    free(copy);
    return err;
}

/* A declaration must be of this version and have its symbol's name. */
static granary_err
check_declaration(const char *kind, const char *name, uint32_t abi, const char *own_name, bool complete)
{
    if (abi != GRANARY_CALL_ABI) {
        return gr_fail(GRANARY_EINVAL,
                       "%s '%s' is made for version %u of granary/call.h, this granary has %u: build it "
                       "anew",
                       kind, name, abi, GRANARY_CALL_ABI);
    }
    if (!complete || own_name == NULL || strcmp(own_name, name) != 0) {
        return gr_fail(GRANARY_EINVAL, "%s '%s': its declaration has another name, or nothing to call", kind, name);
    }
    return GRANARY_OK;
}

static granary_err
add_function(Granary__Library *library, const char *name, const granary_function_info *info)
{
    granary_err err = check_declaration("function", name, info->abi, info->name, info->run != NULL);
    Granary__Symbol *symbol = NULL;

    if (err == GRANARY_OK) {
        symbol = add_symbol(library, name, info->summary);
        err = symbol == NULL ? gr_no_memory("a library") : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        symbol->inputs_min = info->inputs_min;
        symbol->inputs_max = info->inputs_max;
        symbol->outputs = info->outputs == 0 ? 1 : info->outputs;
        symbol->max_calls = info->max_calls;
        err = info->reusables == NULL ? GRANARY_OK : add_words(symbol, info->reusables);
    }
    return err;
}

static granary_err
add_reusable(Granary__Library *library, const char *name, const granary_reusable_info *info)
{
    granary_err err = check_declaration("reusable variable", name, info->abi, info->name, info->init != NULL);
    Granary__Symbol *symbol = NULL;

    if (err == GRANARY_OK) {
        symbol = add_symbol(library, name, info->summary);
        err = symbol == NULL ? gr_no_memory("a library") : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        symbol->is_reusable = true;
    }
    return err;
}

/* Functions first, by name: the file has its symbols in no order. */
static int
by_name(const void *a, const void *b)
{
    const Granary__Symbol *one = *(Granary__Symbol *const *)a;
    const Granary__Symbol *other = *(Granary__Symbol *const *)b;

    return one->is_reusable != other->is_reusable ? one->is_reusable - other->is_reusable
                                                  : strcmp(one->name, other->name);
}

static granary_err
library_load(const char *path, Granary__Library *library)
{
    static const char functions[] = "granary_function_", reusables[] = "granary_reusable_";
    char *bytes = NULL;
    const char *symbol;
    size_t size = 0;
    size_t at = 0;
    void *handle = NULL;
    granary_err err = gr_file_read(path, FILE_MAX, &bytes, &size);

    if (err == GRANARY_OK) {
        err = gr_elf_check(bytes, size);
    }
    if (err == GRANARY_OK && (handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)) == NULL) {
        const char *why = dlerror();
        size_t length = strlen(path);

        if (why != NULL && strncmp(why, path, length) == 0 && strncmp(why + length, ": ", 2) == 0) {
            why += length + 2;
        }
        err = gr_fail(GRANARY_EINVAL, "it cannot be loaded: %s", why == NULL ? "?" : why);
    }
    while (err == GRANARY_OK && (symbol = gr_elf_symbol(bytes, size, functions, &at)) != NULL) {
        err = add_function(library, symbol + sizeof functions - 1, dlsym(handle, symbol));
    }
    at = 0;
    while (err == GRANARY_OK && (symbol = gr_elf_symbol(bytes, size, reusables, &at)) != NULL) {
        err = add_reusable(library, symbol + sizeof reusables - 1, dlsym(handle, symbol));
    }
    if (err == GRANARY_OK && library->n_symbols > 0) {
        qsort(library->symbols, library->n_symbols, sizeof *library->symbols, by_name);
    }
    free(bytes);
    return err;
}

granary_err
try_library(const char *path, int answer_fd)
{
    const struct rlimit none = {0, 0};
    Granary__Reply reply = GRANARY__REPLY__INIT;
    Granary__Library library = GRANARY__LIBRARY__INIT;
    uint8_t *bytes;
    size_t size;
    granary_err err;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)alarm(SECONDS_MAX);
    reply.version = GR_WIRE_OLDEST;
    reply.err = library_load(path, &library);
    if (reply.err == GRANARY_OK) {
        reply.library = &library;
    } else {
        reply.message = (char *)(uintptr_t)granary_error_message();
    }
    size = granary__reply__get_packed_size(&reply);
    bytes = malloc(size + 1);
    err =
        bytes == NULL ? gr_no_memory("a library") : gr_write_all(answer_fd, bytes, granary__reply__pack(&reply, bytes));
    free(bytes);
    /* The library's destructors are none of ours, and what this process has it need not give back. */
    return err;
}
