"""A wheel of what was built: the package, its library, and the daemons. It needs nothing but Python.

    make_wheel.py BUILD [DIRECTORY]       BUILD: build/release. The wheel is written into DIRECTORY, default BUILD/wheel
    make_wheel.py --metadata VERSION      print what tells of the package, for those who install it otherwise

Then `pip install --no-index BUILD/wheel/granary-*.whl`. The machine needs the shared libraries that granary was built with
(libzmq, liblz4, libnuma, ...): `tools/packages.sh` names their Debian packages.
"""
from __future__ import annotations

import base64
import hashlib
import os
import re
import sys
import zipfile
from typing import Dict

PROGRAMS = ("granary", "granary-store", "granary-sched", "granary-executor")
META = """Metadata-Version: 2.1
Name: granary
Version: {version}
Summary: Objects, frames, tensors and functions that the processes of one machine share without a copy
Requires-Python: >=3.11
Requires-Dist: numpy
Provides-Extra: all
Requires-Dist: pandas; extra == "all"
Requires-Dist: cloudpickle; extra == "all"
"""
WHEEL = """Wheel-Version: 1.0
Generator: granary make_wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""
SCRIPT = "[console_scripts]\ngranary = granary._instance:main\n"


def contents(build: str) -> Dict[str, str]:
    """Names in the wheel, and the files that they are."""
    found = {}
    package = os.path.join(build, "python", "granary")
    for directory, _, files in os.walk(package, followlinks=True):
        for name in files:
            if not name.endswith((".pyc", ".pyo")) and "__pycache__" not in directory:
                path = os.path.join(directory, name)
                found[os.path.join("granary", os.path.relpath(path, package))] = path
    for name in os.listdir(os.path.join(build, "lib")):
        if re.fullmatch(r"libgranary\.so\.\d+\.\d+", name):
            found["granary/" + name] = os.path.join(build, "lib", name)
    for name in PROGRAMS:
        found["granary/bin/" + name] = os.path.join(build, "bin", name)
    return found


def main() -> None:
    if sys.argv[1] == "--metadata":
        sys.stdout.write(META.format(version=sys.argv[2]))
        return
    build = sys.argv[1]
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.join(build, "wheel")
    files = contents(build)
    if "granary/_granary.abi3.so" not in files:
        raise SystemExit(f"make_wheel.py: {build}/python has no extension: install libpython3-dev, and build again")
    sys.path.insert(0, os.path.join(build, "python"))
    from granary import __version__ as version

    machine = os.uname().machine
    tag = f"cp311-abi3-linux_{machine}"
    info = f"granary-{version}.dist-info"
    texts = {
        f"{info}/METADATA": META.format(version=version),
        f"{info}/WHEEL": WHEEL.format(tag=tag),
        f"{info}/entry_points.txt": SCRIPT,
    }
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, f"granary-{version}-{tag}.whl")
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in [(n, open(f, "rb").read()) for n, f in sorted(files.items())] + [(n, t.encode()) for n, t in texts.items()]:
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same bytes for the same build
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name.startswith("granary/bin/") or name.endswith(".so") else 0o100644) << 16
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
        record.append(f"{info}/RECORD,,")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", (2020, 1, 1, 0, 0, 0)), "\n".join(record) + "\n")
    print(path)


if __name__ == "__main__":
    main()
