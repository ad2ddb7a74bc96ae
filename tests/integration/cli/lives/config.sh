#!/bin/bash
# Settings come from files, the environment and the command line; what is wrong with a file is said with its line.
. "$(dirname "$0")/../lib.sh"

export XDG_CONFIG_HOME=$work/home GRANARY_ETC=$work/etc XDG_RUNTIME_DIR=$work/run GRANARY_INSTANCE=
mkdir -p "$work/home/granary" "$work/etc" "$work/run"
chmod 700 "$work/run"
user=$work/home/granary/default.conf etc=$work/etc/default.conf

# shows NAME VALUE FROM: a row of `granary config`
shows() {
    granary config >"$work/config" || fail "config"
    grep -qE "^$1 +$2 +$3\$" "$work/config" || fail "no $1 = $2 from $3: $(cat "$work/config")"
}

# refused LINE PATTERN TEXT...: a file with these lines is refused there
refused() {
    local line=$1 pattern=$2
    shift 2
    printf '%b' "$*" >"$user"
    expect 2 "^granary: $user:$line: $pattern" granary config
    rm "$user"
}

# Each place is stronger than the one below it; several values of a weaker place all go.
shows memory 'half of what the machine allows' 'built in'
printf '# ours\nmemory = 48M\nexecutors=3\nresource = gpu=1\nresource = gpu2=1\n' >"$etc"
shows memory 48M "$etc:2"
printf 'memory = 32M # less\nresource = "tape=2"\nspill-dir = "%s/sp ill # 1"\n' "$work" >"$user"
shows memory 32M "$user:1"
shows executors 3 "$etc:3"
shows resource tape=2 "$user:2"
shows spill-dir "$work/sp ill # 1" "$user:3"
! grep -q gpu "$work/config" || fail "a resource of a weaker place: $(cat "$work/config")"
export GRANARY_EXECUTORS=1 GRANARY_RESOURCE=a=1,b=2
shows executors 1 '.GRANARY_EXECUTORS'
shows resource b=2 '.GRANARY_RESOURCE'
granary config --executors 2 --json | grep -q '"name": "executors", "value": "2", "from": "command line"' || fail "config --json"

# An instance starts with them, and only one that has this name.
GRANARY_INSTANCE="$work/run/granary/default"
granary up --json >"$work/up" --instance default
grep -q '"executors": 1, "capacity_bytes": 33554432' "$work/up" || fail "up with a configuration: $(cat "$work/up")"
ls -d "$work/sp ill # 1" >/dev/null || fail "the directory of a configuration"
granary down --instance default >/dev/null
granary config --instance other | grep -q 'memory *half' || fail "another instance's file"
granary config --config "$etc" | grep -q "memory *48M *$etc:2" || fail "config --config"
expect 4 "^granary: $work/no.conf: No such file" granary config --config "$work/no.conf"
GRANARY_INSTANCE=
unset GRANARY_EXECUTORS GRANARY_RESOURCE

# What is wrong is said with file, line and remedy; nothing starts.
refused 2 "no setting 'memroy'; did you mean 'memory'\? .granary config. lists all" 'memory = 1G\nmemroy = 1G\n'
refused 1 "memory: 'lots' is no size" 'memory = lots\n'
refused 3 "memory is set in line 1 already: remove one" 'memory = 1G\n\nmemory = 2G\n'
refused 1 "'memory 1G': write NAME = VALUE" 'memory 1G\n'
refused 1 "memory: no value: give one" 'memory =\n'
refused 1 "spill-dir: the value has one quote" 'spill-dir = "/x\n'
refused 1 "remote-dir: 'share' begins where .* write the whole path" 'remote-dir = share\n'
refused 1 "a byte of 0" 'memory = \0\n'
refused 1 'a control character \(27\)' 'memory = \033[2J\n'
refused 2 "confine-read = /usr contradicts confine in line 1: remove one" 'confine = no\nconfine-read = /usr\n'
refused 2 "state = memory contradicts schedulers in line 1: who takes over would know no graph" 'schedulers = 2\nstate = memory\n'
refused 1 "user-memory = 1G is for members of a group: add group" 'user-memory = 1G\n'
refused 2 "disk-quota = 1G contradicts levels in line 1: add disk" 'levels = memory\ndisk-quota = 1G\n'
printf 'executors = many\n' >"$user"
expect 2 "^granary: up: $user:1: executors: 'many' is no number from 0 to 1024" granary up
[ ! -e "$work/run/granary/default" ] || fail "an instance of a wrong configuration"
mkdir "$work/dir.conf"
expect 2 'no configuration file: it is no regular file' granary config --config "$work/dir.conf"
mkfifo "$work/pipe.conf"
expect 2 'it is no regular file' timeout 10 granary config --config "$work/pipe.conf"
rm "$user"
GRANARY_MEMORY=lots expect 2 "GRANARY_MEMORY: 'lots' is no size" granary config

# The example that is installed has all of them, and means nothing until it is changed.
granary config --example | cmp - "$GRANARY_SOURCE/tools/packaging/default.conf" || fail "tools/packaging/default.conf is not \`granary config --example\`"
granary config --example >"$user"
rm "$etc"
! granary config | grep -q "$user:" || fail "an example that says something"
