#!/usr/bin/python3
"""Texts by the rules of languages: COLLATE de and its like, collation_key() and nfc_normalize(), with the library ICU and without.

    languages.py BIN_DIRECTORY

Where the library is not there, the error must name it, and what needs no rules works as ever.
"""
import ctypes.util
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine

NAMES = "(values ('Götz'), ('Gabel'), ('Göbel'), ('Goethe'), ('Goldmann'), ('Göthe')) t(s)"
ANSWERS = [
    (f'select s from {NAMES} order by s collate de', 'Gabel Göbel Goethe Goldmann Göthe Götz'),
    (f"select s from {NAMES} where 'goethe' > s collate de.nocase order by 1", 'Gabel Göbel'),
    ("select s from (values ('h'), ('ch'), ('i')) t(s) order by s collate cs", 'h ch i'),
    ("select s from (values ('z'), ('aa'), ('å'), ('a')) t(s) order by s collate da, s", 'a z å aa'),
    ("select 'Ö' collate de = 'ö', 'a' collate de < 'B', 'a\u0308' collate de = 'ä'", 'false,true,true'),
    ("select contains('x>>ö<<' collate de, 'o'), 'x>>o<<' collate de like '%>o<%', list_contains(['ä'], 'a\u0308' collate de)", 'false,true,true'),
    ("select concat('a' collate de, 'x') < 'B', rank() over (order by s collate de) from (values ('Z'), ('a'), ('b')) t(s) order by s collate de", 'true,1 true,2 true,3'),
    ("select count(*) from (values ('a\u030a'), ('å'), ('a')) t(s) group by s collate da order by 1", '1 2'),
    ("select count(*) from (values ('a\u030a'), ('å'), ('a')) t(s) group by s collate nfc order by 1", '1 2'),
    ("select nfc_normalize('a\u0308b') = 'äb', nfc_normalize('abc'), nfc_normalize(null) is null, length(nfc_normalize(repeat('a\u0308', 100000)))", 'true,abc,true,100000'),
    ("select length(collation_key(repeat('ö', 100000), 'de')) > 100000, collation_key('', 'de') < collation_key('a', 'de')", 'true,true'),
    ("select collation_key(s, l) < collation_key('b', l) from (values ('a', 'de'), ('ä', 'da'), (null, 'de'), ('a', null)) t(s, l)", 'true false \\N \\N'),
]
REFUSED = [
    ("select 'a' collate xx < 'b'", 'there are no rules of that language'),
    ("select collation_key('a', 'a language that is longer than any')", 'there are no rules of that language'),
    ("select collation_key('a', '')", 'there are no rules of that language'),
]
ALWAYS = [
    ("select 'a' collate de = 'b' collate fr", 'COLLATE of two languages, de and fr'),
    ("select 'a' collate english = 'b'", "collation 'english' is not supported"),
    ("select 'a' collate aa = 'b', 'a' collate bb = 'b', 'a' collate cc = 'b', 'a' collate dd = 'b', 'a' collate ee = 'b', 'a' collate ff = 'b'", 'up to 5 of these'),
]
WITHOUT = [(statement, 'the library ICU is not there') for statement, _ in ANSWERS if 'like' not in statement]


def said(instance, statement):
    ended = instance.call('sql', '--csv', '--discard', statement)
    return ' '.join(ended.stdout.splitlines()[1:]) if ended.returncode == 0 else ended.stderr


binaries = pathlib.Path(sys.argv[1]).resolve()
there = ctypes.util.find_library('icui18n') is not None
wrong = 0
with CommandLine(binaries) as instance:
    for statement, answer in ANSWERS if there else []:
        got = said(instance, statement)
        if got != answer:
            print(f'{statement}\n  {got}, expected {answer}')
            wrong += 1
    for statement, part in (REFUSED if there else WITHOUT) + ALWAYS:
        got = said(instance, statement)
        if part not in got:
            print(f'{statement}\n  {got}, without {part}')
            wrong += 1
print(f'{wrong} wrong, {"with" if there else "without"} ICU')
sys.exit(1 if wrong else 0)
