"""Builds checkpoints byte by byte, well-formed or not, with the standard library alone: pickles, torch.save archives, `.metadata`, safetensors."""

import io
import json
import struct
import warnings
import zipfile

# --- pickles, opcode by opcode: nothing here is ever a Python object that pickle could refuse to write

METADATA = "torch.distributed.checkpoint.metadata"


def glob(module, name):
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


def text(value):
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def number(value):
    if -2**31 <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


NONE, TRUE, FALSE = b"N", b"\x88", b"\x89"


def sequence(items):
    return b"(" + b"".join(items) + b"t"


def array(items):
    return b"](" + b"".join(items) + b"e"


def mapping(entries):
    return b"}(" + b"".join(key + value for key, value in entries) + b"u"


def instance(module, name, state=None):
    return glob(module, name) + b")\x81" + (b"" if state is None else state + b"b")


def call(function, arguments):
    return function + sequence(arguments) + b"R"


def attributes(**values):
    return mapping((text(name), value) for name, value in values.items())


def size(dims):
    return call(glob("torch", "Size"), [sequence(map(number, dims))])


def program(value, protocol=2):
    return b"\x80" + bytes([protocol]) + value + b"."


# --- torch.save archives

STORAGES = {"float32": ("FloatStorage", 4), "bfloat16": ("BFloat16Storage", 2)}


def archive(pickle, storages=(), method=0, twice=False):
    out = io.BytesIO()
    warnings.simplefilter("ignore")  # of zipfile, about the name twice
    with zipfile.ZipFile(out, "w") as file:
        records = [("data.pkl", pickle), ("byteorder", b"little"), *((f"data/{i}", data) for i, data in enumerate(storages)), ("version", b"3\n")]
        for name, data in records + ([records[0]] if twice else []):
            file.writestr(zipfile.ZipInfo("archive/" + name), data)
    return with_method(out.getvalue(), method)


def with_method(data, method):
    """The archive with another compression method in every header; the bytes of the records stay, so that no compressor's version matters."""
    for signature, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        parts = data.split(signature)
        data = signature.join([parts[0]] + [part[:at - 4] + struct.pack("<H", method) + part[at - 2:] for part in parts[1:]])
    return data


def volume(dims):
    product = 1
    for dim in dims:
        product *= dim
    return product


def tensor_item(dtype, dims, **options):
    storage, element = STORAGES[dtype]
    strides = [volume(dims[i + 1:]) for i in range(len(dims))]
    identity = sequence([text("storage"), glob("torch", storage), text("0"), text("cpu"), number(volume(dims))]) + b"Q"
    tensor = call(glob("torch._utils", "_rebuild_tensor_v2"),
                  [identity, number(0), sequence(map(number, dims)), sequence(map(number, strides)), FALSE, call(glob("collections", "OrderedDict"), [])])
    data = bytes(i % 251 for i in range(volume(dims) * element))
    return archive(program(tensor), [data], **options)


def object_item(value, **options):
    return archive(program(value), **options)


# --- `.metadata`


class Dcp:
    """A directory of tensors and objects; a test changes what it wants before save()."""

    def __init__(self, metadata_json='{"sharded_backend": "torch_dist", "sharded_backend_version": 1}'):
        self.files, self.names, self.items, self.extra = {}, [], [], {}
        self.beside = {} if metadata_json is None else {"metadata.json": metadata_json.encode()}

    def place(self, data, file):
        offset = len(self.files.setdefault(file, b""))
        self.files[file] += data
        return file, offset, len(data)

    def info(self, place):
        file, offset, length = place
        return instance("torch.distributed.checkpoint.filesystem", "_StorageInfo",
                        attributes(relative_path=text(file), offset=number(offset), length=number(length)))

    def index(self, name, offset=None):
        members = {"fqn": text(name), "index": NONE}
        if offset is not None:
            members["offset"] = size(offset)
        return instance(METADATA, "MetadataIndex", attributes(**members))

    def tensor(self, name, dims, chunks, dtype="float32", item_dtype=None, item_dims=None, file="__0_0.distcp", places=None):
        """`chunks`: pairs of offsets and sizes; `places`: where their items are said to lie, instead of in new items."""
        properties = instance(METADATA, "TensorProperties",
                              sequence([glob("torch", dtype), call(glob("torch.serialization", "_get_layout"), [text("torch.strided")]), FALSE,
                                        call(glob(METADATA, "_MEM_FORMAT_ENCODING"), [number(0)]), FALSE]))
        boxes = [instance(METADATA, "ChunkStorageMetadata", attributes(offsets=size(offset), sizes=size(sizes))) for offset, sizes in chunks]
        self.names.append((text(name), instance(METADATA, "TensorStorageMetadata", attributes(properties=properties, size=size(dims), chunks=array(boxes)))))
        for i, (offset, sizes) in enumerate(chunks):
            place = places[i] if places else self.place(tensor_item(item_dtype or dtype, item_dims or sizes), file)
            self.items.append((self.index(name, offset), self.info(place)))

    def whole(self, name, dims, **options):
        self.tensor(name, dims, [([0] * len(dims), dims)], **options)

    def object(self, name, data, file="__0_0.distcp"):
        self.names.append((text(name), instance(METADATA, "BytesStorageMetadata")))
        self.items.append((self.index(name), self.info(self.place(data, file))))

    def metadata(self):
        return program(instance(METADATA, "Metadata", attributes(state_dict_metadata=mapping(self.names), planner_data=NONE,
                                                                 storage_data=mapping(self.items), **self.extra)))

    def written(self):
        return {**self.files, ".metadata": self.metadata(), **self.beside}


def common(iteration=10, **arguments):
    members = {"iteration": number(iteration), "checkpoint_version": b"G" + struct.pack(">d", 3.0)}
    if arguments:
        members["args"] = instance("argparse", "Namespace", attributes(**arguments))
    return mapping((text(name), value) for name, value in members.items())


def model(**options):
    """Two tensors, one in two chunks over two files, and common.pt."""
    out = Dcp(**options)
    out.whole("decoder.final_layernorm.weight", [5])
    halves = [out.place(tensor_item("float32", [2, 3]), f"__{rank}_0.distcp") for rank in (0, 1)]
    out.tensor("embedding.word_embeddings.weight", [4, 3], [([0, 0], [2, 3]), ([2, 0], [2, 3])], places=halves)
    if options.get("metadata_json", "") is not None:
        out.beside["common.pt"] = object_item(common())
    return out


# --- safetensors


def safetensors(tensors, data=None, metadata=None):
    header = {} if metadata is None else {"__metadata__": metadata}
    at = 0
    for name, dims in tensors.items():
        header[name] = {"dtype": "F32", "shape": dims, "data_offsets": [at, at + 4 * volume(dims)]}
        at += 4 * volume(dims)
    return raw_safetensors(json.dumps(header).encode(), bytes(at) if data is None else data)


def raw_safetensors(header, data=b""):
    return struct.pack("<Q", len(header)) + header + data
