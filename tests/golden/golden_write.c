/* Writes the files that the golden tests let other programs open: golden_write DIRECTORY. Their contents are known to
 * arrow/check.mjs and npy/check.py. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "contract/int128.h"
#include "data/arrow/arrow.h"
#include "data/tensor.h"

static const char *directory;

static void
check(granary_err err)
{
    if (err != GRANARY_OK) {
        (void)fprintf(stderr, "golden_write: %s\n", granary_error_message());
        exit(1);
    }
}

static void
save(const char *name, const void *bytes, size_t size)
{
    char path[4096];
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        perror(path);
        exit(1);
    }
    check(gr_write_all(fd, bytes, size));
    gr_fd_close(&fd);
}

static void
save_frame(const char *name, const granary_frame *frame)
{
    uint64_t data_size;
    uint64_t meta_size;
    void *data;
    void *meta;

    check(gr_arrow_measure(frame, &data_size, &meta_size));
    data = gr_data_alloc(data_size);
    meta = gr_data_alloc(meta_size);
    if (data == NULL || meta == NULL) {
        exit(1);
    }
    gr_arrow_write(frame, data, meta);
    save(name, data, data_size);
    free(data);
    free(meta);
}

#define ROWS 4

/* A column of ROWS values with the third null. */
static void
set_column(granary_frame *frame, size_t position, const char *name, granary_dtype dtype, const void *values)
{
    struct gr_column column;

    check(gr_column_alloc(dtype, ROWS, 0, true, &column));
    if (values != NULL) {
        memcpy((void *)(uintptr_t)column.view.values, values, dtype == GRANARY_BOOL ? 1 : ROWS * gr_dtype_size(dtype));
        *(uint8_t *)(uintptr_t)column.view.validity = 0x0b;
    }
    gr_column_finish(&column);
    check(gr_frame_set(frame, position, name, &column));
}

static void
set_text(granary_frame *frame, size_t position, const char *name)
{
    static const char text[] = "naïve日本";
    static const int32_t offsets[ROWS + 1] = {0, 6, 6, 6, 12};
    struct gr_column column;

    check(gr_column_alloc(GRANARY_STRING, ROWS, sizeof text - 1, true, &column));
    memcpy((void *)(uintptr_t)column.view.values, text, sizeof text - 1);
    memcpy((void *)(uintptr_t)column.view.offsets, offsets, sizeof offsets);
    *(uint8_t *)(uintptr_t)column.view.validity = 0x0b;
    gr_column_finish(&column);
    check(gr_frame_set(frame, position, name, &column));
}

/* A dictionary-encoded column. */
static void
set_encoded(granary_frame *frame, size_t position, const char *name)
{
    static const int32_t codes[ROWS] = {1, 0, 0, 1};
    static const int32_t offsets[] = {0, 3, 9};
    struct gr_dictionary *dictionary;
    struct gr_column column;

    check(gr_column_alloc(GRANARY_STRING, 2, 9, false, &column));
    memcpy((void *)(uintptr_t)column.view.values, "owlreiher", 9);
    memcpy((void *)(uintptr_t)column.view.offsets, offsets, sizeof offsets);
    check(gr_dictionary_create(&column, &dictionary));
    check(gr_column_alloc(GRANARY_INT32, ROWS, 0, true, &column));
    memcpy((void *)(uintptr_t)column.view.values, codes, sizeof codes);
    *(uint8_t *)(uintptr_t)column.view.validity = 0x0b;
    gr_column_finish(&column);
    gr_column_set_dictionary(&column, dictionary);
    check(gr_frame_set(frame, position, name, &column));
}

static granary_frame *
everything(void)
{
    static const int8_t tiny[ROWS] = {INT8_MIN, -1, 0, INT8_MAX};
    static const uint64_t huge[ROWS] = {0, 1, 0, UINT64_MAX};
    static const gr_int128 price[ROWS] = {12345, -1, 0, ((gr_int128)1 << 100)};

    static const uint8_t flags = 0x09;
    static const int64_t big[ROWS] = {INT64_MIN, -1, 0, INT64_MAX};
    static const int32_t narrow[ROWS] = {INT32_MIN, -1, 0, INT32_MAX};
    static const double real[ROWS] = {0.1, -1e300, 0, 5e-324};
    static const float single[ROWS] = {0.5f, -1, 0, 3};
    static const int32_t days[ROWS] = {-1, 18321, 0, 2932896};
    static const int64_t micros[ROWS] = {-1000, INT64_C(1577836800123000), 0, INT64_C(253402300799999000)};
    granary_frame *frame = gr_frame_create(14, ROWS);

    if (frame == NULL) {
        exit(1);
    }
    set_column(frame, 0, "flag", GRANARY_BOOL, &flags);
    set_column(frame, 1, "big", GRANARY_INT64, big);
    set_column(frame, 2, "narrow", GRANARY_INT32, narrow);
    set_column(frame, 3, "real", GRANARY_FLOAT64, real);
    set_column(frame, 4, "single", GRANARY_FLOAT32, single);
    set_text(frame, 5, "größe €");
    set_column(frame, 6, "day", GRANARY_DATE, days);
    set_column(frame, 7, "at", GRANARY_TIMESTAMP, micros);
    set_column(frame, 8, "none", GRANARY_NULLTYPE, NULL);
    set_column(frame, 9, "tiny", GRANARY_INT8, tiny);
    set_column(frame, 10, "huge", GRANARY_UINT64, huge);
    set_column(frame, 11, "wait", GRANARY_DURATION, big);
    set_column(frame, 12, "price", GRANARY_DECIMAL(2), price);
    set_encoded(frame, 13, "bird");
    return frame;
}

static void
save_tensors(void)
{
    static const struct {
        granary_dtype dtype;
        size_t size;
        const char *name;
    } kinds[] = {{GRANARY_BOOL, 1, "bool"},       {GRANARY_INT8, 1, "int8"},      {GRANARY_INT16, 2, "int16"},
                 {GRANARY_UINT8, 1, "uint8"},     {GRANARY_UINT16, 2, "uint16"},  {GRANARY_UINT32, 4, "uint32"},
                 {GRANARY_UINT64, 8, "uint64"},   {GRANARY_INT32, 4, "int32"},    {GRANARY_INT64, 8, "int64"},
                 {GRANARY_FLOAT32, 4, "float32"}, {GRANARY_FLOAT64, 8, "float64"}};
    static const int64_t shape[4] = {2, 3, 1, 2};

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (int dims = 0; dims <= 4; dims++) {
            struct gr_tensor tensor;
            char name[64];
            void *file;

            check(gr_tensor_alloc(kinds[k].dtype, dims, shape, &tensor));
            for (int64_t i = 0; i < gr_tensor_elements(&tensor.view); i++) {
                char *at = (char *)tensor.owned + (size_t)i * kinds[k].size;
                int64_t integer = kinds[k].dtype == GRANARY_BOOL ? i % 2 : i;
                double real = (double)i;
                float single = (float)i;
                const void *from = kinds[k].dtype == GRANARY_FLOAT64   ? (const void *)&real
                                   : kinds[k].dtype == GRANARY_FLOAT32 ? (const void *)&single
                                                                       : (const void *)&integer;

                memcpy(at, from, kinds[k].size);
            }
            file = gr_data_alloc(gr_npy_measure(&tensor.view));
            if (file == NULL) {
                exit(1);
            }
            gr_npy_write(&tensor.view, file);
            (void)snprintf(name, sizeof name, "%s_%d.npy", kinds[k].name, dims);
            save(name, file, gr_npy_measure(&tensor.view));
            free(file);
            gr_tensor_free(&tensor);
        }
    }
}

int
main(int argc, char **argv)
{
    granary_frame *frame;
    granary_frame *none;
    granary_frame *empty;

    if (argc != 2) {
        (void)fprintf(stderr, "usage: golden_write DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    frame = everything();
    none = gr_frame_create(0, 0);
    check(gr_frame_slice(frame, 0, 0, &empty));
    if (none == NULL) {
        return 1;
    }
    save_frame("everything.arrow", frame);
    save_frame("no_rows.arrow", empty);
    save_frame("no_columns.arrow", none);
    save_tensors();
    gr_frame_destroy(frame);
    gr_frame_destroy(none);
    gr_frame_destroy(empty);
    return 0;
}
