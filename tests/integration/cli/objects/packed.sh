#!/bin/bash
# Packed text: read whatever the name, written by its ending, cut off and damaged, larger than memory, and more than there is
# room for.
. "$(dirname "$0")/../lib.sh"

cd "$work"
/usr/bin/python3 - <<'END'
import bz2, gzip
rows = ["id,note,x"] + [f'{i},"line {i % 7}\nand ""{i % 5}""",{i / 8}' for i in range(60000)]
text = ("\n".join(rows) + "\n").encode()
open("rows.csv", "wb").write(text)
half = len(text) // 2
open("several.csv.gz", "wb").write(gzip.compress(text[:half]) + gzip.compress(b"") + gzip.compress(text[half:], 1))
open("several.csv.bz2", "wb").write(bz2.compress(text[:half]) + bz2.compress(text[half:]))
open("lies.csv", "wb").write(gzip.compress(text))
open("none.csv.gz", "wb").write(gzip.compress(b""))
open("bomb.csv.gz", "wb").write(b"".join(gzip.compress(b"1,2,3\n" * 4000000) for _ in range(9)))
END
granary up --executors 2 --memory 32M --disk-quota 150M >/dev/null
question="SELECT count(*) AS n, sum(id) AS ids, sum(x) AS x, max(note) AS note FROM"
granary sql --csv "$question 'rows.csv'" >expected.txt

for file in several.csv.gz several.csv.bz2 lies.csv; do
    granary sql --no-recall --csv "$question '$file'" >told.txt
    cmp told.txt expected.txt || fail "$file: $(cat told.txt)"
done

# what is written can be read, by others, too
for ending in gz zst lz4 bz2; do
    for format in csv ndjson; do
        name=made.$format.$ending
        echo "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"rows.csv\"},
              \"w\": {\"op\": \"write_$format\", \"input\": \"r\", \"path\": \"$name\"}}}" >graph.json
        granary run --chunk-bytes 256K graph.json >/dev/null
        [ "$(stat -c %s "$name")" -lt "$(($(stat -c %s rows.csv) / 2))" ] || fail "$name is not packed"
        granary sql --no-recall --csv "$question '$name'" >told.txt
        cmp told.txt expected.txt || fail "$name: $(cat told.txt)"
    done
    granary sql -o "few.csv.$ending" "SELECT * FROM 'rows.csv' ORDER BY id LIMIT 1000"
    [ "$(granary sql --csv "SELECT max(id) AS m FROM 'few.csv.$ending'" | tail -1)" = 999 ] || fail "-o few.csv.$ending"
done
/usr/bin/python3 - <<'END'
import bz2, gzip
want = open("rows.csv", "rb").read().replace(b".0\n", b"\n")
for module, ending in (gzip, "gz"), (bz2, "bz2"):
    assert module.open("made.csv." + ending).read().replace(b".0\n", b"\n") == want, ending
END
echo '{"nodes": {"r": {"op": "read_csv", "path": "rows.csv"},
      "w": {"op": "write_csv", "input": "r", "path": "odd.txt", "compression": "zstd"}}}' >graph.json
granary run graph.json >/dev/null
[ "$(od -An -tx1 -N4 odd.txt)" = " 28 b5 2f fd" ] || fail "compression: zstd"
sed -i 's/zstd/rar/' graph.json
expect 2 "'compression'" granary run graph.json
granary load packed several.csv.gz >/dev/null
[ "$(granary sql --csv 'SELECT count(*) AS n FROM packed' | tail -1)" = 60000 ] || fail "load"

# what is wrong is said with its place
head -c 20000 several.csv.gz >cut.csv.gz
expect 2 "cut.csv.gz: byte 20000 of what gzip has packed: the file is cut off here" granary sql "SELECT id FROM 'cut.csv.gz'"
cp made.csv.zst damaged.csv.zst
printf 'XXXXXXXX' | dd of=damaged.csv.zst bs=1 seek=9000 conv=notrunc status=none
expect 2 "damaged.csv.zst: byte [0-9]* of what zstd has packed: " granary sql "SELECT id FROM 'damaged.csv.zst'"
expect 2 "none.csv.gz: is empty: no header" granary sql "SELECT * FROM read_csv('none.csv.gz', header => true)"
[[ $(granary sql "SELECT count(*) AS n FROM 'none.csv.gz'" | tail -1) == *0 ]]
/usr/bin/python3 -c 'import gzip; open("quote.csv.gz", "wb").write(gzip.compress(b"a,b\n1,\"2\"\n3,\"x\n" + b"4,5\n" * 9))'
expect 2 "quote.csv.gz:3: the quotes that begin here do not end" granary sql "SELECT b FROM 'quote.csv.gz'"
/usr/bin/python3 -c 'import gzip; open("ragged.csv.gz", "wb").write(gzip.compress(b"a,b\n" + b"1,2\n" * 700000 + b"1\n"))'
expect 2 "ragged.csv.gz:700002: record has 1 field, expected 2" granary sql "SELECT b FROM 'ragged.csv.gz'"

# a text larger than memory goes through the disk; one that has no room there either is an error, and leaves nothing
echo '{"nodes": {"r": {"op": "read_csv", "path": "bomb.csv.gz"}}, "targets": ["r"]}' >graph.json
expect 5 "bomb.csv.gz: its text" granary run --discard --chunk-bytes 64K graph.json
/usr/bin/python3 -c 'import gzip; open("big.csv.gz", "wb").write(gzip.compress(b"a,b\n" + b"12345678,87654321\n" * 3000000))'
[ "$(granary sql --csv "SELECT count(*) AS n, sum(a) AS a FROM 'big.csv.gz'" | tail -1)" = 3000000,37037034000000 ] || fail "larger than memory"
granary down >/dev/null
