"""Every public prototype has a comment right above it, and one that returns granary_err says which errors; slots of comments
("Errors  ENOENT ...") stand at the beginning of a line, and what follows them is indented."""
import pathlib
import re
import sys

ERRORS = re.compile(r'\bE[A-Z]{3,}\b|\bErrors\b')
# A slot in the middle of a line: what a formatter that reflows comments leaves.
MERGED = re.compile(r'^\s*(?:/\*|\*) .*\S (?:Errors|Blocks|Returns|Threads|Death|ret_\w+) {2,}\S')
SLOT = re.compile(r'^\s*\* (?:Errors|ret_\w+) {2,}\S')


def prototypes(lines):
    """(position of the first line, text) of each."""
    for i, line in enumerate(lines):
        if line.startswith('GRANARY_API'):
            end = i
            while ';' not in lines[end]:
                end += 1
            yield i, ' '.join(lines[i:end + 1])


def comment_above(lines, position):
    last = lines[position - 1].strip()
    if not last.endswith('*/') or last.startswith('/* ----'):
        return None
    first = position - 1
    while '/*' not in lines[first]:
        first -= 1
    return '\n'.join(lines[first:position])


def faults_of_prototypes(path):
    lines = path.read_text().split('\n')
    for i, text in prototypes(lines):
        name = re.search(r'(granary_\w+)\(', text).group(1)
        comment = comment_above(lines, i)
        if comment is None:
            yield f'{path}:{i + 1}: {name} has no comment right above it'
        elif re.search(r'\bgranary_err\s+granary_', text) and not ERRORS.search(comment):
            yield f'{path}:{i + 1}: {name} names no errors'


def faults_of_slots(path):
    before = ''
    for i, line in enumerate(path.read_text().split('\n')):
        if MERGED.match(line):
            yield f'{path}:{i + 1}: a slot in the middle of a line'
        elif SLOT.match(before) and re.match(r'^\s*\* (?:E[A-Z]{3,}\b|[a-z]\w* [a-z])', line):
            yield f'{path}:{i + 1}: what goes on in a slot is not indented'
        before = line


def main():
    root = pathlib.Path(sys.argv[1])
    public = sorted((root / 'include/granary').glob('*.h'))
    folders = ('executor', 'include', 'libclient', 'sched', 'store', 'tests', 'tools')
    headers = [path for folder in folders for path in sorted((root / folder).rglob('*.h'))]
    faults = [fault for path in public for fault in faults_of_prototypes(path)]
    faults += [fault for path in headers for fault in faults_of_slots(path)]
    print('\n'.join(faults))
    sys.exit(1 if faults else 0)


main()
