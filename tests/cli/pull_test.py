#!/usr/bin/env python3
"""vitrine pull, and models by their name on the hub, against hub_server.py: pull_test.py VITRINE DATA [TestCase…]. Python's standard
library only; what huggingface_hub makes of the same cache is looked at where that is installed."""
import concurrent.futures
import ctypes
import hashlib
import importlib.util
import json
import os
import pathlib
import pty
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import hub_server
from hub_server import TOKEN, Hub, Repository, answer, changed, cut, lying_length, whole_file

VITRINE, DATA = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
MODEL = DATA / "models/fashion-mnist-vit"
PICTURE = str(DATA / "images/fashion-mnist/0000-ankle-boot.png")
WEIGHTS = (MODEL / "model.safetensors").read_bytes()
CONFIG = (MODEL / "config.json").read_bytes()
RECIPE = (MODEL / "preprocessor_config.json").read_bytes()
NEEDED = {"config.json": CONFIG, "preprocessor_config.json": RECIPE, "model.safetensors": WEIGHTS}
ID = "seed/fashion-vit"
LARGE = "/blobs/" + hashlib.sha256(WEIGHTS).hexdigest()


class HubTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.home = self.folder / "home"
        self.hub = Hub()
        self.addCleanup(self.hub.__exit__)
        self.repository = self.put(ID, NEEDED)

    def put(self, name, files, **options):
        self.hub.repositories[name] = Repository(dict(files), **options)
        return self.hub.repositories[name]

    def environment(self, **variables):
        clean = {k: v for k, v in os.environ.items()
                 if not k.upper().startswith(("HF_", "HUGGING", "TRANSFORMERS_", "XDG_")) and not k.lower().endswith("_proxy")}
        # One thread, and none that waits busily: several commands run at once here.
        return {**clean, "HF_HOME": str(self.home), "HF_ENDPOINT": self.hub.endpoint, "HF_HUB_DOWNLOAD_TIMEOUT": "2",
                "OMP_WAIT_POLICY": "passive", **variables}

    def run_vitrine(self, *arguments, environment=None, **options):
        return subprocess.run([VITRINE, *arguments], env=environment or self.environment(), capture_output=True, text=True,
                              timeout=90, **options)

    def pull(self, *arguments, environment=None, **options):
        return self.run_vitrine("pull", *(arguments or [ID]), environment=environment, **options)

    def pulled(self, *arguments, **options):
        """The folder that a pull prints, alone."""
        result = self.pull(*arguments, **options)
        self.assertEqual((result.returncode, result.stdout.count("\n")), (0, 1), result.stderr)
        return pathlib.Path(result.stdout.rstrip("\n"))

    def refused(self, code, *parts, arguments=(), environment=None, **options):
        """A pull that fails with this exit code, one line with all these parts, and no model."""
        result = self.pull(*arguments, environment=environment, **options)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        message = result.stderr.splitlines()[-1]
        for part in parts:
            self.assertIn(part, message)
        self.assertNotIn(TOKEN, result.stderr)
        self.assertNotIn("signature", result.stderr)  # of an address with a right to download
        self.assertEqual(list((self.cache() / "refs").glob("**/*")), [])
        return result

    def cache(self, name=ID):
        return self.home / "hub" / ("models--" + name.replace("/", "--"))

    def assert_holds(self, folder, files):
        self.assertEqual({p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()},
                         {name: hashlib.sha256(content).hexdigest() for name, content in files.items()})

    def nothing_half_done(self, name=ID):
        left = [p.name for p in self.cache(name).glob("**/*") if p.name.endswith((".incomplete", ".tmp"))]
        self.assertEqual(left, [])


class Pull(HubTest):
    def test_the_cache_is_that_of_huggingface_hub(self):
        result = self.pull()
        snapshot = self.cache() / "snapshots" / self.repository.commit
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, f"{snapshot}\n", ""))
        self.assert_holds(snapshot, NEEDED)
        for name in NEEDED:
            self.assertEqual(os.readlink(snapshot / name), "../../blobs/" + self.repository.etag(name))
        self.assertEqual({p.name for p in (self.cache() / "blobs").iterdir()}, {self.repository.etag(n) for n in NEEDED})
        self.assertEqual((self.cache() / "refs/main").read_text(), self.repository.commit)
        self.assertEqual({p.name for p in (self.home / "hub/.locks" / self.cache().name).iterdir()},
                         {self.repository.etag(n) + ".lock" for n in NEEDED})
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual((self.cache() / "blobs" / self.repository.etag("config.json")).stat().st_mode & 0o777, 0o666 & ~mask)

    def test_the_model_is_then_found_without_a_connection(self):
        self.pulled()
        asked = len(self.hub.seen())
        expected = self.run_vitrine("classify", "-m", str(MODEL), PICTURE, "--format", "jsonl")
        commit = self.repository.commit
        for name in (ID, f"{ID}@main", f"{ID}@{commit}", f"{ID}@{commit[:7]}", f"hf-hub:{ID}", f"hf_hub:{ID}"):
            for offline in ("0", "1"):
                result = self.run_vitrine("classify", "-m", name, PICTURE, "--format", "jsonl",
                                          environment=self.environment(HF_HUB_OFFLINE=offline))
                self.assertEqual((result.returncode, result.stdout), (0, expected.stdout), result.stderr)
        pixels = str(self.folder / "x.safetensors")
        for arguments in (["info", "-m", ID], ["preprocess", "-m", ID, PICTURE, "-o", pixels],
                          ["run", "-m", ID, "--input", pixels, "-o", str(self.folder / "y.safetensors")],
                          ["verify", ID, "-m", ID], ["convert", "-m", ID, "-o", str(self.folder / "converted")],
                          ["quantize", "-m", ID, "-o", str(self.folder / "int8")],
                          ["export", "-m", ID, "-o", str(self.folder / "model.onnx")]):
            result = self.run_vitrine(*arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.hub.seen()), asked)

    def test_only_what_is_needed_is_fetched(self):
        self.put(ID, {**NEEDED, "README.md": b"x", ".gitattributes": b"x", "pytorch_model.bin": b"x", "tf_model.h5": b"x",
                      "flax_model.msgpack": b"x", "onnx/model.onnx": b"x", "optimizer.pt": b"x", "training_args.bin": b"x",
                      "model.fp16.safetensors": b"x", "runs/events": b"x"})
        self.assert_holds(self.pulled(), NEEDED)
        self.assertEqual({r.path.rsplit("/", 1)[1] for r in self.hub.seen("hub", path="/resolve/")}, set(NEEDED))

    def test_shards_of_an_index(self):
        index = json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-1.safetensors"}})
        shards = {"model-1.safetensors": b"one", "model-2.safetensors": b"two", "model.safetensors.index.json": index.encode()}
        self.put(ID, {**shards, "config.json": CONFIG, "model-3.safetensors": b"three"})
        folder = self.pulled()
        self.assert_holds(folder, {**shards, "config.json": CONFIG})
        (folder / "model-2.safetensors").unlink()
        result = self.run_vitrine("classify", "-m", ID, PICTURE)
        self.assertEqual(result.returncode, 3)
        self.assertIn("lacks model-2.safetensors", result.stderr)

    def test_the_weights_that_are_named(self):
        files = {"config.json": CONFIG, "preprocessor_config.json": RECIPE, "a.safetensors": WEIGHTS, "b.pth": b"x"}
        self.put(ID, files)
        self.refused(3, ID, "a.safetensors, b.pth", "--weights")
        self.refused(3, ID, "no c.pth in it", "a.safetensors", arguments=[ID, "--weights", "c.pth"])
        del files["b.pth"]
        self.assert_holds(self.pulled(ID, "--weights", "a.safetensors"), files)
        self.assertEqual(self.run_vitrine("classify", "-m", ID, PICTURE).returncode, 0)

    def test_again_fetches_nothing_but_what_changed(self):
        first = self.pulled()
        before = len(self.hub.seen("hub", "GET", "/resolve/")), len(self.hub.seen("cdn"))
        self.assertEqual(self.pulled(), first)
        self.assertEqual((len(self.hub.seen("hub", "GET", "/resolve/")), len(self.hub.seen("cdn"))), before)
        newer = self.put(ID, {**NEEDED, "config.json": CONFIG + b"\n"})
        second = self.pulled()
        self.assertEqual(second.name, newer.commit)
        self.assert_holds(second, newer.files)
        self.assert_holds(first, NEEDED)
        self.assertEqual(len(self.hub.seen("cdn")), before[1])
        self.assertEqual((self.cache() / "refs/main").read_text(), newer.commit)

    def test_a_damaged_file_of_the_cache_is_replaced(self):
        folder = self.pulled()
        blob = (folder / "model.safetensors").resolve()
        blob.write_bytes(b"x" + WEIGHTS[1:])
        self.assert_holds(self.pulled(), NEEDED)
        blob.write_bytes(WEIGHTS[:100])
        self.assert_holds(self.pulled(), NEEDED)

    def test_revisions(self):
        commit = self.repository.commit
        self.repository.revisions = ("main", "v1.0", "refs/pr/3")
        for revision in ("v1.0", "refs/pr/3", commit, commit[:8]):
            self.assertEqual(self.pulled(f"{ID}@{revision}").name, commit)
            self.assertEqual(self.pulled(ID, "--revision", revision).name, commit)
        self.assertEqual((self.cache() / "refs/refs/pr/3").read_text(), commit)
        self.assertFalse((self.cache() / "refs/main").exists())
        result = self.run_vitrine("info", "-m", ID)
        self.assertEqual(result.returncode, 3)
        self.assertIn(commit, result.stderr)  # what there is
        self.assertEqual(self.run_vitrine("info", "-m", f"{ID}@refs/pr/3").returncode, 0)

    def test_ids_that_cannot_be(self):
        for name in ("fashion-vit", "a/b/c", "", "/etc", "../x", "a/..", "a/b--c", "a/b@", "a/b@../../x", "a b/c", "a/b@x y", "-a/b",
                     "a/" + 100 * "b", "hf-hub:x"):
            self.refused(2, "org/name", arguments=["--", name])
        self.refused(2, "revision already", arguments=[f"{ID}@x", "--revision", "y"])
        self.assertEqual(self.pull(ID, "--no-such-option").returncode, 2)
        self.assertEqual(self.hub.seen(), [])

    def test_progress_is_for_terminals(self):
        def on_terminal(*arguments):
            leader, follower = pty.openpty()
            process = subprocess.Popen([VITRINE, "pull", ID, *arguments], env=self.environment(), stdout=subprocess.PIPE, stderr=follower)
            os.close(follower)
            shown = b""
            while True:
                try:
                    piece = os.read(leader, 4096)
                except OSError:  # closed at the other end
                    break
                shown += piece
            os.close(leader)
            out = process.communicate(timeout=60)[0]
            self.assertEqual((process.returncode, out.count(b"\n")), (0, 1))
            return shown
        shown = on_terminal()
        self.assertIn(b"model.safetensors  2.7 MB of 2.7 MB", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-80:])  # the line is gone
        self.home = self.folder / "another"
        self.assertEqual(on_terminal("-q"), b"")

    def test_two_at_once_share_the_work(self):
        self.hub.plant("cdn", "GET", LARGE, changed(lambda *a: (time.sleep(1), a)[1]), 9)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            results = list(pool.map(lambda _: self.pull(), range(3)))
        self.assertEqual({(r.returncode, r.stdout) for r in results}, {(0, results[0].stdout)})
        self.assertEqual(len(self.hub.seen("cdn", "GET")), 1)
        self.assertTrue(any("another process" in r.stderr for r in results))
        self.assert_holds(pathlib.Path(results[0].stdout.strip()), NEEDED)
        self.nothing_half_done()

    @unittest.skipUnless(importlib.util.find_spec("huggingface_hub"), "no huggingface_hub")
    def test_python_finds_what_was_pulled_and_the_reverse(self):
        program = ("import sys, huggingface_hub as h\n"
                   f"print(h.snapshot_download({ID!r}, local_files_only=sys.argv[1] == 'local'))")

        def python(how):
            result = subprocess.run([sys.executable, "-c", program, how], env=self.environment(HF_HUB_DISABLE_XET="1"), text=True,
                                    capture_output=True, timeout=90)
            self.assertEqual(result.returncode, 0, result.stderr)
            return pathlib.Path(result.stdout.strip())
        self.assertEqual(self.pulled(), python("local"))
        self.assertEqual(python("online").name, self.repository.commit)
        self.home = self.folder / "another"
        folder = python("online")
        result = self.run_vitrine("classify", "-m", ID, PICTURE, environment=self.environment(HF_HUB_OFFLINE="1"))
        self.assertEqual(result.returncode, 0, result.stderr)
        fetched = len(self.hub.seen("cdn"))
        self.assertEqual(self.pulled(), folder)
        self.assertEqual(len(self.hub.seen("cdn")), fetched)


class Token(HubTest):
    def tokens(self, **variables):
        """The Authorization that the hub and the network behind it have seen in a pull."""
        self.hub.requests.clear()
        self.pulled(environment=self.environment(**variables))
        self.home = self.folder / str(len(list(self.folder.iterdir())))
        self.assertEqual({r.headers.get("authorization") for r in self.hub.seen("cdn")}, {None})
        seen = {r.headers.get("authorization") for r in self.hub.seen("hub")}
        self.assertEqual(len(seen), 1)
        return seen.pop()

    def test_where_it_comes_from_and_goes_to(self):
        bearer = "Bearer " + TOKEN
        self.assertIsNone(self.tokens())
        self.assertEqual(self.tokens(HF_TOKEN=TOKEN), bearer)
        self.assertEqual(self.tokens(HUGGING_FACE_HUB_TOKEN=f" {TOKEN}\n", HF_TOKEN=""), bearer)
        self.assertIsNone(self.tokens(HF_TOKEN=TOKEN, HF_HUB_DISABLE_IMPLICIT_TOKEN="1"))
        (self.folder / "token").write_text(TOKEN + "\n")
        self.assertEqual(self.tokens(HF_TOKEN_PATH=str(self.folder / "token")), bearer)
        self.home.mkdir()
        (self.home / "token").write_text(TOKEN)
        self.assertEqual(self.tokens(), bearer)

    def test_one_that_cannot_be(self):
        self.refused(2, "HF_TOKEN", environment=self.environment(HF_TOKEN="a\nX-Other: b"))

    def test_a_gated_repository(self):
        self.repository.gated = True
        self.refused(3, f"{self.hub.endpoint}/{ID}", "ask", "HF_TOKEN")
        self.refused(3, "has no access", environment=self.environment(HF_TOKEN="hf_other"))
        self.pulled(environment=self.environment(HF_TOKEN=TOKEN))

    def test_a_repository_that_moved(self):
        self.put("old/name", {}, moved_to=ID)
        self.repository.gated = True
        folder = self.pulled("old/name", environment=self.environment(HF_TOKEN=TOKEN))
        self.assertEqual(folder.parent.parent, self.cache("old/name"))
        self.assert_holds(folder, NEEDED)


class Network(HubTest):
    def ranges(self):
        return [r.headers.get("range") for r in self.hub.seen("cdn", "GET")]

    def test_a_cut_connection_is_continued(self):
        self.hub.plant("cdn", "GET", LARGE, cut(100_000))
        self.hub.plant("cdn", "GET", LARGE, cut(50_000))
        result = self.pull()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("trying again", result.stderr)
        self.assertEqual(self.ranges(), [None, "bytes=100000-", "bytes=150000-"])
        self.assert_holds(self.cache() / "snapshots" / self.repository.commit, NEEDED)
        self.nothing_half_done()

    def test_a_killed_download_is_continued(self):
        self.hub.plant("cdn", "GET", LARGE, self.hub.stall(1_000_000))
        process = subprocess.Popen([VITRINE, "pull", ID], env=self.environment(HF_HUB_DOWNLOAD_TIMEOUT="60"), stdout=subprocess.PIPE)
        partial = self.cache() / "blobs" / (self.repository.etag("model.safetensors") + ".incomplete")
        deadline = time.monotonic() + 30
        while not (partial.exists() and partial.stat().st_size == 1_000_000) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.kill()
        self.assertEqual(process.communicate()[0], b"")
        self.assertFalse((self.cache() / "refs").exists())
        self.assertEqual(self.run_vitrine("info", "-m", ID).returncode, 3)
        self.assert_holds(self.pulled(), NEEDED)
        self.assertEqual(self.ranges(), [None, "bytes=1000000-"])

    def test_what_was_there_may_be_damaged_or_too_long(self):
        blobs = self.cache() / "blobs"
        blobs.mkdir(parents=True)
        partial = blobs / (self.repository.etag("model.safetensors") + ".incomplete")
        for content in (b"x" * 1000, b"x" * len(WEIGHTS), WEIGHTS + b"x", b""):
            partial.write_bytes(content)
            folder = self.pulled()
            self.assert_holds(folder, NEEDED)
            (folder / "model.safetensors").resolve().unlink()

    def test_a_server_that_knows_no_ranges(self):
        self.hub.plant("cdn", "GET", LARGE, cut(100_000))
        self.hub.plant("cdn", "GET", LARGE, whole_file(self.hub))
        self.assert_holds(self.pulled(), NEEDED)

    def test_a_server_that_sends_another_range(self):
        wrong = changed(lambda status, headers, body: (206, {**headers, "Content-Range": "bytes 5-9/10"}, body))
        self.hub.plant("cdn", "GET", LARGE, cut(100_000))
        self.hub.plant("cdn", "GET", LARGE, wrong)
        self.refused(3, "model.safetensors", "from 100000", "bytes 5-9/10")

    def test_a_range_that_is_refused(self):
        self.hub.plant("cdn", "GET", LARGE, cut(100_000))
        self.hub.plant("cdn", "GET", LARGE, answer(416))
        self.assert_holds(self.pulled(), NEEDED)

    def test_wrong_content(self):
        wrong = changed(lambda status, headers, body: (status, headers, b"x" + body[1:]))
        self.hub.plant("cdn", "GET", LARGE, wrong)
        found = hashlib.sha256(b"x" + WEIGHTS[1:]).hexdigest()
        self.refused(3, f"{ID}/model.safetensors", found, self.repository.etag("model.safetensors"), "discarded")
        self.nothing_half_done()
        self.assertNotIn("model.safetensors", os.listdir(self.cache() / "snapshots" / self.repository.commit))
        self.assert_holds(self.pulled(), NEEDED)

    def test_wrong_content_of_a_small_file(self):
        wrong = changed(lambda status, headers, body: (status, headers, b"x" + body[1:]))
        self.hub.plant("hub", "GET", "/config.json", wrong)
        self.refused(3, f"{ID}/config.json", hub_server.git_sha1(b"x" + CONFIG[1:]), hub_server.git_sha1(CONFIG))
        self.nothing_half_done()

    def test_lengths_that_are_wrong(self):
        self.hub.plant("cdn", "GET", LARGE, lying_length(lambda n: n - 1000))  # ends early, and says that this is all
        self.assert_holds(self.pulled(), NEEDED)
        self.assertEqual(self.ranges(), [None, f"bytes={len(WEIGHTS) - 1000}-"])
        self.home = self.folder / "another"
        self.hub.plant("cdn", "GET", LARGE, lying_length(lambda n: n + 1000))
        self.assert_holds(self.pulled(), NEEDED)
        self.home = self.folder / "third"
        self.hub.plant("hub", "HEAD", "/model.safetensors", changed(lambda s, h, b: (s, {**h, "X-Linked-Size": "1000"}, b)))
        self.refused(3, "more bytes arrive than the 1000")
        self.nothing_half_done()

    def test_too_many_requests(self):
        for headers in ({"Retry-After": "2"}, {"RateLimit": '"resolvers";r=0;t=2'}):
            for place, path in (("hub", "/api/"), ("hub", "/config.json"), ("cdn", LARGE)):
                self.home = self.folder / str(time.monotonic())
                self.hub.plant(place, "", path, answer(429, headers))
                start = time.monotonic()
                self.pulled()
                self.assertGreater(time.monotonic() - start, 1.9)
        self.home = self.folder / "last"
        self.hub.plant("hub", "", "/api/", answer(429, {"Retry-After": "100000"}), 9)
        self.refused(3, "429", "wait for 100000 s")

    def test_a_server_in_trouble(self):
        self.hub.plant("hub", "GET", "/api/", answer(500))
        self.hub.plant("hub", "HEAD", "/config.json", answer(503))
        self.hub.plant("cdn", "GET", LARGE, answer(502))
        self.assert_holds(self.pulled(), NEEDED)
        self.home = self.folder / "another"
        self.hub.plant("cdn", "GET", LARGE, answer(503), 99)
        self.refused(3, "model.safetensors", "503")
        self.assertEqual(sum(f.times for f in self.hub.faults), 99 - 5)

    def test_silence(self):
        environment = self.environment(HF_HUB_DOWNLOAD_TIMEOUT="1")
        for place, method, path, sent in (("hub", "GET", "/api/", 0), ("hub", "HEAD", "/config.json", 0), ("cdn", "GET", LARGE, 0),
                                          ("cdn", "GET", LARGE, 1000)):
            self.hub.faults.clear()
            self.hub.plant(place, method, path, self.hub.stall(sent), 99)
            self.home = self.folder / str(time.monotonic())
            start = time.monotonic()
            self.refused(3, ID, "cannot be downloaded", "nothing came for 1 s", environment=environment)
            self.assertLess(time.monotonic() - start, 25)

    def test_nobody_there(self):
        with Hub() as gone:
            endpoint = gone.endpoint
        self.refused(3, ID, "127.0.0.1", environment=self.environment(HF_ENDPOINT=endpoint))

    def test_a_proxy(self):
        environment = self.environment(HF_ENDPOINT="http://hub.invalid", http_proxy=self.hub.endpoint, no_proxy="127.0.0.1")
        self.assert_holds(self.pulled(environment=environment), NEEDED)

    def test_encryption(self):
        certificate, key = self.folder / "certificate.pem", self.folder / "key.pem"
        try:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                            "-subj", "/CN=hub", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f"no certificate: {error}")
        with Hub((certificate, key)) as hub:
            hub.repositories[ID] = self.repository
            self.hub.endpoint = hub.endpoint
            start = time.monotonic()
            self.refused(3, ID, "certificate")
            self.assertLess(time.monotonic() - start, 5)  # not tried again
            self.assertEqual(hub.seen(), [])
            # From https to http: what the network sends is not encrypted, so it is not asked.
            trusted = self.environment(SSL_CERT_FILE=str(certificate))
            self.refused(3, "without encryption", environment=trusted)
            self.assertEqual(hub.seen("cdn"), [])
            hub.plant("hub", "GET", "/model.safetensors", answer(200, {}, WEIGHTS))
            self.assert_holds(self.pulled(environment=trusted), NEEDED)

    def test_the_disk_is_full(self):
        def limited():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        self.refused(4, ".incomplete", "File too large", "1000000 bytes there are kept", preexec_fn=limited)
        self.assert_holds(self.pulled(), NEEDED)
        self.assertEqual(self.ranges()[-1], "bytes=1000000-")

    def test_a_file_system_that_is_too_small(self):
        self.home.mkdir()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"vitrine-test", str(self.home).encode(), b"tmpfs", 0, b"size=1m") != 0:
            self.skipTest("a small file system cannot be mounted: " + os.strerror(ctypes.get_errno()))
        self.addCleanup(libc.umount2, str(self.home).encode(), 2)
        self.refused(4, str(self.cache()), f"expected {len(WEIGHTS)} bytes free", "HF_HOME")
        self.assertEqual(self.hub.seen("cdn"), [])

    def test_a_cache_that_cannot_be_written(self):
        self.home.write_text("a file")
        result = self.pull()
        self.assertEqual((result.returncode, result.stdout), (4, ""))
        self.assertIn(str(self.home), result.stderr)


class Refusal(HubTest):
    def listing(self, body):
        self.hub.plant("hub", "GET", "/api/", answer(200, {}, body), 99)

    def test_what_does_not_exist(self):
        self.refused(3, "seed/nothing", f"{self.hub.endpoint}/seed/nothing", "401", "HF_TOKEN", arguments=["seed/nothing"])
        self.refused(3, "no revision", "v9", arguments=[f"{ID}@v9"])
        self.hub.plant("hub", "HEAD", "/config.json", answer(404, {"X-Error-Code": "EntryNotFound"}))
        self.refused(3, f"{ID}/config.json", "does not have that file")
        self.hub.plant("hub", "GET", "/api/", answer(404))
        self.refused(3, ID, "404")

    def test_repositories_without_weights(self):
        for files, parts in (({"README.md": b""}, ["README.md", "no weights"]), ({}, ["found nothing"]),
                             ({"config.json": CONFIG, "tf_model.h5": b""}, ["tf_model.h5", "save_pretrained"]),
                             ({"config.json": CONFIG, "onnx/model.onnx": b""}, ["no weights", "config.json"]),
                             ({"config.json": CONFIG, "model.onnx": b""}, ["model.onnx"])):
            self.put(ID, files)
            self.refused(3, ID, *parts)
        self.assertEqual(self.hub.seen(path="/resolve/"), [])

    def test_names_that_lead_elsewhere(self):
        for name in ("../../../evil.safetensors", "/etc/evil.safetensors", "a/../../evil", "a//b", "a\\b", "a\nb", "..", "", "./a"):
            self.put(ID, {**NEEDED, name: b"x"})
            self.refused(3, "outside of the model's folder")
        self.put(ID, NEEDED, commit="../../../../evil")
        self.refused(3, '"sha"', "40 hexadecimal digits")
        index = json.dumps({"weight_map": {"a": "../../evil.safetensors"}}).encode()
        self.put(ID, {"config.json": CONFIG, "model.safetensors.index.json": index})
        self.refused(3, "index.json", "beside the index")
        self.assertEqual([p for p in self.folder.glob("**/*evil*")], [])

    def test_headers_that_are_wrong(self):
        for change, part in (({"ETag": '"../../evil"'}, "ETag"), ({"ETag": '"abc"'}, "ETag"), ({"ETag": ""}, "ETag"),
                             ({"X-Repo-Commit": "0" * 40}, "x-repo-commit"), ({"X-Linked-Size": "many"}, "size in bytes"),
                             ({"X-Linked-Size": "-1"}, "size in bytes")):
            self.hub.plant("hub", "HEAD", "/config.json", changed(lambda s, h, b, c=change: (s, {**h, **c}, b)))
            self.refused(3, f"{ID}/config.json", part)

    def test_answers_that_are_no_listing(self):
        for body, part in ((b"<html>Sign in</html>", "JSON"), (b"", "JSON"), (b"[]", "object"), (b"{}", '"sha"'),
                           (b"[" * 100_000, "nest deeper"), (b'{"sha":1}', '"sha"'), (b'{"sha":"%s"}' % (b"a" * 40), '"siblings"'),
                           (b'{"sha":"%s","siblings":[1]}' % (b"a" * 40), '"siblings"'),
                           (b" " * (17 << 20), "more than 16777216 bytes")):
            self.hub.faults.clear()
            self.listing(body)
            self.refused(3, part)

    def test_redirects_that_are_not_followed(self):
        for location, part in (("file:///etc/passwd", "not followed"), ("", "not followed"), (f"/api/models/{ID}/revision/main", "redirects")):
            self.hub.faults.clear()
            self.hub.plant("hub", "GET", "/api/", answer(307, {"Location": location}), 99)
            self.refused(3, part)

    def test_no_connection_is_made_where_none_is_wanted(self):
        for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
            self.refused(3, variable, ID, str(self.cache()), environment=self.environment(**{variable: "1"}))
        self.assertEqual(self.hub.seen(), [])
        folder = self.pulled()
        asked = len(self.hub.seen())
        self.assertEqual(self.pulled(environment=self.environment(HF_HUB_OFFLINE="TRUE")), folder)
        self.assertEqual(len(self.hub.seen()), asked)

    def test_settings_that_cannot_be(self):
        for variable, value in (("HF_ENDPOINT", "hub.example"), ("HF_ENDPOINT", "file:///etc"), ("HF_HUB_DOWNLOAD_TIMEOUT", "soon"),
                                ("HF_HUB_DOWNLOAD_TIMEOUT", "0")):
            self.refused(2, variable, value, environment=self.environment(**{variable: value}))


class Model(HubTest):
    """-m with the name of a model on the hub."""

    def classify(self, name=ID, *arguments, **options):
        return self.run_vitrine("classify", "-m", name, PICTURE, *arguments, **options)

    def test_one_that_is_not_in_the_cache(self):
        result = self.classify()
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        for part in (ID, "no such file or folder", str(self.cache()), f"vitrine pull {ID}"):
            self.assertIn(part, result.stderr)
        for name in ("nothing", "./seed/fashion-vit", "seed/model.safetensors", "a/b/c"):
            result = self.classify(name)
            self.assertEqual(result.returncode, 3)
            self.assertIn("no such file or folder", result.stderr)
            self.assertNotIn("vitrine pull", result.stderr)
        self.assertEqual(self.classify("hf-hub:nothing").returncode, 2)
        self.assertEqual(self.hub.seen(), [])

    def test_one_that_is_not_complete(self):
        folder = self.pulled()
        (folder / "model.safetensors").resolve().unlink()
        result = self.classify()
        self.assertEqual(result.returncode, 3)
        for part in (ID, "lacks model.safetensors", f"vitrine pull {ID}"):
            self.assertIn(part, result.stderr)
        (folder / "model.safetensors").unlink()  # as Python leaves it that looked at the config only
        self.assertIn("lacks the weights (there is config.json, preprocessor_config.json)", self.classify().stderr)
        (self.cache() / "refs/main").write_text("../../../../etc")
        self.assertIn("does not have it", self.classify().stderr)

    def test_download(self):
        result = self.classify(ID, "--download")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("Ankle boot", result.stdout)
        asked = len(self.hub.seen())
        self.assertEqual(self.classify(ID, "--download").stdout, result.stdout)
        self.assertEqual(self.classify(str(MODEL), "--download").returncode, 0)
        self.assertEqual(len(self.hub.seen()), asked)
        self.assertEqual(self.classify("seed/nothing", "--download").returncode, 3)
        self.assertIn("no such file or folder", self.classify("./nothing", "--download").stderr)
        self.home = self.folder / "another"
        self.assertEqual(self.run_vitrine("verify", ID, "-m", str(MODEL), "--download").returncode, 0)

    def test_a_path_comes_before_a_name(self):
        other = self.folder / ID
        other.mkdir(parents=True)
        self.pulled()
        result = self.classify(cwd=self.folder)
        self.assertEqual(result.returncode, 3)
        self.assertIn(f"{ID}: no config.json and no weights in it", result.stderr)
        result = self.classify(ID, "--download", cwd=self.folder)
        self.assertEqual(result.returncode, 3)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
