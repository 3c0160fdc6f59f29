"""Repositories for libraries that the system provides.

A repository never fails by itself. When its library is missing, its target is one that fails when something
that needs it is analysed, with the name of the package to install; everything else still builds.
"""

_INCLUDE_ROOTS = ["/usr/include", "/usr/local/include"]

def _missing(ctx, target, package, looked_for):
    ctx.file("BUILD.bazel", """
load("@ck//third_party:missing.bzl", "missing_library")
missing_library(name = "{target}", message = "{looked_for} not found: install {package} (scripts/setup does it)", visibility = ["@ck//third_party:__subpackages__"])
""".format(target = target, package = package, looked_for = looked_for))

def _has_header(ctx, header):
    for root in _INCLUDE_ROOTS:
        if ctx.path(root + "/" + header).exists:
            return True
    return False

def _system_library_impl(ctx):
    for header in ctx.attr.headers:
        if not _has_header(ctx, header):
            _missing(ctx, "library", ctx.attr.package, header)
            return
    ctx.file("BUILD.bazel", """
cc_library(name = "library", linkopts = {linkopts}, visibility = ["@ck//third_party:__subpackages__"])
""".format(linkopts = repr(ctx.attr.linkopts)))

system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {
        "headers": attr.string_list(mandatory = True),
        "linkopts": attr.string_list(),
        "package": attr.string(mandatory = True),
    },
    configure = True,
    local = True,
)

def _libtorch_roots(ctx):
    """Directories that may hold include/ and lib/: $LIBTORCH, then an installed Python torch."""
    roots = []
    if ctx.os.environ.get("LIBTORCH"):
        roots.append(ctx.os.environ["LIBTORCH"])
    python = ctx.which("python3")
    if python:
        code = "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
        result = ctx.execute([python, "-c", code])
        if result.return_code == 0 and result.stdout.strip():
            roots.append(result.stdout.strip())
    return roots

_LIBTORCH_BUILD = """
cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h", "include/**/*.hpp"], allow_empty = True),
    includes = ["include", "include/torch/csrc/api/include"],
    visibility = ["@ck//third_party:__subpackages__"],
)
cc_library(
    name = "library",
    linkopts = {linkopts},
    visibility = ["@ck//third_party:__subpackages__"],
    deps = [":headers"],
)
"""

def _libtorch_impl(ctx):
    """Debian's place first (it needs no search path), then $LIBTORCH, then an installed Python torch."""
    libs = ["-ltorch", "-ltorch_cpu", "-lc10"]
    if not ctx.os.environ.get("LIBTORCH") and _has_header(ctx, "c10/util/BFloat16.h"):
        ctx.file("BUILD.bazel", """
cc_library(name = "headers", visibility = ["@ck//third_party:__subpackages__"])
cc_library(name = "library", linkopts = {libs}, visibility = ["@ck//third_party:__subpackages__"])
""".format(libs = repr(libs)))
        return
    for root in _libtorch_roots(ctx):
        if ctx.path(root + "/include/c10/util/BFloat16.h").exists:
            ctx.symlink(root + "/include", "include")
            lib = root + "/lib"
            ctx.file("BUILD.bazel", _LIBTORCH_BUILD.format(linkopts = repr(["-L" + lib, "-Wl,-rpath," + lib] + libs)))
            return
    message = "c10/util/BFloat16.h"
    package = "libtorch-dev, or set LIBTORCH to an unpacked libtorch"
    ctx.file("BUILD.bazel", """
load("@ck//third_party:missing.bzl", "missing_library")
[missing_library(name = n, message = "{0} not found: install {1}", visibility = ["@ck//third_party:__subpackages__"]) for n in ["headers", "library"]]
""".format(message, package))

libtorch_library = repository_rule(
    implementation = _libtorch_impl,
    environ = ["LIBTORCH"],
    configure = True,
    local = True,
)

def _mpi_impl(ctx):
    mpicxx = ctx.which("mpicxx")
    if not mpicxx:
        _missing(ctx, "library", "libopenmpi-dev", "mpicxx")
        return
    compile_flags = ctx.execute([mpicxx, "--showme:incdirs"]).stdout.strip().split(" ")
    link_flags = ctx.execute([mpicxx, "--showme:link"]).stdout.strip().split(" ")
    for number, directory in enumerate(compile_flags):
        if directory:
            ctx.symlink(directory, "include%d" % number)
    ctx.file("BUILD.bazel", """
cc_library(
    name = "library",
    hdrs = glob(["include*/**/*.h"]),
    includes = {includes},
    linkopts = {linkopts},
    visibility = ["@ck//third_party:__subpackages__"],
)
""".format(
        includes = repr(["include%d" % n for n in range(len(compile_flags))]),
        linkopts = repr([f for f in link_flags if f]),
    ))

mpi_library = repository_rule(
    implementation = _mpi_impl,
    configure = True,
    local = True,
)
