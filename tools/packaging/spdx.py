"""An SPDX 2.3 document of the packages that were built: what they are, and the Debian packages whose libraries they are linked with.

    spdx.py SOURCE PACKAGES      SOURCE: the tree that was built, with debian/; writes PACKAGES/granary_VERSION.spdx.json

Who is linked with what is told by the programs themselves (ldd), whose library that is by dpkg, and its licence by the copyright
file of that package. Archives are linked into programs without a trace: LINKED_IN names them.
"""
from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from typing import Dict, List, Set, Tuple

# Packages of archives that become part of programs and libraries (tools/cmake/Packages.cmake), and in which of ours they are.
LINKED_IN = {
    "libpg-query-dev": ["granary", "libgranary0.1", "libgranary-worker0.1"],
}
# Debian's short names of licences that SPDX calls otherwise. Others become a reference to what the copyright file says.
SPDX = {
    "Apache-2.0": "Apache-2.0", "BSD-2-clause": "BSD-2-Clause", "BSD-2-Clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause",
    "BSD-3-Clause": "BSD-3-Clause", "Expat": "MIT", "MIT": "MIT", "ISC": "ISC", "Zlib": "Zlib", "zlib": "Zlib", "LGPL-2.1": "LGPL-2.1-only",
    "LGPL-2.1+": "LGPL-2.1-or-later", "LGPL-2.1-or-later": "LGPL-2.1-or-later", "LGPL-3+": "LGPL-3.0-or-later", "LGPL-3": "LGPL-3.0-only",
    "GPL-2": "GPL-2.0-only", "GPL-2+": "GPL-2.0-or-later", "GPL-3+": "GPL-3.0-or-later", "GPL-3": "GPL-3.0-only", "MPL-2.0": "MPL-2.0",
    "PostgreSQL": "PostgreSQL", "GPL-2.0+": "GPL-2.0-or-later", "LGPL-2+": "LGPL-2.0-or-later",
}


def told(*words: str) -> str:
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8").stdout


def identifier(name: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def licences(path: str) -> Tuple[str, List[str]]:
    """The licences of a copyright file as one expression, and the names in it that are none of SPDX's list."""
    try:
        text = open(path, encoding="utf-8", errors="replace").read()
    except OSError:
        return "NOASSERTION", []
    names: Set[str] = set()
    for row in re.findall(r"^License: *(\S.*)$", text, re.M) if text.startswith("Format") else []:
        names.update(re.sub(r" with .*", "", name.strip(" ()")) for name in re.split(r",? (?:and|or) |, ", row))
    known = sorted({SPDX[name] for name in names if name in SPDX})
    others = sorted(name for name in names if name not in SPDX)
    parts = known + [f"LicenseRef-debian-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}" for name in others]
    return " AND ".join(parts) or "NOASSERTION", others


def libraries_of(root: str) -> Set[str]:
    """Files of other packages with which the programs and libraries below a folder are linked."""
    found: Set[str] = set()
    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.islink(path) and open(path, "rb").read(4) == b"\x7fELF":
                needed = re.findall(r"Shared library: \[(.*)\]", told("readelf", "-d", path))
                where = dict(re.findall(r"^\s*(\S+) => (/\S+)", told("ldd", path), re.M))
                found.update(where[library] for library in needed if library in where)
    return found


def owner(path: str) -> str:
    """libc's and others' may be found below /lib, and be known below /usr/lib, or the other way round."""
    real = os.path.realpath(path)
    for candidate in (path, real, real[4:] if real.startswith("/usr/") else "/usr" + real):
        try:
            return told("dpkg", "-S", candidate).split(":")[0]
        except subprocess.CalledProcessError:
            pass
    raise SystemExit(f"spdx.py: {path} is of no package")


class Document:
    def __init__(self, version: str, created: str) -> None:
        self.packages: List[Dict[str, object]] = []
        self.relations: Set[Tuple[str, str, str]] = set()
        self.others: Dict[str, str] = {}
        self.version, self.created = version, created

    def add(self, name: str, version: str, copyright_file: str, **more: object) -> str:
        licence, others = licences(copyright_file)
        self.others.update({f"LicenseRef-debian-{re.sub(r'[^A-Za-z0-9.-]', '-', other)}": f"{other}: see /usr/share/doc/{name}/copyright"
                            for other in others if f"LicenseRef-debian-{re.sub(r'[^A-Za-z0-9.-]', '-', other)}" not in self.others})
        self.packages.append({
            "SPDXID": identifier(name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{name}@{version}"}],
        })
        return identifier(name)

    def text(self, digest: str) -> str:
        relations = [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in sorted(self.relations)]
        return json.dumps({
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"granary-{self.version}",
            "documentNamespace": f"https://granary.example/spdx/granary-{self.version}-{digest}",
            "creationInfo": {"created": self.created, "creators": ["Tool: granary-tools-packaging-spdx"]},
            "packages": sorted(self.packages, key=lambda package: str(package["name"])),
            "hasExtractedLicensingInfos": [{"licenseId": name, "extractedText": text} for name, text in sorted(self.others.items())],
            "relationships": relations,
        }, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    source, out = sys.argv[1:3]
    # A library of ours that another package of ours needs is where it was built.
    below = [os.path.join(source, "debian", "tmp", "usr", "lib", told("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip())]
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(below)
    version = told("dpkg-parsechangelog", "-l", os.path.join(source, "debian", "changelog"), "-S", "Version").strip()
    seconds = told("dpkg-parsechangelog", "-l", os.path.join(source, "debian", "changelog"), "-S", "Timestamp").strip()
    document = Document(version, told("date", "-u", "-d", "@" + seconds, "+%Y-%m-%dT%H:%M:%SZ").strip())
    ours = {}
    used: Set[str] = set()
    for name in sorted(name for name in os.listdir(out) if name.endswith(".deb") and "-dbgsym_" not in name):
        path = os.path.join(out, name)
        package = name.split("_")[0]
        ours[package] = document.add(package, version, os.path.join(source, "debian", "copyright"), packageFileName=name,
                                     checksums=[{"algorithm": "SHA256", "checksumValue": hashlib.sha256(open(path, "rb").read()).hexdigest()}])
        document.relations.add(("SPDXRef-DOCUMENT", "DESCRIBES", ours[package]))
        with tempfile.TemporaryDirectory() as root:
            told("dpkg-deb", "-x", path, root)
            for library in libraries_of(root):
                inside = next((folder for folder in below if library.startswith(folder + "/")), None)
                needed = re.sub(r"\.so\.", "", os.path.basename(library)) if inside else owner(library)
                used.update([] if inside else [needed])
                document.relations.add((ours[package], "DYNAMIC_LINK", identifier(needed)))
    for needed, packages in LINKED_IN.items():
        used.add(needed)
        document.relations.update((ours[package], "STATIC_LINK", identifier(needed)) for package in packages if package in ours)
    for package in sorted(used):
        document.add(package, told("dpkg-query", "-W", "-f", "${Version}", package).strip(), f"/usr/share/doc/{package}/copyright")
    digest = hashlib.sha256(json.dumps(document.packages, sort_keys=True).encode()).hexdigest()[:16]
    with open(os.path.join(out, f"granary_{version}.spdx.json"), "w", encoding="utf-8") as file:
        file.write(document.text(digest))


if __name__ == "__main__":
    main()
