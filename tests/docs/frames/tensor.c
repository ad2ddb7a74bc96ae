#include <granary/mutable.h>

int
main(void)
{
    granary_client *client;

    assert(granary_connect(NULL, &client) == GRANARY_OK);
    {
        BLOCK;
        assert(granary_mutable_view(scores, GRANARY_NOW, &row, 1, &part) == GRANARY_OK);
        assert(part.tensor.shape[0] == 1000 && ((const double *)part.tensor.values)[999] == 0);
        granary_mutable_release(client, &part);
        granary_mutable_close(scores);
    }
    granary_disconnect(client);
    return 0;
}
