// Two processes of the page are one here, for a channel has its messages whoever reads them.
int
main(void)
{
    granary_client *client;

    assert(granary_connect(NULL, &client) == GRANARY_OK);
    BLOCK;
    assert(message.size == 12);
    assert(granary_channel_delete(client, "jobs") == GRANARY_OK);
    granary_disconnect(client);
    return 0;
}
