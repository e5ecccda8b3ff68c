#!/usr/bin/env python3
"""Writes many small ONNX files and runs each in the runtimes that people use: runtimes.py VITRINE ENVIRONMENTS [options]

Every result (ok, wrong, does not load) must be what expected.py says, in both directions, and the table in
export/README.md must say the same. --update rewrites that table. Runs with the Python of ENVIRONMENTS/newest.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import cases
import expected
import table

HERE = pathlib.Path(__file__).resolve().parent
README = HERE.parents[1] / "export" / "README.md"
RUNTIME_SECONDS = 600

Outcome = collections.namedtuple("Outcome", "result detail")      # result: expected.OK, WRONG, NOT_LOADED


class Runtime:
    """A program that speaks run_files.py's lines."""
    def __init__(self, title, command):
        self.title, self.command, self.version = title, [str(word) for word in command], None

    @property
    def column(self):
        return expected.column(self.title, self.version)

    def answers(self, lines):
        """What it says about these lines, up to the end or its crash, and its exit code."""
        program = subprocess.run(self.command, input="".join(line + "\n" for line in lines), stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True, timeout=RUNTIME_SECONDS)
        return program.stdout.splitlines(), program.returncode

    def run(self, files, folder):
        """{case name: Outcome}; a crash is one, and what is left is done by a new process."""
        folder.mkdir()
        lines = {w.case.name: job_line(w, folder) for w in files}
        outcomes = {}
        while len(outcomes) < len(files):
            before = len(outcomes)
            running, (answers, code) = None, self.answers([line for name, line in lines.items() if name not in outcomes])
            for answer in answers:
                word, _, rest = answer.partition(" ")
                name, _, text = rest.partition(" ")
                if word == "version":
                    self.version = rest
                elif word == "start":
                    running = name
                elif word == "done":
                    running, outcomes[name] = None, Outcome(expected.OK, "")
                elif word == "error":
                    running, outcomes[name] = None, Outcome(expected.NOT_LOADED, text)
            if running:
                outcomes[running] = Outcome(expected.NOT_LOADED, f"crashes (exit code {code})")
            if len(outcomes) == before:
                raise RuntimeError(f"{self.title}: does not even start: {' '.join(self.command)}")
        for w in files:
            if outcomes[w.case.name].result == expected.OK:
                outcomes[w.case.name] = judge(w, folder)
        return outcomes


def job_line(written, folder):
    fields = [written.case.name, written.path, written.case.output, written.pixels.dtype.name]
    for n in cases.BATCHES:
        source = folder / f"{written.case.name}.in{n}"
        written.pixels[:n].tofile(source)
        fields += ["x".join(map(str, (n, *written.pixels.shape[1:]))), source, folder / f"{written.case.name}.out{n}"]
    return "\t".join(map(str, fields))


def judge(written, folder):
    for n in cases.BATCHES:
        got = np.fromfile(folder / f"{written.case.name}.out{n}", "float32")
        if got.size != written.expected[:n].size:
            return Outcome(expected.WRONG, f"{got.size} values at batch {n}")
        problem = written.problem(got.reshape(written.expected[:n].shape))
        if problem:
            return Outcome(expected.WRONG, problem)
    return Outcome(expected.OK, "")


def has(python, package):
    return subprocess.run([python, "-c", f"import {package}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def runtimes(options):
    newest, older = (options.environments / name / "bin" / "python" for name in ("newest", "older"))
    worker = HERE / "run_files.py"
    found = [Runtime("ONNX Runtime", [newest, worker, "ort"]), Runtime("OpenVINO", [newest, worker, "openvino"]),
             Runtime("OpenCV", [newest, worker, "opencv"]), Runtime("onnx", [newest, worker, "reference"])]
    if has(older, "onnxruntime"):
        found.append(Runtime("ONNX Runtime", [older, worker, "ort"]))
    if has(older, "openvino"):
        found.append(Runtime("OpenVINO", [older, worker, "openvino"]))
    if options.opencv:
        found.append(Runtime("OpenCV", [options.opencv]))
    if options.opencv_python:
        found.append(Runtime("OpenCV", [options.opencv_python, worker, "opencv"]))
    return found


def compare(measured):
    """Lines about results that are not what expected.py says; measured: {column: {case: Outcome}}"""
    problems = []
    for column, outcomes in measured.items():
        if column not in expected.COLUMNS:
            print(f"{column}: expected.py does not know this version: its results are not compared")
            continue
        for case, outcome in outcomes.items():
            want = expected.result(column, case)
            if outcome.result != want:
                problems.append(f"{column}: {case.name}: {outcome.result}, expected: {want}. {outcome.detail}")
    return problems


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vitrine", type=pathlib.Path)
    parser.add_argument("environments", type=pathlib.Path, help="folder that environment.py made")
    parser.add_argument("--opencv", type=pathlib.Path, help="opencv_files, built with the system's OpenCV")
    parser.add_argument("--opencv-python", type=pathlib.Path, help="a Python that has the cv2 of another system's OpenCV")
    parser.add_argument("--update", action="store_true", help="rewrite the table in export/README.md")
    parser.add_argument("--details", action="store_true", help="print why each file does not run")
    return parser.parse_args()


def main():
    options = parse_arguments()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="vitrine-consumers-") as name, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(name)
        command, calibration = cases.Command(options.vitrine), cases.pictures(folder)
        written = list(pool.map(lambda case: cases.write(command, case, folder, calibration), cases.all_cases()))
        print(f"{len(written)} files written, {time.monotonic() - begin:.0f} s", flush=True)

        def measure(number_and_runtime):
            number, runtime = number_and_runtime
            began = time.monotonic()
            outcomes = runtime.run(written, folder / f"runtime{number}")
            good = sum(outcome.result == expected.OK for outcome in outcomes.values())
            print(f"{runtime.column}: {good} of {len(written)} ok, {time.monotonic() - began:.0f} s", flush=True)
            return runtime.column, {w.case: outcomes[w.case.name] for w in written}

        measured = dict(pool.map(measure, enumerate(runtimes(options))))
    if options.details:
        for column, outcomes in measured.items():
            for case, outcome in outcomes.items():
                if outcome.result != expected.OK:
                    print(f"{column}: {case.name}: {outcome.result}: {outcome.detail}")
    problems = compare(measured) + table.check(README, options.update)
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
