/*
 * A planner for the scheduler's tests: every node is one subtask of one operator, numbered in the order of the graph.
 *
 *   op "null"   makes nothing; runs after its inputs
 *   op "make"   makes one object, from the objects of its inputs
 *   op "feeds"  as make, and its report makes the planner hand out the nodes behind it (those before it come first)
 *   op "bad"    cannot be planned: EINVAL
 *   op "call"   as make; runs its parameter "function", which is looked up. A graph has one at most
 *   op "user"   as make; its subtask is a call of what its parameters say, whether or not that is exported
 *
 * Attributes: priority, out_bytes (ints); need_NAME is a resource the subtask needs.
 */
#ifndef FAKE_PLAN_H
#define FAKE_PLAN_H

#include "plan/plan.h"

/* The object of a node. */
granary_id fake_plan_object(const char *key, uint64_t number);
/* How often gr_plan_feed() was called in this process; the next feed fails with this error if it is not OK. */
extern int fake_plan_feeds;
extern granary_err fake_plan_feed_err;
/* What plans follow from beside their graphs: made with other facts, they have other objects. */
extern uint64_t fake_plan_facts;
/* No graph can be planned. */
extern bool fake_plan_broken;

#endif
