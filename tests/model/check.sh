#!/bin/bash
# check.sh MODEL: SPIN finds no error in the model, and the error in each control, from which one thing was left out.
set -eu

command -v spin >/dev/null || { echo "skipped: spin is not installed"; exit 77; }
model=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# search DEFINES...: prints the number of errors SPIN found, and of states
search() {
    rm -f pan*
    spin -a "$@" "$model" >spin.out 2>&1 || { cat spin.out >&2; return 1; }
    # Most of the time is the compiler's: a control's error is found at once.
    "${CC:-cc}" "$optimize" -w -DSAFETY -DMEMLIM=2000 -o pan pan.c
    ./pan -m100000 >pan.out 2>&1 || { cat pan.out >&2; return 1; }
    ! grep -qE 'max search depth too small|reached -DMEMLIM|out of memory' pan.out || { cat pan.out >&2; return 1; }
    sed -n 's/.*errors: \([0-9]*\).*/\1/p; s/^ *\([0-9]*\) states, stored.*/\1/p' pan.out | xargs
}

failed=0

# expect ERRORS DEFINES...
expect() {
    local expected=$1 optimize=-O0 errors states
    # Only the large ones are worth the compiler's time.
    case "$expected-$(basename "$model")" in 0-lease.pml | 0-room.pml | 0-cut.pml | 0-channel.pml) optimize=-O1 ;; esac
    shift
    read -r errors states < <(search "$@") || errors=none
    echo "$* : $errors errors, ${states:-0} states"
    if [ "$errors" != "$expected" ]; then
        echo "FAILED: $expected errors were expected" >&2
        failed=1
    fi
}

case $(basename "$model" .pml) in
lease)
    expect 0 -DACTIVE=2 -DOPS=3 -DCRASHES=0 -DDO_EVICT
    expect 0 -DACTIVE=1 -DOPS=4 -DCRASHES=1 -DDO_EVICT -DDO_DELETE
    expect 0 -DACTIVE=1 -DOPS=4 -DCRASHES=0 -DDO_PAGES
    expect 0 -DACTIVE=1 -DOPS=2 -DCRASHES=1 -DDO_PAGES -DDO_EVICT

    expect 1 -DNOFENCE -DACTIVE=1 -DOPS=1 -DCRASHES=0 -DDO_EVICT
    expect 1 -DNOSTOREFENCE -DACTIVE=1 -DOPS=1 -DCRASHES=0 -DDO_EVICT
    expect 1 -DNOCHECK -DACTIVE=1 -DOPS=1 -DCRASHES=0 -DDO_EVICT
    expect 1 -DEARLYFREE -DACTIVE=1 -DOPS=1 -DCRASHES=0 -DDO_EVICT
    expect 1 -DREUSE -DACTIVE=1 -DOPS=2 -DCRASHES=0 -DDO_EVICT
    expect 1 -DNOBETWEEN -DACTIVE=1 -DOPS=1 -DCRASHES=1 -DDO_EVICT
    expect 1 -DNORECHECK -DACTIVE=1 -DOPS=4 -DCRASHES=0 -DDO_PAGES
    expect 1 -DNOMOVED -DACTIVE=1 -DOPS=2 -DCRASHES=0 -DDO_PAGES -DDO_EVICT
    expect 1 -DNOLOOK -DACTIVE=1 -DOPS=2 -DCRASHES=0 -DDO_PAGES
    ;;
handover)
    expect 0 -DCRASHES=2
    for control in NOBYTES NOBEGUN TAILFIRST NODRAIN EARLYCLOSE NOACCOUNT AGAINSEALS; do
        expect 1 -D$control -DCRASHES=1
    done
    ;;
spill)
    expect 0 -DOPS=8
    for control in BYID EARLY NOBUSY NOHOLD NOLOOK NORELEASE ALLPINS SAMEJOB; do
        expect 1 -D$control -DOPS=8
    done
    ;;
room)
    expect 0 -DMEMORY=2 -DOBJECTS=2 -DCRASHES=2
    expect 0 -DMEMORY=1 -DOBJECTS=2 -DCRASHES=1
    for control in NOTAKE NODRAIN NOCLAIM NOADOPT CLEARS REGRANT UNASKED BLIND; do
        expect 1 -D$control -DMEMORY=2 -DOBJECTS=2 -DCRASHES=1
    done
    ;;
commit)
    expect 0 -DKILLS=2
    expect 0 -DKILLS=1 -DSTALE=1
    expect 0 -DKILLS=1 -DPOWER=1
    for control in NOCOMMIT NOSYNC NOCLAIMS DEAF EARLYACK; do
        expect 1 -D$control -DKILLS=1 -DPOWER=1
    done
    expect 1 -DNOFENCE -DKILLS=1 -DSTALE=1
    expect 1 -DLATEFENCE -DKILLS=1 -DSTALE=1
    ;;
cut)
    expect 0 -DENTRIES=2 -DREADERS=1 -DKILLS=1
    expect 0 -DENTRIES=1 -DREADERS=2 -DKILLS=0
    for control in BLIND EARLY LATE LENIENT ONCE PLAIN INHERIT ONE; do
        expect 1 -D$control -DENTRIES=2 -DREADERS=1 -DKILLS=1
    done
    ;;
channel)
    expect 0 -DMESSAGES=3 -DREADERS=2 -DKILLS=1
    for control in NOHELP NOCLAIM NOLOOK EARLY TRUST UNSEEN GAP; do
        expect 1 -D$control -DMESSAGES=3 -DREADERS=2 -DKILLS=1
    done
    expect 0 -DMESSAGES=2 -DREADERS=3 -DKILLS=2
    for control in STALE DOUBLE; do
        expect 1 -D$control -DMESSAGES=2 -DREADERS=3 -DKILLS=2
    done
    ;;
bell)
    expect 0 -DWRITES=2 -DSLEEPERS=2 -DKILLS=1
    expect 0 -DWRITES=1 -DSLEEPERS=2 -DKILLS=0
    for control in BLIND EARLY LATE AFTER; do
        expect 1 -D$control -DWRITES=1 -DSLEEPERS=2 -DKILLS=0
    done
    ;;
esac
exit $failed
