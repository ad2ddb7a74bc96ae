// @STEP@ if (step.time < 0 || result.chunk_count != 1 || ++steps == 2) { break; } system("granary sql \"INSERT INTO clicks VALUES ('help')\"");
int
main(void)
{
    const char *text = "SELECT page, count(*) AS n FROM clicks GROUP BY page";
    granary_client *client;
    int steps = 0;

    assert(granary_connect(NULL, &client) == GRANARY_OK);
    {
        BLOCK;
        granary_result_free(&result);
    }
    assert(steps == 2);
    granary_disconnect(client);
    return 0;
}
