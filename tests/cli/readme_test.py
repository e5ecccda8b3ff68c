"""The README is true: its command lines print what it says, and it names the commands and options that there are.

readme_test.py VITRINE SOURCES [unittest arguments]. The examples of every --help are run as well. No example is passed
over silently: what cannot be run stands in NOT_RUN with the reason, and nothing else may.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

VITRINE, SOURCES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
README = (SOURCES / "README.md").read_text()

NOT_RUN = {
    "vitrine classify '/data/photos/**/*.jpg' -m models/vit-base -o labels.jsonl": "a million pictures, and a terminal",
    "vitrine completion fish > ~/.config/fish/completions/vitrine.fish": "for a home with that folder; see completion_test.py",
    "vitrine man > ~/.local/share/man/man1/vitrine.1": "for a home with that folder; see completion_test.py",
    "vitrine pull google/vit-base-patch16-224": "a download",
    "vitrine classify -m google/vit-base-patch16-224 cat.jpg": "its model would be downloaded",
    "vitrine classify cat.jpg -m google/vit-base-patch16-224": "its model would be downloaded",
}
OTHER_PROGRAMS = ("./setup.sh", "parallel ", "apps/examples/", "peers.py", "tests/bench/", "ctest", "cmake")

NUMBER = re.compile(r"\d+\.\d+\.\d+|\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def blocks(text):
    return re.findall(r"^```[^\n]*\n(.*?)^```", text, re.M | re.S)


def examples(text):
    """(command line, what it prints) of every block; the latter is None where no $ says that the lines behind it are output."""
    found = []
    for block in blocks(text):
        shown = False  # Whether the lines are the output of the last command
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], ""))
                shown = True
            elif line.startswith("vitrine ") and not shown:
                found.append((line.split("  #")[0].strip(), None))
            elif shown:
                found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def same_number(expected, actual):
    """Whole numbers are equal; versions (1.2.3) may differ; 7.2e-07 is rounding error, of which ten times as much is allowed and
    any less; other fractions agree within 1e-3 and 1e-3 of themselves, which allows another processor's arithmetic."""
    if expected.count(".") == 2 or actual.count(".") == 2:
        return expected.count(".") == actual.count(".")
    if "e-" in expected:
        return float(actual) <= 10 * float(expected)
    if "." in expected:
        return "." in actual and abs(float(expected) - float(actual)) <= 1e-3 + 1e-3 * float(expected)
    return expected == actual


def same_output(expected, actual):
    expected, actual = expected.strip("\n"), actual.strip("\n")
    numbers = list(zip(NUMBER.findall(expected), NUMBER.findall(actual)))
    return NUMBER.sub("#", expected) == NUMBER.sub("#", actual) and all(same_number(*pair) for pair in numbers)


class Scratch:
    """A folder with the files that the examples name, and a home of its own."""

    def __init__(self, case):
        folder = tempfile.TemporaryDirectory()
        case.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "work"
        (self.folder / "photos" / "more").mkdir(parents=True)
        pictures = SOURCES / "data" / "images" / "fashion-mnist"
        (self.folder / "data").symlink_to(SOURCES / "data")
        shutil.copy(SOURCES / "README.md", self.folder)
        shutil.copytree(SOURCES / "data" / "models" / "fashion-mnist-vit", self.folder / "my-model")
        shutil.copy(pictures / "0000-ankle-boot.png", self.folder / "cat.jpg")
        for target, name in [("photos", "0008-sandal.png"), ("photos/more", "0009-sneaker.png")]:
            shutil.copy(pictures / name, self.folder / target)
        (self.folder / "classes" / "Sandal").mkdir(parents=True)
        shutil.copy(pictures / "0008-sandal.png", self.folder / "classes" / "Sandal")
        (self.folder / "labels.csv").write_text("cat.jpg,Ankle boot\nphotos/0008-sandal.png,Sandal\n")
        (self.folder / "list.txt").write_text("cat.jpg\nphotos/0008-sandal.png\n")
        home, commands = folder.name + "/home", pathlib.Path(folder.name) / "bin"
        pathlib.Path(home).mkdir()
        commands.mkdir()
        (commands / "vitrine").symlink_to(VITRINE)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "HF_", "VITRINE_"))}
        self.environment.update(HOME=home, PATH=f"{commands}:{os.environ['PATH']}", HF_HUB_OFFLINE="1", OMP_WAIT_POLICY="passive")

    def run(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr


def problems_of(text, run):
    """What is wrong with the examples of a README; `run` gives exit code and output of a command line."""
    problems = []
    for command, expected in examples(text):
        if command in NOT_RUN:
            continue
        if not command.startswith("vitrine "):
            problems.append(f"not a command line of vitrine, and not listed in NOT_RUN: {command}")
        elif expected is None:
            problems.append(f"neither run (no $) nor listed in NOT_RUN: {command}")
        else:
            _, actual = run(command)
            if not same_output(expected, actual):
                problems.append(f"{command}\n--- README\n{expected}--- printed\n{actual}")
    return problems


def help_of(*command):
    return subprocess.run([VITRINE, *command, "--help"], capture_output=True, text=True, check=True).stdout


def commands():
    listed = help_of().split("\nSubcommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", listed, re.M)


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


def unknown_options(text, options):
    """The options that a text names in `code` and blocks, but that `options` ({command: its options}) do not have."""
    spans = [span.strip() for span in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))]
    spans += [command for command, _ in examples(text)]
    unknown = []
    for span in spans:
        if span.startswith(OTHER_PROGRAMS):
            continue
        words = span.removeprefix("vitrine ").split()
        known = options.get(words[0] if words else "", set.union(*options.values()))
        unknown += [f"{option} in: {span}" for option in sorted(options_in(span) - known)]
    return unknown


class Readme(unittest.TestCase):
    maxDiff = None

    def test_command_lines_print_what_it_says(self):
        self.assertEqual("\n".join(problems_of(README, Scratch(self).run)), "")

    def test_commands_are_those_of_help(self):
        table = README.split("\n## Commands\n")[1].split("\n## ")[0]
        self.assertEqual(sorted(re.findall(r"^\| `([a-z]+)[ `]", table, re.M)), sorted(commands()))

    def test_options_are_those_of_help(self):
        options = {command: options_in(help_of(command)) for command in commands()}
        options["vitrine"] = options_in(help_of())
        self.assertEqual(unknown_options(README, options), [])

    def test_what_is_not_run_is_still_there(self):
        everything = README + "".join(help_of(command) for command in commands())
        self.assertEqual([command for command in NOT_RUN if command not in everything], [])


class Help(unittest.TestCase):
    def test_examples_run(self):
        for command in [[], *([name] for name in commands())]:
            lines = help_of(*command).split("Examples:\n")
            self.assertEqual(len(lines), 2, f"{command}: no examples")
            scratch = Scratch(self)
            for line in filter(None, map(str.strip, lines[1].splitlines())):
                if line in NOT_RUN:
                    continue
                self.assertIn("vitrine " + " ".join(command), line)
                code, output = scratch.run(line)
                self.assertEqual(code, 0, f"{line}\n{output}")


class Checker(unittest.TestCase):
    """That the checks can fail."""

    def test_outputs_differ(self):
        good = "a.png\n  0.8509  Boot, 2.8 MB of 1.12.0, 7.2e-07\n"
        for other in [good, good.replace("0.8509", "0.8510"), good.replace("1.12.0", "1.22.0"), good.replace("7.2e", "1.2e")]:
            self.assertTrue(same_output(good, other), other)
        for other in ["", good.replace("Boot", "Shoe"), good.replace("0.8509", "0.8709"), good.replace("e-07", "e-05"),
                      good.replace("a.png", "b.png"), good + "more\n", good.replace("1.12.0", "1.1")]:
            self.assertFalse(same_output(good, other), other)
        self.assertFalse(same_output("206 nodes", "207 nodes"))

    def test_wrong_output_is_found(self):
        text = "```\n$ vitrine info\none\n\n$ vitrine bench\ntwo\n```\n"
        printed = {"vitrine info": (0, "one\n"), "vitrine bench": (0, "two\n")}
        self.assertEqual(problems_of(text, printed.get), [])
        printed["vitrine bench"] = (0, "three\n")
        self.assertEqual(len(problems_of(text, printed.get)), 1)

    def test_what_is_neither_run_nor_listed_is_found(self):
        self.assertEqual(len(problems_of("```\nvitrine info\n```\n```\n$ rm x\n```\n", None)), 2)
        self.assertEqual(problems_of("```\n$ vitrine pull google/vit-base-patch16-224\n```\n", None), [])

    def test_options_that_do_not_exist_are_found(self):
        options = {"run": {"--input"}, "info": {"--arch"}}
        text = "`--input` `info --arch` `./setup.sh --test`\n```\n$ vitrine run --input x\n```\n"
        self.assertEqual(unknown_options(text, options), [])
        self.assertEqual(len(unknown_options("`--new` `run --arch`\n```\n$ vitrine info --input x\n```\n", options)), 3)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
