"""What ck lists, validates and copies of checkpoints by Megatron-Core and PyTorch is what torch reads in them."""

import json

import pytest
from torch.distributed.checkpoint import FileSystemReader

import compare
import sources

ALL = [*sources.MODELS, *sources.PLAIN]
DTYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "U8": "uint8"}


@pytest.mark.parametrize("source", ALL, ids=lambda source: source.name)
def test_meta_lists_what_torch_finds(source, made, ck):
    path = made(source)[0]
    listed = json.loads(ck(f"ck-meta {path} --json"))
    entries = FileSystemReader(path).read_metadata().state_dict_metadata
    tensors = {key: (str(entry.properties.dtype), list(entry.size), len(entry.chunks)) for key, entry in entries.items() if hasattr(entry, "chunks")}
    assert {entry["name"]: (f"torch.{DTYPES[entry['dtype']]}", entry["shape"], entry["chunks"]) for entry in listed["tensors"]} == tensors
    assert {entry["name"] for entry in listed["objects"]} == entries.keys() - tensors.keys()
    assert listed["totals"]["tensors"] == len(tensors)
    assert listed["totals"]["elements"] == sum(tensor.numel() for tensor in compare.only_tensors(compare.read(path)).values())


@pytest.mark.parametrize("source", ALL, ids=lambda source: source.name)
def test_validate_finds_nothing_to_complain_about(source, made, ck):
    report = json.loads(ck(f"ck-validate {made(source)[0]}"))
    assert report["clean"] is True and report["findings"] == []


@pytest.mark.parametrize("source", ALL, ids=lambda source: source.name)
def test_a_copy_holds_the_same(source, made, read, ck, tmp_path):
    """Nothing is computed in a copy: the payload of a NaN and the sign of a zero stay, too."""
    path = made(source)[0]
    ck(f"ck-publish {path} {tmp_path}/OUT")
    got, want = compare.read(tmp_path / "OUT"), read(path)
    assert compare.differences(compare.only_tensors(got), compare.only_tensors(want), any_nan=False) == []
    objects = {key: value for key, value in want.items() if isinstance(value, bytes) and not key.startswith("common_state/")}
    assert {key: got.get(key) for key in objects} == objects
