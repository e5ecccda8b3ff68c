"""vitrine evaluate, whose numbers NumPy counts again: evaluate_test.py VITRINE DATA [unittest arguments]."""
import base64
import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

VITRINE, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
PICTURES = DATA / "images" / "fashion-mnist"
# Two pictures lie in a wrong folder, so that there are mistakes.
CLASSES = {
    "Ankle_Boot": ["0000-ankle-boot.png", "0009-sneaker.png"],
    "coat": ["0010-coat.png", "0001-pullover.png"],
    "T-shirt top": [],
    "trouser": ["0002-trouser.png"],
    "Bag": ["0018-bag.png"],
}


def vitrine(*arguments, code=0, stdin=""):
    done = subprocess.run([VITRINE, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done


def lines(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.set = self.folder / "set"
        for name, pictures in CLASSES.items():
            for picture in pictures:
                (self.set / name).mkdir(parents=True, exist_ok=True)
                shutil.copy(PICTURES / picture, self.set / name)

    def evaluate(self, *arguments, code=0):
        done = vitrine("evaluate", *arguments, "--format", "json", code=code)
        return json.loads(done.stdout)


class Numbers(Case):
    def test_are_those_of_the_predictions(self):
        result = self.evaluate(self.set, "--predictions", self.folder / "p.csv")
        rows = lines(self.folder / "p.csv")
        self.assertEqual(len(rows), 6)
        truth = np.array([int(row["index"]) for row in rows])
        predicted = np.array([int(row["predicted_index"]) for row in rows])
        self.assertEqual(result["pictures"], 6)
        self.assertAlmostEqual(result["top1"]["value"], (truth == predicted).mean(), 12)
        self.assertAlmostEqual(result["topk"]["value"], np.mean([int(row["label_rank"]) <= 5 for row in rows]), 12)
        nll = np.mean([-np.log(float(row["label_score"])) for row in rows])
        self.assertAlmostEqual(result["calibration"]["nll"], nll, 5)
        for entry in result["classes"]:
            of, taken = truth == entry["index"], predicted == entry["index"]
            self.assertEqual((entry["support"], entry["predicted"], entry["right"]), (of.sum(), taken.sum(), (of & taken).sum()))
            self.assertAlmostEqual(entry["recall"], (of & taken).sum() / max(1, of.sum()), 12)
        self.assertEqual(sum(entry["count"] for entry in result["confusion"]), 6)

    def test_predictions_are_those_of_classify(self):
        self.evaluate(self.set, "--predictions", self.folder / "p.csv")
        rows = lines(self.folder / "p.csv")
        for row in rows:
            (best,) = json.loads(vitrine("classify", row["input"], "-k", "1", "--format", "jsonl").stdout)["predictions"]
            self.assertEqual((int(row["predicted_index"]), row["predicted"]), (best["index"], best["label"]))
            self.assertAlmostEqual(float(row["score"]), best["score"], 5)

    def test_do_not_depend_on_threads_and_batches(self):
        first = self.evaluate(self.set, "--threads", "1", "--batch", "1")
        second = self.evaluate(self.set, "--threads", "2", "--batch", "4")
        self.assertEqual(first["confusion"], second["confusion"])
        self.assertAlmostEqual(first["calibration"]["brier"], second["calibration"]["brier"], 5)

    def test_text_has_the_table(self):
        text = vitrine("evaluate", self.set).stdout
        for part in ("6 pictures of 4 classes", "top-1  ", "top-5  100.00 % (95 % interval", "macro average", "ECE ", "most often confused"):
            self.assertIn(part, text)

    def test_failed_pictures_do_not_count_and_are_named(self):
        before = self.evaluate(self.set)
        (self.set / "coat" / "broken, really.png").write_text("no picture")
        after = self.evaluate(self.set, "--predictions", self.folder / "p.csv", code=1)
        self.assertEqual(after["top1"], before["top1"])
        self.assertEqual((after["pictures"], after["failed"]), (6, 1))
        self.assertEqual(after["failures"][0]["error"]["code"], "image_unknown")
        failed = [row for row in lines(self.folder / "p.csv") if row["error"]]
        self.assertEqual([(row["label"], row["predicted"], row["error"]) for row in failed], [("Coat", "", "image_unknown")])
        done = vitrine("evaluate", self.set, code=1)
        self.assertIn("broken, really.png", done.stderr)
        self.assertIn("and 1 that failed and do not count", done.stdout)

    def test_nothing_but_failed_pictures(self):
        shutil.rmtree(self.set)
        (self.set / "coat").mkdir(parents=True)
        (self.set / "coat" / "a.png").write_text("no picture")
        result = self.evaluate(self.set, "--report", self.folder / "r", code=1)
        self.assertEqual((result["pictures"], result["calibration"]), (0, None))
        self.assertIn("of no picture", vitrine("evaluate", self.set, code=1).stdout)
        self.assertTrue((self.folder / "r" / "index.html").exists())


class Mapping(Case):
    def test_is_printed(self):
        mapping = self.evaluate(self.set)["mapping"]
        self.assertEqual([(c["class"], c["label"], c["by"]) for c in mapping],
                         [("Ankle_Boot", "Ankle boot", "form"), ("Bag", "Bag", "name"), ("coat", "Coat", "form"), ("trouser", "Trouser", "form")])
        self.assertIn("1 by name, 3 by form", vitrine("evaluate", self.set).stderr)
        self.assertIn('"Ankle_Boot" -> 9 (Ankle boot), by form', vitrine("evaluate", self.set, "-v").stderr)

    def test_a_list_gives_the_same(self):
        with open(self.folder / "list.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["path", "label"])
            for name, pictures in sorted(CLASSES.items()):
                writer.writerows([f"set/{name}/{picture}", name] for picture in sorted(pictures))
        first, second = self.evaluate(self.set), self.evaluate(self.folder / "list.csv")
        for key in ("top1", "classes", "confusion", "mapping"):
            self.assertEqual(first[key], second[key])

    def test_doubt_is_refused_and_a_map_helps(self):
        (self.set / "coat").rename(self.set / "overcoat")
        (self.set / "Bag").rename(self.set / "purse")
        error = vitrine("evaluate", self.set, code=2).stderr
        for part in ('"overcoat": no label matches', '"purse": no label matches', "T-shirt/top", "--label-map"):
            self.assertIn(part, error)
        (self.folder / "map.tsv").write_text("overcoat\tCoat\npurse\t8\n")
        mapping = self.evaluate(self.set, "--label-map", self.folder / "map.tsv")["mapping"]
        self.assertEqual([(c["class"], c["index"]) for c in mapping if c["by"] == "label map"], [("overcoat", 4), ("purse", 8)])

    def test_folders_that_are_indices(self):
        for index, name in enumerate(["coat", "Bag"]):
            (self.set / name).rename(self.set / f"{(4, 8)[index]:03}")
        for name in ("Ankle_Boot", "trouser"):
            shutil.rmtree(self.set / name)
        self.assertEqual([(c["label"], c["by"]) for c in self.evaluate(self.set)["mapping"]], [("Coat", "index"), ("Bag", "index")])


class Report(Case):
    def test_is_one_page_and_its_parts(self):
        (self.set / "coat" / "<b>&.png").write_text("no picture")
        report = self.folder / "report"
        vitrine("evaluate", self.set, "--report", report, code=1)
        self.assertEqual(sorted(path.name for path in report.iterdir()),
                         ["confusion.csv", "confusion.png", "index.html", "mistakes.png", "reliability.png"])
        page = (report / "index.html").read_text(encoding="utf-8")
        self.assertNotRegex(page, r"<script|<link|https?://|<b>&\.png")
        self.assertIn("&lt;b&gt;&amp;.png", page)
        embedded = [base64.b64decode(data) for data in re.findall(r'src="data:image/png;base64,([^"]*)"', page)]
        self.assertEqual(embedded, [(report / f"{name}.png").read_bytes() for name in ("confusion", "reliability", "mistakes")])
        with open(report / "confusion.csv", encoding="utf-8", newline="") as file:
            header, *matrix = list(csv.reader(file))
        self.assertEqual(header[1:], [row[0] for row in matrix])
        self.assertEqual(sum(int(count) for row in matrix for count in row[1:]), 6)

    def test_replaces_only_an_earlier_one(self):
        report = self.folder / "report"
        vitrine("evaluate", self.set, "--report", report)
        vitrine("evaluate", self.set, "--report", report)
        other = self.folder / "other"
        other.mkdir()
        (other / "thesis.txt").write_text("precious")
        self.assertIn("earlier report", vitrine("evaluate", self.set, "--report", other, code=2).stderr)
        vitrine("evaluate", self.set, "--report", other, "--force")
        self.assertEqual((other / "thesis.txt").read_text(), "precious")
        vitrine("evaluate", self.set, "--report", other / "thesis.txt", code=4)


class WrongUse(Case):
    def test_is_refused(self):
        for arguments, message, code in [
            ([self.folder / "none"], "nothing of this name", 2),
            ([PICTURES], "sub-folder", 2),
            ([self.set, "--label-map", self.folder / "none.csv"], "none.csv", 2),
            ([self.set, "--format", "csv"], "--format", 2),
            ([self.set, "-m", "/no/such/model"], "/no/such/model", 3),
            ([self.set, "-o", "/no/such/folder/x"], "/no/such/folder", 4),
            ([self.set, "-o", self.folder / "x", "--predictions", self.folder / "x"], "two different files", 2),
        ]:
            self.assertIn(message, vitrine("evaluate", *arguments, code=code).stderr)

    def test_what_is_read_is_not_overwritten(self):
        (self.folder / "list.csv").write_text("set/Bag/0018-bag.png,Bag\n")
        vitrine("evaluate", self.folder / "list.csv", "-o", self.folder / "list.csv", code=2)
        self.assertIn("Bag", (self.folder / "list.csv").read_text())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
