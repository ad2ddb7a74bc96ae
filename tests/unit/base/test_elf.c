/* Shared objects as files: this test's own program is one (a position-independent one), whole, cut short and mangled.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <elf.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/process/elf.h"

static char *file;
static size_t file_size;

static int
read_own_program(void **state)
{
    (void)state;
    return gr_file_read("/proc/self/exe", (size_t)1 << 30, &file, &file_size) == GRANARY_OK ? 0 : -1;
}

static int
forget(void **state)
{
    (void)state;
    free(file);
    return 0;
}

static char *
copy(void)
{
    char *bytes = malloc(file_size);

    assert_non_null(bytes);
    memcpy(bytes, file, file_size);
    return bytes;
}

static void
refuse(const char *bytes, size_t size, const char *why)
{
    assert_int_equal(gr_elf_check(bytes, size), GRANARY_EINVAL);
    if (strstr(granary_error_message(), why) == NULL) {
        fail_msg("'%s' is not in '%s'", why, granary_error_message());
    }
}

static void
what_it_is_for_is_told(void **state)
{
    char *bytes = copy();
    Elf64_Ehdr *head = (Elf64_Ehdr *)(uintptr_t)bytes;
    unsigned machine = head->e_machine;

    (void)state;
    assert_int_equal(gr_elf_check(bytes, file_size), GRANARY_OK);
    refuse("#!/bin/sh\nexit 0\n", 17, "not a shared object");
    refuse("", 0, "not a shared object");
    head->e_machine = EM_68K;
    refuse(bytes, file_size, "for another machine");
    head->e_machine = (Elf64_Half)machine;
    head->e_type = ET_REL;
    refuse(bytes, file_size, "an object file");
    head->e_type = ET_EXEC;
    refuse(bytes, file_size, "a program");
    head->e_type = ET_DYN;
    bytes[EI_CLASS] = ELFCLASS32;
    refuse(bytes, file_size, "32 bits");
    free(bytes);
}

/* Each byte of the heads is turned over, and the file is cut at each of many places: no read leaves it. */
static void
damage_is_harmless(void **state)
{
    (void)state;
    for (size_t size = 0; size < file_size; size += size < 2048 ? 1 : 997) {
        char *bytes = malloc(size + 1);
        size_t at = 0;

        assert_non_null(bytes);
        memcpy(bytes, file, size);
        if (gr_elf_check(bytes, size) == GRANARY_OK) {
            while (gr_elf_symbol(bytes, size, "x", &at) != NULL) {
            }
        }
        free(bytes);
    }
    for (size_t i = 0; i < 1024; i++) {
        char *bytes = copy();
        size_t at = 0;

        bytes[i] = (char)~bytes[i];
        (void)gr_elf_check(bytes, file_size);
        while (gr_elf_symbol(bytes, file_size, "x", &at) != NULL) {
        }
        free(bytes);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_is_for_is_told),
        cmocka_unit_test(damage_is_harmless),
    };

    return cmocka_run_group_tests(tests, read_own_program, forget);
}
