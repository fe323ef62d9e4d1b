# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Which scenes of the explorer belong to which files of the library: scripts/test-explore --files reads it.

Nothing of that is written down. The explorer plays a few schedules of each scene and says which calls of the explorer (for each access
of memory, each beginning of a function) the scene has reached while schedules differed; the debug information has the files."""

import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: The files whose protocols rest on argument.
PROTOCOLS = (
    "Reference Completion Calling Waking Sleeping Batching Gate Inheritance Mutex LoopLock ScopeWork ScopeState ScopePosts ScopeTie"
).split()
#: Scenes of each of them, at most.
OF_PROTOCOL = 4
#: Seconds of a processor for all scenes of files, and for one at most. Each fault that is a switch is found in a tenth of a second.
ALL, EACH = 25.0, 0.25
SCENE = re.compile(r"^SCENE\((\w+)", re.M)


def places_of(addresses: "list[str]", symbolizer: Path, program: Path) -> "dict[str, set[str]]":
    """By address the files, from Sources on, of the functions that its code is from: the innermost and those that it is inlined in."""
    asked = "\n".join(f"0x{int(address, 16) - 1:x}" for address in addresses)
    command = [str(symbolizer), "-e", str(program), "--inlines"]
    answer = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    blocks = answer.stdout.strip().split("\n\n")
    return {address: set(re.findall(r"/Sources/([^:\n]+):", block)) for address, block in zip(addresses, blocks)}


def shares(program: Path, symbolizer: Path) -> "dict[str, Counter]":
    """By file, from Sources on, the scenes that reach it, with the share that it has of what they reach."""
    answer = subprocess.run([str(program), "--reach", "yes"], capture_output=True, text=True, check=True)
    lines = [line.split() for line in answer.stdout.splitlines()]
    reached = {words[0]: {word for word in words[1:] if word[0] != "s"} for words in lines}
    places = places_of(sorted(set().union(*reached.values())), symbolizer, program)
    found: "dict[str, Counter]" = defaultdict(Counter)
    for scene, addresses in reached.items():
        for address in addresses:
            for place in places[address]:
                found[place][scene] += 1 / len(addresses)
    return found


def scenes_of(files: "list[str]", program: Path, symbolizer: Path) -> "tuple[list[str], float]":
    """The scenes that reach files (paths from the repository's root), with those of the protocols, and the seconds for each."""
    chosen = set()
    for place, scenes in shares(program, symbolizer).items():
        if f"Sources/{place}" in files:
            chosen.update(scenes)
        elif Path(place).stem in PROTOCOLS:
            chosen.update(scene for scene, _ in scenes.most_common(OF_PROTOCOL))
    for file in files:
        if file.startswith("Tests/explorer/scenes/") and (ROOT / file).is_file():
            chosen.update(SCENE.findall((ROOT / file).read_text(encoding="utf-8")))
    return sorted(chosen), min(EACH, ALL / len(chosen))
