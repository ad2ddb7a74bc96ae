#!/usr/bin/python3
"""Does the differ find what is wrong? Mistakes are planted, one at a time, in a copy of the sources; each must be found within a minute.

    planted.py [NAME...]        --list: the mistakes

The copy is built in build/planted; with ccache a mistake costs a few seconds. A mistake is a piece of text that stands exactly once in its file.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COPY = SOURCE / 'build' / 'planted'
TARGETS = ['granary', 'granary-store', 'granary-sched', 'granary-executor', 'lib/libgranary.so']

# name, file, what stands there, what is planted, the part, what the finding must have in it
MISTAKES = [
    ('swapped arguments', 'libclient/sql/parse/functions/function.c', 'functions[i].swapped ? swapped : args', 'functions[i].swapped && i > 1000 ? swapped : args', 'sql_cases', r'strpos|instr'),
    ('an ignored clause', 'libclient/sql/rel.c', '    if (offset == 0) {', '    if (offset >= 0) {', 'sql_random', r'offset'),
    ('an ignored filter', 'libclient/sql/parse/functions/function.c', 'if (expr->args != NULL && call->agg_filter != NULL) {', 'if (expr->args != NULL && call->agg_filter != NULL && p == NULL) {', 'sql_random', r'filter'),
    ('a float detour', 'executor/kernel/rows/cast.c', 'gr_int128 value = node_exact_at(a, i);', 'gr_int128 value = (gr_int128)(double)node_exact_at(a, i);', 'expressions', r'cast|q\d'),
    ('a set for another', 'libclient/sql/parse/select.c', '[PG_QUERY__SET_OPERATION__SETOP_EXCEPT] = SQL_EXCEPT', '[PG_QUERY__SET_OPERATION__SETOP_EXCEPT] = SQL_INTERSECT', 'sql_random', r'except'),
    ('a wrong null', 'executor/kernel/join/probe.c', '"null_aware", false)', '"no null_aware", false)', 'graphs_frame', r'null_aware'),
    ('a null that is kept', 'executor/kernel/aggregate/plan.c', '"dropna", true)', '"dropna", false)', 'graphs_frame', r'groupby|value_counts|pivot'),
    ('an ignored parameter', 'executor/kernel/tensor/reduce/reduce.c', '"ddof", 0);', '"no ddof", 0);', 'graphs_tensor', r'ddof'),
    ('one to the side', 'executor/kernel/window/compute.h', 'window->center ? (window->window - 1) / 2 : 0', 'window->center ? window->window / 2 : 0', 'graphs_frame', r'rolling'),
    ('off by one', 'executor/kernel/rows/text/text.c', 'rows_utf8_offset(text, end - 1)', 'rows_utf8_offset(text, end)', 'expressions', r'substr'),
    ('rounded the wrong way', 'executor/kernel/rows/arithmetic.c', 'bool down = node->op == GR_OP_FLOOR_DIVIDE || node->op == GR_OP_MODULO;', 'bool down = node->op == GR_OP_FLOOR_DIVIDE;', 'expressions', r'%'),
    ('a head moved too far', 'libclient/graph/operators/rows.c', 'GR_OP_TAKES_CONDITIONS | GR_OP_PASSES_ROWS | GR_OP_KEEPS_ORDER,', 'GR_OP_TAKES_CONDITIONS | GR_OP_PASSES_ROWS | GR_OP_KEEPS_ORDER | GR_OP_ROW_BY_ROW,', 'graphs_frame', r'head'),
    ('a seam between chunks', 'executor/kernel/window/next.c', 'return window->offset;', 'return window->offset - 1;', 'graphs_frame', r'shift|lag|diff|pct_change'),
    ('a quote that is lost', 'executor/kernel/csv/csv_text.c', 'gr_buf_add(&text->scratch, p, 1);', 'gr_buf_add(&text->scratch, p, 0);', 'round_trips', r'csv'),
    ('an ignored flag', 'executor/kernel/rows/text/regex.c', "flags->bytes[0] == 'g';", "flags->bytes[0] == 'G';", 'regex', r"'g'")]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def copy():
    """The files that git knows, as they are here."""
    COPY.mkdir(parents=True, exist_ok=True)
    names = run('git', 'ls-files', '-z', cwd=SOURCE).stdout.split('\0')
    for name in filter(None, names):
        source, to = SOURCE / name, COPY / 'source' / name
        if source.is_file() and not (to.exists() and to.read_bytes() == source.read_bytes()):
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, to)


def build():
    source = COPY / 'source'
    if not (COPY / 'build' / 'build.ninja').exists():
        options = ['-DCMAKE_C_COMPILER_LAUNCHER=ccache'] if shutil.which('ccache') else []
        made = run('cmake', '--preset', 'release', '-B', str(COPY / 'build'), '-DGRANARY_TESTS=OFF', *options, cwd=source)
        if made.returncode:
            sys.exit(made.stderr)
    made = run('cmake', '--build', str(COPY / 'build'), '--target', *TARGETS)
    if made.returncode:
        sys.exit(made.stdout[-3000:])


def find(part, wanted, seconds=60):
    """Run the part until it tells a difference with `wanted` in it: (whether it did, what it told, how long that took)."""
    begun = time.monotonic()
    environment = {**os.environ, 'GRANARY_BIN': str(COPY / 'build' / 'bin'), 'GRANARY_SOURCE': str(COPY / 'source'), 'PYTHONDONTWRITEBYTECODE': '1'}
    told, found = '', False
    differ = subprocess.Popen(['/usr/bin/python3', str(SOURCE / 'tests/differ/differ.py'), '--part', part, '--seconds', str(seconds), '--findings', str(COPY / 'findings')],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    for line in differ.stdout:
        told += line
        if not found and line.startswith('repeat it:'):
            found = re.search(wanted, told[told.rindex('DIFFERENCE in'):]) is not None
            if found:
                took = time.monotonic() - begun
                differ.send_signal(signal.SIGINT)  # it takes its instance and its peers with it
    differ.wait()
    return found, told, took if found else time.monotonic() - begun


def main():
    chosen = [m for m in MISTAKES if not sys.argv[1:] or m[0] in sys.argv[1:]]
    if sys.argv[1:] == ['--list']:
        print('\n'.join(f'{m[0]:24} {m[1]}' for m in MISTAKES))
        return 0
    copy()
    missed = 0
    for name, file, old, new, part, wanted in chosen:
        path = COPY / 'source' / file
        text = path.read_text()
        if text.count(old) != 1:
            print(f'{name}: {file} has {text.count(old)} times: {old}: mend this row of planted.py')
            missed += 1
            continue
        try:
            path.write_text(text.replace(old, new))
            build()
            good, told, took = find(part, wanted)
        finally:
            path.write_text(text)
        print(f'{name:24} {part:14} {f"found in {took:.0f} s" if good else "NOT FOUND"}', flush=True)
        if not good:
            print(told[-1500:])
            missed += 1
    print(f'{len(chosen) - missed} of {len(chosen)} planted mistakes found')
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
