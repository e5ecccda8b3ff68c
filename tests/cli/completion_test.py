"""Completion in real shells, and the manual page: completion_test.py VITRINE [unittest arguments]. Shells that are not there are skipped."""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

VITRINE = pathlib.Path(sys.argv[1]).resolve()


def printed(*arguments):
    return subprocess.run([VITRINE, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout


def commands():
    return re.findall(r"^  ([a-z]+) ", printed("--help").split("\nSubcommands:\n")[1].split("\n\n")[0], re.M)


class Shell:
    """What every shell must offer; `complete(words)` gives what may stand for the last word."""

    def setUp(self):
        if shutil.which(self.shell) is None:
            self.skipTest(f"{self.shell} is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "my pictures").mkdir()
        (self.folder / "mine.jpg").touch()
        self.script = self.folder / "script"
        self.script.write_text(printed("completion", self.shell))

    def run_shell(self, text):
        environment = {**os.environ, "HOME": str(self.folder), "PATH": f"{VITRINE.parent}:{os.environ['PATH']}"}
        done = subprocess.run([self.shell, *self.flags, "-c", text], cwd=self.folder, env=environment, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_commands(self):
        self.assertEqual(sorted(set(self.complete("vitrine", "")) & set(commands())), sorted(commands()))
        self.assertEqual(self.complete("vitrine", "cl"), ["classify"])

    def test_options_of_the_command(self):
        self.assertIn("--resume", self.complete("vitrine", "classify", "--res"))
        self.assertEqual(self.complete("vitrine", "info", "--res"), [])

    def test_choices(self):
        self.assertEqual(sorted(self.complete("vitrine", "classify", "--format", "js")), ["json", "jsonl"])
        self.assertEqual(sorted(self.complete("vitrine", "completion", "")), ["bash", "fish", "zsh"])

    def test_files(self):
        names = {name.rstrip("/") for name in self.complete("vitrine", "classify", "mi")}
        self.assertEqual(names, {"mine.jpg"})
        self.assertEqual({name.rstrip("/") for name in self.complete("vitrine", "classify", "-m", "mi")}, {"mine.jpg"})


class Bash(Shell, unittest.TestCase):
    shell, flags = "bash", ["--norc"]

    def complete(self, *words):
        line = " ".join(f"'{word}'" for word in words)
        found = self.run_shell(f". ./script; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _vitrine; "
                               'printf "%s\\n" "${COMPREPLY[@]}"')
        return [name for name in found if name]

    def test_value_behind_an_equals_sign(self):
        self.assertEqual(self.complete("vitrine", "classify", "--format", "=", "cs"), ["csv"])

    def test_lists(self):
        self.assertEqual(self.complete("vitrine", "attention", "--format", "png,n"), ["png,npy"])


class Fish(Shell, unittest.TestCase):
    shell, flags = "fish", ["--no-config"]

    def complete(self, *words):
        return [line.split("\t")[0] for line in self.run_shell(f"source script; complete -C '{' '.join(words)}'")]


class Zsh(Shell, unittest.TestCase):
    """zsh completes only on a terminal: it is typed to, with a function in the command's place that shows what it was given."""
    shell = "zsh"

    def completed(self, line):
        """What becomes of the line when Tab is pressed, as arguments."""
        (self.folder / "start").write_text("autoload -U compinit; compinit -D -u\n. ./script\nPS1=\n"
                                           "vitrine() { print -r -- GIVEN ${(j:|:)@} END; exit; }\n")
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        environment = {**os.environ, "HOME": str(self.folder), "TERM": "dumb"}
        zsh = subprocess.Popen(["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=self.folder, env=environment,
                               start_new_session=True)
        os.close(slave)
        os.write(master, f". ./start\n{line}\t\n".encode())
        seen = b""
        end = time.monotonic() + 40
        while not (found := re.search(rb"GIVEN (.*) END", seen)) and time.monotonic() < end:
            if select.select([master], [], [], 1)[0]:
                try:
                    seen += os.read(master, 4096)
                except OSError:  # zsh has ended
                    break
        zsh.kill()
        zsh.wait()
        self.assertIsNotNone(found, seen)
        return found[1].decode().split("|")

    def test_commands(self):
        self.assertEqual(self.completed("vitrine cl"), ["classify"])

    def test_options_of_the_command(self):
        self.assertEqual(self.completed("vitrine classify --res"), ["classify", "--resume"])
        self.assertEqual(self.completed("vitrine info --res"), ["info", "--res"])

    def test_choices(self):
        self.assertEqual(self.completed("vitrine classify --format cs"), ["classify", "--format", "csv"])
        self.assertEqual(self.completed("vitrine classify --format=cs"), ["classify", "--format=csv"])
        self.assertEqual(self.completed("vitrine completion fi"), ["completion", "fish"])

    def test_files(self):
        self.assertEqual(self.completed("vitrine classify -r mi"), ["classify", "-r", "mine.jpg"])
        self.assertEqual(self.completed("vitrine classify -m mi"), ["classify", "-m", "mine.jpg"])


class Man(unittest.TestCase):
    def test_names_every_command_and_option(self):
        page = printed("man").replace("\\-", "-")
        for command in commands():
            self.assertIn(f'.SS "vitrine {command}"', page)
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", printed(command, "--help").split("Options:")[1].split("Examples:")[0]):
                self.assertIn(option, page)

    def test_is_clean(self):
        if shutil.which("mandoc") is None:
            self.skipTest("mandoc is not installed")
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=printed("man"), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout + done.stderr, "")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
