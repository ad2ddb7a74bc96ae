"""debian/ tells the same as the tree: versions, what building needs, the licence, and which libraries there are.

    rules.py SOURCE
"""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
debian = source / 'tools/packaging/debian'
control = (debian / 'control').read_text()
cmake = (source / 'CMakeLists.txt').read_text()
wrong = []


def field(name):
    """Names of packages in a field of the source, without versions."""
    found = re.search(rf'^{name}:(.*(?:\n .*)*)', control, re.M).group(1)
    return {re.sub(r'\(.*?\)', '', part).strip() for part in found.split(',')}


version = re.search(r'VERSION (\d+\.\d+)\.(\d+)', cmake)
soversion = re.search(r'set\(GRANARY_SOVERSION ([\d.]+)\)', cmake).group(1)
changelog = (debian / 'changelog').read_text()
if not changelog.startswith(f'granary ({version.group(1)}.{version.group(2)}-'):
    wrong.append(f'debian/changelog begins with another version than {version.group(0)} of CMakeLists.txt')

# gcc, libc6-dev and tzdata: build-essential, and what is needed to run.
packages = re.search(r'^build_packages="([^"]*)"', (source / 'tools/packages.sh').read_text(), re.M).group(1).split()
needed = set(packages) - {'gcc', 'libc6-dev', 'tzdata'}
for name in sorted(needed - field('Build-Depends')):
    wrong.append(f'{name} is in build_packages, and not in Build-Depends')

libraries = re.findall(r'^granary_library\(([\w-]+)', ''.join(p.read_text() for p in source.glob('*/**/CMakeLists.txt')
                                                              if 'build' not in p.parts[len(source.parts):]), re.M)
if len(libraries) != 3:
    wrong.append(f'libraries: {libraries}')
for library in libraries:
    package = f'lib{library}{soversion}'
    if f'\nPackage: {package}\n' not in control:
        wrong.append(f'no package {package}')
    symbols = debian / f'{package}.symbols'
    if not symbols.exists() or not symbols.read_text().startswith(f'lib{library}.so.{soversion} {package} '):
        wrong.append(f'{symbols}: not of this SONAME')

licence = re.match(r'\s*(\w+) License\s+Version ([\d.]+)', (source / 'LICENSE').read_text())
if f'License: {licence.group(1)}-{licence.group(2)}\n' not in (debian / 'copyright').read_text():
    wrong.append('debian/copyright has another licence than LICENSE')
# Files of others lie beside their licences, which debian/copyright names.
for path in source.rglob('*LICEN[CS]E*'):
    inside = path.relative_to(source)
    if len(inside.parts) > 1 and inside.parts[0] != 'build' and str(inside.parent) not in (debian / 'copyright').read_text():
        wrong.append(f'debian/copyright does not name {inside.parent}')

print('\n'.join(wrong))
sys.exit(1 if wrong else 0)
