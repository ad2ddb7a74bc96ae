#!/bin/bash
# A pilot job on two nodes of a Slurm of this test's own, both on this host: the answer is that of one machine, whatever is
# killed meanwhile, and nothing is left of a job that has ended. Skipped (77) where Slurm's daemons are not installed.
command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v sbatch >/dev/null || exit 77
# shellcheck source=tests/integration/cluster/plans.sh
. "$(dirname "$0")/plans.sh"
plan "$work/plan.json"
granary run -e 1 --memory 64M "$work/graph.json" >"$work/want"

# Ports and numbers of jobs that hardly anybody else has: others may run this at the same time.
port=$((17000 + $$ % 20000))
host=$(hostname) user=$(id -un)
mkdir "$work/state" "$work/shared"
chmod 755 "$work"
export SLURM_CONF="$work/slurm.conf"
cat >"$SLURM_CONF" <<EOF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/none
CredType=cred/none
SlurmctldPort=$port
FirstJobId=$$
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool.%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=5
MpiDefault=none
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=2 RealMemory=1000
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=2 RealMemory=1000
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
EOF
daemons=""
end_slurm() {
    local status=$?
    [ $status = 0 ] || tail -n 5 "$work"/*.log "$work"/shared/*/job.log >&2 || true
    scancel --full --user="$user" 2>/dev/null || true
    for _ in $(seq 100); do
        [ -n "$(squeue -h 2>/dev/null)" ] || break
        read -r -t 0.1 <> <(:) || true
    done
    # shellcheck disable=SC2086
    kill $daemons 2>/dev/null || true
    wait
    umount "$work/shared" 2>/dev/null || true
    (exit $status) || finish # it looks at the status
    finish
}
trap end_slurm EXIT
slurmctld -D -i >"$work/c.out" 2>&1 &
daemons="$!"
for node in n1 n2; do
    slurmd -D -N $node >"$work/$node.out" 2>&1 &
    daemons="$daemons $!"
done
nodes_are_idle() {
    sinfo -h -o "%T %D" 2>/dev/null | grep -q "^idle 2"
}
await nodes_are_idle

# cleared: no process, file or shared memory of a job
cleared() {
    local left
    [ -z "$(ls -A "$work/shared")" ] || fail "left in the directory: $(ls -A "$work/shared")"
    left=$(find /tmp -maxdepth 1 -name "granary-slurm-$(id -u)-*" | grep -E -- "-($(seq -s'|' $$ $(($$ + 9))))-" || true)
    [ -z "$left" ] || fail "left: $left"
    [ -z "$(leftovers)" ] || fail "left: $(leftovers)"
    ! pgrep -f "cluster node --directory $work" >/dev/null || fail "processes are left"
}
no_jobs() {
    [ -z "$(squeue -h)" ]
}
up() {
    granary cluster up --slurm -N 2 -e 1 --memory 64M --directory "$work/shared" "$@" >"$work/up" 2>"$work/err" || fail "up: $(cat "$work/err")"
    sed -n 's|.*"shm_prefix": "/\([^"]*\)".*|\1|p' /tmp/granary-slurm-"$(id -u)-$(sed -n 's/^job //p' "$work/run/granary/default.cluster")"-*/instance.json >>"$work/prefixes"
}
answer() {
    granary run -e 1 --memory 64M --on slurm "$work/plan.json" >"$work/got" 2>"$work/err" || fail "$(cat "$work/err")"
    same "$work/got" "$work/want"
}
instance_of() {
    granary cluster status --json | python3 -c "import json, sys
print([n['instance'] for n in json.load(sys.stdin)['nodes'] if n['node'] == '$1'][0])"
}

expect 4 "no cluster is up: .granary cluster up" granary cluster status
expect 2 "which machines" granary cluster up -N 2
expect 1 "sbatch: .*nvalid" granary cluster up --slurm --directory "$work/shared" -- --partition=none
cleared
up -- --time=10
grep -q 'job [0-9]* is RUNNING: 2 of 2 nodes up' "$work/up" || fail "up tells: $(cat "$work/up")"
expect 1 "is there already" granary cluster up --slurm
answer
granary cluster status | grep -Eq "^n2 +$version +1 +64" || fail "status: $(granary cluster status)"
[ "$(granary cluster status --json | python3 -c 'import json, sys; print(sum(n["fragments"] for n in json.load(sys.stdin)["nodes"]))')" = 6 ] || fail "fragments: $(granary cluster status)"
[ "$(ls -A "$work/shared"/*)" = "$(printf 'counts\njob.log\nnodes')" ] || fail "files of the plan are left: $(ls -A "$work/shared"/*)"

# SQL: some of TPC-H's queries, with all tables cut that have more than 100 kB.
mkdir "$work/tpch"
granary-tpch-gen 0.01 "$work/tpch" >/dev/null
granary up -e 1 --memory 128M >/dev/null
for table in "$work"/tpch/*.csv; do
    granary sql "CREATE VIEW $(basename "$table" .csv) AS SELECT * FROM '$table'" >/dev/null
done
for query in q01 q03 q13 q18; do
    granary sql --csv "@tools/bench/tpch/$query.sql" >"$work/one"
    granary sql --csv --on slurm --fragment-bytes 100k "@tools/bench/tpch/$query.sql" >"$work/several" 2>"$work/err" || fail "$query: $(cat "$work/err")"
    same "$work/one" "$work/several"
done
granary down >/dev/null

# A version that differs, by the node's name.
sed -i 's/^version .*/version 9.9.9/' "$work/shared"/*/nodes/n2
expect 1 "node n2 has granary 9.9.9, and this machine $version: install the same version" granary run -e 1 --on slurm "$work/plan.json"
sed -i "s/^version .*/version $version/" "$work/shared"/*/nodes/n2

# A fragment that hangs with its node: executors of n1 are stopped, and when n1 has one, all of n1 is killed. What it had runs
# on n2, and n1 comes back by itself.
executors_of() {
    granary info executors --instance "$1" --fields pid --json | grep -o '[0-9]*' | xargs
}
begin() { # PLAN: run it, with all executors of n1 (and others) stopped, until n1 has a fragment
    granary run -e 1 --memory 64M --on slurm "$1" >"$work/got" 2>"$work/err" &
    run=$!
    await pgrep -f "granary cluster fragment --instance $n1 " >/dev/null
}
n1=$(instance_of n1)
holder=$(granary status --instance "$n1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
# shellcheck disable=SC2046
kill -STOP $(executors_of "$n1")
begin "$work/plan.json"
kill -9 "$holder"
wait $run || fail "a node's death: $(cat "$work/err")"
same "$work/got" "$work/want"
n1_is_back() { # with another supervisor
    ! goes_on "$holder" 2>/dev/null && granary status --instance "$n1" >/dev/null 2>&1 && granary cluster status | grep '^n1 ' >/dev/null
}
await n1_is_back
answer

# The store of a node dies while it has a fragment.
# shellcheck disable=SC2046
kill -STOP $(executors_of "$n1")
begin "$work/plan.json"
kill -9 "$(python3 -c "import json; print(json.load(open('$n1/instance.json'))['store_pid'])")"
# shellcheck disable=SC2046
kill -CONT $(executors_of "$n1") 2>/dev/null || true
wait $run || fail "a store's death: $(cat "$work/err")"
same "$work/got" "$work/want"

# A run that failed left results; one of them is garbled before the next run.
sed 's/sum(v)/sum(w)/' "$work/plan.json" >"$work/wrong.json"
expect 4 "stage 's2', partition 0, on n[12]: .*'w'" granary run -e 1 --on slurm "$work/wrong.json"
d=$(echo "$work/shared"/*)
flip "$d/$s1-0.0.object" 300
rm "$d/$s0-1.0.object"
answer

# The job is cancelled while it works: an error tells, and nothing is left.
n2=$(instance_of n2)
# shellcheck disable=SC2046
kill -STOP $(executors_of "$n1") $(executors_of "$n2")
begin "$work/plan.json"
scancel "$(sed -n 's/^job //p' "$work/run/granary/default.cluster")"
! wait $run || fail "the job was cancelled, and the run succeeded"
grep -Eq "stage 's[03]', partition [01], on n[12]: |no machine" "$work/err" || fail "cancelled: $(cat "$work/err")"
await no_jobs
expect 1 "has ended.*cluster down. forgets it" granary cluster status
granary cluster down | grep -q 'is gone' || fail "down"
cleared
expect 4 "no cluster is up" granary cluster down

# A disk that is full, and then is not.
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k none "$work/shared"; then
    sed 's/\[5, 3\], "chunk": \[2, 3\]/[20000]/' "$work/plan.json" >"$work/large.json"
    up
    expect 5 "stage 's3', partition 0, on n[12]: $work/shared/.*$s3-0.0.object: .*No space" granary run -e 1 --on slurm "$work/large.json"
    mount -o remount,size=64m "$work/shared"
    granary run -e 1 --memory 64M --on slurm "$work/large.json" >/dev/null || fail "there is room again"
    granary cluster down >/dev/null
    cleared
fi

# Machines that vanish: all of a job's processes are killed at once. The next job clears what they left there.
up
granary run -e 1 --memory 64M --on slurm "$work/plan.json" | same /dev/stdin "$work/want"
scancel --full --signal=KILL "$(sed -n 's/^job //p' "$work/run/granary/default.cluster")"
await no_jobs
granary cluster down >/dev/null
up
answer
granary cluster down >/dev/null
cleared
