#!/usr/bin/env python3
"""Vitrine beside ONNX Runtime, OpenVINO and PyTorch: the same random weights, in turns, in the same minutes.

    peers.py VITRINE [--models ViT-Ti,ViT-S,ViT-B,DINOv2-S] [--precisions fp32,bf16,int8] [--batch 1,8] [--threads 1,2]
             [--rounds 7] [--peers NAME,…] [--json FILE] [--folder FOLDER]

Runs in an environment of peers_requirements.txt. A model is a timm checkpoint with random weights; `vitrine export` makes of it
the file that ONNX Runtime and OpenVINO load, with a fixed batch, and `--int8-qdq` the calibrated 8-bit one. Every program is a process of
its own that sleeps while it is not its turn. In each round all programs of all precisions have one turn, in another order each time: a
pass that is not timed, then passes whose median counts. Before that all must agree with Vitrine's fp32 logits: in fp32 within 1e-4
of the largest; how far the others are off is printed on standard error.

A ratio is (time of theirs) / (time of ours) of the same round and precision; above 1 Vitrine is faster. Printed are the median and
the 10th and 90th percentile over the rounds, the share of the limit that `vitrine bench` measures in the same turns (fastest turn against
fastest limit), how our precisions compare, and the geometric mean over all cells of the ratio of each one's fastest peer.
"""
import argparse
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import peer

HERE = pathlib.Path(__file__).resolve().parent
PICTURES = HERE.parent.parent / "data" / "images"
MODELS = {"ViT-Ti": "vit_tiny_patch16_224", "ViT-S": "vit_small_patch16_224", "ViT-B": "vit_base_patch16_224",
          "DINOv2-S": "vit_small_patch14_dinov2"}
LIMIT_FLOPS = 2 * 2048 ** 3     # of one turn of the limit in `vitrine bench`
SETTLE = 0.05                   # seconds after which the last one's threads are asleep
TURN = 0.3                      # seconds of passes in a turn of ours, about


# ------------------------------------------------------------------------------------------ files
def command(*words):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def write_checkpoint(name, folder):
    import timm
    import torch
    from timm.models import _hub
    torch.manual_seed(1)
    arguments = {"img_size": 224, "num_classes": 1000}
    model = timm.create_model(name, **arguments).eval()
    with torch.no_grad():
        for parameter in model.parameters():    # livelier than the initial ones
            parameter.add_(torch.randn_like(parameter) * 0.02)
    model.pretrained_cfg.update(architecture=name)
    _hub.save_for_hf(model, folder, model_config={"num_classes": 1000}, model_args=arguments, safe_serialization=True,
                     data_config={"input_size": (3, 224, 224)})


def write_files(options, model, batch):
    """The folder of a model and batch, with what is not there yet."""
    folder = options.folder / model
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "checkpoint").exists():
        write_checkpoint(MODELS[model], folder / "checkpoint")
    here = folder / f"batch-{batch}"
    here.mkdir(exist_ok=True)
    if not (here / "checkpoint").exists():
        (here / "checkpoint").symlink_to("../checkpoint")
    export = (options.vitrine, "export", "-m", here / "checkpoint", "--batch", batch, "--force", "-o")
    if not (here / "model.onnx").exists():
        command(*export, here / "model.onnx", "--no-verify")
    if "int8" in options.precisions and not (here / "qdq.onnx").exists():
        command(*export, here / "qdq.onnx", "--no-verify", "--int8-qdq", PICTURES)
    if not (here / "pixels.npy").exists():
        np.save(here / "pixels.npy", np.random.default_rng(1).standard_normal((batch, 3, 224, 224), "float32"))
    return here


def logits_of_vitrine(options, folder):
    from safetensors.numpy import load_file, save_file
    save_file({"pixel_values": np.load(folder / "pixels.npy")}, folder / "pixels.safetensors")
    command(options.vitrine, "run", "-m", folder / "checkpoint", "--input", folder / "pixels.safetensors", "--outputs", "logits",
            "-o", folder / "logits.safetensors")
    return load_file(folder / "logits.safetensors")["logits"]


# ------------------------------------------------------------------------------------------ programs
class Program:
    """A child that answers a line by a turn."""

    def __init__(self, words, environment):
        self.limits = []                        # seconds, of Vitrine's
        self.error = tempfile.TemporaryFile("w+")
        self.child = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=self.error, text=True, env={**os.environ, **environment})

    def ask(self, line):
        try:
            self.child.stdin.write(f"{line}\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            pass                                # read() says why
        return self.read()

    def read(self):
        answer = self.child.stdout.readline()
        if answer:
            return answer
        self.child.wait()
        self.error.seek(0)
        said = [line for line in self.error.read().splitlines() if line.strip()]
        raise RuntimeError(said[-1] if said else f"ended with code {self.child.returncode}")

    def end(self):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait()


class Vitrine(Program):
    def __init__(self, options, folder, precision, batch, threads):
        super().__init__([options.vitrine, "bench", "--lockstep", "-q", "-m", folder / "checkpoint", "--batch", batch,
                          "--threads", threads, "--precision", precision], {})

    def turn(self, passes):
        answer = json.loads(self.ask(passes))
        self.limits.append(answer["limit_seconds"])
        return answer["network_seconds"]


class Peer(Program):
    def __init__(self, name, folder, threads, expected):
        logits = folder / "logits.npy"
        super().__init__([sys.executable, HERE / "peer.py", name, folder, threads, folder / "pixels.npy", logits],
                         {"OMP_NUM_THREADS": str(threads)})
        self.read()
        difference = float(np.abs(np.load(logits) - expected).max() / np.abs(expected).max())
        print(f"  {name}: {difference:.1e} of the largest logit from ours", file=sys.stderr)
        if name.startswith("fp32:") and not difference < 1e-4:
            raise SystemExit(f"{name} computes something else")

    def turn(self, passes):
        return float(self.ask(passes))


def start(options, folder, batch, threads):
    """{(precision, name): program}, {(precision, name): why it is not there}"""
    programs, refused = {}, {}
    expected = logits_of_vitrine(options, folder)
    for precision in options.precisions:
        makers = {"Vitrine": lambda: Vitrine(options, folder, precision, batch, threads)}
        for name in peer.NETWORKS[precision]:
            if not options.peers or name in options.peers:
                makers[name] = lambda name=name: Peer(f"{precision}:{name}", folder, threads, expected)
        for name, make in makers.items():
            try:
                programs[precision, name] = make()
                programs[precision, name].turn(1)
            except RuntimeError as error:
                programs.pop((precision, name), None)
                refused[precision, name] = str(error)
                print(f"  {precision} {name}: not measured: {error}", file=sys.stderr)
    return programs, refused


def measure(programs, rounds):
    """{(precision, name): [seconds of each round]}"""
    order, times = list(programs), {key: [] for key in programs}
    passes = {}     # the same number for all of a precision
    for (precision, _), program in programs.items():        # Vitrine is its first, if it is there
        passes.setdefault(precision, min(20, max(1, round(TURN / program.turn(1)))))
    for program in programs.values():
        program.limits.clear()
    for _ in range(rounds):
        random.shuffle(order)
        for key in order:
            time.sleep(SETTLE)
            times[key].append(programs[key].turn(passes[key[0]]))
    return times


# ------------------------------------------------------------------------------------------ table
def spread(values):
    """[10th percentile, median, 90th]"""
    return [float(value) for value in np.percentile(values, [10, 50, 90])]


def ratios(theirs, ours):
    return [a / b for a, b in zip(theirs, ours)]


def show(values):
    low, middle, high = values
    return f"{middle:.2f} ({low:.2f}–{high:.2f})"


def measure_cells(options, model, batch, threads):
    """One cell for each precision."""
    print(f"{model}, batch {batch}, {threads} thread{'s' * (threads > 1)}", file=sys.stderr)
    folder = write_files(options, model, batch)
    flops = options.flops.setdefault(model, 1e9 * json.loads(command(
        options.vitrine, "bench", "-m", folder / "checkpoint", "--iterations", 1, "--format", "json"))["gflop_per_image"])
    programs, refused = start(options, folder, batch, threads)
    try:
        times = measure(programs, options.rounds)
    finally:
        for program in programs.values():
            program.end()
    cells = []
    for precision in options.precisions:
        cell = {"model": model, "batch": batch, "threads": threads, "precision": precision,
                "refused": {name: why for (p, name), why in refused.items() if p == precision},
                "milliseconds": {name: 1e3 * statistics.median(seconds) for (p, name), seconds in times.items()
                                 if p == precision}}
        if ours := times.get((precision, "Vitrine")):
            limit = min(programs[precision, "Vitrine"].limits)
            cell["share_of_limit"] = flops * batch / min(ours) / (LIMIT_FLOPS / limit)
            cell["limit_gflops"] = LIMIT_FLOPS / limit / 1e9
            cell["ratios"] = {name: spread(ratios(seconds, ours)) for (p, name), seconds in times.items()
                              if p == precision and name != "Vitrine"}
            cell["faster_than"] = {other: spread(ratios(times[other, "Vitrine"], ours)) for other in options.precisions
                                   if other != precision and (other, "Vitrine") in times}
        cells.append(cell)
    return cells


def best(cell):
    """The fastest peer's name and ratio."""
    return min(((values[1], name) for name, values in cell.get("ratios", {}).items()), default=(math.nan, "none"))[::-1]


def table(cells, precision):
    cells = [cell for cell in cells if cell["precision"] == precision]
    names = [name for name in peer.NETWORKS[precision] if any(name in cell["milliseconds"] for cell in cells)]
    yield f"### {precision}: time of theirs / time of ours, median (10th–90th percentile)\n"
    yield "| model | batch | threads | Vitrine, ms | share of the limit | " + " | ".join(names) + " | fastest peer |"
    yield "|---" * (6 + len(names)) + "|"
    for cell in cells:
        row = [cell["model"], str(cell["batch"]), str(cell["threads"])]
        if "ratios" not in cell:
            row += ["not measured: " + cell["refused"]["Vitrine"], "–"]
            row += [f"{cell['milliseconds'][name]:.2f} ms" if name in cell["milliseconds"] else "–" for name in names]
            yield "| " + " | ".join(row + ["–"]) + " |"
            continue
        name, ratio = best(cell)
        row += [f"{cell['milliseconds']['Vitrine']:.2f}", f"{100 * cell['share_of_limit']:.0f} % of {cell['limit_gflops']:.0f} GFLOP/s"]
        row += [show(cell["ratios"][peer_name]) if peer_name in cell["ratios"] else "–" for peer_name in names]
        yield "| " + " | ".join(row + [f"{name} {ratio:.2f}"]) + " |"
    measured = [best(cell)[1] for cell in cells if cell.get("ratios")]
    if measured:
        mean = math.exp(statistics.fmean(map(math.log, measured)))
        yield f"\nGeometric mean over {len(measured)} cells of the fastest peer's ratio: {mean:.2f}; the least: {min(measured):.2f}"
    for cell in cells:
        for other, values in cell.get("faster_than", {}).items():
            if list(peer.NETWORKS).index(other) < list(peer.NETWORKS).index(precision):
                yield (f"\n{cell['model']}, batch {cell['batch']}, {cell['threads']} threads: {precision} is "
                       f"{show(values)} times as fast as our {other}")
    yield ""


def listed(kind, allowed=None):
    def parse(text):
        values = [kind(part) for part in text.split(",")]
        if allowed and (unknown := [str(value) for value in values if value not in allowed]):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not of {', '.join(allowed)}")
        return values
    return parse


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vitrine", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--models", type=listed(str, MODELS), default=list(MODELS))
    parser.add_argument("--precisions", type=listed(str, peer.NETWORKS), default=list(peer.NETWORKS))
    parser.add_argument("--batch", type=listed(int), default=[1, 8])
    parser.add_argument("--threads", type=listed(int), default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers", type=listed(str, {name for names in peer.NETWORKS.values() for name in names}),
                        help="only these; default: all")
    parser.add_argument("--json", type=pathlib.Path, help="write all cells there")
    parser.add_argument("--folder", type=lambda path: pathlib.Path(path).resolve(),
                        help="keep the files there, and use those that are there")
    options = parser.parse_args()
    options.flops = {}
    temporary = tempfile.TemporaryDirectory(prefix="vitrine-peers-")
    options.folder = options.folder or pathlib.Path(temporary.name)
    cells = []
    for model in options.models:
        for batch in options.batch:
            for threads in options.threads:
                cells += measure_cells(options, model, batch, threads)
                if options.json:                # what there is so far, should the rest fail
                    options.json.write_text(json.dumps(cells, indent=1) + "\n")
    for precision in options.precisions:
        print("\n".join(table(cells, precision)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
