"""The table of export/README.md, from expected.py (which the measurement has to equal)."""
import cases
import expected

BEGIN, END = "<!-- what runs where: tests/consumers/runtimes.py --update -->\n", "<!-- end -->\n"
SIGNS = {expected.NOT_LOADED: "–", expected.WRONG: "**wrong**", expected.OK: "yes"}


def options(case):
    """What a model's file is made with besides opset and weights."""
    return " `--input uint8`" if case.input == "uint8" else ""


class Notes:
    """Exceptions, numbered as they come; equal ones once."""
    def __init__(self):
        self.texts = []

    def mark(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return f" ({self.texts.index(text) + 1})"


def cell(column, row_cases, notes):
    """What most files of the row do, and a note for those that do otherwise."""
    results = {case: expected.result(column, case) for case in row_cases}
    usual = max(SIGNS, key=list(results.values()).count)     # the worse one where there are as many
    others = {}
    for case, outcome in results.items():
        if outcome != usual:
            others.setdefault(outcome, []).append(f"`{case.model}`{options(case)}")
    marks = [notes.mark(f"{', '.join(names)}: {SIGNS[outcome]}") for outcome, names in others.items()]
    return SIGNS[usual] + "".join(marks)


def order(row):
    opset, weights, *option = row.split(", ")
    return len(option), opset, cases.WEIGHTS.index(weights)


def render():
    rows = {}
    for case in cases.all_cases():
        rows.setdefault(case.row, []).append(case)
    notes = Notes()
    heads = [f"{column} ({expected.WHERE[column]})" if column in expected.WHERE else column for column in expected.COLUMNS]
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for row in sorted(rows, key=order):
        lines.append(f"| {row} | " + " | ".join(cell(column, rows[row], notes) for column in expected.COLUMNS) + " |")
    lines += ["", *(f"({i + 1}) {text}  " for i, text in enumerate(notes.texts)), ""]
    lines += ["| model | what it has that others have not |", "|---|---|"]
    lines += [f"| `{model}` | {what} |" for model, what in cases.FAMILIES.items()]
    return "\n".join(lines) + "\n"


def check(readme, update):
    """Lines about a table that is not the one that it should be."""
    text = readme.read_text()
    before, begin, rest = text.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not begin or not end:
        return [f"{readme}: the lines around the table are not there"]
    if old == render():
        return []
    if update:
        readme.write_text(before + begin + render() + end + after)
        print(f"{readme}: table rewritten")
        return []
    return [f"{readme}: the table is not up to date: runtimes.py --update"]
