"""docs/manual/errors.md names every error and warning id of the sources, and no other. Needs only git and Python; run by scripts/check.

usage: python3 tests/repo/errors_test.py
"""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANUAL = ROOT / "docs" / "manual" / "errors.md"

# A literal of two lower-case words joined by a dot is an id when its first word is that of a group in the manual, or when it is the first argument of a
# call that makes an error, a warning or a finding. The keys of models look alike; they stand in other calls.
ID = re.compile(r"[a-z][a-z0-9_]*\.[a-z0-9_]+")
CALL = re.compile(r"(Error|Warn|Warning|Finding|AnswerNo|Fail|Refuse|ThrowWrite|differs|refuse|fault|\.id =)\(?\s*$")
FILE_ENDINGS = ("bin", "distcp", "index", "json", "jinja", "md", "model", "pkl", "pt", "py", "safetensors", "txt", "yaml")

CODES = {"Usage": "2", "Input": "3", "Plan": "3", "Environment": "4", "Precondition": "5", "Internal": "70"}

# Groups whose word begins other names too, as in "args.vocab_size": their ids are seen in calls only.
SHARED_WORDS = {"args"}

# Strings before comments: a comment may quote, and a string may hold "//".
TOKEN = re.compile(r'R"([^()\s\\]*)\(.*?\)\1"|"((?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL)


def is_id(text, before, groups):
    if not ID.fullmatch(text):
        return False
    first, last = text.split(".")
    return last not in FILE_ENDINGS and (first in groups or CALL.search(before) is not None)


def ids_in(text, groups):
    for token in TOKEN.finditer(text):
        if token.group(2) is not None and is_id(token.group(2), text[max(0, token.start() - 200):token.start()], groups):
            yield token.group(2)


def product_sources():
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "libs", "tools"], check=True, capture_output=True, text=True).stdout.split("\0")
    for name in map(pathlib.PurePath, filter(None, names)):
        is_test = name.stem.endswith("_test") or "testing" in name.parts or name.name == "publish_run.cc"
        if name.suffix in (".h", ".cc") and not is_test and (ROOT / name).is_file():
            yield name


def ids_of_sources():
    """{id: the files that hold it}"""
    groups = {name.split(".")[0] for name, _ in rows_of_manual()} - SHARED_WORDS
    found = {}
    for name in product_sources():
        for one in ids_in((ROOT / name).read_text(encoding="utf-8"), groups):
            found.setdefault(one, []).append(name)
    return found


def codes_of_sources():
    """{id: the exit codes of the errors that are made with it}; ids that are made in other ways have none."""
    codes = {}
    for name in product_sources():
        text = (ROOT / name).read_text(encoding="utf-8")
        for call in re.finditer(r'\b(Usage|Input|Environment|Precondition|Internal|Plan)Error\(\s*"([a-z0-9_.]+)"', text):
            codes.setdefault(call.group(2), set()).add(CODES[call.group(1)])
    return codes


def rows_of_manual():
    """[(id, cells)]: an id is in backquotes in the first cell of a table's row."""
    rows = []
    for line in MANUAL.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and re.fullmatch(r"`[^`]+`", cells[0]):
            rows.append((cells[0].strip("`"), cells))
    return rows


class Errors(unittest.TestCase):
    def test_every_id_of_the_sources_is_in_the_manual(self):
        known = {name for name, _ in rows_of_manual()}
        missing = [f"{name} ({files[0]})" for name, files in sorted(ids_of_sources().items()) if name not in known]
        self.assertEqual(missing, [], "add them to docs/manual/errors.md (or, when they are no ids, to this test)")

    def test_every_id_of_the_manual_is_in_the_sources(self):
        used = ids_of_sources()
        self.assertEqual([name for name, _ in rows_of_manual() if name not in used], [])

    def test_rows_are_complete_sorted_and_unique(self):
        rows = rows_of_manual()
        names = [name for name, _ in rows]
        self.assertEqual(len(names), len(set(names)), "an id stands twice")
        for name, cells in rows:
            self.assertEqual(len(cells), 5, f"{name}: id, exit, library, meaning, what to do")
            self.assertTrue(all(cells), f"{name}: a cell is empty")
            self.assertRegex(cells[1], r"^(2|3|4|5|70|1|128\+n|warning|finding|note)([,/] ?(2|3|4|5|70|1|warning|finding))*$", name)
            for library in re.split(r",\s*", cells[2]):
                self.assertTrue((ROOT / "libs" / library).is_dir() or (ROOT / "tools" / library).is_dir(), f"{name}: no library {library}")
        for before, after in zip(names, names[1:]):
            if before.split(".")[0] == after.split(".")[0]:
                self.assertLess(before, after, "ids of one group stand in order")

    def test_exit_codes_and_libraries_are_those_of_the_sources(self):
        codes, files = codes_of_sources(), ids_of_sources()
        for name, cells in rows_of_manual():
            told = set(re.split(r"[,/] ?", cells[1]))
            self.assertLessEqual(codes.get(name, set()), told, f"{name}: exit")
            libraries = {file.parts[1] for file in files.get(name, [])}
            self.assertTrue(libraries & set(re.split(r",\s*", cells[2])), f"{name}: library, found in {libraries}")

    def test_the_scan_sees_ids_and_nothing_else(self):
        sample = r'''
            throw InputError("new.group", "a \\"b.c\\""); // "zip.comment"
            /* "zip.block" */ x = R"("zip.raw")"; y = "zip.pt"; z = "mlp.router"; c = '"'; Say(id ? "zip.one" : "zip.two");
            findings.push_back({.id = "other.group"});
        '''
        self.assertEqual(list(ids_in(sample, {"zip"})), ["new.group", "zip.one", "zip.two", "other.group"])


if __name__ == "__main__":
    unittest.main()
