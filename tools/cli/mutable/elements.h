/* Which elements of a tensor, in NumPy's words. */
#ifndef CLI_ELEMENTS_H
#define CLI_ELEMENTS_H

#include "granary/mutable.h"

#define ELEMENTS_MAX 16

struct elements {
    granary_index indexes[ELEMENTS_MAX];
    size_t count;
    void *owned[ELEMENTS_MAX]; /* the list, or the mask's file */
};

/* "1:3,::2", "...,-1", "[0,2,5]", "mask.npy"; "": all. To be freed whatever it returns. Errors: EINVAL · as for files */
granary_err elements_parse(const char *text, struct elements *ret_index);
void elements_free(struct elements *index);

/* An NPY file, "-" for stdin; *ret_bytes is to be freed. Errors name the file */
granary_err elements_npy(const char *path, char **ret_bytes, granary_tensor *ret_tensor);

#endif
