#!/usr/bin/env python3
"""What many pictures cost: python tests/bench/throughput.py BUILD/apps/vitrine PHOTOS [--count 1000] [--rounds 5]

Takes copies of the JPEGs of PHOTOS, each under a name of its own, and networks of random weights (random_vit.py), and prints

- how many times the throughput of one core two cores have: ViT-B/16 and ViT-Ti/16 in turns on one and on two, the median of the
  rounds' ratios (expected: 1.9 and more);
- what the cores did with --count pictures (`classify -v`). Workers do all of the work on their pictures, so a core never waits
  for another one's stage: with ViT-B/16 the network should be in use for 95 % of the time and more, and the cores idle for less
  than 5 % with any network;
- where the decoder is the slower stage (the shipped Fashion-MNIST model, which takes 0.2 ms a picture): the rate of `classify`, and
  the rate at which the same cores decode and do nothing else, which is what its own times say.

The model folders and pictures lie in a temporary folder. Needs numpy. Ratios and shares are of one run each: absolute times on a
shared machine mean little.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import random_vit

LINE = re.compile(r"(?P<pictures>\d+) pictures, (?P<failed>\d+) failed; .*?(?P<cores>\d+) cores for (?P<seconds>[\d.]+) s: "
                  r"network (?P<network>[\d.]+) %, decoding (?P<decoding>[\d.]+) %, preprocessing (?P<preprocessing>[\d.]+) %, "
                  r"idle (?P<idle>[\d.]+) %; network in use (?P<in_use>[\d.]+) %")


def copies(photos, count, folder):
    """`count` pictures in `folder`, as links: each has a name of its own."""
    names = sorted(name for name in os.listdir(photos) if name.lower().endswith((".jpg", ".jpeg")))
    os.makedirs(folder)
    for i in range(count):
        os.symlink(os.path.join(os.path.abspath(photos), names[i % len(names)]), os.path.join(folder, f"{i:05}.jpg"))
    return folder


def classify(program, model, pictures, threads):
    """What `classify -v` says of its run: numbers by their names."""
    command = [program, "classify", pictures, "-k", "1", "-q", "-v", "--threads", str(threads), "-o", os.devnull]
    result = subprocess.run(command + (["-m", model] if model else []), check=True, capture_output=True, text=True)
    match = LINE.search(result.stderr)
    if match is None:
        raise SystemExit(f"{program} does not say how its run went: {result.stderr[-500:]}")
    return {key: float(value) for key, value in match.groupdict().items()}


def rate(run):
    return run["pictures"] / run["seconds"]


def scaling(program, model, pictures, rounds):
    """Throughput of two cores in that of one: the median of the rounds, and their spread."""
    ratios = []
    for _ in range(rounds):
        one = classify(program, model, pictures, 1)
        two = classify(program, model, pictures, 2)
        ratios.append(rate(two) / rate(one))
    return statistics.median(ratios), min(ratios), max(ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("photos")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=min(2, len(os.sched_getaffinity(0))))
    parser.add_argument("--models", default="tiny,base", help="of " + ", ".join(random_vit.SIZES))
    options = parser.parse_args()
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        pictures = copies(options.photos, options.count, os.path.join(folder, "pictures"))
        for size in options.models.split(","):
            model = random_vit.make_folder(os.path.join(folder, size), size)
            few = copies(options.photos, {"tiny": 240, "small": 80, "base": 24}[size], os.path.join(folder, "few-" + size))
            if options.threads >= 2:
                median, least, most = scaling(options.program, model, few, options.rounds)
                print(f"ViT {size:6} two cores / one core: {median:.2f} ({least:.2f} to {most:.2f}, {options.rounds} rounds)", flush=True)
                missed += [f"{size}: scaling"] if median < 1.9 else []
            run = classify(options.program, model, pictures, options.threads)
            print(f"ViT {size:6} {int(run['pictures'])} pictures on {int(run['cores'])} cores: {rate(run):.1f} a second; network {run['network']} % "
                  f"of the cores, decoding {run['decoding']} %, preprocessing {run['preprocessing']} %, idle {run['idle']} %; "
                  f"network in use {run['in_use']} % of the time", flush=True)
            missed += [f"{size}: idle cores"] if run["idle"] > 5 else []
            missed += [f"{size}: network not in use"] if size == "base" and run["in_use"] < 95 else []
            shutil.rmtree(model)
        run = classify(options.program, None, pictures, options.threads)
        decoding = 100 * rate(run) / (run["decoding"] + run["preprocessing"])
        print(f"tiny network: {rate(run):.0f} a second on {int(run['cores'])} cores, idle {run['idle']} %; decoding and preprocessing alone would be "
              f"{decoding:.0f}")
        missed += ["decoder: idle cores"] if run["idle"] > 5 else []
    for what in missed:
        print("below what is expected:", what)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
