#include <granary/arrow.h>
#include <granary/mutable.h>
int
main(void)
{
    struct ArrowArrayStream stream;
    granary_mutable *readings;
    granary_client *client;
    granary_view view;
    granary_frame *frame;

    assert(granary_connect(NULL, &client) == GRANARY_OK);
    assert(granary_mutable_open(client, "readings", &readings) == GRANARY_OK);
    assert(granary_table_stream(readings, GRANARY_NOW, &stream) == GRANARY_OK);
    BLOCK;
    assert(count == 1);
    assert(granary_object_get(client, ids[0], 0, &view) == GRANARY_OK);
    assert(granary_frame_open(&view, &frame) == GRANARY_OK);
    assert(granary_frame_rows(frame) >= 2);
    granary_frame_close(frame);
    granary_object_release(client, &view);
    free(ids);
    granary_mutable_close(readings);
    granary_disconnect(client);
    return 0;
}
