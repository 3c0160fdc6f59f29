"""Writes testdata/hostile: small malformed checkpoints, each with what ck-validate must say of it.

usage: python3 tests/hostile/make_hostile.py [testdata/hostile]

A case is a folder: `checkpoint/` is what is checked, `expected` has a line "error ID" or "warning ID" for each finding, in order.
An empty `expected` is a checkpoint that is accepted without a word.
Only the standard library is used; a file is the same bytes each time.
"""

import json
import pathlib
import shutil
import struct
import sys
import zipfile

from builders import (Dcp, FALSE, METADATA, NONE, TRUE, archive, array, attributes, call, common, glob, instance, model, number, object_item, program,
                      raw_safetensors, safetensors, size, tensor_item, text)


CASES = {}


def case(name, files, *expected):
    assert name not in CASES, name
    CASES[name] = (files, expected)


def changed(files, **changes):
    """Files with some of them replaced; the names are written with '_' for what Python does not allow."""
    return {**files, **{REAL_NAMES.get(name, name): data for name, data in changes.items()}}


REAL_NAMES = {"metadata": ".metadata", "metadata_json": "metadata.json", "common_pt": "common.pt", "first": "__0_0.distcp", "second": "__1_0.distcp",
              "integrity": "integrity.json", "single": "model.safetensors", "index": "model.safetensors.index.json"}


def without(files, *names):
    return {name: data for name, data in files.items() if name not in {REAL_NAMES.get(n, n) for n in names}}


def directories():
    good = model().written()
    case("valid", good)
    case("valid_dcp", model(metadata_json=None).written())
    # VAL-17: what kind of directory is it?
    for name, content, *expected in [
            ("empty", b"", "error checkpoint.bad_metadata_json"),
            ("null", b"null", "error checkpoint.bad_metadata_json"),
            ("array", b"[]", "error checkpoint.bad_metadata_json"),
            ("not_json", b"{", "error checkpoint.bad_metadata_json"),
            ("binary", b"\x00\xff\xfe", "error checkpoint.bad_metadata_json"),
            ("duplicate_key", b'{"sharded_backend": "torch_dist", "sharded_backend": "zarr"}', "error checkpoint.bad_metadata_json"),
            ("backend_is_a_number", b'{"sharded_backend": 1}', "error checkpoint.bad_metadata_json"),
            ("deep", b"[" * 200_000 + b"]" * 200_000, "error checkpoint.bad_metadata_json"),
            ("zarr", b'{"sharded_backend": "zarr", "sharded_backend_version": 1}', "error checkpoint.unsupported_format"),
            ("version_99", b'{"sharded_backend": "torch_dist", "sharded_backend_version": 99}', "error checkpoint.unsupported_format"),
            ("version_is_a_string", b'{"sharded_backend": "torch_dist", "sharded_backend_version": "1"}', "error checkpoint.unsupported_format"),
            ("unknown_backend", b'{"sharded_backend": "tape", "sharded_backend_version": 1}', "error checkpoint.unsupported_format"),
            ("extra_keys", b'{"sharded_backend": "torch_dist", "sharded_backend_version": 1, "note": 1}', "warning metadata_json.extra_keys"),
            ("four_keys", b'{"sharded_backend": "torch_dist", "sharded_backend_version": 1, "common_backend": "torch", "common_backend_version": 1}')]:
        case(f"metadata_json_{name}", changed(good, metadata_json=content), *expected)
    case("metadata_json_of_fsdp_dtensor", {**model(metadata_json=None).written(), "metadata.json": b'{"sharded_backend": "fsdp_dtensor"}'},
         "warning metadata_json.of_fsdp_dtensor")
    case("legacy_mp_rank", {"mp_rank_00/model_optim_rng.pt": b"PK"}, "error checkpoint.unsupported_format")
    case("nothing", {"readme.txt": b"no checkpoint"}, "error checkpoint.not_found")
    case("no_dot_metadata", without(good, "metadata"), "error checkpoint.no_metadata")
    # LS-05, LS-11, VAL-01: data files
    case("data_file_missing", without(good, "second"), "error files.data_incomplete", "error checkpoint.missing_file")
    case("data_files_all_missing", without(good, "first", "second"), "error files.data_incomplete", *["error checkpoint.missing_file"] * 2)
    case("data_file_empty", changed(good, second=b""), "error files.data_incomplete", "error checkpoint.short_file")
    case("data_file_cut_by_one", changed(good, second=good["__1_0.distcp"][:-1]), "error files.data_incomplete", "error checkpoint.short_file")
    case("data_file_trailing_bytes", changed(good, second=good["__1_0.distcp"] + bytes(4096)), "warning files.trailing_bytes")
    case("data_file_foreign", changed(good, second=b"x" * len(good["__1_0.distcp"])), "error torchsave.not_torch")
    flipped = bytearray(good["__1_0.distcp"])
    flipped[30] ^= 1  # the first byte of the first record's name
    case("record_header_flipped", changed(good, second=bytes(flipped)), "error zip.local_header_mismatch")
    end = bytearray(good["__1_0.distcp"])
    end[-22] ^= 1  # the signature of the end record
    case("end_record_flipped", changed(good, second=bytes(end)), "error zip.no_end_record")
    case("stray_and_stale_files", {**good, "__0_0.distcp.tmp": b"half", "__7_0.distcp": b"old", "__8_0.distcp": b""}, "warning files.stray", "warning files.stale")
    case("modelopt_state", {**good, "modelopt_state/metadata.json": b"{}"}, "warning files.modelopt_state")
    case("integrity_of_another_algorithm", changed(good, integrity=b'{"algorithm": "md5", "files": {}}'), "warning integrity.unknown_algorithm")
    case("integrity_lists_a_lost_file", changed(good, integrity=json.dumps({"algorithm": "sha256", "files": {"gone.pt": "0" * 64}}).encode()),
         "error integrity.missing_file")
    case("integrity_escapes", changed(good, integrity=json.dumps({"algorithm": "sha256", "files": {"../x": "0" * 64}}).encode()), "error integrity.malformed")
    case("integrity_is_no_object", changed(good, integrity=b"[]"), "error integrity.malformed")


def chunks():
    def one(name, dims, boxes, *expected, **options):
        out = Dcp(metadata_json=None)
        out.tensor("w", dims, boxes, **options)
        case(name, out.written(), *expected)

    half = [2, 4]
    one("coverage_overlap_and_hole", [4, 4], [([0, 0], half), ([1, 0], half)], "error coverage.overlap", "error coverage.hole")
    one("coverage_hole", [4, 4], [([0, 0], half)], "error coverage.hole")
    one("coverage_no_chunks", [4, 4], [], "error coverage.hole")
    one("coverage_out_of_range", [3, 4], [([0, 0], half), ([2, 0], half)], "error coverage.out_of_range")
    one("coverage_negative_offset", [4, 4], [([-1, 0], half)], "error dcp.bad_metadata", places=[("__0_0.distcp", 0, 10)])
    one("coverage_rank_differs", [4, 4], [([0], [4])], "error dcp.bad_metadata")
    one("coverage_sizes_overflow", [2**33, 2**33], [([0, 0], [2**33, 2**33])], "error dcp.bad_metadata", places=[("__0_0.distcp", 0, 10)])
    one("coverage_end_overflows", [4], [([2**63 - 1], [2**63 - 1])], "error files.data_incomplete", "error checkpoint.missing_file", "error coverage.out_of_range",
        places=[("__0_0.distcp", 0, 10)])
    one("chunk_twice", [4, 4], [([0, 0], half), ([0, 0], [4, 4])], "error dcp.duplicate_item")
    one("item_dtype_differs", [4], [([0], [4])], "error checkpoint.item_mismatch", dtype="bfloat16", item_dtype="float32")
    one("item_larger_than_chunk", [4], [([0], [4])], "error checkpoint.item_mismatch", item_dims=[8])
    one("item_offset_past_2_63", [4], [([0], [4])], "error dcp.bad_metadata", places=[("__0_0.distcp", 2**64, 10)])
    one("item_end_overflows", [4], [([0], [4])], "error files.data_incomplete", "error checkpoint.missing_file", places=[("__0_0.distcp", 2**63 - 1, 2**63 - 1)])

    out = Dcp(metadata_json=None)
    place = out.place(tensor_item("float32", [2]), "__0_0.distcp")
    out.whole("a", [2], places=[place])
    out.whole("b", [2], places=[(place[0], place[1] + 8, place[2] - 8)])
    case("items_overlap", out.written(), "error items.overlap", "error torchsave.not_torch")
    out = Dcp(metadata_json=None)
    out.whole("a", [2])
    out.files["__0_0.distcp"] += b"unclaimed"
    out.whole("b", [2])
    case("unclaimed_bytes", out.written(), "warning files.unclaimed_bytes")

    out = Dcp(metadata_json=None)
    out.whole("w", [2])
    out.items = []
    case("chunk_without_item", out.written(), "error dcp.chunk_without_item")
    out = Dcp(metadata_json=None)
    out.whole("w", [2])
    out.names = []
    case("item_without_chunk", out.written(), "error dcp.item_without_chunk")
    for name, path in [("parent", "../../x.distcp"), ("absolute", "/etc/passwd"), ("empty", ""), ("dot", "."), ("through_a_folder", "a/../../b"),
                       ("nul", "a\0b"), ("newline", "a\nb")]:
        one(f"path_{name}", [2], [([0], [2])], "error dcp.unsafe_path", places=[(path, 0, 10)])
    out = Dcp(metadata_json=None)
    out.names.append((text("w"), instance(METADATA, "TensorStorageMetadata", attributes(properties=NONE, size=size([2]), chunks=array([])))))
    case("properties_are_none", out.written(), "error dcp.bad_metadata")
    out = Dcp(metadata_json=None)
    out.whole("w", [2])
    out.extra["surprise"] = instance("foo", "Bar")
    case("metadata_unknown_attribute", out.written(), "warning metadata.note", "warning pickle.unknown_global")
    for name, options, expected in [("compressed_record", {"method": zipfile.ZIP_DEFLATED}, "zip.compressed"), ("record_twice", {"twice": True}, "zip.duplicate_name")]:
        out = Dcp(metadata_json=None)
        out.whole("w", [2], places=[out.place(tensor_item("float32", [2], **options), "__0_0.distcp")])
        case(f"item_{name}", out.written(), f"error {expected}")


def hostile_pickles():
    """META-01. Each stands in for `.metadata`, for data.pkl of common.pt, and for that of a byte object."""
    good = model().written()
    system = call(glob("posix", "system"), [text("touch ck_was_here")])
    cases = [("runs_a_command", program(system), "dcp.not_metadata", "common.not_a_dict", None, ["warning pickle.unknown_global"]),
             ("unknown_class", program(instance("foo", "Bar")), "dcp.not_metadata", "common.not_a_dict", None, ["warning pickle.unknown_global"]),
             ("huge_length", b"\x80\x04\x8e" + struct.pack("<Q", 2**60), "pickle.truncated"),
             ("undefined_memo", program(b"h\x07"), "pickle.memo_undefined"),
             ("deep_lists", program(b"]" * 100_000 + b"a" * 99_999), "dcp.not_metadata", "common.not_a_dict", None, []),
             ("no_stop", program(NONE)[:-1], "pickle.no_stop"),
             ("protocol_9", program(NONE, protocol=9), "pickle.protocol_unsupported"),
             ("unknown_opcode", program(b"\xff"), "pickle.opcode_unknown"),
             ("stack_underflow", program(b"0"), "pickle.stack_underflow"),
             ("empty", b"", "pickle.no_stop")]
    for name, pickle, metadata_id, *rest in cases:
        common_id = rest[0] if rest else metadata_id
        case(f"metadata_{name}", changed(good, metadata=pickle), f"error {metadata_id}")
        case(f"common_{name}", changed(good, common_pt=archive(pickle)), f"error {common_id}")
        out = model()
        out.object("decoder.layers.mlp.linear_fc1._extra_state/shard_0_1", archive(pickle))
        case(f"object_{name}", out.written(), *(rest[2] if rest else [f"error {metadata_id}"]))
    case("metadata_persistent_id", changed(good, metadata=program(text("storage") + b"Q")), "error pickle.persistent_id_refused")
    case("metadata_trailing_bytes", changed(good, metadata=good[".metadata"] + b"more"), "warning metadata.note")
    case("metadata_foreign", changed(good, metadata=b'{"not": "a pickle"}\n'), "error pickle.opcode_unknown")
    case("metadata_half", changed(good, metadata=good[".metadata"][:len(good[".metadata"]) // 2]), "error pickle.truncated")


def common_states():
    good = model().written()
    case("common_pt_empty", changed(good, common_pt=b""), "error torchsave.not_torch")
    case("common_pt_half", changed(good, common_pt=good["common.pt"][:200]), "error zip.no_end_record")
    case("common_none", without(good, "common_pt"), "warning common.none")
    out = model()
    out.object("common_state/shard_0_1", object_item(array([common(20)])))
    case("common_both_forms", out.written(), "warning common.both_forms")
    case("common_embedded", without(out.written(), "common_pt"))
    for name, item, *expected in [("embedded_is_no_list", object_item(common()), "error common.unknown_layout"),
                                  ("embedded_is_foreign", b"foreign bytes", "error torchsave.not_torch")]:
        out = model()
        out.beside.pop("common.pt")
        out.object("common_state/shard_0_1", item)
        case(f"common_{name}", out.written(), *expected)
    out = model()
    out.object("common_state/shard_1_2", object_item(array([common()])))
    case("common_unknown_layout", out.written(), "error common.unknown_layout", "warning keys.objects_missing")


def arguments():
    """VAL-16: a model of 2 layers, hidden 8, 4 heads in 2 groups of head dimension 2, FFN 16 (gated), 4 experts of FFN 6, vocabulary 16."""
    true = {"num_layers": number(2), "hidden_size": number(8), "num_attention_heads": number(4), "group_query_attention": TRUE, "num_query_groups": number(2),
            "kv_channels": number(2), "ffn_hidden_size": number(16), "swiglu": TRUE, "padded_vocab_size": number(16), "num_experts": number(4),
            "moe_ffn_hidden_size": number(6), "moe_shared_expert_intermediate_size": number(5), "multi_latent_attention": FALSE}

    def saved(**changes):
        out = Dcp()
        for name, dims in [("embedding.word_embeddings.weight", [16, 8]), ("decoder.layers.self_attention.linear_qkv.weight", [2, 16, 8]),
                           ("decoder.layers.self_attention.linear_qkv.bias", [2, 16]), ("decoder.layers.mlp.linear_fc1.weight", [2, 32, 8]),
                           ("decoder.layers.mlp.linear_fc2.weight", [2, 8, 16]), ("decoder.layers.mlp.experts.experts.linear_fc1.weight", [2, 4, 12, 8]),
                           ("decoder.layers.mlp.experts.experts.linear_fc2.weight", [2, 4, 8, 6]), ("decoder.layers.mlp.router.weight", [2, 4, 8]),
                           ("decoder.layers.mlp.shared_experts.linear_fc1.weight", [2, 10, 8]), ("output_layer.weight", [16, 8])]:
            out.whole(name, dims, dtype="bfloat16")
        out.beside["common.pt"] = object_item(common(**{**true, **changes}))
        return out.written()

    mismatch = "error args.mismatch"
    case("args_true", saved())
    case("args_groups", saved(num_query_groups=number(4)), mismatch, mismatch)
    case("args_groups_mean_nothing_without_gqa", saved(group_query_attention=FALSE, num_query_groups=number(1), num_attention_heads=number(4)), mismatch, mismatch)
    case("args_mla_has_no_such_rows", saved(multi_latent_attention=TRUE, num_query_groups=number(4)))
    case("args_ffn", saved(ffn_hidden_size=number(32)), mismatch, mismatch)
    case("args_layers", saved(num_layers=number(3)), mismatch)
    case("args_vocabulary", saved(padded_vocab_size=number(128)), mismatch, mismatch)
    case("args_not_gated", saved(swiglu=FALSE), mismatch, mismatch, mismatch)
    case("args_experts", saved(num_experts=number(8)), mismatch, mismatch, mismatch)
    case("args_no_experts", saved(num_experts=NONE))
    case("args_kinds", saved(num_layers=text("2"), hidden_size=number(-8), num_attention_heads=number(0), padded_vocab_size=number(2**70), swiglu=number(1)))
    out = Dcp()
    for layer in (0, 2):
        out.whole(f"decoder.layers.{layer}.mlp.linear_fc2.weight", [8, 16])
    out.beside["common.pt"] = object_item(common(num_layers=number(2)))
    case("args_layer_numbers", out.written(), mismatch)


def keys():
    out = Dcp()
    for name in ("in_proj.weight", "conv1d.weight", "norm.weight", "in_proj.weight.z"):
        out.whole(f"decoder.layers.0.mixer.{name}", [2, 3])
    out.beside["common.pt"] = object_item(common())
    case("mamba_stored_whole", out.written(), "error keys.mamba_not_split", "error keys.mamba_not_split")
    out = model()
    for name in ("loose", "a/shard_0", "b/shard_2_2", "c/d/shard_0_1", "e/shard_0_x"):
        out.object(name, object_item(array([NONE])))
    case("objects_misnamed", out.written(), *["warning keys.not_a_sharded_object"] * 5)
    out = model()
    for layer in (0, 2):
        out.object(f"decoder.layers.mlp.linear_fc1._extra_state/shard_{layer}_3", object_item(array([NONE])))
    case("objects_missing", out.written(), "warning keys.objects_missing")


def safetensors_files():
    """VAL-09."""
    def entry(dtype="F32", shape="[1]", offsets="[0, 4]"):
        return f'{{"w": {{"dtype": "{dtype}", "shape": {shape}, "data_offsets": {offsets}}}}}'.encode()

    good = raw_safetensors(entry(), bytes(4))
    case("safetensors_valid", {"model.safetensors": good})
    for name, data, expected in [
            ("length_0", raw_safetensors(b""), "bad_json"),
            ("length_2_63", struct.pack("<Q", 2**63) + b"{}", "header_too_long"),
            ("length_is_file_size", struct.pack("<Q", len(good)) + good[8:], "header_past_end"),
            ("seven_bytes", bytes(7), "too_short"),
            ("not_utf8", raw_safetensors(b'{"\xff": 1}'), "bad_json"),
            ("array", raw_safetensors(b"[]"), "bad_json"),
            ("duplicate_key", raw_safetensors(entry()[:-1] + b", " + entry()[1:], bytes(4)), "duplicate_key"),
            ("offsets_reversed", raw_safetensors(entry(offsets="[4, 0]"), bytes(4)), "bad_offsets"),
            ("offsets_of_one", raw_safetensors(entry(offsets="[4]"), bytes(4)), "bad_offsets"),
            ("offsets_negative", raw_safetensors(entry(offsets="[-4, 0]"), bytes(4)), "bad_offsets"),
            ("offsets_float", raw_safetensors(entry(offsets="[0.0, 4.0]"), bytes(4)), "bad_offsets"),
            ("offsets_2_64", raw_safetensors(entry(offsets=f"[0, {2**64}]"), bytes(4)), "bad_offsets"),
            ("shape_too_large", raw_safetensors(entry(shape="[1000, 1000]"), bytes(4)), "size_mismatch"),
            ("shape_overflows", raw_safetensors(entry(shape=f"[{2**33}, {2**33}]"), bytes(4)), "bad_shape"),
            ("dtype_unknown", raw_safetensors(entry(dtype="ZZ"), bytes(4)), "unknown_dtype"),
            ("overlap", raw_safetensors(json.dumps({"a": {"dtype": "U8", "shape": [100], "data_offsets": [0, 100]},
                                                    "b": {"dtype": "U8", "shape": [100], "data_offsets": [50, 150]}}).encode(), bytes(150)), "overlap"),
            ("hole", raw_safetensors(entry(offsets="[4, 8]"), bytes(8)), "hole"),
            ("truncated", good[:-1], "truncated"),
            ("trailing_bytes", good + b"x", "trailing_bytes"),
            ("metadata_not_a_string", safetensors({"w": [1]}, metadata={"a": 1}), "bad_metadata"),
            ("deep", raw_safetensors(b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"), "bad_json")]:
        case(f"safetensors_{name}", {"model.safetensors": data}, f"error safetensors.{expected}")


def safetensors_indexes():
    """VAL-10, VAL-11."""
    first, second = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    files = {first: safetensors({"a": [1], "b": [2]}), second: safetensors({"c": [3]})}

    def indexed(weight_map, total=24, **more):
        return {**files, **more, "model.safetensors.index.json": json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}).encode()}

    good = {"a": first, "b": first, "c": second}
    case("index_valid", indexed(good))
    case("index_ghost", indexed({**good, "d": second}), "error safetensors.index_ghost")
    case("index_does_not_list", indexed({"a": first, "c": second}), "warning safetensors.not_in_index")
    case("index_tensor_in_two_files", indexed(good, total=28, **{second: safetensors({"c": [3], "a": [1]})}), "error safetensors.duplicate_tensor")
    case("index_missing_file", without(indexed(good), second), "error safetensors.index_missing_file")
    case("index_extra_file", indexed(good, **{"other.safetensors": safetensors({"z": [1]})}), "warning safetensors.file_not_in_index")
    case("index_and_single", indexed(good, **{"model.safetensors": safetensors({"a": [1]})}), "warning safetensors.single_and_index")
    case("index_all_at_once",
         without(indexed({"a": first, "ghost": first, "c": second, "lost": "lost.safetensors"}, **{
             second: safetensors({"c": [3], "a": [1]}), "other.safetensors": b"short", "model.safetensors": files[first]})),
         "error safetensors.too_short", "error safetensors.index_missing_file", "error safetensors.index_ghost", "error safetensors.duplicate_tensor",
         "warning safetensors.not_in_index", "warning safetensors.file_not_in_index", "warning safetensors.single_and_index")
    case("index_total_size", indexed(good, total=1), "warning safetensors.total_size")
    case("index_none", files, "error safetensors.no_index")
    for name, path in [("parent", "../a.safetensors"), ("absolute", "/etc/passwd"), ("through_a_folder", "a/../../b"), ("empty", ""), ("dot", "."), ("nul", "a\0b"),
                       ("newline", "a\nb")]:
        case(f"index_path_{name}", indexed({**good, "a": path}), "error safetensors.unsafe_path")
    for name, content, expected in [("array", b"[]", "bad_index"), ("no_weight_map", b"{}", "bad_index"), ("file_is_a_number", b'{"weight_map": {"a": 1}}', "bad_index"),
                                    ("duplicate_key", b'{"weight_map": {"a": "x", "a": "y"}}', "duplicate_key"), ("empty", b"", "bad_index")]:
        case(f"index_is_{name}", {**files, "model.safetensors.index.json": content}, f"error safetensors.{expected}")


def write(root):
    for build in (directories, chunks, hostile_pickles, common_states, arguments, keys, safetensors_files, safetensors_indexes):
        build()
    for old in root.glob("*/"):
        shutil.rmtree(old)
    for name, (files, expected) in CASES.items():
        for path, data in files.items():
            file = root / name / "checkpoint" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        (root / name / "expected").write_text("".join(line + "\n" for line in expected))


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2] / "testdata" / "hostile"))
