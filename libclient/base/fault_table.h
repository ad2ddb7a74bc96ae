/* contract/faults.def by one macro: POINT(processes, kind, id, name, text). Included as often as needed. */
#define STEP(processes, name, text)    POINT(processes, STEP, name, #name, text)
#define ACT(processes, name, text)     POINT(processes, ACT, name, #name, text)
#define WRITE(processes, name, text)   POINT(processes, BYTES, name, #name, text)
#define READ(processes, name, text)    POINT(processes, BYTES, name, #name, text)
#define MESSAGE(processes, name, text) POINT(processes, MESSAGE, name, #name, text)
#define CALL(name)                     POINT(ANY, CALL, call_##name, "call." #name, "a call of " #name "()")
#define CALL_BYTES(name)               POINT(ANY, CALL_BYTES, call_##name, "call." #name, "a call of " #name "()")
#define ALLOCATION(name, text)         POINT(ANY, CALL, alloc_##name, "alloc." #name, text)
#include "contract/faults.def"
#undef STEP
#undef ACT
#undef WRITE
#undef READ
#undef MESSAGE
#undef CALL
#undef CALL_BYTES
#undef ALLOCATION
