#!/usr/bin/python3
"""Check that a text is OpenMetrics, strictly (https://prometheus.io/docs/specs/om/open_metrics_spec/), and that names
keep Prometheus's rules. Reads stdin, and copies it to stdout when nothing is wrong.

    granary metrics | openmetrics.py
"""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN")
SUFFIXES = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}


class Wrong(Exception):
    pass


def want(holds, line, why):
    if not holds:
        raise Wrong(f"{why}: {line}")


class Family:
    def __init__(self, name):
        self.name, self.kind, self.unit, self.help = name, None, None, None
        self.samples = []  # (suffix, labels, value)

    def end(self):
        want(self.kind in SUFFIXES, self.name, "a family without a TYPE")
        want(self.help, self.name, "a family without a HELP")
        want(self.samples, self.name, "a family without a sample")
        want(self.unit is None or self.name.endswith("_" + self.unit), self.name, "its unit is not its ending")
        want(not self.name.endswith(("_total", "_count", "_sum", "_bucket")), self.name, "an ending that is kept")
        want(self.name.startswith("granary_"), self.name, "a name of another program")
        if self.kind == "histogram":
            self.end_histograms()

    def end_histograms(self):
        """Of each set of other labels: buckets go up to +Inf, whose value is the count."""
        sets = {}
        for suffix, labels, value in self.samples:
            others = tuple(pair for pair in labels if pair[0] != "le")
            one = sets.setdefault(others, {"_bucket": [], "_sum": [], "_count": []})
            one[suffix].append((dict(labels).get("le"), value))
        for one in sets.values():
            bounds = [float(le) for le, _ in one["_bucket"]]
            values = [value for _, value in one["_bucket"]]
            want(bounds == sorted(set(bounds)) and bounds[-1] == float("inf"), self.name, "bounds do not go up to +Inf")
            want(values == sorted(values), self.name, "buckets go down")
            want(len(one["_sum"]) == len(one["_count"]) == 1, self.name, "not one sum and one count")
            want(one["_count"][0][1] == values[-1], self.name, "the count is not the last bucket")


def parse(text):
    """name of a family -> Family. Raises Wrong."""
    families = {}
    family = None
    seen = set()
    want(text.endswith("# EOF\n"), text[-60:], "no # EOF at the end")
    lines = text[:-1].split("\n")
    for line in lines[:-1]:
        if line.startswith("#"):
            meta = re.fullmatch(rf"# (HELP|TYPE|UNIT) ({NAME}) (.+)", line)
            want(meta, line, "no such line")
            what, name, value = meta.groups()
            if family is None or family.name != name:
                if family is not None:
                    family.end()
                want(name not in families, line, "a family that has been told")
                family = families[name] = Family(name)
            want(not family.samples, line, "behind the family's samples")
            key = {"HELP": "help", "TYPE": "kind", "UNIT": "unit"}[what]
            want(getattr(family, key) is None, line, "twice")
            want(what != "HELP" or value[-1] != "." and re.fullmatch(r"(?:[^\\]|\\[\\n\"])*", value), line, "a bad HELP")
            setattr(family, key, value)
            continue
        sample = SAMPLE.fullmatch(line)
        want(sample, line, "no sample")
        want(family is not None and sample[1].startswith(family.name), line, "not of the family before it")
        suffix = sample[1][len(family.name) :]
        want(suffix in SUFFIXES[family.kind], line, "not a name of this kind")
        labels = tuple(sorted(re.findall(LABEL, sample[2] or "")))
        want(len({name for name, _ in labels}) == len(labels), line, "a label twice")
        want((sample[1], labels) not in seen, line, "a sample twice")
        seen.add((sample[1], labels))
        value = sample[len(sample.groups())]
        want(NUMBER.fullmatch(value), line, "no number")
        want(family.kind == "gauge" or float(value) >= 0, line, "less than nothing")
        family.samples.append((suffix, labels, float(value)))
    want(family is not None, text, "nothing is told")
    family.end()
    return families


if __name__ == "__main__":
    told = sys.stdin.buffer.read().decode()
    try:
        parse(told)
    except Wrong as wrong:
        sys.exit(f"no OpenMetrics: {wrong}")
    sys.stdout.write(told)
