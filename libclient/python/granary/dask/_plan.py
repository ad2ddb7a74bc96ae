"""Plans of fragments (docs/fragments.md), as a driver reads them: stages, what they read, and the graph of a fragment."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Tuple

from .._errors import Invalid, VersionMismatch

FORMAT = 2
"""Of plans: `granary_fragments`. 1 has no sources that the driver has."""

_TAKES = ("same", "part", "all")


@dataclass(frozen=True)
class Input:
    """What a node of a stage's graph reads: chunks of another stage."""

    stage: str
    take: str


@dataclass(frozen=True)
class Stage:
    """One graph, which runs on each of some partitions."""

    name: str
    digest: str
    partitions: int
    graph: Mapping[str, Any]
    part_of: Tuple[str, ...] = ()
    inputs: Mapping[str, Input] = field(default_factory=dict)
    chunks: int = 0
    sources: Mapping[str, str] = field(default_factory=dict)
    """By node: under which name the driver has its chunks."""

    @property
    def target(self) -> str:
        name: str = self.graph["targets"][0]
        return name

    def key(self, partition: int) -> str:
        """Of the fragment: the same for the same work, also in another plan, and after a driver was killed."""
        return f"fragment-{self.digest}-{partition}"

    def reads(self, node: str, stages: Mapping[str, "Stage"]) -> int:
        """Of how many partitions of the other stage a fragment's node has chunks."""
        one = self.inputs[node]
        return 1 if one.take == "same" else stages[one.stage].partitions

    def text(self, partition: int, given: Mapping[str, Mapping[str, Any]]) -> str:
        """The graph of one fragment. given: its input nodes with what they read, and others that they need."""
        nodes = {name: dict(node) for name, node in self.graph["nodes"].items()}
        for name in self.part_of:
            nodes[name]["part"] = partition
        nodes.update({name: dict(node) for name, node in given.items()})
        return json.dumps({**self.graph, "nodes": nodes}, ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class Plan:
    """A plan that was checked."""

    version: str
    partitions: int
    stages: Mapping[str, Stage]
    targets: Tuple[Tuple[str, str, str], ...]
    """Name, stage, kind."""
    decided: Tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(cls, given: Any) -> "Plan":
        """A plan as text, or as what json.loads() makes of it. Invalid: what is wrong, and where."""
        try:
            value = json.loads(given) if isinstance(given, (str, bytes)) else given
            number = value["granary_fragments"]
            if number not in range(1, FORMAT + 1):
                raise VersionMismatch(f"the plan has format {number}, and this granary reads formats 1 to {FORMAT}")
            stages: Dict[str, Stage] = {}
            for one in value["stages"]:
                stage = _stage(one, stages)
                stages[stage.name] = stage
            targets = tuple((one["name"], one["stage"], one["kind"]) for one in value["targets"])
            for name, stage_name, _ in targets:
                if stages[stage_name].partitions != 1:
                    raise Invalid(f"target {name}: stage {stage_name} has {stages[stage_name].partitions} partitions, not 1")
            return cls(str(value["version"]), int(value["partitions"]), stages, targets, tuple(value.get("decided", ())))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise Invalid(f"the plan cannot be read: {type(error).__name__}: {error}") from None
        except json.JSONDecodeError as error:
            raise Invalid(f"the plan is no JSON: {error}") from None

    def readers(self) -> Dict[str, List[str]]:
        """By stage: the stages that read it."""
        found: Dict[str, List[str]] = {name: [] for name in self.stages}
        for stage in self.stages.values():
            for one in stage.inputs.values():
                found[one.stage].append(stage.name)
        return found

    @property
    def fragments(self) -> int:
        return sum(stage.partitions for stage in self.stages.values())


def _stage(one: Mapping[str, Any], before: Mapping[str, Stage]) -> Stage:
    name = str(one["name"])
    graph = one["graph"]
    inputs = {node: Input(str(read["stage"]), str(read["take"])) for node, read in one.get("inputs", {}).items()}
    stage = Stage(name, str(one["digest"]), int(one["partitions"]), graph, tuple(one.get("part_of", ())), inputs,
                  int(one.get("chunks", 0)), dict(one.get("sources", {})))
    if name in before:
        raise Invalid(f"two stages are called {name}")
    if stage.partitions < 1 or len(graph["targets"]) != 1:
        raise Invalid(f"stage {name}: it has {stage.partitions} partitions and {len(graph['targets'])} targets")
    for node in (*stage.part_of, *inputs, *stage.sources):
        if node not in graph["nodes"]:
            raise Invalid(f"stage {name}: its graph has no node {node!r}")
    for node, read in inputs.items():
        if read.stage not in before:
            raise Invalid(f"stage {name}: it reads stage {read.stage}, which does not stand before it")
        if read.take not in _TAKES:
            raise Invalid(f"stage {name}: node {node!r} takes {read.take!r}, which is none of {', '.join(_TAKES)}")
        if read.take == "same" and before[read.stage].partitions != stage.partitions:
            raise Invalid(f"stage {name}: node {node!r} takes the same partition of {read.stage}, which has others")
    return stage
