"""A suite of command-line cases (README.md)."""

def cli_test(name = "cases", tools = [], data = [], size = "small", **kwargs):
    """Runs every case folder of the calling package.

    Args:
      name: of the test.
      tools: binaries that the commands call by their names.
      data: what else the commands read, e.g. testdata.
      size: as of every test.
      **kwargs: passed on.
    """
    native.sh_test(
        name = name,
        size = size,
        srcs = ["//tests/cli:python3.sh"],
        args = ["tests/cli/runner.py", "--suite", native.package_name()] +
               ["--schema-check=$(rootpath //tests/schemas:check_documents)"] +
               ["--tool=$(rootpath %s)" % tool for tool in tools],
        data = ["//tests/cli:runner.py", "//tests/schemas:check_documents"] + tools + data +
               native.glob(["*/**"]),
        **kwargs
    )
