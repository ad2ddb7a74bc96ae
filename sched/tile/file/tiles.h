/* Within the room: what the tile rules of files share. */
#ifndef TILE_FILE_TILES_H
#define TILE_FILE_TILES_H

#include "tile/core/rules.h"
#include "tile/file/file.h"

/* A new set with the file's path. */
gr_attrs file_path_attrs(struct tiling *t, const struct gr_file *file);

/* One operator that has all pieces, and makes the file. Errors: ENOMEM */
granary_err
file_write_all(struct tiling *t, size_t i, enum gr_chunk_op op, const struct gr_piece *pieces, size_t count);
/* The same with attributes of its own. */
granary_err file_write_whole(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs attrs,
                             const struct gr_piece *pieces, size_t count);
/* Put into the set how a text is packed: as the user says (NULL: he does not), else as its name ends. */
void file_add_packing(struct tiling *t, gr_attrs set, const char *compression, const char *path);
/* The file is the texts that `op` makes of the input's chunks. own: attributes of the first, and of the others. Errors:
 * ENOMEM */
granary_err file_write_texts(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs shared, const gr_attrs own[2]);
/* Whether the step writes folders; if so, as files of that format. Its own attributes are in the set. Errors: ENOMEM */
bool file_is_folders(const struct gr_step *step);
granary_err file_write_folders(struct tiling *t, size_t i, const char *format, const char *packing, gr_attrs shared);

#endif
