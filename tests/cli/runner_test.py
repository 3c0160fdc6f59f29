"""The runner must fail where a case is wrong: a harness that cannot fail proves nothing."""

import io
import pathlib
import stat
import tempfile
import unittest

import runner


class RunnerTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name).resolve()
        self.testdata = self.root / "testdata"
        self.testdata.mkdir()

    def case(self, **files):
        case = pathlib.Path(tempfile.mkdtemp(dir=self.root, prefix="case"))
        for name, text in files.items():
            (case / name).write_text(text)
        return case

    def wrong(self, **files):
        return runner.check_case(self.case(**files), [], self.testdata)

    def test_right_expectations_pass(self):
        self.assertEqual(self.wrong(cmd="true"), "")
        self.assertEqual(self.wrong(cmd="echo out; echo err >&2; exit 3", stdout="out\n", stderr="err\n", exit="3\n"), "")

    def test_every_wrong_expectation_fails(self):
        self.assertIn("exit code: expected 0, found 3", self.wrong(cmd="exit 3"))
        self.assertIn("exit code: expected 3, found 0", self.wrong(cmd="true", exit="3\n"))
        self.assertIn("+out", self.wrong(cmd="echo out"))
        self.assertIn("+err", self.wrong(cmd="echo err >&2"))
        self.assertIn("-other", self.wrong(cmd="echo out", stdout="other\n"))
        self.assertIn("-out", self.wrong(cmd="true", stdout="out\n"))
        self.assertIn("no newline", self.wrong(cmd="printf out", stdout="out\n"))

    def test_a_failure_inside_a_pipe_or_script_is_seen(self):
        self.assertIn("found 7", self.wrong(cmd="(exit 7) | cat"))
        self.assertIn("found 7", self.wrong(cmd="(exit 7)\ntrue"))
        self.assertIn("unbound variable", self.wrong(cmd="echo $no_such_variable"))

    def test_directories_have_fixed_names(self):
        self.assertEqual(self.wrong(cmd="pwd; echo $TESTDATA/x $SUITE/y", stdout="@TMP@\n@TESTDATA@/x @SUITE@/y\n"), "")

    def test_stdin_is_empty_and_nothing_is_left_behind(self):
        self.assertEqual(self.wrong(cmd="cat; ls; mkdir a; touch a/b; chmod 0 a"), "")

    def test_suites(self):
        good, bad = self.case(cmd="true"), self.case(cmd="false")
        out = io.StringIO()
        self.assertTrue(runner.check_suite([good], [], self.testdata, out=out))
        self.assertFalse(runner.check_suite([good, bad], [], self.testdata, out=out))
        self.assertIn("1 passed, 1 failed", out.getvalue())
        self.assertFalse(runner.check_suite([], [], self.testdata, out=out))

    def test_update_writes_what_then_passes(self):
        case = self.case(cmd="echo out; exit 3", stderr="gone\n")
        runner.update_case(case, [], self.testdata)
        self.assertEqual(sorted(p.name for p in case.iterdir()), ["cmd", "exit", "stdout"])
        self.assertEqual(runner.check_case(case, [], self.testdata), "")

    def test_documents_are_checked_against_their_schema(self):
        refuse = self.root / "refuse"
        refuse.write_text("#!/bin/sh\necho no such member\nexit 1\n")
        refuse.chmod(stat.S_IRWXU)
        document = '{"schema": "ck.plan"}\n'
        case = self.case(cmd="echo '{\"schema\": \"ck.plan\"}'", stdout=document)
        self.assertEqual(runner.check_case(case, [], self.testdata, "/bin/true"), "")
        self.assertIn("no such member", runner.check_case(case, [], self.testdata, str(refuse)))
        other = self.case(cmd="echo '{\"schema\": \"else\"}'; ", stdout='{"schema": "else"}\n')
        self.assertEqual(runner.check_case(other, [], self.testdata, str(refuse)), "")


if __name__ == "__main__":
    unittest.main()
