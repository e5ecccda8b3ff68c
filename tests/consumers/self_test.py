#!/usr/bin/env python3
"""That the suite notices: wrong numbers, crashes, results other than expected in either direction, a stale table."""
import pathlib
import sys
import tempfile
import unittest

import numpy as np

import cases
import expected
import runtimes
import table

# Speaks run_files.py's lines: writes ones, but refuses, crashes or writes half of it where the name says so.
FAKE = """
import os, sys
import numpy as np
print("version 9.8.7", flush=True)
for line in sys.stdin:
    name, model, output, kind, *batches = line.rstrip("\\n").split("\\t")
    print("start", name, flush=True)
    if "odd" in name: os.abort()
    if "vit_map" in name: print("error", name, "no such operator", flush=True); continue
    for shape, source, target in zip(*[iter(batches)] * 3):
        values = np.ones((int(shape.split("x")[0]), 2), "float32")
        if "deit" in name: values = values[:, :1]
        if "reg4" in name and len(values) > 1: values[1] = 2      # as if there were one picture only
        if "quickgelu" in name: values[0, 0] = np.nan
        values.tofile(target)
    print("done", name, flush=True)
"""


def written(model):
    pixels = np.zeros((3, 3, 4, 4), "float32")
    return cases.Written(cases.Case(model, 17), pathlib.Path("model.onnx"), pixels, np.ones((3, 2), "float32"))


class SelfTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def fake(self, text):
        (self.folder / "fake.py").write_text(text)
        return runtimes.Runtime("Fake", [sys.executable, self.folder / "fake.py"])

    def test_outcomes(self):
        runtime = self.fake(FAKE)
        outcomes = runtime.run([written(model) for model in cases.FAMILIES], self.folder / "work")
        self.assertEqual(runtime.column, "Fake 9.8")
        results = {name.split("-")[0]: outcome.result for name, outcome in outcomes.items()}
        bad = {"hf_vit_odd_dims": expected.NOT_LOADED, "timm_vit_map": expected.NOT_LOADED, "timm_deit_distilled": expected.WRONG,
               "timm_vit_reg4_gap": expected.WRONG, "timm_vit_clip_quickgelu": expected.WRONG}
        self.assertEqual(results, {model: bad.get(model, expected.OK) for model in cases.FAMILIES})
        self.assertIn("crashes", outcomes["hf_vit_odd_dims-opset17-fp32"].detail)

    def test_a_runtime_that_does_not_start(self):
        with self.assertRaises(RuntimeError):
            self.fake("raise SystemExit(1)").run([written("hf_vit_base")], self.folder / "work")

    def test_compare_both_ways(self):
        good, bad = (runtimes.Outcome(result, "") for result in (expected.OK, expected.NOT_LOADED))
        old, new = cases.Case("hf_vit_base", 17), cases.Case("hf_vit_base", 23)
        self.assertEqual(runtimes.compare({"ONNX Runtime 1.17": {old: good, new: bad}}), [])
        self.assertEqual(len(runtimes.compare({"ONNX Runtime 1.17": {old: bad, new: good}})), 2)
        self.assertEqual(runtimes.compare({"ONNX Runtime 0.1": {old: bad}}), [])

    def test_bounds(self):
        for weights, bound in (("fp32", cases.BOUND), ("int8-qdq", cases.QDQ_BOUND)):
            values = np.array([[1, -4]], "float32")
            file = cases.Written(cases.Case("hf_vit_base", 17, weights), None, None, values)
            self.assertIsNone(file.problem(values + 3.9 * bound))
            self.assertIsNotNone(file.problem(values + 4.1 * bound))

    def test_table(self):
        readme = self.folder / "README.md"
        readme.write_text("before\n" + table.BEGIN + "stale\n" + table.END + "after\n")
        self.assertEqual(len(table.check(readme, update=False)), 1)
        self.assertEqual(table.check(readme, update=True), [])
        self.assertEqual(table.check(readme, update=False), [])
        self.assertTrue(readme.read_text().startswith("before\n") and readme.read_text().endswith("after\n"))
        readme.write_text("nothing")
        self.assertEqual(len(table.check(readme, update=True)), 1)


if __name__ == "__main__":
    unittest.main()
