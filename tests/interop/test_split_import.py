"""Directories of transformers become checkpoints that Megatron-Core loads strictly, and come back bit for bit."""

import json
import pathlib

import pytest
import safetensors.torch
import torch

import compare
import hugging_face
import sources
from architectures import ARCHITECTURES

ZOO = pathlib.Path(__file__).parents[2] / "testdata" / "fixtures" / "hf"
NOT_YET = {"gemma2", "gemma3", "gemma3_v457"}  # their export from saved arguments says other windows than the model has
FOLDERS = sorted({path.name for path in ZOO.iterdir() if path.is_dir()} - NOT_YET)
# Rotary embeddings whose numbers no argument of Megatron-Core can say: config.json must say them.
ROPE_BY_TEMPLATE = {"llama_rope3", "llama_rope3_v457", "phi3_longrope", "phi3_longrope_v457"}
ARCHITECTURES_NOT_YET = {"gpt_neox"}  # num_query_groups of a model without groups

# Arguments that decide what a model computes and how it is stored.
OF_MODEL = ["num_layers", "hidden_size", "ffn_hidden_size", "num_attention_heads", "kv_channels", "normalization", "swiglu", "squared_relu",
            "add_bias_linear", "add_qkv_bias", "qk_layernorm", "untie_embeddings_and_output_weights", "position_embedding_type", "rotary_base",
            "rotary_percent", "vocab_size", "padded_vocab_size", "multi_latent_attention"]
OF_EXPERTS = ["num_experts", "moe_ffn_hidden_size", "moe_layer_freq", "moe_router_topk", "moe_router_score_function", "moe_router_pre_softmax",
              "moe_router_enable_expert_bias", "moe_shared_expert_intermediate_size", "moe_shared_expert_gate", "moe_router_topk_scaling_factor"]
OF_LATENT_ATTENTION = ["q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim", "rope_type"]

each_architecture = pytest.mark.parametrize("architecture", [architecture for architecture in ARCHITECTURES if architecture.model.name not in ARCHITECTURES_NOT_YET], ids=lambda architecture: architecture.model.name)


def split(ck, to, path, output, options=""):
    return json.loads(ck(f"ck-split --to {to} --input {path} --output {output} {options}"))


@each_architecture
def test_megatron_says_what_transformers_said(architecture, saved, read, megatron, ck, tmp_path):
    config, model = architecture.config_json(), architecture.model
    source = compare.only_tensors(read(saved(model, 100)[0]))
    directory = hugging_face.write(tmp_path / "HF", config, architecture.convert(source))
    engine = model.engine_names or dict(model.settings).get("layernorm_zero_centered_gamma", False)  # only the engine has such norms
    options = f"--make-vocab-size-divisible-by 2{'' if engine else ' --transformer-impl local'}{' --per-layer' if model.per_layer else ''}"
    split(ck, "megatron", directory, tmp_path / "MEGATRON", options)

    # Transformer Engine has extra states where Megatron's own modules have none.
    settings, gpt, _ = sources.build(model)
    _, common = megatron.load_strictly(tmp_path / "MEGATRON", gpt, model.per_layer, extra_states=not engine)
    batch = megatron.tokens()
    said = hugging_face.logits(hugging_face.load(directory), batch)
    torch.testing.assert_close(megatron.logits(gpt, batch)[..., :config["vocab_size"]], said, atol=1e-5, rtol=0)

    got, want = compare.only_tensors(compare.read(tmp_path / "MEGATRON")), dict(source)
    for key in ("embedding.word_embeddings.weight", "output_layer.weight"):
        if key in want:
            want[key] = want[key].clone()
            want[key][config["vocab_size"]:] = 0
    if model.name == "nemotron_plain_norms":  # w - 1 + 1 is not always w
        assert got.keys() == want.keys()
        for key in want:
            torch.testing.assert_close(got[key], want[key], atol=1e-6, rtol=0)
    else:
        assert compare.differences(got, want) == []

    meant, args = vars(megatron.arguments(settings, 0, model.tied)), vars(common["args"])
    names = OF_MODEL + (OF_EXPERTS if model.experts else []) + (OF_LATENT_ATTENTION if settings.multi_latent_attention else ["num_query_groups", "group_query_attention"])
    unset = dict(moe_router_topk_scaling_factor=(None, 1.0), moe_shared_expert_gate=(None, False), moe_router_pre_softmax=(None, False))
    wrong = {name: (args.get(name, "absent"), meant[name]) for name in names
             if args.get(name, "absent") != meant[name] and not {args.get(name), meant[name]} <= set(unset.get(name, ()))}
    if settings.multi_latent_attention:
        wrong.pop("kv_channels", None)  # says nothing there
    if settings.add_bias_linear:
        wrong.pop("add_qkv_bias", None)  # neither does this
    assert wrong == {}
    assert args.get("norm_epsilon", args.get("layernorm_epsilon")) == settings.layernorm_epsilon


@each_architecture
def test_there_and_back_is_the_same_directory(architecture, saved, read, ck, tmp_path):
    config = architecture.config_json()
    tensors = architecture.convert(compare.only_tensors(read(saved(architecture.model, 100)[0])))
    directory = hugging_face.write(tmp_path / "HF", config, tensors)
    split(ck, "megatron", directory, tmp_path / "MEGATRON")
    split(ck, "hf", tmp_path / "MEGATRON", tmp_path / "BACK", f"--config {directory}")
    assert compare.differences(hugging_face.read(tmp_path / "BACK"), tensors, any_nan=False) == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_zoo_comes_back_bit_for_bit_with_its_recorded_logits(folder, ck, tmp_path):
    split(ck, "megatron", ZOO / folder / "model", tmp_path / "MEGATRON")
    options = "--config-from template" if folder in ROPE_BY_TEMPLATE else ""
    split(ck, "hf", tmp_path / "MEGATRON", tmp_path / "BACK", f"--config {ZOO / folder / 'model'} {options}")
    assert compare.differences(hugging_face.read(tmp_path / "BACK"), hugging_face.read(ZOO / folder / "model"), any_nan=False) == []
    assert hugging_face.side_files(tmp_path / "BACK") == hugging_face.side_files(ZOO / folder / "model")
    truth = safetensors.torch.load_file(ZOO / folder / "truth.safetensors")
    said = hugging_face.logits(hugging_face.load(tmp_path / "BACK"), truth["tokens"])
    torch.testing.assert_close(said, truth["logits"], atol=2e-5, rtol=0)


# What Megatron's own modules can compute: no (1 + w) norms, no norms after a layer, no windows, no scaled embeddings.
RUN_BY_MEGATRON = ["llama_bias", "llama_sharded", "llama_tied", "llama_untied", "llama_untied_v457", "mistral_nowin",
                   "qwen2", "qwen2_tied", "qwen3", "qwen3_tied", "qwen2_moe", "qwen2_moe_v457", "qwen3_moe", "qwen3_moe_mixed", "qwen3_moe_v457",
                   "mixtral", "mixtral_v457", "deepseek_v3", "deepseek_v3_v457", "glm4_moe", "starcoder2"]


@pytest.mark.parametrize("folder", RUN_BY_MEGATRON)
def test_megatron_runs_the_zoo_with_nothing_but_the_imported_arguments(folder, megatron, ck, tmp_path):
    split(ck, "megatron", ZOO / folder / "model", tmp_path / "MEGATRON", "--transformer-impl local")
    gpt = megatron.model_of(megatron.load_common(tmp_path / "MEGATRON")["args"])
    megatron.load_strictly(tmp_path / "MEGATRON", gpt)
    for name, module in gpt.named_modules():
        if name.endswith((".q_layernorm", ".kv_layernorm")) and gpt.config.multi_latent_attention:
            module.eps = 1e-6  # as transformers has it whatever the config says
    truth = safetensors.torch.load_file(ZOO / folder / "truth.safetensors")
    said = megatron.logits(gpt, truth["tokens"])[..., :truth["logits"].shape[-1]]
    torch.testing.assert_close(said, truth["logits"], atol=2e-5, rtol=0)


@pytest.mark.parametrize("folder", sorted(set(FOLDERS) - ROPE_BY_TEMPLATE - {"llama_seqcls"}))  # nor do arguments say what pads a batch
def test_the_zoo_needs_no_template_to_come_back(folder, ck, tmp_path):
    """What config.json says survives in Megatron's arguments."""
    architecture = json.loads((ZOO / folder / "model" / "config.json").read_text())["architectures"][0]
    split(ck, "megatron", ZOO / folder / "model", tmp_path / "MEGATRON")
    split(ck, "hf", tmp_path / "MEGATRON", tmp_path / "BACK", f"--architecture {architecture}")
    truth = safetensors.torch.load_file(ZOO / folder / "truth.safetensors")
    said = hugging_face.logits(hugging_face.load(tmp_path / "BACK"), truth["tokens"])
    torch.testing.assert_close(said, truth["logits"], atol=2e-5, rtol=0)
