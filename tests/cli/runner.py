"""Runs the command-line cases of one suite. tests/cli/README.md says what a case is."""

import argparse
import difflib
import fnmatch
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TIMEOUT_SECONDS = 60  # a case takes milliseconds; this ends one that waits for ever

# What a command sees beside PATH and TESTDATA: nothing of the caller's locale, job or home.
FIXED_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "TZ": "UTC"}


class Outcome:
    """What a command did, and the other way round what a case expects."""

    def __init__(self, stdout: bytes, stderr: bytes, exit_code: int):
        self.stdout = stdout
        self.stderr = stderr
        self.exit_code = exit_code

    def files(self):
        """The expectation files by name; an empty stream and exit 0 have none."""
        texts = {"stdout": self.stdout, "stderr": self.stderr}
        if self.exit_code != 0:
            texts["exit"] = b"%d\n" % self.exit_code
        return {name: text for name, text in texts.items() if text}


def read_expected(case: pathlib.Path) -> Outcome:
    def read(name):
        path = case / name
        return path.read_bytes() if path.exists() else b""

    return Outcome(read("stdout"), read("stderr"), int(read("exit") or b"0"))


def run_case(case: pathlib.Path, tool_directories, testdata: pathlib.Path) -> Outcome:
    suite = case.resolve().parent
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="case.", dir=os.environ.get("TEST_TMPDIR"))).resolve()
    try:
        environment = dict(FIXED_ENVIRONMENT)
        environment["PATH"] = os.pathsep.join([*tool_directories, "/usr/local/bin", "/usr/bin", "/bin"])
        environment["TESTDATA"] = str(testdata)
        environment["SUITE"] = str(suite)
        environment["HOME"] = str(scratch)
        environment["TMPDIR"] = str(scratch)
        command = ["bash", "-euo", "pipefail", str(suite / case.name / "cmd")]
        done = subprocess.run(
            command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_SECONDS
        )
    finally:
        make_removable(scratch)
        shutil.rmtree(scratch)

    def normalised(text):
        for directory, name in ((scratch, b"@TMP@"), (testdata, b"@TESTDATA@"), (suite, b"@SUITE@")):
            text = text.replace(os.fsencode(directory), name)
        return text

    return Outcome(normalised(done.stdout), normalised(done.stderr), done.returncode)


def make_removable(directory):
    """Cases may take away permissions."""
    for root, directories, _ in os.walk(directory):
        for name in directories:
            path = os.path.join(root, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)


def unified_diff(name, expected: bytes, found: bytes):
    def lines(text):
        return text.decode("utf-8", "backslashreplace").splitlines(keepends=True)

    out = ""
    for line in difflib.unified_diff(lines(expected), lines(found), f"{name} (expected)", f"{name} (found)"):
        out += line if line.endswith("\n") else line + "\n\\ no newline at the end\n"
    return out


def document_schema(stdout: bytes):
    """The name of the schema when stdout is one of our documents."""
    try:
        document = json.loads(stdout)
    except ValueError:
        return None
    schema = document.get("schema") if isinstance(document, dict) else None
    return schema if isinstance(schema, str) and schema.startswith("ck.") else None


def schema_violation(stdout: bytes, schema_check):
    if schema_check is None or document_schema(stdout) is None:
        return ""
    done = subprocess.run([schema_check, "/dev/stdin"], input=stdout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_SECONDS)
    return "" if done.returncode == 0 else "stdout violates its schema:\n" + done.stdout.decode("utf-8", "replace")


def check_case(case, tool_directories, testdata, schema_check=None) -> str:
    """Returns what is wrong, "" when nothing is."""
    try:
        found = run_case(case, tool_directories, testdata)
    except subprocess.TimeoutExpired:
        return f"still running after {TIMEOUT_SECONDS} s\n"
    expected = read_expected(case)
    wrong = ""
    if expected.exit_code != found.exit_code:
        wrong += f"exit code: expected {expected.exit_code}, found {found.exit_code}\n"
    wrong += unified_diff("stdout", expected.stdout, found.stdout)
    wrong += unified_diff("stderr", expected.stderr, found.stderr)
    return wrong + schema_violation(found.stdout, schema_check)


def update_case(case, tool_directories, testdata):
    found = run_case(case, tool_directories, testdata).files()
    for name in ("stdout", "stderr", "exit"):
        path = case / name
        if name in found:
            path.write_bytes(found[name])
        elif path.exists():
            path.unlink()


def find_cases(suite: pathlib.Path, pattern="*"):
    return [path.parent for path in sorted(suite.glob("*/cmd")) if fnmatch.fnmatch(path.parent.name, pattern)]


def check_suite(cases, tool_directories, testdata, schema_check=None, out=sys.stdout) -> bool:
    """True when there are cases and all pass."""
    failures = 0
    for case in cases:
        wrong = check_case(case, tool_directories, testdata, schema_check)
        failures += wrong != ""
        print(f"{'FAIL' if wrong else 'ok  '} {case.name}", file=out)
        if wrong:
            print("".join(f"    {line}\n" for line in wrong.splitlines()), file=out, end="")
    print(f"{len(cases) - failures} passed, {failures} failed", file=out)
    if not cases:
        print("no cases found: a suite without cases proves nothing", file=out)
    return bool(cases) and failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", required=True, help="the suite's folder, from the root of the repository")
    parser.add_argument("--tool", action="append", default=[], help="a tool's binary; its folder is put on PATH")
    parser.add_argument("--schema-check", help="the binary that checks the files named against their schemas")
    options = parser.parse_args()

    root = pathlib.Path.cwd()
    tool_directories = sorted({str(pathlib.Path(tool).resolve().parent) for tool in options.tool})
    testdata = root / "testdata"
    if os.environ.get("UPDATE") == "1":
        # Under `bazel run` this is the source tree; without it there is nothing to write to.
        source = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
        for case in find_cases(source / options.suite):
            update_case(case, tool_directories, testdata)
            print(f"written: {case}")
        return 0
    cases = find_cases(root / options.suite, os.environ.get("TESTBRIDGE_TEST_ONLY", "*"))
    schema_check = str(pathlib.Path(options.schema_check).resolve()) if options.schema_check else None
    return 0 if check_suite(cases, tool_directories, testdata, schema_check) else 1


if __name__ == "__main__":
    sys.exit(main())
