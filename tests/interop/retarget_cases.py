"""Models that become hybrids and back: every shape of tensor that a layer can have, stacked and with a key for each layer."""

import dataclasses

import torch

from sources import Model


@dataclasses.dataclass(frozen=True)
class Case:
    model: Model
    pattern: str

    @property
    def back(self):
        """Options that make the model again of its hybrid."""
        per_layer = self.model.per_layer or isinstance(self.model.moe_layers, tuple)
        return f"--to gpt{' --per-layer' if per_layer else ''}{'' if self.model.engine_names else ' --transformer-impl local'}"

    @property
    def hybrid(self):
        """The hybrid that the model becomes, as one of Megatron's own."""
        return dataclasses.replace(self.model, name=f"{self.model.name}_hybrid", pattern=self.pattern)


SHARED = (("moe_shared_expert_intermediate_size", 14), ("moe_shared_expert_gate", True))
BIASED = (("add_bias_linear", True), ("normalization", "LayerNorm"), ("gated_linear_unit", False), ("activation_func", torch.nn.functional.gelu))

CASES = [
    Case(Model("dense_stacked", torch.float32), "*-*-"),
    Case(Model("dense_stacked_tied_bf16", torch.bfloat16, tied=True, layers=3), "*-*-*-"),
    Case(Model("dense_per_layer", torch.float32, per_layer=True), "*-|*-"),
    Case(Model("qk_norm_stacked", torch.float32, settings=(("qk_layernorm", True),)), "*-*-"),
    Case(Model("qkv_bias_per_layer_tied", torch.float32, per_layer=True, tied=True, settings=(("add_qkv_bias", True),)), "*-*-"),
    Case(Model("all_biases_stacked", torch.float32, settings=BIASED), "*-*-"),
    Case(Model("moe_stacked", torch.float32, experts=3), "*E*E"),
    Case(Model("moe_stacked_bf16", torch.bfloat16, experts=3), "*E*E"),
    Case(Model("moe_engine_names", torch.float32, experts=3, engine_names=True), "*E*E"),
    Case(Model("moe_shared_engine_names", torch.float32, experts=3, engine_names=True, settings=SHARED), "*E*E"),
    Case(Model("moe_shared_per_layer", torch.float32, experts=3, moe_layers=(1, 1), settings=SHARED), "*E*E"),
    Case(Model("moe_shared_stacked", torch.float32, experts=3, tied=True, settings=SHARED), "*E|*E"),
]
BY_NAME = {case.model.name: case for case in CASES}
