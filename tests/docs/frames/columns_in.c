#include <granary/arrow.h>
#include <granary/mutable.h>
int
main(void)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    granary_mutable *table;
    granary_client *client;
    granary_frame *frame;
    int64_t before;

    assert(granary_connect(NULL, &client) == GRANARY_OK);
    assert(granary_mutable_open(client, "readings", &table) == GRANARY_OK);
    assert(granary_table_stream(table, GRANARY_NOW, &stream) == GRANARY_OK);
    assert(stream.get_schema(&stream, &schema) == 0 && stream.get_next(&stream, &array) == 0);
    before = array.length;
    BLOCK;
    assert(granary_mutable_read_frame(table, GRANARY_NOW, &frame) == GRANARY_OK);
    assert(granary_frame_rows(frame) == 2 * before);
    granary_frame_close(frame);
    schema.release(&schema);
    stream.release(&stream);
    granary_mutable_close(table);
    granary_disconnect(client);
    return 0;
}
