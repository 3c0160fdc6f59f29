"""The other side of every comparison: tensors as PyTorch reads them, and sums as PyTorch computes them."""

import warnings

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import TensorStorageMetadata

DTYPE_NAMES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}

# Kept in fp32 whatever dtype a merge is asked for, for training keeps them so.
KEPT_IN_FP32 = ("expert_bias", "A_log", "D", "dt_bias")


def is_extra_state(key):
    return "_extra_state" in key


class _StoredBytes(dcp.DefaultLoadPlanner):
    """Leaves byte objects as they are stored: two objects that look equal may differ in their bytes."""

    def __init__(self):
        super().__init__(flatten_state_dict=False, flatten_sharded_tensors=False)

    def load_bytes(self, read_item, value):
        self.state_dict[read_item.dest_index.fqn] = value.getvalue()


def read(path):
    """Everything in a checkpoint by key: tensors whole, in one process; byte objects as the bytes that are stored."""
    reader = dcp.FileSystemReader(path)
    stored = reader.read_metadata().state_dict_metadata
    state = {key: torch.empty(entry.size, dtype=entry.properties.dtype) if isinstance(entry, TensorStorageMetadata)
             else b"" for key, entry in stored.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # says that there is no process group; so we want it
        dcp.load(state, storage_reader=reader, planner=_StoredBytes(), no_dist=True)
    return state


def only_tensors(state):
    return {key: value for key, value in state.items() if isinstance(value, torch.Tensor)}


def cut_alike(pieces, whole):
    """Two flat dicts to compare: pieces {key: [(place, tensor)]} of a model, and the same places of whole tensors."""
    got, want = {}, {}
    for key, parts in pieces.items():
        for place, tensor in parts:
            got[f"{key} {place}"] = tensor
            want[f"{key} {place}"] = whole[key][place].reshape(tensor.shape)
    return got, want


def weighted_sum(sources, weights, dtype=None, cast_all=False):
    """sum(weight * tensor) in fp32 in the order given, rounded once to `dtype` (None: each tensor's own).

    A source of weight 0 takes no part, so that its NaNs and infinities do not. Extra states come from the first source.
    """
    result = {}
    for key, first in sources[0].items():
        if is_extra_state(key):
            result[key] = first.clone()
            continue
        total = torch.zeros(first.shape, dtype=torch.float32)
        for source, weight in zip(sources, weights, strict=True):
            if weight != 0:
                total.add_(source[key].float(), alpha=weight)
        keep = first.dtype if dtype is None or (not cast_all and key.split(".")[-1] in KEPT_IN_FP32) else dtype
        result[key] = total.to(keep)
    return result


def differences(got, want, any_nan=True):
    """One line for each key that is missing, not expected, or differs in dtype, shape or bits; NaNs equal each other (any_nan)."""
    lines = [f"{key}: missing" for key in sorted(want.keys() - got.keys())]
    lines += [f"{key}: not expected" for key in sorted(got.keys() - want.keys())]
    for key in sorted(want.keys() & got.keys()):
        g, w = got[key], want[key]
        if (g.dtype, g.shape) != (w.dtype, w.shape):
            lines.append(f"{key}: {g.dtype} {tuple(g.shape)}, expected {w.dtype} {tuple(w.shape)}")
            continue
        same = _bits(g) == _bits(w)
        if any_nan and g.is_floating_point():
            same |= g.isnan() & w.isnan()
        if not same.all():
            where = (~same).nonzero()[0].tolist()
            lines.append(f"{key}: {(~same).sum()} of {g.numel()} elements differ, first at {where}: "
                         f"{g[tuple(where)].item()!r}, expected {w[tuple(where)].item()!r}")
    return lines


def _bits(tensor):
    """The elements as integers of the same width (the sign of zero counts)."""
    width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    return tensor.contiguous().view(width)
