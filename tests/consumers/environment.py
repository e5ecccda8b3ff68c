#!/usr/bin/env python3
"""The Python environments of the consumers' tests, in a build folder.

    environment.py make FOLDER                       FOLDER/newest and FOLDER/older, from requirements-*.txt
    environment.py run FOLDER SCRIPT [ARGUMENTS...]  the script with FOLDER/newest's Python

Environments that are there stay, unless the requirements or the Python changed. Exit code 77 (skipped, for ctest) where
the package index cannot be reached.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ("newest", "older")
SKIPPED = 77
STAMP = "vitrine-requirements"
UNREACHABLE = re.compile(r"Retrying \(|ConnectionError|NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|name resolution|"
                         r"There was a problem confirming the ssl certificate|HTTP error 5\d\d")


def requirements(name):
    return HERE / f"requirements-{name}.txt"


def fingerprint(name):
    return hashlib.sha256(requirements(name).read_bytes() + sys.version.encode()).hexdigest()


def is_made(folder, name):
    stamp = folder / name / STAMP
    return stamp.is_file() and stamp.read_text() == fingerprint(name)


def make(folder, name):
    """Exit code."""
    if is_made(folder, name):
        print(f"{name}: as it should be")
        return 0
    place = folder / name
    shutil.rmtree(place, ignore_errors=True)
    print(f"{name}: installing {requirements(name).name} into {place}", flush=True)
    if subprocess.run([sys.executable, "-m", "venv", place]).returncode:
        print(f"{sys.executable} cannot make environments: apt-get install python3-venv", file=sys.stderr)
        return 1
    pip = subprocess.run([place / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-input", "--only-binary=:all:",
                          "--disable-pip-version-check", "--requirement", requirements(name)],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if pip.returncode:
        print(pip.stdout)
        shutil.rmtree(place, ignore_errors=True)
        if UNREACHABLE.search(pip.stdout):
            print("skipped: the package index that pip is set up for cannot be reached; its message is above")
            return SKIPPED
        return 1
    (place / STAMP).write_text(fingerprint(name))
    return 0


def main():
    action, folder, *command = sys.argv[1:]
    folder = pathlib.Path(folder)
    if action == "make":
        folder.mkdir(parents=True, exist_ok=True)
        return max(make(folder, name) for name in NAMES)
    if not all(is_made(folder, name) for name in NAMES):
        print("skipped: without the environments that `environment.py make` could not install")
        return SKIPPED
    python = folder / "newest" / "bin" / "python"
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"      # nothing goes into the source tree
    os.execv(python, [python, *command])


if __name__ == "__main__":
    sys.exit(main())
