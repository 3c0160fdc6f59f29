"""Model directories as transformers reads them, on a CPU, from disk alone."""

import json
import os
import pathlib

os.environ["HF_HUB_OFFLINE"] = "1"

import safetensors
import safetensors.torch
import torch
import transformers
from transformers.utils import logging

logging.set_verbosity_error()
logging.disable_progress_bar()


def read(directory):
    """Every tensor of a directory's weight files: {name: tensor}. A name may be in one file only; an index must name exactly these."""
    directory = pathlib.Path(directory)
    tensors, places = {}, {}
    for file in sorted(directory.glob("*.safetensors")):
        with safetensors.safe_open(file, "pt") as opened:
            for name in opened.keys():
                assert name not in tensors, f"{name} is in {places[name]} and {file.name}"
                tensors[name], places[name] = opened.get_tensor(name), file.name
    index = directory / "model.safetensors.index.json"
    if index.exists():
        content = json.loads(index.read_text())
        assert content["weight_map"] == places
        assert content["metadata"]["total_size"] == sum(tensor.nbytes for tensor in tensors.values())
    else:
        assert set(places.values()) == {"model.safetensors"}
    return tensors


def write(directory, config, tensors):
    """A directory as `save_pretrained` would make it, of one file."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True)
    (directory / "config.json").write_text(json.dumps(config, indent=2))
    safetensors.torch.save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    return directory


def load(directory):
    """The model of a directory in fp32, of the class that its config names. Fails unless every weight is there and wanted, with its shape."""
    config = json.loads((pathlib.Path(directory) / "config.json").read_text())
    kind = getattr(transformers, config["architectures"][0])
    model, report = kind.from_pretrained(directory, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager",
                                         output_loading_info=True, local_files_only=True)
    assert {name: list(found) for name, found in report.items() if found} == {}
    return model.eval()


def logits(model, batch):
    with torch.no_grad():
        return model(batch, use_cache=False).logits.float()


def side_files(directory):
    """What lies beside the weights and config.json, and is copied byte for byte."""
    weights = (".safetensors", ".index.json", ".bin")
    return {file.name: file.read_bytes() for file in pathlib.Path(directory).iterdir()
            if not file.name.endswith(weights) and file.name not in ("config.json", "ck-plan.json")}
