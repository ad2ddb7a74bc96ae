#!/bin/bash
# Tables that are larger than memory are read from disk, column by column: answers are the same to the byte, the store
# brings little back, and what goes wrong with a spill file is the store's to tell, of the query that needs it alone.
. "$(dirname "$0")/../lib.sh"

rows=400000
python3 - "$work/t.csv" $rows <<'EOF'
import random, sys
random.seed(16)
names = ["ash", "birch", "", "cedar with, comma", "douglas fir"]
with open(sys.argv[1], "w") as file:
    file.write("id,key,price,day,kind,note,flag,wide\n")
    for n in range(int(sys.argv[2])):
        note = "" if n % 7 == 0 else "%x and some more text %d" % (random.getrandbits(60), n)
        file.write("%d,%d,%.2f,20%02d-%02d-%02d,%s,%s,%s,%d\n" % (
            n, random.randrange(1000), random.randrange(10000000) / 100, n % 25, n % 12 + 1, n % 28 + 1,
            '"%s"' % names[n % 5] if n % 5 else "", note, "true" if n % 3 else "", random.getrandbits(62)))
    # of another kind than a decimal, in the last chunk
    file.write("-1,,1e300,,x,,,\n")
EOF

queries=(
    "select sum(price), count(day), min(day), max(id) from t where id % 10 < 7"
    "select kind, flag, count(*), sum(price), max(wide) from t group by kind, flag order by kind, flag"
    "select note, id from t where note like '%ab%' and price < 500 order by note, id limit 50"
    "select a.key, sum(b.price), count(b.note) from t a join (select * from t where id < 20000) b on a.wide = b.wide
     where a.day > date '2003-01-01' group by a.key order by a.key"
    "select id, row_number() over (partition by key order by price, id) r from t order by r desc, id limit 20"
    "select distinct key, kind from t order by key, kind"
    "select count(*) from t t1 where exists (select 1 from t t2 where t2.id = t1.key and t2.price > t1.price)"
    "select * from t where id in (0, 7, 199999, 399999, -1) order by id"
)

# answers DIRECTORY: of all queries
answers() {
    mkdir "$1"
    for i in "${!queries[@]}"; do
        granary sql --csv "${queries[$i]}" >"$1/$i" || fail "query $i"
    done
}

# agree DIRECTORY: with enough memory it was the same
agree() {
    for i in "${!queries[@]}"; do
        same "$work/enough/$i" "$1/$i"
    done
}

# counter NAME
counter() { granary stat --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

up() {
    granary up --executors 2 --memory "$1" --spill-dir "$work/spill" >/dev/null
    remember_prefix
    granary load t "$work/t.csv" >/dev/null
}

echo "== with memory for all of it"
up 512M
answers "$work/enough"
granary down >/dev/null

echo "== with memory for a part of it"
up 16M
[ "$(counter objects_spilled)" -gt 3 ] || fail "nothing is spilled: $(granary stat)"
bytes=$(counter spilled_bytes)
before=$(counter restore_raw_bytes)
granary sql --csv "${queries[0]}" >"$work/first"
granary sql --csv "${queries[0]}" | cmp - "$work/first"
brought=$(($(counter restore_raw_bytes) - before))
[ $((8 * brought)) -lt "$bytes" ] || fail "of $bytes spilled bytes, $brought were brought back for four columns"
answers "$work/little"
agree "$work/little"
granary down >/dev/null

echo "== executors that cannot read spill files leave it to the store"
GRANARY_FAULT="executor/spill_read:errno=EIO@30%" GRANARY_FAULT_SEED=7 up 16M
answers "$work/faults"
agree "$work/faults"
granary down >/dev/null

echo "== damage costs the queries that read it"
up 16M
python3 - "$work/spill" <<'EOF'
import pathlib, sys
for path in pathlib.Path(sys.argv[1]).glob("granary-*/spill.*"):
    try:  # those being written get other names, those nobody needs go
        with open(path, "r+b") as file:
            size = file.seek(0, 2)
            for part in (3, 5, 7):
                file.seek(size * part // 10)
                byte = file.read(1)
                file.seek(size * part // 10)
                file.write(bytes([byte[0] ^ 4]))
    except FileNotFoundError:
        pass
EOF
failed=0
for i in "${!queries[@]}"; do
    if granary sql --csv "${queries[$i]}" >"$work/damaged" 2>"$work/err"; then
        same "$work/enough/$i" "$work/damaged" # what it needed was in memory, or in sound frames
    else
        failed=$((failed + 1))
        grep -qE "damaged|does not match its checksum|lost" "$work/err" || fail "query $i: $(cat "$work/err")"
    fi
done
[ $failed -gt 0 ] || fail "no query has met the damage"
granary sql --csv "select 1 as one" | grep -q 1 || fail "the instance does not work any more"
granary down >/dev/null
