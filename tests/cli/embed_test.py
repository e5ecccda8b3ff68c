"""vitrine embed and vitrine search, whose files NumPy reads: embed_test.py VITRINE DATA [unittest arguments]."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np

VITRINE, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
PICTURES = DATA / "images" / "fashion-mnist"
BOOT = str(PICTURES / "0000-ankle-boot.png")


def vitrine(*arguments, code=0, stdin=""):
    done = subprocess.run([VITRINE, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def tensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    result = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert entry["dtype"] == "F32"
        result[name] = np.frombuffer(data[8 + length + begin:8 + length + end], "<f4").reshape(entry["shape"])
    return result, metadata


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Embed(Case):
    def reference(self, output):
        """What run gives for the same pictures."""
        vitrine("preprocess", PICTURES, "-o", self.folder / "pixels.safetensors")
        vitrine("run", "--input", self.folder / "pixels.safetensors", "-o", self.folder / "run.safetensors", "--outputs", output)
        return tensors(self.folder / "run.safetensors")[0][output]

    def test_npy_holds_the_features_of_run(self):
        vitrine("embed", PICTURES, "-o", self.folder / "x.npy")
        array = np.load(self.folder / "x.npy")
        np.testing.assert_allclose(array, self.reference("features"), rtol=0, atol=1e-5)
        first, *names = rows((self.folder / "x.npy.jsonl").read_text())
        self.assertEqual([row["input"] for row in names], [str(path) for path in sorted(PICTURES.glob("*.png"))])
        self.assertEqual((first["pool"], first["normalize"]), ("features", False))

    def test_every_pooling_of_the_last_hidden_state(self):
        tokens = self.reference("last_hidden_state").astype(np.float64)
        for options, expected in [
            (["--pool", "cls"], tokens[:, 0]),
            (["--pool", "mean"], tokens[:, 1:].mean(1)),
            (["--pool", "none"], tokens[:, 1:]),
            (["--patches"], tokens[:, 1:]),
            (["--patches", "--normalize"], tokens[:, 1:] / np.linalg.norm(tokens[:, 1:], axis=-1, keepdims=True)),
        ]:
            vitrine("embed", PICTURES, "-o", self.folder / "x.npy", *options)
            np.testing.assert_allclose(np.load(self.folder / "x.npy"), expected, rtol=0, atol=1e-5, err_msg=str(options))

    def test_the_three_formats_hold_the_same(self):
        for name in ("x.npy", "x.safetensors", "x.jsonl"):
            vitrine("embed", PICTURES, "-o", self.folder / name, "--normalize")
        array = np.load(self.folder / "x.npy")
        stored, metadata = tensors(self.folder / "x.safetensors")
        np.testing.assert_array_equal(stored["embeddings"], array)
        self.assertEqual((metadata["rows"], metadata["normalize"]), ("x.safetensors.jsonl", "true"))
        lines = rows((self.folder / "x.jsonl").read_text())
        np.testing.assert_array_equal(np.array([row["embedding"] for row in lines], np.float32), array)
        np.testing.assert_allclose(np.linalg.norm(array, axis=1), 1, atol=1e-6)
        self.assertEqual(rows(vitrine("embed", PICTURES, "--normalize").stdout), lines)  # standard output

    def test_what_fails_is_left_out_and_said(self):
        (self.folder / "bad\n.png").write_text("no picture")
        inputs = [BOOT, self.folder / "bad\n.png", PICTURES / "0002-trouser.png", "missing.png"]
        done = vitrine("embed", *inputs, "-o", self.folder / "x.npy", code=1)
        self.assertIn("missing.png", done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(np.load(self.folder / "x.npy").shape, (2, 96))
        self.assertEqual([row["input"] for row in rows((self.folder / "x.npy.jsonl").read_text())[1:]], [str(inputs[0]), str(inputs[2])])
        lines = rows(vitrine("embed", *inputs, code=1).stdout)
        self.assertEqual([row.get("error", {}).get("code") for row in lines], [None, "image_unknown", None, "image_not_found"])

    def test_a_list_is_answered_and_shards_are_parts(self):
        names = [str(path) for path in sorted(PICTURES.glob("*.png"))]
        whole = rows(vitrine("embed", "-", stdin="\n".join(names)).stdout)
        self.assertEqual([row["input"] for row in whole], names)
        part = rows(vitrine("embed", PICTURES, "--shard", "2/3", "--batch", "1", "--threads", "1").stdout)
        self.assertEqual([row["input"] for row in part], names[1::3])

    def test_nothing_gives_a_file_of_nothing(self):
        vitrine("embed", "-", "-o", self.folder / "x.npy")
        self.assertEqual(np.load(self.folder / "x.npy").shape, (0, 96))
        vitrine("embed", "-", "--patches", "-o", self.folder / "x.npy")
        self.assertEqual(np.load(self.folder / "x.npy").shape, (0, 49, 96))

    def test_wrong_use(self):
        for arguments, message in [
            (["-o", "x.bin"], "ends in .npy, .safetensors or .jsonl"),
            (["--format", "npy"], "needs -o FILE"),
            (["--pool", "sum"], "--pool"),
            (["--pool", "cls", "--patches"], "--patches"),
            (["--pool", "mean", "--merge", "2"], "merged tokens"),
            (["-o", BOOT, "--format", "npy"], "is also read"),
        ]:
            self.assertIn(message, vitrine("embed", BOOT, *arguments, code=2).stderr)
        vitrine("embed", BOOT, "-o", "/no/such/folder/x.npy", code=4)
        vitrine("embed", BOOT, "-m", "/no/such/model", code=3)


class Search(Case):
    def index(self, array):
        """An index of these vectors, as if the shipped model had made them."""
        vitrine("embed", BOOT, "-o", self.folder / "one.npy")
        first = (self.folder / "one.npy.jsonl").read_text().splitlines()[0]
        np.save(self.folder / "x.npy", array)
        names = [json.dumps({"input": f"picture {i}\n"}) for i in range(len(array))]
        (self.folder / "x.npy.jsonl").write_text("\n".join([first, *names]) + "\n")
        return self.folder / "x.npy"

    def test_finds_what_numpy_finds(self):
        random = np.random.default_rng(7)
        array = random.standard_normal((20000, 96)).astype(np.float32)
        array[[5, 77, 15000]] = array[11]  # ties
        array[19999] = -array[11]
        vitrine("embed", PICTURES, "-o", self.folder / "q.npy")
        queries = np.load(self.folder / "q.npy").astype(np.float64)
        unit = array.astype(np.float64)
        scores = (queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ (unit / np.linalg.norm(unit, axis=1, keepdims=True)).T
        found = rows(vitrine("search", PICTURES, "--in", self.index(array), "-k", "25", "--format", "jsonl").stdout)
        self.assertEqual(len(found), 10)
        for row, expected in zip(found, scores):
            got = [int(n["input"].split()[1]) for n in row["neighbours"]]
            order = np.argsort(-expected, kind="stable")[:25]
            np.testing.assert_allclose([n["score"] for n in row["neighbours"]], expected[order], atol=1e-6)
            np.testing.assert_allclose(expected[got], expected[order], atol=1e-6)

    def test_finds_the_picture_itself_in_every_format(self):
        for name in ("x.npy", "x.safetensors"):
            vitrine("embed", PICTURES, "-o", self.folder / name, "--pool", "mean")
            for row in rows(vitrine("search", PICTURES, "--in", self.folder / name, "-k", "2", "--format", "jsonl").stdout):
                self.assertEqual(row["neighbours"][0]["input"], row["input"])
                self.assertAlmostEqual(row["neighbours"][0]["score"], 1, delta=1e-6)
        text = vitrine("search", BOOT, "--in", self.folder / "x.npy", "-k", "1").stdout
        self.assertEqual(text, f"{BOOT}\n  1.0000  {BOOT}\n")
        array = vitrine("search", BOOT, "missing.png", "--in", self.folder / "x.npy", "-o", self.folder / "out.json", code=1)
        self.assertEqual(array.stdout, "")
        self.assertEqual([list(row) for row in json.loads((self.folder / "out.json").read_text())], [["input", "neighbours"], ["input", "error"]])

    def test_another_model_is_refused(self):
        index = self.index(np.ones((3, 96), np.float32))
        lines = (self.folder / "x.npy.jsonl").read_text().splitlines()
        first = json.loads(lines[0])
        copy = self.folder / "model"
        subprocess.run(["cp", "-r", DATA / "models" / "fashion-mnist-vit", copy], check=True)
        vitrine("search", BOOT, "--in", index, "-m", copy)  # the same under another name
        config = json.loads((copy / "config.json").read_text())
        config["hidden_act"] = "relu"
        (copy / "config.json").write_text(json.dumps(config))
        done = vitrine("search", BOOT, "--in", index, "-m", copy, code=2)
        self.assertIn("made by another model", done.stderr)
        self.assertIn("fashion-mnist-vit", done.stderr)
        # A model that is gone
        first["model"] = "/no/such/model"
        (self.folder / "x.npy.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
        done = vitrine("search", BOOT, "--in", index, code=3)
        self.assertIn("/no/such/model", done.stderr)
        self.assertIn("x.npy.jsonl", done.stderr)
        vitrine("search", BOOT, "--in", index, "-m", DATA / "models" / "fashion-mnist-vit")

    def test_damaged_files_are_errors(self):
        index = self.index(np.ones((3, 96), np.float32))
        good = index.read_bytes()
        for content, message in [(good[:-5], "bytes"), (b"", "x.npy"), (good[:20], "header")]:
            index.write_bytes(content)
            self.assertIn(message, vitrine("search", BOOT, "--in", index, code=1).stderr)
        index = self.index(np.ones((3, 95), np.float32))
        self.assertIn("95 numbers", vitrine("search", BOOT, "--in", index, code=1).stderr)
        vitrine("embed", PICTURES, "-o", self.folder / "rows.jsonl")
        self.assertIn("no index", vitrine("search", BOOT, "--in", self.folder / "rows.jsonl", code=1).stderr)
        vitrine("embed", PICTURES, "-o", self.folder / "p.npy", "--patches")
        self.assertIn("without --patches", vitrine("search", BOOT, "--in", self.folder / "p.npy", code=1).stderr)
        vitrine("search", BOOT, code=2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
