"""Megatron-Core's HybridModel without a GPU, beside `megatron_cpu`, whose save and strict load it shares.

Attention, MLP and expert layers are made of Megatron's own modules and run: the real stack wants Transformer Engine, which
stores the same tensors under the same names. Mamba layers are Megatron's, too, so they have its names, shapes and cuts;
their kernels are not here, so a model with `M` can be built, saved and loaded, never run.
"""

import importlib.machinery
import sys
import types

import torch

import megatron_cpu


class _GatedNorm(torch.nn.Module):
    """The parameter of mamba_ssm's norm."""

    def __init__(self, size, device=None, dtype=None, **others):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(size, device=device, dtype=dtype))


def _no_kernel(*args, **kwargs):
    raise RuntimeError("Mamba layers cannot run without mamba_ssm")


_STAND_INS = {"mamba_ssm": {}, "mamba_ssm.ops": {}, "mamba_ssm.ops.triton": {},
              "mamba_ssm.ops.triton.layernorm_gated": {"RMSNorm": _GatedNorm},
              "mamba_ssm.ops.triton.ssd_combined": {"mamba_chunk_scan_combined": _no_kernel, "mamba_split_conv1d_scan_combined": _no_kernel}}
for _name, _members in _STAND_INS.items():
    sys.modules[_name] = types.ModuleType(_name)
    sys.modules[_name].__spec__, sys.modules[_name].__path__ = importlib.machinery.ModuleSpec(_name, None), []
    vars(sys.modules[_name]).update(_members)

from megatron.core import parallel_state
from megatron.core.fusions.fused_bias_dropout import get_bias_dropout_add
from megatron.core.models.hybrid import hybrid_block
from megatron.core.models.hybrid.hybrid_block import HybridStack, HybridStackSubmodules
from megatron.core.models.hybrid.hybrid_model import HybridModel
from megatron.core.ssm.mamba_layer import MambaLayer, MambaLayerSubmodules
from megatron.core.ssm.mamba_mixer import MambaMixer, MambaMixerSubmodules
from megatron.core.ssm.mlp_layer import MLPLayer
from megatron.core.tensor_parallel.layers import ColumnParallelLinear, RowParallelLinear
from megatron.core.transformer.spec_utils import ModuleSpec
from megatron.core.transformer.torch_norm import WrappedTorchNorm
from megatron.core.transformer.transformer_layer import TransformerLayer, TransformerLayerSubmodules

for _name in _STAND_INS:
    del sys.modules[_name]  # transformers would find them, and it computes without kernels

hybrid_block.TENorm = WrappedTorchNorm

ATTENTION = ("input_layernorm", "self_attention", "self_attn_bda")
MLP = ("pre_mlp_layernorm", "mlp", "mlp_bda")


def _half(settings, kind, parts, experts=None):
    """A layer with some parts of a GPT layer. The norm of experts keeps its name; the others are stored with their linear."""
    whole = megatron_cpu.layer_spec(settings, experts).submodules
    kept = TransformerLayerSubmodules(**{name: getattr(whole, name) for name in parts})
    kept.sharded_state_dict_keys_map = {} if experts else dict(whole.sharded_state_dict_keys_map)
    return ModuleSpec(module=kind, submodules=kept)


def _mamba():
    mixer = ModuleSpec(module=MambaMixer, submodules=MambaMixerSubmodules(in_proj=ColumnParallelLinear, out_proj=RowParallelLinear))
    layer = MambaLayerSubmodules(norm=WrappedTorchNorm, mixer=mixer, mamba_bda=get_bias_dropout_add)
    layer.sharded_state_dict_keys_map = {"norm.": "mixer.in_proj.layer_norm_"}
    return ModuleSpec(module=MambaLayer, submodules=layer)


def model(settings, pattern, tied=False):
    """This rank's part of a hybrid whose layers are the symbols of `pattern`; `settings` are those of the GPT, made to fit.

    A pipeline of one stage holds all segments; Megatron would take the first.
    """
    if parallel_state.get_pipeline_model_parallel_world_size() == 1:
        pattern = pattern.replace("|", "")
    settings.num_layers = sum(symbol != "|" for symbol in pattern)
    stack = HybridStackSubmodules(
        mamba_layer=_mamba(), attention_layer=_half(settings, TransformerLayer, ATTENTION), mlp_layer=_half(settings, MLPLayer, MLP),
        moe_layer=_half(settings, TransformerLayer, MLP, settings.num_moe_experts) if settings.num_moe_experts else None)
    return megatron_cpu.finish(HybridModel(
        settings, ModuleSpec(module=HybridStack, submodules=stack), megatron_cpu.VOCABULARY, megatron_cpu.POSITIONS,
        hybrid_layer_pattern=pattern, share_embeddings_and_output_weights=tied, position_embedding_type="rope",
        rotary_base=megatron_cpu.ROTARY_BASE, pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage()))
