#!/usr/bin/env python3
"""Runs the conformance kit's check.py for ctest: run_kit.py KIT VITRINE [check.py's other arguments...]

Exit code 77 (skipped, for ctest) where there is no kit on this machine; everything else is check.py's own.
"""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def writable_copy(kit, folder):
    """check.py changes copies of the kit's files that keep their mode: nobody but root can, where the kit is read-only."""
    copy = shutil.copytree(kit, os.path.join(folder, "kit"))
    for place, _, names in os.walk(copy):
        for path in (place, *(os.path.join(place, name) for name in names)):
            os.chmod(path, os.stat(path).st_mode | 0o200)
    return copy


def main():
    kit, vitrine, *arguments = sys.argv[1:]
    check = os.path.join(kit, "check.py")
    if not os.path.exists(check):
        print(f"skipped: there is no conformance kit at {kit}")
        return SKIPPED
    if importlib.util.find_spec("numpy") is None:
        print(f"the kit is there, but {sys.executable} has no numpy: apt-get install python3-numpy", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="vitrine-kit-") as folder:
        if not os.access(check, os.W_OK):
            kit = writable_copy(kit, folder)
        return subprocess.run([sys.executable, check, "--kit", kit, "--vitrine", vitrine, *arguments]).returncode


if __name__ == "__main__":
    sys.exit(main())
