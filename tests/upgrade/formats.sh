#!/bin/bash
# What outlives a release: files of every version that was ever released are read; those of versions that are not known
# are refused by name, with both versions and what to do, and nothing of them is lost.
. "$(dirname "$0")/../integration/cli/lib.sh"
fixtures=$GRANARY_SOURCE/tests/upgrade/fixtures

# set_u32 FILE OFFSET FORMAT VALUE
set_u32() {
    python3 -c 'import struct, sys
with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2])); file.write(struct.pack(sys.argv[3], int(sys.argv[4])))' "$@"
}

# log_has PATTERN: of the store
log_has() { grep -qE -- "$1" "$work/i/log/store.log" || fail "no '$1' in $(cat "$work/i/log/store.log")"; }

up() {
    granary up --executors 1 --spill-dir "$work/spill" >/dev/null || fail "granary up"
    remember_prefix
}

# fresh VERSION: a directory with the fixture's spill files, and no instance
fresh() {
    rm -rf "$spill"
    mkdir -m 700 "$spill"
    cp "$fixtures/spill-$1"/spill.* "$spill"
}

# place STATE: as a scheduler left it that was killed with all the others
place() {
    mkdir -p "$work/i"
    chmod 700 "$work/i"
    touch "$work/i/lock"
    cp "$1" "$work/i/state.db"
}

# objects_are VERSION: every object of the fixture is there, with its metadata
objects_are() {
    local path id
    for path in "$fixtures/spill-$1"/*; do
        id=${path##*/}
        if [[ $id = spill* ]]; then
            continue
        elif grep -q 'granary:' "$path"; then
            { granary get "$id" 2>&1 >/dev/null || true; } | sed 's/^granary: [^:]*: /granary: /' | cmp - "$path" || fail "failure $id"
        else
            granary export "$id" | cmp - "$path" || fail "object $id"
        fi
    done
}

# newest KIND, oldest KIND: the highest and lowest version there is a fixture of
newest() { find "$fixtures" -name "$1-*" | sed 's/.*-//; s/\.db//' | sort -n | tail -n 1; }
oldest() { find "$fixtures" -name "$1-*" | sed 's/.*-//; s/\.db//' | sort -n | head -n 1; }

echo "== shared memory of other versions is refused"
up
prefix=$(tail -n 1 "$work/prefixes")
id=$(granary put "$birds")
root=/dev/shm/${prefix}root
known=$(od -An -tu4 -j8 -N4 "$root" | xargs)
set_u32 "$root" 8 '<I' $((known - 1))
for command in ls fsck pins segments clients; do
    expect 1 "shared memory of version $((known - 1)), this granary reads $known: .*granary down" granary $command
done
python3 - "$work/i/instance.json" <<'PY'
import json, os, select, signal, sys
told = json.load(open(sys.argv[1]))
ends = [os.pidfd_open(told[who + '_pid']) for who in ('supervisor', 'pool', 'sched', 'store')]
for end in ends:
    try:
        signal.pidfd_send_signal(end, signal.SIGKILL)
    except ProcessLookupError: # it has ended with the supervisor
        pass
for end in ends: # until then they hold the instance's locks
    select.select([end], [], [])
PY
files() { find /dev/shm -name "$prefix*" -printf '%f %s\n' | sort; }
files >"$work/before"
for version in $((known - 1)) $((known + 1)) $((known + 100)); do
    set_u32 "$root" 8 '<I' "$version"
    expect 1 "instance $work/i: .*shared memory version $version, this one knows $known: .*granary down" \
        granary up --executors 1
    files | cmp - "$work/before" || fail "what another version left was touched"
done
set_u32 "$root" 8 '<I' "$known"
up # that release again
granary get "$id" | cmp - "$birds" || fail "an object of the release that was started again"
granary down >/dev/null

# Where this instance spills to.
spill=$work/spill/granary-$(id -u)-$(echo "$prefix" | cut -d . -f 3)

echo "== what every version left is read"
for folder in "$fixtures"/spill-*; do
    version=${folder##*-}
    fresh "$version"
    place "$fixtures/state-$(newest state).db"
    up
    objects_are "$version"
    granary fsck >/dev/null || fail "fsck: $(granary fsck)"
    for id in $(cd "$folder" && grep -L --exclude='spill*' granary: -- *); do
        granary rm "$id"
        [ "$(granary import "$folder/$id")" = "$id" ] || fail "import"
        granary export "$id" | cmp - "$folder/$id" || fail "imported object $id"
    done
    granary down >/dev/null
done
for state in "$fixtures"/state-*.db; do
    fresh "$(newest spill)"
    place "$state"
    up
    [ "$(granary graphs --fields=state ended failed | xargs)" = "state succeeded failed" ] || fail "$(granary graphs)"
    granary read --csv ended/f >"$work/ended.csv"
    [ "$(wc -l <"$work/ended.csv")" = 601 ] || fail "the result of a graph that had ended"
    granary await --timeout 60 pending >/dev/null || fail "a graph that had not ended: $(granary why pending)"
    granary read --csv pending/f >"$work/pending.csv"
    same "$work/ended.csv" "$work/pending.csv"
    granary down >/dev/null
done

echo "== spill files of other versions, and damaged ones that may be somebody's only copy, are left as they are"
known=$(newest spill)
unknown=$(($(oldest spill) - 1))
fresh "$known"
set_u32 "$spill/spill.1" 8 '<I' "$unknown"
set_u32 "$spill/spill.2" 8 '<I' $((known + 1))
set_u32 "$spill/spill.3" 8 '<I' $((known + 100))
flip "$spill/spill.4" 40                                         # its header
flip "$spill/spill.5" $(($(stat -c %s "$spill/spill.5") - 90)) # its footer
cp -r "$spill" "$work/was"
up
log_has "SPILL-FILE-FOREIGN .*spill.1 has version $unknown, this release knows $((unknown + 1)) to $known: start the release that wrote it"
log_has "SPILL-FILE-FOREIGN .*spill.2 has version $((known + 1)), this release knows $((unknown + 1)) to $known"
log_has "SPILL-FILE-FOREIGN .*spill.3 has version $((known + 100)), this release knows $((unknown + 1)) to $known"
log_has "SPILL-FILE-DAMAGED .*spill.4: its header"
log_has "PERSISTENT-LEFT .*spill.5: its footer"
granary put --persist "$birds" >/dev/null # takes none of their numbers
[ -f "$spill/spill.7" ] || fail "$(ls "$spill")"
granary fsck >"$work/fsck" || true # the damaged ones are found, too
grep -q "^note *spill-version .*spill.2 has version" "$work/fsck" || fail "fsck: $(cat "$work/fsck")"
granary down >/dev/null
for file in "$work"/was/spill.[1-6]; do
    same "$file" "$spill/${file##*/}"
done
rm -rf "$work/spill"

echo "== state of other versions is refused"
known=$(newest state)
for version in $((known - 1)) $((known + 1)) $((known + 100)); do
    [ ! -f "$fixtures/state-$version.db" ] || continue
    place "$fixtures/state-$known.db"
    set_u32 "$work/i/state.db" 60 '>I' "$version"
    cp "$work/i/state.db" "$work/was.db"
    expect 1 "$work/i/state.db: schema version $version, but this granary reads $known: .*move the file away" \
        granary up --executors 1
    same "$work/i/state.db" "$work/was.db"
done
mv "$work/i/state.db" "$work/moved" # as it says
up

echo "== exports of other versions are refused"
known=1
cp "$fixtures/spill-$(newest spill)/5f31867deebe3af77b9f4b09dc05d5a8" "$work/object"
for version in 0 $((known + 1)) $((known + 100)); do
    set_u32 "$work/object" 8 '<I' "$version"
    expect 1 "version $version of the format, this granary reads $known: import it with" granary import "$work/object"
done
