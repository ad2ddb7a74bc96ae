/* A shared object that declares no function. */
int nothing_declared(void);
int
nothing_declared(void)
{
    return 1;
}
