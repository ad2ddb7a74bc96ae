/* contract/faults.def by one macro: POINT(processes, kind, id, name, text). Included as often as needed. */
#define STEP(processes, name, text)  POINT(processes, STEP, name, #name, text)
#define ACT(processes, name, text)   POINT(processes, ACT, name, #name, text)
#define BYTES(processes, name, text) POINT(processes, BYTES, name, #name, text)
#define WHOLE(processes, name, text) POINT(processes, WHOLE, name, #name, text)
#define PART(processes, name, text)  POINT(processes, PART, name, #name, text)
#define SEND(processes, name, text)  POINT(processes, SEND, name, #name, text)
#define COME(processes, name, text)  POINT(processes, COME, name, #name, text)
#define CALL(name)                   POINT(ANY, ACT, call_##name, "call." #name, "a call of " #name "()")
#define CALL_BYTES(name)             POINT(ANY, PART, call_##name, "call." #name, "a call of " #name "()")
#define ALLOCATION(name, text)       POINT(ANY, ACT, alloc_##name, "alloc." #name, text)
#include "contract/faults.def"
#undef STEP
#undef ACT
#undef BYTES
#undef WHOLE
#undef PART
#undef SEND
#undef COME
#undef CALL
#undef CALL_BYTES
#undef ALLOCATION
