#!/usr/bin/env python3
"""Runs the conformance kit's check.py for ctest: run_kit.py KIT VITRINE [check.py's other arguments...]

Exit code 77 (skipped, for ctest) where there is no kit on this machine; everything else is check.py's own.
"""
import importlib.util
import os
import sys

SKIPPED = 77


def main():
    kit, vitrine, *arguments = sys.argv[1:]
    check = os.path.join(kit, "check.py")
    if not os.path.exists(check):
        print(f"skipped: there is no conformance kit at {kit}")
        return SKIPPED
    if importlib.util.find_spec("numpy") is None:
        print(f"the kit is there, but {sys.executable} has no numpy: apt-get install python3-numpy", file=sys.stderr)
        return 1
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, check, "--kit", kit, "--vitrine", vitrine, *arguments])


if __name__ == "__main__":
    sys.exit(main())
