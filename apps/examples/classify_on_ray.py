#!/usr/bin/env python3
"""Classifies the pictures of a list on a Ray cluster: one `vitrine classify -` process for each actor, which is
started once, keeps the model in memory, and answers a line of its list with a row.

    pip install "ray[data]"
    python3 apps/examples/classify_on_ray.py list.txt labels.jsonl --actors 4 -- -m models/vit-base -k 1

What stands behind -- goes to `vitrine classify`. Rows come in the order of the list; a picture that cannot be
read has a row with its error. The paths, and vitrine, must be there on every node.
"""
import argparse
import subprocess
import sys
from pathlib import Path

import ray


class Classifier:
    """An actor's state: the process at the other end of two pipes."""

    def __init__(self, arguments, cores):
        self.process = subprocess.Popen(
            ["vitrine", "classify", "-", "--format", "jsonl", "--threads", str(cores), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, batch):
        for path in batch["path"]:
            self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        rows = [self.process.stdout.readline().rstrip("\n") for _ in batch["path"]]
        if not all(rows):
            raise RuntimeError(f"vitrine ended with {self.process.wait()}; its message is in the actor's log")
        return {"position": batch["position"], "row": rows}


def partition(words, at):
    """str.partition for a list."""
    where = words.index(at) if at in words else len(words)
    return words[:where], words[where:where + 1], words[where + 1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", help="a path on each line; none may be a video or an archive, which have many rows")
    parser.add_argument("output")
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--cores", type=int, default=1, help="of each actor")
    own, _, for_vitrine = partition(sys.argv[1:], "--")
    arguments = parser.parse_args(own)
    paths = [line for line in Path(arguments.list).read_text().splitlines() if line]
    rows = (
        ray.data.from_items([{"position": i, "path": path} for i, path in enumerate(paths)])
        .map_batches(Classifier, fn_constructor_args=(for_vitrine, arguments.cores), batch_size=32,
                     num_cpus=arguments.cores, concurrency=arguments.actors)
        .sort("position")
    )
    with open(arguments.output, "w") as output:
        for row in rows.iter_rows():
            output.write(row["row"] + "\n")


if __name__ == "__main__":
    main()
