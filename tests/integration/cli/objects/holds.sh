#!/bin/bash
# What keeps objects, and what they are called, from the command line.
. "$(dirname "$0")/../lib.sh"

granary up --executors 1 >/dev/null
remember_prefix
one=$(echo one | granary put -)
two=$(echo two | granary put -)

# Pins say why, and are taken back by id or by token.
granary pin --reason 'the model in use' "${one:0:8}"
token=$(granary pin --json "$one" | sed -n 's/.*"token": \([0-9]*\).*/\1/p')
granary pins | grep -q "$one.*the model in use" || fail "no reason: $(granary pins)"
granary unpin --token "$token"
expect 4 "pin $token" granary unpin --token "$token"
expect 2 'a token is a number' granary unpin --token "$one"
granary unpin "$one"
expect 4 'no pin' granary unpin "$one"
expect 4 'not found' granary pin 00000000000000000000000000000007
expect 2 'scope' granary pin --scope forever "$one"
granary pin --scope persistent "$one"
granary stat --json "$one" | grep -q '"pins": 1' || fail "a persistent pin counts"
granary unpin --scope persistent "$one"

# Names are bound in one step, and stand for ids.
granary name greeting "$one"
[ "$(granary name greeting)" = "$one" ] || fail "name"
[ "$(granary get name:greeting)" = one ] || fail "get by name"
expect 1 'bound already' granary name --expect new greeting "$two"
granary name --expect "$one" greeting "$two"
[ "$(granary get name:greeting)" = two ] || fail "bound again"
granary wait --names greeting coming --timeout 1m >"$work/waited" &
for _ in $(seq 200); do granary why | grep -q 'waits for a name' && break; sleep 0.05; done
granary why | grep -q 'waits for a name' || fail "who waits for a name: $(granary why)"
granary name coming "$one"
wait $! || fail "a name was not waited for"
[ "$(xargs <"$work/waited")" = "$two $one" ] || fail "waited for $(xargs <"$work/waited")"
granary name --drop coming
expect 6 "'coming': not bound in time" granary wait --names coming --timeout 20ms
granary name 'another "one"' "$two"
granary names --json | python3 -c 'import json, sys
assert [n["name"] for n in json.load(sys.stdin)] == ["another \"one\"", "greeting"]'
expect 2 'control' granary name $'a\nb' "$one"
expect 4 'name .nobody' granary get name:nobody
granary ls | grep "$two" | grep -q 'another "one", greeting' || fail "ls shows names"
granary stat "$two" | grep -q '^names     another "one", greeting' || fail "stat shows names"
granary name --drop greeting
expect 4 'not found' granary name greeting
expect 2 'usage: granary name --drop' granary name --drop a "$one"

# An alias stands for its object, and is deleted by itself.
alias=0000000000000000000000000000000a
granary alias $alias "$one"
[ "$(granary get $alias)" = one ] || fail "alias"
expect 1 'exists already' granary alias $alias "$two"
granary rm $alias
expect 4 'not found' granary get $alias
[ "$(granary get "$one")" = one ] || fail "the object of a deleted alias"

# References and containers keep what is deleted.
granary ref --owner me "$one"
granary rm "$one"
[ "$(granary get "$one")" = one ] || fail "referenced"
granary unref --owner me "$one"
expect 4 'not found' granary get "$one"
expect 4 "owner" granary unref --owner me "$two"
expect 2 'usage: granary ref --owner' granary ref "$two"
parent=$(echo parent | granary put --contains "$two,name:another \"one\"" -)
granary name --drop 'another "one"'
granary rm "$two"
[ "$(granary get "$two")" = two ] || fail "contained"
granary rm "$parent"
for _ in $(seq 4000); do granary get "$two" >/dev/null 2>&1 || break; done
expect 4 'not found' granary get "$two"
expect 4 'not found' granary put --contains "$two" README.md
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
