"""known.tsv: differences that have a reason."""
import json
import re


class Known:
    def __init__(self, path):
        self.rows = []
        for line in path.read_text().splitlines():
            if line and not line.startswith('#'):
                part, pattern, reason = line.split('\t')
                self.rows.append((part, re.compile(pattern, re.S), reason))

    def reason(self, part, spec, told):
        text = None
        for name, pattern, reason in self.rows:
            if name == part:
                text = text or f'{json.dumps(spec, ensure_ascii=False)} => {told}'
                if pattern.search(text):
                    return reason
        return None
