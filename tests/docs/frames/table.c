int
main(void)
{
    granary_client *client;

    assert(granary_connect(NULL, &client) == GRANARY_OK);
    assert(granary_mutable_delete(client, "readings") == GRANARY_OK); /* setup.sh made one */
    {
        BLOCK;
        assert(granary_frame_rows(frame) == 1 &&
               *(const double *)granary_frame_column_named(frame, "celsius")->values == 21.5);
        granary_frame_close(frame);
        granary_mutable_close(readings);
    }
    granary_disconnect(client);
    return 0;
}
