"""tools/prove: a short run of some rows finds nothing and says so; what a row finds is told, with its command; `prove.py SOURCE BUILD`."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile

SOURCE, BUILD = sys.argv[1:]
os.environ['GRANARY_BUILD'] = BUILD
PROVE = os.path.join(SOURCE, 'tools/prove')


def load():
    loader = importlib.machinery.SourceFileLoader('prove', PROVE)
    spec = importlib.util.spec_from_loader('prove', loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def short_run():
    done = subprocess.run([PROVE, '--minutes', '0.3', '--seed', '7', '--no-fuzz', '--only', '^(whole|store|simulate|states-state)$'],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '4 rows' in done.stdout and 'nothing was found' in done.stdout, done.stdout
    assert 'torture whole --seconds 1' in done.stdout and 'kills' in done.stdout, done.stdout


def outcomes_of(prove, commands):
    """The exit status of rows with these commands, and what is printed."""
    rows = [prove.Row(f'row{i}', 'nothing', 1, lambda _, __, command=command: command, [(r'(\d+) things', 'things')])
            for i, command in enumerate(commands)]
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        status = prove.show([prove.run_row(row, 0, 1) for row in rows])
    return status, told.getvalue()


def findings_are_told(prove):
    shell = ['sh', '-c']
    status, told = outcomes_of(prove, [shell + ['echo 12 things'], shell + ['echo no means; exit 77'], ['/nowhere/program']])
    assert status == 0 and '12 things' in told and 'skipped: no means' in told and 'is not built' in told, told
    status, told = outcomes_of(prove, [shell + ['true'], shell + ['echo torture: an object is lost; exit 1']])
    assert status == 1 and 'FOUND by row1' in told and 'an object is lost' in told and "sh -c 'echo torture" in told, told
    status, told = outcomes_of(prove, [shell + ['kill -SEGV $$']])
    assert status == 1 and 'FOUND: status -11' in told, told


def main():
    prove = load()
    with tempfile.TemporaryDirectory() as prove.WORK:
        findings_are_told(prove)
    short_run()


main()
