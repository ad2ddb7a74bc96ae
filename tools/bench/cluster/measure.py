#!/usr/bin/python3
"""What fragments of TPC-H cost on this machine, for simulate.py: `measure.py --data DIR > costs.json`. With --check, how far the simulation is off.

The tables are made at two scales. Copies of their files have a hole, so that they look as large as those of the cluster that is asked
about: the cut then makes the plans of that cluster. Their fragments run on the small files, one after the other. What grows from one
scale to the other follows from the difference. Processor time is counted, and not the clock, so a busy machine does little harm.
"""
import argparse
import glob
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "peers")]
BIN = os.environ.setdefault("GRANARY_BIN", str(HERE.parents[2] / "build/release/bin"))
sys.path.insert(0, os.path.join(os.path.dirname(BIN), "python"))
os.environ["PYTHONPATH"] = os.path.join(os.path.dirname(BIN), "python")

import cluster  # noqa: E402
import simulate  # noqa: E402
import granary  # noqa: E402
from granary import _granary  # noqa: E402
from granary._granary import NO_RECALL, OWN  # noqa: E402
from granary.dask import _drive  # noqa: E402
from granary.dask._node import attributes  # noqa: E402
from granary.dask._plan import Plan  # noqa: E402

PARTS = 4
"""Fragments of a stage, as they are run here."""
TABLES = {"lineitem": PARTS, "orders": PARTS, "customer": PARTS, "part": PARTS, "partsupp": PARTS, "supplier": PARTS, "nation": 1, "region": 1}
QUERIES = [path.stem for path in sorted((HERE.parent / "tpch").glob("q*.sql"))]


def cpu_s(pids):
    """Processor time of all threads that live."""
    total = 0
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            total += int(pathlib.Path(path).read_text().split()[0])
    return total / 1e9


def read_bytes(pids):
    return sum(int(pathlib.Path(f"/proc/{pid}/io").read_text().split()[1]) for pid in pids)


def executors(session):
    """Processes of an instance that compute."""
    found = []
    for path in glob.glob("/proc/[0-9]*/comm"):
        pid = path.split("/")[2]
        try:
            if pathlib.Path(path).read_text().startswith("granary-executo") and session.instance in pathlib.Path(f"/proc/{pid}/cmdline").read_text():
                found.append(int(pid))
        except OSError:
            pass
    return found


def text_of(query):
    return (HERE.parent / "tpch" / f"{query}.sql").read_text()


# ---- tables ----


def with_hole(source, target, size):
    """A Parquet file with a hole before its footer."""
    data = source.read_bytes()
    (footer,) = struct.unpack("<I", data[-8:-4])
    end = data[-8 - footer:]
    with open(target, "wb") as out:
        out.write(data[:-8 - footer])
        out.seek(max(int(size) - len(end), out.tell()))
        out.write(end)


def tables(session, data, scale, like):
    """Files of a scale, and views of copies that look like those of another one. Returns both directories."""
    made = data / f"{scale:g}"
    seem = data / f"{scale:g}-like-{like:g}"
    seem.mkdir(parents=True, exist_ok=True)
    made.mkdir(exist_ok=True)
    if not (made / "region.csv").exists():
        subprocess.run([os.path.join(BIN, "granary-tpch-gen"), f"{scale:g}", made], check=True, stdout=subprocess.DEVNULL)
    for name, parts in TABLES.items():
        for part in range(parts):
            file = made / f"{name}.{part}.parquet"
            if not file.exists():
                session.execute(f"COPY (SELECT * FROM read_csv('{made}/{name}.csv', part => {part}, parts => {parts})) TO '{file}'")
            with_hole(file, seem / file.name, file.stat().st_size / scale * like if parts > 1 else 0)
        session.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM '{seem}/{name}.*.parquet'")
    return str(made), str(seem)


# ---- plans ----


def fewer(text, partitions):
    """The plan of a cluster, with PARTS partitions in the place of as many as that has."""
    plan = json.loads(text)
    for stage in plan["stages"]:
        for name in ("partitions", "chunks"):
            stage[name] = PARTS if stage[name] == partitions else stage[name]
        for node in stage["graph"]["nodes"].values():
            if node.get("parts") == partitions:
                node["parts"] = PARTS
    return Plan.of(plan)


class Result:
    """What attributes() asks of the result of a fragment."""

    def __init__(self, ids, shape, splits):
        self.ids, self.shape, self.splits = ids, shape, splits


def run(session, plan, pids):
    """Each stage's fragments: bytes that they take in, read and give, and processor seconds."""
    client, results, found = session._client, {}, {}
    sizes = {}
    for stage in plan.stages.values():
        found[stage.name] = []
        for p in range(stage.partitions):
            given, taken = {}, 0
            for node, one in stage.inputs.items():
                of = [results[one.stage][p]] if one.take == "same" else results[one.stage]
                ids = [[each.ids[p]] if one.take == "part" else each.ids for each in of]
                taken += sum(sizes[id] for some in ids for id in some)
                given.update(attributes(node, stage.graph["nodes"][node], of, [[id.hex() for id in some] for some in ids]))
            before, read = cpu_s(pids), read_bytes(pids)
            client.run_json(stage.text(p, given), key=stage.key(p), flags=OWN | NO_RECALL)
            cpu, read = cpu_s(pids) - before, read_bytes(pids) - read
            ids, _, _, shape, splits, _ = client.result(stage.key(p), stage.target)
            for id in ids:
                sizes[id] = client.info_object(id)["size"]
            results.setdefault(stage.name, []).append(Result(ids, shape, splits))
            found[stage.name].append({"taken": taken, "read": read, "cpu": cpu, "out": sum(sizes[id] for id in ids)})
    for stage in plan.stages.values():
        for p in range(stage.partitions):
            client.delete_graph(stage.key(p))
    return found


def mean(fragments, what):
    return statistics.fmean(sum(one[each] for each in what) for one in fragments)


def line(at, values):
    """The line through two points: what is there at 0, and what is added for each. Neither is below 0."""
    slope = max(0.0, (values[1] - values[0]) / (at[1] - at[0])) if at[1] > at[0] else 0.0
    base = values[0] - slope * at[0]
    return (base, slope) if base >= 0 else (0.0, values[1] / at[1])


def fit(plan, partitions, scales, runs):
    """A query's stages: how what they take and cost follows from their input."""
    stages = []
    for stage in plan.stages.values():
        both = [one[stage.name] for one in runs]
        inputs = [mean(one, ("taken", "read")) for one in both]
        read = line(scales, [sum(part["read"] for part in one) for one in both])
        cpu, out = (line(inputs, [mean(one, (what,)) for one in both]) for what in ("cpu", "out"))
        stages.append({"name": stage.name, "many": stage.partitions > 1, "inputs": [[one.stage, one.take] for one in stage.inputs.values()],
                       "read": [round(one) for one in read], "cpu_s": [float(f"{one:.4g}") for one in cpu], "out": [round(out[0]), float(f"{out[1]:.4g}")]})
    return stages


def queries(data, scales, like, nodes):
    """All queries at both scales, and how much fragments of a stage differ."""
    runs, plans = [], {}
    for scale in scales:
        with granary.up(executors=1, memory="6G") as session:
            made, seem = tables(session, data, scale, like)
            pids = executors(session)
            runs.append({})
            for query in QUERIES:
                plans[query] = fewer(session._client.sql_cut(text_of(query), nodes, 0, [], []).replace(seem, made), nodes)
                runs[-1][query] = run(session, plans[query], pids)
                print(f"scale {scale:g}: {query}: {sum(one['cpu'] for some in runs[-1][query].values() for one in some):.2f} s", file=sys.stderr)
    spreads = []
    for some in (one for query in runs[-1].values() for one in query.values()):
        took = [one["cpu"] for one in some]
        if len(took) > 1 and statistics.fmean(took) > 0.02:
            spreads.append(statistics.stdev(took) / statistics.fmean(took))
    return {query: fit(plans[query], nodes, scales, [one[query] for one in runs]) for query in QUERIES}, statistics.median(spreads)


# ---- Dask, files and processes ----

WORKERS = """
import asyncio, sys
from distributed import Worker
async def main():
    workers = [await Worker(sys.argv[1], nthreads=1) for _ in range(int(sys.argv[2]))]
    await asyncio.gather(*[one.finished() for one in workers])
asyncio.run(main())
"""


def dask(workers, count):
    """Processor seconds of Dask's scheduler for tasks in two stages: without edges, and when each of the second reads all of the first."""
    from distributed import Client, wait
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

    started = []
    file = f"/tmp/granary-measure-{os.getpid()}.json"
    try:
        started.append(subprocess.Popen([sys.executable, "/usr/bin/dask-scheduler", *cluster.WORDS, "--scheduler-file", file, "--no-dashboard"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        while not os.path.exists(file):
            time.sleep(0.05)
        with Client(scheduler_file=file) as client:
            started.append(subprocess.Popen([sys.executable, "-c", WORKERS, client.scheduler.address, str(workers)], stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL))
            client.wait_for_workers(workers)

            def costs(edges):
                mark = os.urandom(6).hex()
                first = {f"{mark}-a{p}": (bool, p) for p in range(count)}
                second = {f"{mark}-b{p}": (sum, list(first)) if edges else (bool, p) for p in range(count)}
                graph = HighLevelGraph({"a": MaterializedLayer(first), "b": MaterializedLayer(second)}, {"a": set(), "b": {"a"}})
                before = [cpu_s([one.pid]) for one in started]
                futures = client.get(graph, [*first, *second], sync=False)
                wait(futures)
                assert all(one.status == "finished" for one in futures)
                del futures
                client.run(lambda: None)
                return [cpu_s([one.pid]) - was for one, was in zip(started, before)]

            costs(True)
            taken = [(costs(False), costs(True)) for _ in range(3)]
            return [[statistics.median(one[edges][process] for one in taken) for process in (0, 1)] for edges in (0, 1)]
    finally:
        for one in reversed(started):
            one.terminate()
            one.wait()
        pathlib.Path(file).unlink(missing_ok=True)


def scheduler():
    """Seconds of the scheduler for a task, an edge, and a copy of a result at another worker; and of a worker for a task."""
    (plain, edges), (apart, spread) = dask(2, 192), dask(16, 64)
    # Of 192 tasks each reads 192, which is 192 * 192 edges, and as many copies. Of 64 tasks at 16 workers it is 64 * 15 copies.
    edge = max(0.0, (edges[0] - plain[0]) / (192 * 193))
    copy = max(0.0, (spread[0] - apart[0] - 64 * 64 * edge) / (64 * 15))
    return {"task_s": plain[0] / (2 * 192), "edge_s": edge, "copy_s": copy, "peer_s": max(0.0, (spread[1] - apart[1]) / (16 * 15))}


def files(data):
    """Bytes a second of a file that is not in the machine's cache, and of one that is written and synchronised."""
    path, block, count = data / "speed", os.urandom(1 << 20), 512
    begun = time.perf_counter()
    with open(path, "wb") as out:
        for _ in range(count):
            out.write(block)
        os.fsync(out.fileno())
        wrote = time.perf_counter() - begun
        os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    begun = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 20):
            pass
    read = time.perf_counter() - begun
    path.unlink()
    return {"read_bytes_s": (count << 20) / read, "write_bytes_s": (count << 20) / wrote}


def transfers():
    """A connection with one small object, and bytes a second of a large one."""
    with granary.up(executors=1, memory="1G") as here, granary.up(executors=1, memory="1G") as there:
        def move(held, size):
            def receive(of):
                id = _granary.id_random()
                there._client.read_object(id, of.fileno(), size)
                there._client.delete(id)

            return cluster.pipe(lambda to: here._client.write_object(held.id, to.fileno(), 1000), receive)

        small, large = here.put(b"x" * 100), here.put(b"x" * (256 << 20))
        move(large, 256 << 20)
        connection = statistics.median(move(small, 100) for _ in range(51))
        return {"connection_s": connection, "stream_bytes_s": (256 << 20) / statistics.median(move(large, 256 << 20) for _ in range(7))}


def fragments():
    """What a worker and its instance need for a fragment that does nothing, beside Dask's task."""
    with granary.up(executors=1, memory="256M") as session:
        graph = json.dumps({"nodes": {"out": {"op": "date_range", "start": "2000-01-01", "periods": 0}}, "targets": ["out"]})

        def one(number):
            begun = time.perf_counter()
            session._client.run_json(graph, key=f"empty-{number}", flags=OWN | NO_RECALL)
            session._client.result(f"empty-{number}", "out")
            return time.perf_counter() - begun

        return {"fragment_s": statistics.median([one(number) for number in range(300)][20:])}


def slowdown(seconds=0.2):
    """How much longer two busy processes take than the processor time they get: others may use this machine, too."""
    begun = time.perf_counter()
    children = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            until = time.process_time() + seconds
            while time.process_time() < until:
                pass
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    return max(1.0, (time.perf_counter() - begun) / seconds)


def real(data, scale):
    """Seconds that the queries really take on two workers of Dask, each with an instance of one executor, as if they had the machine alone."""
    took = {}
    with granary.up(executors=1, memory="1G") as session, cluster.cluster(memory="4G") as (client, _):
        tables(session, data, scale, scale)
        for query in QUERIES:
            plan = session._client.sql_cut(text_of(query), 2, 0, [], [])
            times = []
            for _ in range(4):
                begun = time.perf_counter()
                kept = _drive.run(client, Plan.of(plan))
                times.append((time.perf_counter() - begun) / slowdown())
                del kept
                client.run(lambda: None)
            took[query] = statistics.median(times[1:])
    return took


def check(found, data, scale):
    """The queries as they are played and as they are, on two nodes of one core that share this machine."""
    given = simulate.options().parse_args(["--nodes=2", "--cores=1", "--disk=1e9", f"--line={found['costs']['stream_bytes_s'] * 8 / 1e9}"])
    took, ratios = real(data, scale), []
    print(f"{'query':6}{'played':>9}{'real':>9}{'ratio':>8}")
    for query in QUERIES:
        played = simulate.play(simulate.Cluster(given, found["costs"]), found, scale, query)["seconds"]
        ratios.append(played / took[query])
        print(f"{query:6}{played:9.3f}{took[query]:9.3f}{ratios[-1]:8.2f}")
    print(f"the geometric mean of the ratios is {statistics.geometric_mean(ratios):.2f}, the median difference {statistics.median(abs(one - 1) for one in ratios):.0%}")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=pathlib.Path, required=True, metavar="DIR", help="where tables are made, and stay")
    options.add_argument("--scales", type=float, nargs=2, default=(0.1, 1), metavar="S", help="of TPC-H, that are run; default: 0.1 1")
    options.add_argument("--like", type=float, default=10000, metavar="S", help="the scale for which plans are cut; default: 10000")
    options.add_argument("--nodes", type=int, default=64, metavar="N", help="the nodes for which plans are cut; default: 64")
    options.add_argument("--check", type=float, metavar="S", help="play a scale on two nodes that share this machine, and run it: is it true?")
    options.add_argument("--query", nargs="*", help="default: all")
    given = options.parse_args()
    if given.query:
        QUERIES[:] = given.query
    if given.check:
        given.like, given.nodes = given.check, 2
    os.environ["GRANARY_RECALL"] = "off"
    given.data.mkdir(parents=True, exist_ok=True)
    costs = {}
    for measured in (scheduler, fragments, transfers, lambda: files(given.data)):
        costs.update({name: float(f"{value:.3g}") for name, value in measured().items()})
    found, spread = queries(given.data, given.scales, given.like, given.nodes)
    costs["spread"] = float(f"{spread:.3g}")
    whole = {"scales": given.scales, "like": given.like, "nodes": given.nodes, "costs": costs, "queries": found}
    if given.check:
        check(whole, given.data, given.check)
    else:
        print("{" + ",\n ".join(f'"{name}": ' + json.dumps(value) for name, value in whole.items() if name != "queries") + ',\n "queries": {')
        print(",\n".join(f'  "{query}": [\n' + ",\n".join("   " + json.dumps(stage) for stage in stages) + "]" for query, stages in found.items()) + "}}")


if __name__ == "__main__":
    main()
