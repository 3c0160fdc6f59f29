"""A second reader of torch_dist checkpoints, in plain Python: no PyTorch, and no code shared with the tools.

It reads what the tools write (contiguous tensors, no transforms) and refuses the rest.
"""

import io
import pathlib
import pickle
import zipfile

ITEM_SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "uint8": 1}
STORAGES = {"FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16", "ByteStorage": "uint8"}


class _Node:
    """An instance of a class that is not there: what it was called with, and its state."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __setstate__(self, state):
        if isinstance(state, dict):
            self.__dict__.update(state)
        else:
            self.state = state

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __hash__(self):
        return 0


class _Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) == ("torch", "Size"):
            return tuple
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        if module == "torch" and name in ITEM_SIZES:
            return name
        return type(name, (_Node,), {})

    def persistent_load(self, identifier):
        return identifier


def _item(data, numel):
    """The raw bytes of the one contiguous tensor in a torch.save archive, its dtype and its shape."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = {name.split("/", 1)[1]: name for name in archive.namelist()}
        tensor = _Unpickler(io.BytesIO(archive.read(names["data.pkl"]))).load()
        storage, offset, shape, stride = tensor.arguments[:4]
        dtype = STORAGES[storage[1].__name__]
        expected, step = [], 1
        for extent in reversed(shape):
            expected.insert(0, step)
            step *= extent
        if step != numel or tuple(expected) != tuple(stride) or offset != 0:
            raise ValueError(f"an item of shape {shape}, stride {stride}, offset {offset}; {numel} elements wanted")
        raw = archive.read(names[f"data/{storage[2]}"])
        if len(raw) != numel * ITEM_SIZES[dtype]:
            raise ValueError(f"{len(raw)} bytes for {numel} elements of {dtype}")
        return raw, dtype


def _place(whole, shape, offsets, sizes, raw, width):
    """Copies a chunk, row by row, to where it belongs."""
    row = sizes[-1] if sizes else 1
    for number in range(len(raw) // (row * width)):
        index, rest = [], number
        for extent in reversed(sizes[:-1]):
            index.insert(0, rest % extent)
            rest //= extent
        position = 0
        for extent, offset, i in zip(shape, offsets, [*index, 0]):
            position = position * extent + offset + i
        whole[position * width:(position + row) * width] = raw[number * row * width:(number + 1) * row * width]


def read(directory):
    """Everything in the checkpoint: {key: (dtype, shape, bytes)} for tensors, {key: bytes} for objects."""
    directory = pathlib.Path(directory)
    metadata = _Unpickler(io.BytesIO((directory / ".metadata").read_bytes())).load()
    files, result, covered = {}, {}, {}
    for index, info in metadata.storage_data.items():
        if info.relative_path not in files:
            files[info.relative_path] = (directory / info.relative_path).read_bytes()
        data = files[info.relative_path][info.offset:info.offset + info.length]
        entry = metadata.state_dict_metadata[index.fqn]
        if not hasattr(entry, "chunks"):
            result[index.fqn] = data
            continue
        offsets = tuple(index.offset)
        sizes, = (tuple(chunk.sizes) for chunk in entry.chunks if tuple(chunk.offsets) == offsets)
        numel = 1
        for extent in sizes:
            numel *= extent
        raw, dtype = _item(data, numel)
        if dtype != entry.properties.state[0]:
            raise ValueError(f"{index.fqn}: an item of {dtype} in a tensor of {entry.properties.state[0]}")
        if index.fqn not in result:
            total = ITEM_SIZES[dtype]
            for extent in entry.size:
                total *= extent
            result[index.fqn] = (dtype, tuple(entry.size), bytearray(total))
        _place(result[index.fqn][2], entry.size, offsets, sizes, raw, ITEM_SIZES[dtype])
        covered[index.fqn] = covered.get(index.fqn, 0) + len(raw)
    for key, count in covered.items():
        if count != len(result[key][2]):
            raise ValueError(f"{key}: chunks hold {count} of {len(result[key][2])} bytes")
    return result
