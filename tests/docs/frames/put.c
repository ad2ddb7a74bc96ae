/* The view is looked at before the block gives it back. */
#define granary_object_release(client, view)                                                                           \
    assert((view)->data_size == 5 && memcmp((view)->data, "hello", 5) == 0), granary_object_release(client, view)

int
main(void)
{
    BLOCK;
    return 0;
}
