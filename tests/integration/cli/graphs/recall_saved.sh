#!/bin/bash
# Saved results outlive the instance: after `down` and `up`, and after everything was killed. What is damaged is not used.
. "$(dirname "$0")/../lib.sh"
unset GRANARY_RECALL

recalled() { # recalled yes|no QUERY: and it answers as without recall
    local how=no
    granary sql --explain "$2" >"$work/explain"
    ! grep -q '^recalled: ' "$work/explain" || how=yes
    [ "$how" = "$1" ] || fail "'$2': recalled: $how, not $1"
    granary sql --csv "$2" >"$work/out"
    granary sql --csv --no-recall "$2" >"$work/want"
    same "$work/out" "$work/want"
}
up() { granary up --executors 2 --memory 64M --spill-dir "$work/spill" >/dev/null && remember_prefix; }

cp $birds "$work/birds.csv"
/usr/bin/python3 -c 'import time; time.sleep(2.05)' # its times are settled then
count="select count(*) as n, min(\"Airport Name\") as least from '$work/birds.csv'"
sizes="select size, sum(dollars) as cost from (select \"Phase of flight\" as size, \"Cost Total $\" as dollars
       from strikes) s group by size order by cost desc"
up
granary load strikes "$work/birds.csv" >/dev/null
recalled no "$count"
recalled no "$sizes"
granary sql --keep kept "$count" >/dev/null 2>&1
granary recall save >"$work/out"
[ "$(sed -n 's/ saved$//p' "$work/out")" -ge 3 ] || fail "saved: $(cat "$work/out")"
granary recall save | grep -qx '0 saved' || fail "what is saved is saved again"
granary recall list --json >"$work/list"
grep -q '"saved": *1' "$work/list" || fail "the list does not say what is saved"
granary down >/dev/null

# The table is loaded from what was saved, and a question about it is recalled, too.
up
recalled yes "$count"
granary load strikes "$work/birds.csv" >/dev/null
recalled yes "$sizes"
granary recall list --json >"$work/list"
first=$(grep -o '"uses": *[1-9]' "$work/list" | wc -l)
[ "$first" -ge 3 ] || fail "recalled after up: $(cat "$work/list")"
# All processes die at once: memory is gone, and what is saved is not.
pkill -9 -f -- "--instance $work/i" || true
granary down >/dev/null 2>&1 || true
up
recalled yes "$count"

# Memory does not limit what is saved, and other results do not push it out.
for i in $(seq 40); do
    granary sql "select *, $i as i from '$work/birds.csv'" >/dev/null
done
recalled yes "$count"

# A file that has changed since; objects that are gone; a damaged file of results; one of another version.
granary down >/dev/null
saved=$(find "$work/spill" -name recalled)
cp "$saved" "$work/copy"
flip "$saved" $(($(stat -c %s "$saved") / 2))
up
recalled no "$count"
grep -q 'RECALL-FILE' "$work/i/log/sched.log" || fail "nothing is said of a damaged file"
granary down >/dev/null
cp "$work/copy" "$saved"
flip "$saved" 7
up
recalled no "$count"
granary down >/dev/null
head -c 11 "$work/copy" >"$saved"
up
recalled no "$count"
granary down >/dev/null
cp "$work/copy" "$saved"
sed -i '3d' "$work/birds.csv"
up
recalled no "$count"
granary recall clear >/dev/null

# What was forgotten is gone from the disk.
for _ in $(seq 1000); do
    left=$(find "$work/spill" -type f -name recalled | wc -l)
    [ "$left" -gt 0 ] || break
done
[ "$left" = 0 ] || fail "clear left the file of saved results"
granary down >/dev/null
[ -z "$(find "$work/spill" -type f)" ] || fail "left on disk: $(find "$work/spill" -type f)"

# A disk that cannot take them: an error that says so, and nothing is saved.
up
/usr/bin/python3 -c 'import time; time.sleep(2.05)'
recalled no "$count"
mkdir -p "$(dirname "$saved")/recalled.partial"
expect 2 'recalled.partial' granary recall save
rmdir "$(dirname "$saved")/recalled.partial"
granary recall save >/dev/null # tries again
[ -s "$saved" ] || fail "the file of saved results was not written at the second attempt"
granary recall clear >/dev/null
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
