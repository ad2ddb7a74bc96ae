"""The manual pages that `granary help --man` does not print: the C API, files, daemons.

    make.py SOURCE VERSION OUT PROGRAM...      write OUT/man3, OUT/man5 and OUT/man8
"""
from __future__ import annotations

import os
import sys

import api
import documents
import programs

source, version, out = sys.argv[1:4]
api.write(source, os.path.join(out, "man3"), version)
documents.write(source, os.path.join(out, "man5"), version)
programs.write(sys.argv[4:], os.path.join(out, "man8"), version)
