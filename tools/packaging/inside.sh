#!/bin/bash
# Inside the virtual machine, as root: granary is installed, runs as a service, and is purged.
set -euo pipefail
trap 'echo "FAILED in line $LINENO"; journalctl -b --no-pager -n 30' ERR
fail() { echo "FAILED: $*"; journalctl -b --no-pager -n 30; exit 1; }
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
useradd -m -s /bin/bash user
loginctl enable-linger user
systemctl start user@"$(id -u user)".service
as_user() { runuser -u user -- env XDG_RUNTIME_DIR="/run/user/$(id -u user)" "$@"; }

echo "-- installed"
apt-get install -y --no-install-recommends /packages/granary_*.deb >/tmp/log 2>&1 || fail "$(cat /tmp/log)"
id granary
[ -z "$(systemctl list-units --no-legend 'granary*')" ] || fail "units run that nobody started"
[ "$(as_user granary sql --csv 'SELECT 6 * 7 AS answer' | tail -n 1)" = 42 ]
as_user man granary-sql | grep '^SYNOPSIS' >/dev/null

echo "-- units"
for unit in /lib/systemd/system/granary*@.service; do
    systemd-analyze verify "${unit/@/@default}" 2>&1 | grep -i granary && fail "systemd-analyze verify $unit"
done
for unit in /usr/lib/systemd/user/granary*@.*; do
    as_user systemd-analyze --user verify "${unit/@/@default}" 2>&1 | grep -i granary && fail "systemd-analyze verify $unit"
done
exposure=$(systemd-analyze security --no-pager granary-shared@team.service | sed -n 's/.*Overall exposure level.*: \([0-9.]*\) .*/\1/p')
echo "exposure $exposure"
awk -v e="$exposure" 'BEGIN { exit !(e != "" && e <= 3) }' || fail "the exposure is $exposure"

echo "-- a service of a user"
as_user systemctl --user daemon-reload
as_user systemctl --user start granary@default
as_user systemctl --user is-active granary@default
as_user granary put --id-from notes /etc/debian_version
as_user bash -c '. /usr/share/bash-completion/completions/granary; compopt() { :; }; COMP_LINE="granary get name:no" COMP_POINT=19
    granary name notes "$(granary ls | awk "END {print \$1}")"; COMP_WORDS=(granary get name : no) COMP_CWORD=4; _granary; [ "${COMPREPLY[*]}" = notes ]'
as_user systemctl --user stop granary@default
[ -z "$(pgrep -u user granary)" ] || fail "left: $(pgrep -u user -a granary)"

echo "-- a service of the machine"
systemctl start granary-shared@team
systemctl is-active granary-shared@team
usermod -aG granary user
as_user granary put --instance /run/granary/team --id-from notes /etc/debian_version || fail "a member of the group"
printf 'v\n20\n22\n' >/tmp/rows.csv
[ "$(as_user granary sql --instance /run/granary/team --csv "SELECT sum(v) FROM '/tmp/rows.csv'" | tail -n 1)" = 42 ] || fail "SQL of a member"

echo "-- purged while both run"
as_user systemctl --user start granary@default
apt-get purge -y granary >/tmp/log 2>&1 || fail "$(cat /tmp/log)"
grep -q 'granary: an instance of user is up' /tmp/log || fail "$(cat /tmp/log)"
! systemctl is-active granary-shared@team || fail "the shared instance is up"
as_user systemctl --user stop granary@default
[ -z "$(pgrep granary-store)" ] || fail "left: $(pgrep -a granary)"
left=$(find / -xdev \( -path /proc -o -path /sys -o -path /packages -o -path /var/log -o -path /var/lib/apt -o -path /var/cache \) -prune -o -iname '*granary*' -print)
[ -z "$left" ] || fail "left: $left"
! getent passwd granary || fail "the user granary is left"
! getent group granary || fail "the group granary is left"
echo "the machine is as it should be"
