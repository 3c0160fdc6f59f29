"""Conversions written a second time, in torch and from the formulas alone, for small models held in memory.

A state is {key: whole tensor}, as `compare.read` gives it.
"""

import torch

EXPERTS = "mlp.experts.experts."


def layers_of(state):
    """The decoder's tensors as one dict for each layer, whether they are stacked or have a key of their own."""
    layers = {}
    for key, tensor in state.items():
        if key.startswith("decoder.layers."):
            name = key.removeprefix("decoder.layers.")
            index, _, rest = name.partition(".")
            rows = {int(index): tensor} if index.isdigit() else dict(enumerate(tensor))
            for layer, row in rows.items():
                layers.setdefault(layer, {})[rest if index.isdigit() else name] = row
    return [layers[index] for index in range(len(layers))]


def hybrid(state, pattern):
    """A GPT as the layers of a hybrid: the i-th `*` is layer i's attention, the i-th `-` or `E` its MLP. Mamba layers have nothing yet."""
    symbols = pattern.replace("|", "")
    attentions = [place for place, symbol in enumerate(symbols) if symbol == "*"]
    mlps = [place for place, symbol in enumerate(symbols) if symbol in "-E"]
    converted = {key: tensor for key, tensor in state.items() if not key.startswith("decoder.")}
    for part in ("weight", "bias"):
        if f"decoder.final_layernorm.{part}" in state:
            converted[f"decoder.final_norm.{part}"] = state[f"decoder.final_layernorm.{part}"]
    for attention, mlp, layer in zip(attentions, mlps, layers_of(state), strict=True):
        for name, tensor in layer.items():
            if symbols[mlp] == "E" and name.startswith("mlp.linear_fc1.layer_norm_"):
                name = name.replace("mlp.linear_fc1.layer_norm_", "pre_mlp_layernorm.")  # a local GPT's name for it
            place = attention if name.startswith(("self_attention.", "input_layernorm.")) else mlp
            converted[f"decoder.layers.{place}.{name}"] = tensor
    return converted


def _qkv(rows, heads, groups, prefix, part):
    """Fused rows are, for each group, its query heads, then its key, then its value; transformers has three tensors."""
    inner = rows.shape[0] // (heads + 2 * groups)
    blocks = rows.reshape(groups, heads // groups + 2, inner, *rows.shape[1:])
    split = dict(q=blocks[:, :-2], k=blocks[:, -2:-1], v=blocks[:, -1:])
    return {f"{prefix}.{name}_proj.{part}": tensor.flatten(0, 2) for name, tensor in split.items()}


def _mlp(fc1, fc2, prefix, gated, names=("gate_proj", "up_proj", "down_proj"), part="weight"):
    """Gate rows come before up rows."""
    halves = dict(zip(names, fc1.chunk(2))) if gated else {names[1]: fc1}
    return {f"{prefix}.{name}.{part}": tensor for name, tensor in {**halves, names[2]: fc2}.items()}


LATENT = {"linear_q_proj.weight": "q_proj.weight", "linear_q_down_proj.weight": "q_a_proj.weight", "q_layernorm.weight": "q_a_layernorm.weight",
          "linear_q_up_proj.weight": "q_b_proj.weight", "linear_kv_down_proj.weight": "kv_a_proj_with_mqa.weight",
          "linear_q_up_proj.layer_norm_weight": "q_a_layernorm.weight", "linear_kv_up_proj.layer_norm_weight": "kv_a_layernorm.weight",
          "kv_layernorm.weight": "kv_a_layernorm.weight", "linear_kv_up_proj.weight": "kv_b_proj.weight", "linear_proj.weight": "o_proj.weight"}


def _attention(layer, prefix, config):
    own = {name.removeprefix("self_attention."): tensor for name, tensor in layer.items() if name.startswith("self_attention.")}
    if "linear_kv_down_proj.weight" in own:
        return {f"{prefix}.{LATENT[name]}": tensor for name, tensor in own.items()}
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    result = {}
    for part in ("weight", "bias"):
        if f"linear_proj.{part}" in own:
            result[f"{prefix}.o_proj.{part}"] = own[f"linear_proj.{part}"]
        if f"linear_qkv.{part}" in own:
            result.update(_qkv(own[f"linear_qkv.{part}"], heads, groups, prefix, part))
    for name in ("q", "k"):
        if f"{name}_layernorm.weight" in own:
            result[f"{prefix}.{name}_norm.weight"] = own[f"{name}_layernorm.weight"]
    return result


def _experts(layer, prefix, config):
    mixtral = config["model_type"] == "mixtral"
    block = f"{prefix}.block_sparse_moe" if mixtral else f"{prefix}.mlp"
    result = {f"{block}.gate.weight": layer["mlp.router.weight"]}
    if "mlp.router.expert_bias" in layer:
        result[f"{block}.gate.e_score_correction_bias"] = layer["mlp.router.expert_bias"]
    names = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
    for expert, (fc1, fc2) in enumerate(zip(layer[f"{EXPERTS}linear_fc1.weight"], layer[f"{EXPERTS}linear_fc2.weight"], strict=True)):
        result.update(_mlp(fc1, fc2, f"{block}.experts.{expert}", True, names))
    if "mlp.shared_experts.linear_fc1.weight" in layer:
        shared = "shared_expert" if config["model_type"] == "qwen2_moe" else "shared_experts"
        result.update(_mlp(layer["mlp.shared_experts.linear_fc1.weight"], layer["mlp.shared_experts.linear_fc2.weight"], f"{block}.{shared}", True))
    if "mlp.shared_experts.gate_weight" in layer:
        result[f"{block}.shared_expert_gate.weight"] = layer["mlp.shared_experts.gate_weight"]
    return result


def _norm_key(layer, of_attention):
    """Where a layer's norm is stored: with the linear after it, or alone."""
    alone, fused = ("input_layernorm.", "self_attention.linear_qkv.layer_norm_") if of_attention else ("pre_mlp_layernorm.", "mlp.linear_fc1.layer_norm_")
    return alone if f"{alone}weight" in layer else fused


def _gpt_neox(state):
    """Its rows of query, key and value are fused as Megatron's are."""
    result = {"gpt_neox.embed_in.weight": state["embedding.word_embeddings.weight"], "embed_out.weight": state["output_layer.weight"]}
    for part in ("weight", "bias"):
        result[f"gpt_neox.final_layer_norm.{part}"] = state[f"decoder.final_layernorm.{part}"]
        for index, layer in enumerate(layers_of(state)):
            names = {"input_layernorm": f"self_attention.linear_qkv.layer_norm_{part}", "post_attention_layernorm": f"mlp.linear_fc1.layer_norm_{part}",
                     "attention.query_key_value": f"self_attention.linear_qkv.{part}", "attention.dense": f"self_attention.linear_proj.{part}",
                     "mlp.dense_h_to_4h": f"mlp.linear_fc1.{part}", "mlp.dense_4h_to_h": f"mlp.linear_fc2.{part}"}
            result.update({f"gpt_neox.layers.{index}.{name}.{part}": layer[key] for name, key in names.items()})
    return result


def _like_llama(state, config, zero_centred):
    result = {"model.embed_tokens.weight": state["embedding.word_embeddings.weight"]}
    if "output_layer.weight" in state:
        result["lm_head.weight"] = state["output_layer.weight"]
    one = config["model_type"] == "nemotron" and not zero_centred  # transformers' Nemotron adds 1 while it runs
    norms = [("model.norm", state, "decoder.final_layernorm.")]
    for index, layer in enumerate(layers_of(state)):
        prefix = f"model.layers.{index}"
        norms.append((f"{prefix}.input_layernorm", layer, _norm_key(layer, of_attention=True)))
        norms.append((f"{prefix}.post_attention_layernorm", layer, _norm_key(layer, of_attention=False)))
        result.update(_attention(layer, f"{prefix}.self_attn", config))
        if "mlp.router.weight" in layer:
            result.update(_experts(layer, prefix, config))
        for part in ("weight", "bias"):
            if f"mlp.linear_fc1.{part}" in layer:
                names = (None, "c_fc", "c_proj") if config["model_type"] == "starcoder2" else ("gate_proj", "up_proj", "down_proj")
                result.update(_mlp(layer[f"mlp.linear_fc1.{part}"], layer[f"mlp.linear_fc2.{part}"], f"{prefix}.mlp", config["hidden_act"] == "silu", names, part))
    for name, source, key in norms:
        result[f"{name}.weight"] = source[f"{key}weight"] - 1 if one else source[f"{key}weight"]
        if f"{key}bias" in source:
            result[f"{name}.bias"] = source[f"{key}bias"]
    return result


def _fused(result, groups):
    """Rows of several tensors one after the other as one: {name of the whole: names of its parts}."""
    for whole, parts in groups.items():
        for prefix in [name.removesuffix(f"{parts[0]}.weight") for name in result if name.endswith(f"{parts[0]}.weight")]:
            result[f"{prefix}{whole}.weight"] = torch.cat([result.pop(f"{prefix}{part}.weight") for part in parts])
    return result


def hugging_face(state, config, zero_centred=False):
    """A GPT as transformers names and shapes it, for a config.json of `architectures.ARCHITECTURES`. `zero_centred`: its norms are stored less 1."""
    result = _gpt_neox(state) if config["model_type"] == "gpt_neox" else _like_llama(state, config, zero_centred)
    if config["model_type"] == "phi3":
        result = _fused(result, {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")})
    of_words = ("embed_tokens.weight", "lm_head.weight", "embed_in.weight", "embed_out.weight")
    return {name: (tensor[:config["vocab_size"]] if name.endswith(of_words) else tensor).contiguous() for name, tensor in result.items()}


def fsdp(state, gated=True):
    """A GPT or a hybrid as Megatron-FSDP names it: a key for each layer and expert, gate and up apart, everything under `module.`."""
    named = {}
    for index, layer in enumerate(layers_of(state)):
        for name, tensor in layer.items():
            whole, _, part = name.rpartition(".")
            rows = [(name, tensor)]
            if name.startswith(EXPERTS):
                rows = [(f"mlp.experts.{whole.removeprefix(EXPERTS)}.{part}{expert}", row) for expert, row in enumerate(tensor)]
            if gated and whole.endswith("linear_fc1") and part in ("weight", "bias"):
                rows = [(f"{long}_{half}", piece) for long, row in rows for half, piece in zip("wv", row.chunk(2))]
            named.update({f"module.decoder.layers.{index}.{long}": row.contiguous() for long, row in rows})
    others = {f"module.{key}": tensor for key, tensor in state.items() if not key.startswith("decoder.layers.")}
    return {**others, **named}
