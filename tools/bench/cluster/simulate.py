#!/usr/bin/python3
"""How far TPC-H scales on several machines: the 22 plans of a large scale, played with costs that measure.py found on a small one.

Fragments, transfers and the scheduler are events in virtual time. A node runs one fragment at a time, with all its cores. It first takes
what the fragment reads of other nodes: each transfer occupies the sender's line and the receiver's. One scheduler does one thing after the
other: tasks, edges between them, and news of copies. The same --seed gives the same numbers.
"""
import argparse
import collections
import heapq
import json
import math
import pathlib
import random
import sys

COSTS = pathlib.Path(__file__).resolve().parent / "costs.json"
SHARES = ("reading", "computing", "exchange", "spilling", "scheduler", "waiting")
STREAMS = 4
"""Connections of a node that bring chunks at a time."""
SMALL = 1 << 16
"""Bytes: what is less costs messages, and no time on a line."""


class Cluster:
    """What is simulated."""

    def __init__(self, given, costs):
        self.nodes = given.nodes
        self.cores = given.cores * given.efficiency if given.cores > 1 else 1
        self.memory = given.memory * 2**30
        self.line = given.line * 1e9 / 8
        self.disk_read = given.disk * 1e6 if given.disk else costs["read_bytes_s"]
        self.disk_write = given.disk * 1e6 / 2 if given.disk else costs["write_bytes_s"]
        self.start = given.start
        self.spread = costs["spread"] if given.spread is None else given.spread
        self.direct = given.edges == "all"
        self.in_order = given.order == "same"
        self.costs = costs
        self.seed = given.seed


class Fragment:
    """One that a node has."""

    def __init__(self, name, p, ready):
        self.name, self.p, self.ready = name, p, ready
        self.begun = self.taken = 0.0
        self.left = []


class Play:
    """One query on a cluster."""

    def __init__(self, cluster, stages, scale, partitions):
        self.c, self.scale, self.partitions = cluster, scale, partitions
        self.stages = {one["name"]: one for one in stages}
        self.readers = {name: {} for name in self.stages}
        for one in stages:
            for source, take in one["inputs"]:
                self.readers[source].setdefault(one["name"], take)
        self.random = random.Random(cluster.seed)
        self.waiting = [collections.deque() for _ in range(cluster.nodes)]
        self.running = [False] * cluster.nodes
        self.free, self.sending = [0.0] * cluster.nodes, [0.0] * cluster.nodes
        self.spent = [dict.fromkeys(SHARES, 0.0) for _ in range(cluster.nodes)]
        self.scheduler_free = self.scheduler_busy = 0.0
        self.moved = self.edges = 0
        self.tasks = sum(self.count(name) for name in self.stages)
        self.out, self.here, self.begun = {}, set(), set()
        self.left = {name: self.count(name) for name in self.stages}
        self.events, self.number = [], 0

    def count(self, name):
        return self.partitions if self.stages[name]["many"] else 1

    def node_of(self, name, p):
        """Partitions are dealt to nodes in turn; a stage of one partition goes to a node by its name."""
        return p % self.c.nodes if self.count(name) > 1 else sum(name.encode()) % self.c.nodes

    def decide(self, at, seconds):
        """The scheduler does something when it can. Returns when that is done."""
        self.scheduler_free = max(self.scheduler_free, at) + seconds
        self.scheduler_busy += seconds
        return self.scheduler_free

    def post(self, at, do, *what):
        self.number += 1
        heapq.heappush(self.events, (at, self.number, do, what))

    def run(self):
        """Returns when all is done."""
        submitted = self.decide(0.0, self.tasks * self.c.costs["task_s"] / 2)
        for name, stage in self.stages.items():
            if not stage["inputs"]:
                for p in range(self.count(name)):
                    self.begin(submitted, name, p)
        at = 0.0
        while self.events:
            at, _, do, what = heapq.heappop(self.events)
            do(at, *what)
        assert not any(self.left.values())
        for spent, free in zip(self.spent, self.free):
            spent["waiting"] += at - free
        return at

    # ---- the graph ----

    def edges_of(self, name):
        """Edges into one fragment. With --edges one, a task in between has gathered what many read of many."""
        many = self.count(name) > 1
        return sum(1 if take == "same" or many and not self.c.direct else self.count(source) for source, take in self.stages[name]["inputs"])

    def begin(self, at, name, p):
        """All that it reads is there: the scheduler sends it to its node."""
        self.begun.add((name, p))
        edges = self.edges_of(name)
        self.edges += edges
        sent = self.decide(at, edges * self.c.costs["edge_s"] + self.c.costs["task_s"] / 4)
        self.post(sent, self.arrive, Fragment(name, p, at))

    def ended(self, at, name, p):
        self.left[name] -= 1
        told = self.decide(at, self.c.costs["task_s"] / 4)
        for reader, take in self.readers[name].items():
            if take == "same" or self.left[name] == 0:
                for q in [p] if take == "same" and self.left[name] > 0 else range(self.count(reader)):
                    if (reader, q) not in self.begun and self.can_begin(reader, q):
                        self.begin(told, reader, q)

    def can_begin(self, name, p):
        return all((source, p) in self.out if take == "same" else self.left[source] == 0 for source, take in self.stages[name]["inputs"])

    # ---- a node ----

    def arrive(self, at, fragment):
        node = self.node_of(fragment.name, fragment.p)
        self.waiting[node].append(fragment)
        if not self.running[node]:
            self.next(at, node)

    def next(self, at, node):
        """The node begins with what has waited longest."""
        if not self.waiting[node]:
            return
        fragment, spent, idle = self.waiting[node].popleft(), self.spent[node], at - self.free[node]
        late = min(max(0.0, at - max(fragment.ready, self.free[node])), idle)
        spent["scheduler"] += late + self.c.start
        spent["waiting"] += idle - late
        self.running[node] = True
        fragment.begun = at + self.c.start
        fragment.left = self.wanted(fragment, node)
        tickets = len(fragment.left) if self.c.direct else min(len(fragment.left), len(self.stages[fragment.name]["inputs"]))
        messages = tickets * self.c.costs["peer_s"] + len(fragment.left) * self.c.costs["connection_s"] / STREAMS
        self.decide(at, tickets * self.c.costs["copy_s"])
        fragment.left = [one for one in fragment.left if one[1] >= SMALL]
        self.post(fragment.begun + messages, self.fetch, fragment, node)

    def wanted(self, fragment, node):
        """Other nodes, the next one first, and how much this fragment takes of each."""
        found = collections.defaultdict(float)
        for source, take in self.stages[fragment.name]["inputs"]:
            for q in [fragment.p] if take == "same" else range(self.count(source)):
                size = self.out[source, q] / (self.count(fragment.name) if take == "part" else 1)
                fragment.taken += size
                far = self.node_of(source, q)
                if far != node and (source, q, node) not in self.here:
                    found[far] += size
                if take == "all":  # others on this node need not bring it again
                    self.here.add((source, q, node))
        self.moved += sum(found.values())
        first = 0 if self.c.in_order else node
        return sorted(found.items(), key=lambda one: (first - one[0]) % self.c.nodes)

    def fetch(self, at, fragment, node):
        """One transfer after the other: each has the sender's line and the receiver's for itself."""
        if not fragment.left:
            self.post(self.compute(at, fragment, node), self.done, fragment, node)
            return
        far, size = fragment.left.pop()
        begins = max(at, self.sending[far])
        self.sending[far] = begins + size / min(self.c.line, STREAMS * self.c.costs["stream_bytes_s"])
        self.post(self.sending[far], self.fetch, fragment, node)

    def compute(self, at, fragment, node):
        c, stage, spent = self.c, self.stages[fragment.name], self.spent[node]
        read = (stage["read"][0] + stage["read"][1] * self.scale) / self.count(fragment.name)
        given = fragment.taken + read
        computing = c.costs["fragment_s"] + (stage["cpu_s"][0] + stage["cpu_s"][1] * given / c.cores) * self.luck()
        reading = max(0.0, read / c.disk_read - computing)
        out = stage["out"][0] + stage["out"][1] * given
        over = max(0.0, fragment.taken + out - c.memory)
        spilling = over / c.disk_write + over / c.disk_read
        self.out[fragment.name, fragment.p] = out
        for name, took in (("exchange", at - fragment.begun), ("computing", computing), ("reading", reading), ("spilling", spilling)):
            spent[name] += took
        return at + computing + reading + spilling

    def luck(self):
        return math.exp(self.random.gauss(-self.c.spread**2 / 2, self.c.spread)) if self.c.spread > 0 else 1.0

    def done(self, at, fragment, node):
        self.free[node] = at
        self.running[node] = False
        self.ended(at, fragment.name, fragment.p)
        self.next(at, node)


def play(cluster, found, scale, query, per_node=1):
    """A query: seconds, the share of each thing, and what moved."""
    one = Play(cluster, found["queries"][query], scale, max(1, cluster.nodes * per_node))
    took = one.run()
    whole = took * cluster.nodes
    shares = {name: sum(spent[name] for spent in one.spent) / whole for name in SHARES}
    return {"query": query, "seconds": took, "shares": shares, "moved": one.moved, "tasks": one.tasks, "edges": one.edges, "scheduler_s": one.scheduler_busy}


def table(results):
    yield f"{'query':6}{'seconds':>10}" + "".join(f"{name:>11}" for name in SHARES) + f"{'GB moved':>10}"
    for one in results:
        yield f"{one['query']:6}{one['seconds']:10.1f}" + "".join(f"{one['shares'][name]:11.0%}" for name in SHARES) + f"{one['moved'] / 1e9:10.0f}"


def together(results):
    whole = sum(one["seconds"] for one in results)
    shares = {name: sum(one["shares"][name] * one["seconds"] for one in results) / whole for name in SHARES}
    return {"query": "all", "seconds": whole, "shares": shares, "moved": sum(one["moved"] for one in results),
            **{name: sum(one[name] for one in results) for name in ("tasks", "edges", "scheduler_s")}}


def options():
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--costs", type=pathlib.Path, default=COSTS, metavar="FILE", help="what measure.py wrote")
    made.add_argument("--scale", type=float, default=10000, help="of TPC-H; default: 10000")
    made.add_argument("--nodes", type=int, default=64, help="default: 64")
    made.add_argument("--to", type=int, default=256, metavar="NODES", help="the last line of the second table; default: 256")
    made.add_argument("--cores", type=int, default=16, help="of a node; default: 16")
    made.add_argument("--efficiency", type=float, default=0.8, help="how much of a core each of several adds; default: 0.8")
    made.add_argument("--memory", type=float, default=256, metavar="GIB", help="of a node; default: 256")
    made.add_argument("--line", type=float, default=25, metavar="GBIT", help="of a node's network; default: 25")
    made.add_argument("--disk", type=float, default=2000, metavar="MB", help="that a node reads in a second, twice what it writes; 0: as measured; default: 2000")
    made.add_argument("--per-node", type=int, default=1, metavar="N", help="partitions for each node; default: 1")
    made.add_argument("--start", type=float, default=0, metavar="SECONDS", help="to start a fragment: 0.1 with ssh or srun; default: 0, as with Dask")
    made.add_argument("--edges", choices=("all", "one"), default="one", help="each fragment waits for all that it reads, or for one task that gathers them; default: one")
    made.add_argument("--order", choices=("turn", "same"), default="turn", help="nodes take from others in turn, or all in the same order; default: turn")
    made.add_argument("--spread", type=float, help="how much times of equal fragments differ; default: as measured")
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--query", nargs="*", help="default: all")
    made.add_argument("--json", action="store_true")
    return made


def main():
    given = options().parse_args()
    found = json.loads(given.costs.read_text())
    names = given.query or list(found["queries"])
    results = [play(Cluster(given, found["costs"]), found, given.scale, name, given.per_node) for name in names]
    lines = []
    nodes = 1
    asked = given.nodes
    while nodes <= given.to:
        given.nodes = nodes
        lines.append((nodes, together([play(Cluster(given, found["costs"]), found, given.scale, name, given.per_node) for name in names])))
        nodes *= 2
    if given.json:
        json.dump({"nodes": asked, "scale": given.scale, "queries": results, "speed_up": [{"nodes": n, **one} for n, one in lines]}, sys.stdout)
        print()
        return
    print(f"{asked} nodes, scale {given.scale:g}")
    print("\n".join(table([*results, together(results)])))
    print()
    print(f"{'nodes':>6}{'seconds':>12}{'speed-up':>10}{'each adds':>11}" + "".join(f"{name:>11}" for name in SHARES) + f"{'busy':>7}")
    before = None
    for n, one in lines:
        speed = lines[0][1]["seconds"] / one["seconds"]
        adds = 1.0 if before is None else (speed - before[1]) / (n - before[0])
        before = n, speed
        print(f"{n:6}{one['seconds']:12.1f}{speed:10.1f}{adds:11.0%}" + "".join(f"{one['shares'][name]:11.0%}" for name in SHARES)
              + f"{one['scheduler_s'] / one['seconds']:7.0%}")


if __name__ == "__main__":
    main()
