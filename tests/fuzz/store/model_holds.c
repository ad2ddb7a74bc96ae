/* Steps about what is kept, and under which name. */
#include <stdio.h>
#include <string.h>

#include "granary/hold.h"
#include "store/model.h"
#include "store/world.h"

void
model_do_pin(struct input *input, unsigned c, unsigned id)
{
    struct thing *thing = &model_session_of(c)->things[id];
    uint8_t how = input_byte(input);
    bool of_session = (how & 1) != 0;
    unsigned *pins = of_session ? &thing->session_pins : &thing->pins[c];
    granary_pin_scope scope = of_session ? GRANARY_PIN_SESSION : GRANARY_PIN_CLIENT;
    granary_err err;

    if ((how & 2) != 0) {
        err = granary_object_unpin(model.clients[c], model_id(id), scope);
        MUST(thing->maybe || (err == GRANARY_OK) == (*pins > 0), "unpin %u: %d", id, (int)err);
        *pins -= err == GRANARY_OK && *pins > 0;
        return;
    }
    err = granary_object_pin(model.clients[c], model_id(id), scope);
    model_check_got(thing, id, err);
    *pins += err == GRANARY_OK;
}

void
model_do_reference(struct input *input, unsigned c, unsigned id)
{
    static const char *const owners[OWNERS + 1] = {"a", "b", NULL};
    struct model_session *session = model_session_of(c);
    struct thing *thing = &session->things[id];
    uint8_t how = input_byte(input);
    unsigned owner = (how >> 1) % (OWNERS + 1);
    unsigned *count = owner == OWNERS ? &thing->clients[c] : &thing->owners[owner];
    granary_err err;

    if ((how & 1) == 0) {
        err = granary_reference(model.clients[c], model_id(id), owners[owner], NULL);
        MUST((err == GRANARY_OK && thing->there) || (err == GRANARY_ENOENT && (!thing->there || thing->maybe)),
             "reference %u: %d", id, (int)err);
        *count += err == GRANARY_OK;
        thing->maybe = err == GRANARY_OK ? false : thing->maybe;
        return;
    }
    err = granary_unreference(model.clients[c], model_id(id), owners[owner]);
    MUST(thing->maybe || (err == GRANARY_OK) == (*count > 0), "unreference %u: %d", id, (int)err);
    if (err == GRANARY_OK && *count > 0) {
        --*count;
        model_settle(session, id, false);
    }
}

void
model_do_name(struct input *input, unsigned c, unsigned id)
{
    struct model_session *session = model_session_of(c);
    uint8_t how = input_byte(input);
    unsigned name = how % NAMES;
    unsigned before = session->names[name];
    bool drop = (how & 64) != 0;
    bool fresh = (how & 32) != 0;
    granary_id none = {{0}};
    granary_id got;
    char text[8];
    granary_err err;

    (void)snprintf(text, sizeof text, "n%u", name);
    if ((how & 128) != 0) {
        err = granary_name_get(model.clients[c], text, &got);
        MUST(before == 0 ? err == GRANARY_ENOENT : err == GRANARY_OK, "name %u: %d", name, (int)err);
        none = before == 0 ? none : model_id(before - 1);
        MUST(before == 0 || memcmp(&got, &none, sizeof got) == 0, "name %u means %u", name, before);
        return;
    }
    err = granary_name_set(model.clients[c], text, drop ? none : model_id(id),
                           fresh ? GRANARY_NAME_NEW : GRANARY_NAME_ANY, none, NULL);
    if (err == GRANARY_OK) {
        MUST(drop || session->things[id].there, "name %u is bound to what is not there", name);
        MUST(!fresh || before == 0 || before == id + 1, "name %u was bound", name);
        session->things[id].maybe = drop && session->things[id].maybe;
        session->names[name] = drop ? 0 : id + 1;
        if (before != 0) {
            model_settle(session, before - 1, false);
        }
    } else if (err == GRANARY_EEXIST) {
        MUST(fresh && before != 0, "name %u is not bound", name);
    } else {
        MUST(err == GRANARY_ENOENT && !drop && (!session->things[id].there || session->things[id].maybe), "name %u: %d",
             name, (int)err);
    }
}

void
model_do_alias(struct input *input, unsigned c, unsigned id)
{
    struct model_session *session = model_session_of(c);
    uint8_t how = input_byte(input);
    unsigned alias = how % ALIASES;
    unsigned *target = &session->aliases[alias];
    granary_err err;

    if ((how & 64) != 0) {
        err = granary_object_delete(model.clients[c], model_alias_id(alias), 0);
        MUST(err == (*target == 0 ? GRANARY_ENOENT : GRANARY_OK), "delete of alias %u: %d", alias, (int)err);
        *target = 0;
        return;
    }
    err = granary_alias(model.clients[c], model_alias_id(alias), model_id(id));
    MUST(err == (*target == 0 || *target == id + 1 ? GRANARY_OK : GRANARY_EEXIST), "alias %u: %d", alias, (int)err);
    *target = err == GRANARY_OK ? id + 1 : *target;
}
