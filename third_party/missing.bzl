"""A stand-in for a library that is not installed: fails when a target that needs it is analysed."""

def _missing_library_impl(ctx):
    fail(ctx.attr.message)

missing_library = rule(
    implementation = _missing_library_impl,
    attrs = {"message": attr.string(mandatory = True)},
    provides = [CcInfo],
)
