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
