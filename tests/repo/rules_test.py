"""Rules about the tree that no compiler enforces. Needs only git and Python; run by scripts/check.

usage: python3 tests/repo/rules_test.py
"""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = [pathlib.PurePath(name) for name in
         subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout.split("\0")
         if name and (ROOT / name).is_file()]

TOP_LEVEL = {"WORKSPACE", "BUILD.bazel", "tools", "libs", "testdata", "tests", "docs", "third_party", "README.md", "LICENSE", "scripts"}

# The library that may include each third party's headers (third_party/README.md).
HEADER_OWNERS = {
    r"boost/": "libs/cli",
    r"rapidjson/": "libs/json",
    r"zstd(_errors)?\.h": "libs/compress",
    r"(isa-l|isa-l\.h)": "libs/checksum",
    r"(c10|ATen|torch)/": "libs/kernels",
    r"mpi\.h": "libs/exec_mpi",
}

MACHINE_PATH = re.compile(r"(^|[^A-Za-z0-9_.])/(work|root|home|farm|Users)/")


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def is_source(name):
    return name.suffix in (".h", ".cc", ".py", ".bzl", ".sh") or name.parts[0] == "scripts"


def is_test(name):
    return name.parts[0] == "tests" or name.stem.endswith("_test") or "testing" in name.parts


class Rules(unittest.TestCase):
    def test_top_level(self):
        found = {name.parts[0] for name in FILES if not name.parts[0].startswith(".")}
        self.assertLessEqual(found, TOP_LEVEL)
        self.assertLessEqual({"WORKSPACE", "README.md", "LICENSE"}, found)

    def test_only_run_opens_data_files_for_writing(self):
        for name in FILES:
            if name.name != "BUILD.bazel" or name.parts[:2] in (("libs", "fs"), ("libs", "run")):
                continue
            self.assertNotRegex(text_of(name), r'"//libs/fs:write"', f"{name} depends on //libs/fs:write")

    def test_one_library_includes_each_third_party_header(self):
        for name in FILES:
            if name.suffix not in (".h", ".cc") or is_test(name):
                continue
            for header in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text_of(name), re.MULTILINE):
                for pattern, owner in HEADER_OWNERS.items():
                    if re.match(pattern, header):
                        self.assertEqual(str(pathlib.PurePath(*name.parts[:2])), owner, f"{name} includes {header}")

    def test_no_long_files(self):
        for name in filter(is_source, FILES):
            self.assertLessEqual(text_of(name).count("\n"), 700, f"{name} has too many lines")

    def test_no_paths_of_one_machine(self):
        for name in FILES:
            if name.parts[0] in ("third_party", "testdata") or name == pathlib.PurePath("tests/repo/rules_test.py"):
                continue
            for number, line in enumerate(text_of(name).splitlines(), 1):
                self.assertNotRegex(line, MACHINE_PATH, f"{name}:{number}")

    def test_no_large_files(self):
        for name in FILES:
            self.assertLessEqual((ROOT / name).stat().st_size, 2_000_000, f"{name} is large")

    def test_every_cc_test_has_a_size(self):
        for name in FILES:
            if name.name == "BUILD.bazel":
                for block in re.findall(r"^cc_test\(.*?^\)", text_of(name), re.MULTILINE | re.DOTALL):
                    self.assertRegex(block, r"\bsize = ", f"{name}: {block.splitlines()[1].strip()}")

    def test_scripts_are_executable(self):
        for name in FILES:
            if name.parts[0] in ("scripts", ".ci") and text_of(name).startswith("#!"):
                self.assertTrue((ROOT / name).stat().st_mode & 0o100, f"{name} is not executable")


if __name__ == "__main__":
    unittest.main(verbosity=2)
