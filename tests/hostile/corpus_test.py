"""testdata/hostile is what make_hostile.py writes: a blob that no script explains, and an expectation edited by hand, fail here."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_hostile  # noqa: E402


def contents(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file() and path.name != "BUILD.bazel"}


class Corpus(unittest.TestCase):
    def test_is_what_the_script_writes(self):
        with tempfile.TemporaryDirectory() as scratch:
            make_hostile.write(pathlib.Path(scratch))
            written, committed = contents(pathlib.Path(scratch)), contents(pathlib.Path("testdata/hostile"))
        self.assertEqual(sorted(written), sorted(committed))
        for name, data in written.items():
            self.assertTrue(data == committed[name], f"{name} differs; run tests/hostile/make_hostile.py")


if __name__ == "__main__":
    unittest.main()
