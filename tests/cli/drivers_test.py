#!/usr/bin/env python3
"""Programs that start `vitrine classify -` and feed it lists give the rows of one process: GNU parallel as README.md
has it, and Ray as apps/examples/classify_on_ray.py does. Each is skipped where it is not installed.

    drivers_test.py VITRINE ROOT [unittest arguments]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

VITRINE = Path(sys.argv.pop(1)).resolve()
ROOT = Path(sys.argv.pop(1)).resolve()
# Scores differ in their last digits by the number of pictures that go through the network together.
SCORE = 1e-5


def has_ray():
    try:
        import ray  # noqa: F401
    except ImportError:
        return False
    return True


class Drivers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.environment = dict(os.environ, PATH=f"{VITRINE.parent}:{os.environ['PATH']}", OMP_WAIT_POLICY="passive",
                                HOME=folder.name)
        pictures = sorted((ROOT / "data/images/fashion-mnist").glob("*.png"))
        paths = [str(pictures[i % len(pictures)]) if i % 17 else f"{folder.name}/no {i}.png" for i in range(400)]
        (self.folder / "list.txt").write_text("\n".join(paths) + "\n")
        command = f"{VITRINE} classify - --format jsonl < list.txt > expected.jsonl"
        self.assertEqual(self.run_line(command), 1)  # some are missing
        self.expected = self.rows("expected.jsonl")
        self.assertEqual([row["input"] for row in self.expected], paths)

    def run_line(self, command):
        return subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, timeout=500,
                              stderr=subprocess.DEVNULL).returncode

    def rows(self, name):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def compare(self):
        rows = self.rows("labels.jsonl")
        self.assertEqual(len(rows), len(self.expected))
        for row, expected in zip(rows, self.expected):
            self.assertEqual(row["input"], expected["input"])
            self.assertEqual(row.get("error"), expected.get("error"))
            for one, other in zip(row.get("predictions", []), expected.get("predictions", []), strict=True):
                self.assertEqual(one["label"], other["label"])
                self.assertAlmostEqual(one["score"], other["score"], delta=SCORE)

    @unittest.skipUnless(shutil.which("parallel"), "GNU parallel is not installed")
    def test_gnu_parallel(self):
        line = re.search(r"^(parallel .*?)\s+#", (ROOT / "README.md").read_text(), re.M).group(1)
        # Its blocks are of a megabyte: smaller ones, so that there are several.
        self.run_line(line.replace("--pipe", "--pipe --block 4k --will-cite"))
        self.compare()

    @unittest.skipUnless(has_ray(), "Ray is not installed")
    def test_ray(self):
        script = ROOT / "apps/examples/classify_on_ray.py"
        self.assertEqual(self.run_line(f"{sys.executable} {script} list.txt labels.jsonl --actors 2 > log"), 0)
        self.compare()


if __name__ == "__main__":
    unittest.main()
