"""The main job gives, byte for byte, what PyTorch once computed of the same checkpoints. Needs only Python.

usage: CK_BIN=DIRECTORY python3 tests/recorded/recorded_test.py      (DIRECTORY holds the tools; scripts/check does this)
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import torch_dist

RECORDED = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "checkpoints"
DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "U8": "uint8"}


def read_safetensors(path):
    """{key: (dtype, shape, bytes)}"""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    return {key: (DTYPES[entry["dtype"]], tuple(entry["shape"]), data[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]])
            for key, entry in header.items()}


def run(line, **variables):
    environment = {**os.environ, "PATH": f"{os.environ['CK_BIN']}:{os.environ['PATH']}", **variables}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], env=environment, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise AssertionError(f"{line}: exit {done.returncode}\n{done.stderr}")


class Recorded(unittest.TestCase):
    def merged(self, dtype):
        with tempfile.TemporaryDirectory() as work:
            run(f'ck-ls "$RUN" --start 1000 --end 5000 | ck-coeffs --style minus-sqrt | ck-merge --dtype {dtype} | ck-publish "$OUT" >/dev/null',
                RUN=str(RECORDED / "run"), OUT=f"{work}/OUT")
            self.assertEqual(pathlib.Path(f"{work}/OUT/latest_checkpointed_iteration.txt").read_text(), "5000\n")
            return torch_dist.read(f"{work}/OUT/iter_0005000")

    def compare(self, dtype):
        merged = self.merged(dtype)
        expected = read_safetensors(RECORDED / f"expected_minus_sqrt_{dtype}.safetensors")
        self.assertEqual({key for key, value in merged.items() if isinstance(value, tuple)}, expected.keys())
        for key, (kind, shape, data) in expected.items():
            self.assertEqual(merged[key][:2], (kind, shape), key)
            self.assertTrue(merged[key][2] == data, f"{key}: bytes differ")
        objects = {key: value for key, value in merged.items() if isinstance(value, bytes)}
        first = torch_dist.read(RECORDED / "run" / "iter_0001000")
        self.assertEqual(objects, {key: value for key, value in first.items() if "_extra_state" in key})

    def test_same(self):
        self.compare("same")

    def test_float32(self):
        self.compare("float32")

    def test_float16(self):
        self.compare("float16")

    def test_bfloat16(self):
        self.compare("bfloat16")


if __name__ == "__main__":
    unittest.main(verbosity=2)
