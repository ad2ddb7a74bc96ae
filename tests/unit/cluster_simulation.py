"""tools/bench/cluster/simulate.py: time that goes in comes out, and what must be true of every cluster."""
import importlib.util
import pathlib
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
SPEC = importlib.util.spec_from_file_location("simulate", ROOT / "tools/bench/cluster/simulate.py")
simulate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(simulate)

FREE = {"task_s": 0, "edge_s": 0, "copy_s": 0, "peer_s": 0, "fragment_s": 0, "connection_s": 0, "stream_bytes_s": 1e18, "read_bytes_s": 1e18,
        "write_bytes_s": 1e18, "spread": 0}
READ = {"name": "read", "many": True, "inputs": [], "read": [0, 8e9], "cpu_s": [0, 1e-9], "out": [0, 0.5]}
DEALT = {"name": "dealt", "many": True, "inputs": [["read", "same"]], "read": [0, 0], "cpu_s": [0, 2e-9], "out": [0, 1]}
JOINED = {"name": "joined", "many": True, "inputs": [["dealt", "part"]], "read": [0, 0], "cpu_s": [0, 1e-9], "out": [0, 0.001]}
LAST = {"name": "last", "many": False, "inputs": [["joined", "all"]], "read": [0, 0], "cpu_s": [0.25, 0], "out": [8, 0]}
STAGES = [READ, DEALT, JOINED, LAST]


def play(stages=STAGES, nodes=4, costs=None, scale=1, **options):
    words = [f"--{name.replace('_', '-')}={value}" for name, value in {"nodes": nodes, "cores": 1, "disk": 0, **options}.items()]
    given = simulate.options().parse_args(words)
    return simulate.play(simulate.Cluster(given, {**FREE, **(costs or {})}), {"queries": {"q": stages}}, scale, "q", given.per_node)


class Simulation(unittest.TestCase):
    def near(self, one, other):
        self.assertAlmostEqual(one, other, delta=1e-6 * max(abs(one), abs(other)))

    def test_one_node_is_the_sum_of_its_fragments(self):
        """8 GB read, at 1 ns; 4 GB dealt, at 2 ns; 4 GB joined, at 1 ns; and a quarter of a second."""
        for cores, efficiency in ((1, 1), (4, 1), (16, 0.5)):
            one = play(nodes=1, cores=cores, efficiency=efficiency)
            self.near(one["seconds"], (8 + 8 + 4) / (cores * efficiency) + 0.25)
            self.near(one["shares"]["computing"], 1)
            self.assertEqual(one["moved"], 0)
        self.near(play(nodes=1, per_node=8)["seconds"], 20.25)

    def test_time_is_conserved(self):
        """All shares of all nodes make the whole time, whatever costs there are."""
        costs = {"task_s": 1e-3, "edge_s": 1e-5, "copy_s": 1e-4, "peer_s": 1e-3, "fragment_s": 1e-3, "connection_s": 1e-3, "read_bytes_s": 5e8, "write_bytes_s": 5e8,
                 "spread": 0.3}
        for nodes, per_node in ((1, 1), (3, 2), (16, 1)):
            one = play(nodes=nodes, per_node=per_node, costs=costs, memory=0.1, line=1)
            self.near(sum(one["shares"].values()), 1)
            self.assertTrue(all(share >= 0 for share in one["shares"].values()), one)
            self.assertGreater(one["shares"]["spilling"], 0)

    def test_a_shuffle_fills_the_lines(self):
        """Each of 4 nodes takes 3/4 of its GB from others, at 1 GB a second, while nobody is in another's way."""
        one = play(nodes=4, line=8)
        self.near(one["moved"], 3e9 + 3 * 1e6)
        self.near(one["seconds"], 20 / 4 + 0.75 + 0.003 + 0.25)
        same = play(nodes=4, line=8, order="same")
        self.assertGreater(same["seconds"], one["seconds"] + 0.2)

    def test_a_faster_line_is_never_slower(self):
        took = [play(nodes=16, line=line, costs={"spread": 0.2})["seconds"] for line in (1, 10, 25, 100)]
        self.assertEqual(took, sorted(took, reverse=True))
        self.assertLess(took[-1], took[0])

    def test_edges_are_the_schedulers(self):
        """16 times 16 edges of 10 ms, one after the other; with a task in between, 16."""
        free, slow = (play(nodes=16, line=1e9, costs={"edge_s": cost}, edges="all") for cost in (0, 0.01))
        self.assertEqual(slow["edges"], 16 + 16 * 16 + 16)
        self.assertGreater(slow["seconds"], free["seconds"] + 2.56)
        self.assertLess(play(nodes=16, line=1e9, costs={"edge_s": 0.01}, edges="one")["seconds"], free["seconds"] + 0.7)

    def test_a_seed_decides(self):
        first, again, other = (play(costs={"spread": 0.3}, seed=seed) for seed in (7, 7, 8))
        self.assertEqual(first, again)
        self.assertNotEqual(first["seconds"], other["seconds"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
