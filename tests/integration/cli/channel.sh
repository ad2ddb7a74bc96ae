#!/bin/bash
# Channels from the command line: a queue and a broadcast, objects, ends, and what is told when something is wrong.
. "$(dirname "$0")/lib.sh"

cd "$work"
granary up --executors 1 >/dev/null
remember_prefix

granary channel create jobs
granary channel create jobs --if-not-exists
expect 1 "'jobs': the name is taken.*--if-not-exists" granary channel create jobs
expect 2 "'jobs': it is a queue" granary channel create jobs --broadcast --if-not-exists
expect 2 "4 KiB to 1 GiB, a power of two" granary channel create odd --ring 5000
expect 4 "'nosuch': there is none of that name: .granary channel create nosuch" granary channel put nosuch x
expect 4 "'nosuch': there is none of that name" granary channel delete nosuch
expect 2 "takes the ids as arguments" granary channel put jobs --objects
expect 2 "whole is for stdin" granary channel put jobs --whole x
expect 6 "'jobs': no message came" granary channel get jobs --timeout 10ms
expect 2 "it is a queue: its readers share all messages" granary channel get jobs --reader me

# Lines in, lines out, in order; what is left over goes to the next one.
seq 1 1000 | granary channel put jobs
granary channel put jobs 'last one' ''
[ "$(granary channel get jobs --count 10 | xargs)" = "1 2 3 4 5 6 7 8 9 10" ] || fail "not in order"
granary channel info jobs --json >info.json
grep -q '"waiting": *992' info.json || fail "waiting: $(cat info.json)"
granary channel tail jobs --oldest --count 12 | tail -1 | grep -qx 12 || fail "an observer sees what waits"
granary channel get jobs --json | grep -q '"number": *10,.*"text": *"11"' || fail "JSON"

# A reader that cannot write the message down leaves it to the next one.
granary channel get jobs >/dev/full 2>/dev/null && fail "a full disk is told"
[ "$(granary channel get jobs)" = 12 ] || fail "a message that was not written is lost"
granary channel get jobs --count 990 >rest
granary channel seal jobs
expect 1 "'jobs': it was sealed" granary channel put jobs x
granary channel get jobs --count 0 >>rest
[ "$(wc -l <rest)" = 990 ] || fail "$(wc -l <rest) lines are left"
grep -qx 'last one' rest && grep -qx '' rest || fail "texts"
expect 1 "sealed, and all of it" granary channel get jobs
granary channel delete jobs

# Large messages, bytes as they are, and objects.
head -c 3000000 /dev/urandom >large
granary channel create blobs
granary channel put blobs --whole <large
granary channel get blobs --whole | cmp - large
id=$(granary put large)
granary channel put blobs --objects "$id"
expect 4 "0077: not found" granary channel put blobs --objects 00000000000000000000000000000077
granary rm "$id"
granary channel get blobs --whole | cmp - large
granary channel get blobs --timeout 0 2>/dev/null && fail "something is left"
granary ls | grep -q "$id" && fail "the object stays when its message is done"

# Every reader of a broadcast has all; one by name goes on where it was.
granary channel create news --broadcast
granary channel tail news --count 3 >observed &
granary channel get news --reader log --timeout 10ms 2>/dev/null && fail "there is something"
granary channel get news --count 3 >got &
while ! granary channel info news --json | grep -q '"readers": *1'; do sleep 0.05; done
granary channel put news a b c
wait %2 || fail "the reader failed"
[ "$(xargs <got)" = "a b c" ] || fail "a reader of a broadcast got $(xargs <got)"
[ "$(granary channel get news --reader log --count 2 | xargs)" = "a b" ] || fail "by name"
[ "$(granary channel get news --reader log)" = c ] || fail "by name, again"
granary channel forget news log
expect 4 "no reader 'log'" granary channel forget news log
while ! [ "$(wc -l <observed)" = 3 ]; do granary channel put news d; sleep 0.05; done
wait
# What nobody reads stays for whoever comes, as long as there is room.
granary channel create early --broadcast
granary channel put early one
granary channel put early two
[ "$(granary channel get early --oldest --reader late --count 2 | sort | xargs)" = "one two" ] || fail "without a reader"
granary channel list --json | grep -q '"kind": *"broadcast"' || fail "list"
granary table list | grep -q news && fail "a channel is no table"
expect 2 "which is no table" granary table read news
granary fsck >/dev/null || fail "fsck: $(granary fsck)"
granary down >/dev/null
