#!/bin/bash
# Plots of a result, in the terminal's width and characters; sparklines of `granary top`.
. "$(dirname "$0")/lib.sh"

granary up --executors 1 --memory 64M >"$work/out"
remember_prefix

# drawn LOCALE TEXT: what --plot bar prints
drawn() {
    LC_ALL=$1 granary sql --plot bar "SELECT * FROM (VALUES ('a', 2), ('b', 1)) t(label, n)" >"$work/out"
    printf '%b' "$2" >"$work/want"
    same "$work/want" "$work/out"
}
bar=$(printf '%75s' '')
drawn C "a |${bar// /#} 2\nb |$(printf '%38s' '' | tr ' ' '#') 1\n"
drawn C.UTF-8 "a │${bar// /█} 2\nb │$(printf '%37s' '' | sed 's/ /█/g')▌ 1\n"

# In a terminal of 40 columns, no line is longer.
cat >"$work/rows.sql" <<'S'
SELECT x, sin(x / 5.0) AS s FROM generate_series(1, 100) t(x)
S
for plot in bar line hist; do
    LC_ALL=C.UTF-8 python3 - "$plot" "$work/rows.sql" <<'P' || fail "--plot $plot in a narrow terminal"
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 40, 0, 0))
    os.dup2(os.open("/dev/null", os.O_WRONLY), 2) # progress is no part of it
    os.execlp("granary", "granary", "sql", "--plot", sys.argv[1], "@" + sys.argv[2])
text = b""
while True:
    try:
        more = os.read(fd, 65536)
    except OSError: # the other end is closed
        break
    if not more:
        break
    text += more
lines = text.decode().replace("\r", "").split("\n")
_, status = os.waitpid(pid, 0)
sys.exit(status != 0 or len(lines) < 8 or max(map(len, lines)) > 40)
P
done

expect 2 'name one of them' granary sql --plot bar --csv 'SELECT 1'
expect 2 'none of bar, line, hist' granary sql --plot pie 'SELECT 1'
expect 2 "column 'b' is string, and no number" granary sql --plot line "SELECT 1 AS a, 'x' AS b"
granary sql --plot hist 'SELECT 1 AS a WHERE false' | grep -qx 'no rows' || fail "no rows are no plot"

# Later screens of top have a line of what memory was before, in ASCII as well; grep ends it.
(LC_ALL=C timeout 60 granary top --interval 50ms 2>"$work/err" || true) | grep -m1 -aE '^in use +[ .]*\| 100 %$' >"$work/out" || fail "top has no sparkline"
echo ok
