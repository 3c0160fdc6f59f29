#include "libs/torchsave/read.h"

#include <functional>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/bytes/reader.h"
#include "libs/bytes/source.h"
#include "libs/pickle/graph.h"
#include "libs/pickle/pickle.h"
#include "libs/torchsave/testing/fixtures.h"
#include "libs/zip/archive.h"
#include "libs/zip/testing/zip_builder.h"

namespace ck::torchsave {
namespace {

using pickle::Graph;
using pickle::Kind;
using pickle::Ref;
using testing::Fixture;
using testing::Items;
using zip::testing::BuildZip;
using zip::testing::RecordSpec;

SavedObject Read(const std::string& file) {
  return ReadObject(bytes::StringSource(file));
}

std::string IdOf(const std::string& file) {
  try {
    const SavedObject object = Read(file);
    for (Ref ref = 0; ref < object.graph.size(); ++ref) AsTensor(object, ref);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput) << error.message();
    return error.id();
  }
}

// The pickle of a list of one float storage "0" of two elements.
std::string StoragePickle(std::string_view key = "0", int64_t elements = 2) {
  Graph graph;
  const Ref id = graph.NewTuple({graph.NewString("storage"), graph.NewGlobal("torch", "FloatStorage"),
                                 graph.NewString(key), graph.NewString("cpu"), graph.NewInt(elements)});
  return pickle::Pickle(graph, graph.NewList({graph.NewPersistent(id)}), pickle::Protocol::k2);
}

TEST(TorchSaveRead, FilesOfEachVersion) {
  const struct {
    const char* file;
    FileForm form;
    const char* root_name;
  } kCases[] = {
      {"t113_common.pt", FileForm::kZip, "common"},   {"t26_common.pt", FileForm::kZip, "common"},
      {"t214_common.pt", FileForm::kZip, "common"},   {"t26_foo.bar.pt", FileForm::kZip, "foo.bar"},
      {"t214_foo.bar.pt", FileForm::kZip, "foo.bar"}, {"t26_nocrc.pt", FileForm::kZip, "archive"},
      {"t26_legacy.pt", FileForm::kLegacy, ""},       {"t214_legacy.pt", FileForm::kLegacy, ""},
  };
  for (const auto& c : kCases) {
    const std::string file = Fixture(c.file);
    const SavedObject object = Read(file);
    EXPECT_EQ(object.form, c.form) << c.file;
    EXPECT_EQ(object.root_name, c.root_name) << c.file;
    ASSERT_EQ(object.storages.size(), 1u) << c.file;
    EXPECT_LE(object.storages[0].offset + object.storages[0].size_bytes, file.size());
  }
}

TEST(TorchSaveRead, TheTensorOfAFile) {
  // torch.arange(4) as float32, in the zip and in the legacy form.
  for (const char* name : {"t26_foo.bar.pt", "t214_foo.bar.pt", "t214_nocrc.pt", "t214_legacy.pt"}) {
    const std::string file = Fixture(name);
    const SavedObject object = Read(file);
    size_t tensors = 0;
    for (Ref ref = 0; ref < object.graph.size(); ++ref) {
      const auto view = AsTensor(object, ref);
      if (!view) continue;
      ++tensors;
      EXPECT_EQ(view->dtype, DType::kF32) << name;
      EXPECT_TRUE(view->IsRowMajor());
      bytes::Reader data(std::string_view(file).substr(view->data_offset(), view->storage.size_bytes), "test.truncated",
                         "data");
      EXPECT_EQ(data.U32(), 0x00000000u) << name;
      EXPECT_EQ(data.U32(), 0x3F800000u) << name;
      EXPECT_EQ(data.U32(), 0x40000000u) << name;
    }
    EXPECT_EQ(tensors, 1u) << name;
  }
}

TEST(TorchSaveRead, ItemsOfACheckpoint) {
  for (const char* file : {"t26_basic/__0_0.distcp", "t214_basic/__0_0.distcp"}) {
    std::string tensors;
    for (const std::string& item : Items(Fixture(file))) {
      const SavedObject object = Read(item);
      EXPECT_EQ(object.root_name, "archive");
      const auto view = AsTensor(object, object.root);
      if (view) tensors += std::string(Name(view->dtype)) + FormatBox(Box{view->shape, view->strides}) + "; ";
    }
    EXPECT_EQ(tensors, "F32[3, 4] + [4, 1]; BF16[5] + [1]; F32[2] + [1]; F32[] + []; F32[0, 4] + [4, 1]; ") << file;
  }
}

TEST(TorchSaveRead, EveryRefusalHasItsId) {
  const std::string pickle = StoragePickle();
  const RecordSpec data_pkl{"a/data.pkl", pickle}, data{"a/data/0", "12345678"};
  RecordSpec damaged = data_pkl;
  damaged.local_crc = damaged.central_crc = 1;
  const std::string kLegacyMagic("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
  std::string tar(1024, '\0');
  tar.replace(257, 5, "ustar");
  const struct {
    const char* what;
    std::string file;
    const char* id;
  } kCases[] = {
      {"whole", BuildZip({data_pkl, data}), ""},
      {"little", BuildZip({data_pkl, {"a/byteorder", "little"}, data, {"a/version", "3\n"}}), ""},
      {"sum not known",
       [&] {
         RecordSpec r = data_pkl;
         return r.local_crc = r.central_crc = 0, BuildZip({r, data});
       }(),
       ""},
      {"empty", "", "torchsave.not_torch"},
      {"text", "hello, this is no checkpoint", "torchsave.not_torch"},
      {"safetensors", std::string("\x10\0\0\0\0\0\0\0{}              ", 24), "torchsave.not_torch"},
      {"preview of 1.0", "PYTORCH1 and more", "torchsave.not_torch"},
      {"tar", tar, "torchsave.tar"},
      {"another zip", BuildZip({{"word/document.xml", "<a/>"}}), "torchsave.no_data_pkl"},
      {"data.pkl of another root", BuildZip({{"b/x", "1"}, data_pkl, data}), "torchsave.no_data_pkl"},
      {"no root", BuildZip({{"data.pkl", pickle}}), "torchsave.no_data_pkl"},
      {"TorchScript", BuildZip({data_pkl, data, {"a/constants.pkl", "x"}}), "torchsave.torchscript"},
      {"big-endian", BuildZip({data_pkl, {"a/byteorder", "big"}, data}), "torchsave.big_endian"},
      {"strange order", BuildZip({data_pkl, {"a/byteorder", "middle"}, data}), "torchsave.big_endian"},
      {"version 11", BuildZip({data_pkl, data, {"a/version", "11\n"}}), "torchsave.not_torch"},
      {"version 0", BuildZip({data_pkl, data, {"a/version", "0"}}), "torchsave.not_torch"},
      {"version of many digits", BuildZip({data_pkl, data, {"a/version", std::string(1000, '3')}}),
       "torchsave.not_torch"},
      {"damaged pickle", BuildZip({damaged, data}), "torchsave.crc_mismatch"},
      {"storage missing", BuildZip({data_pkl}), "torchsave.storage_missing"},
      {"storage of another root", BuildZip({data_pkl, {"b/data/0", "12345678"}}), "torchsave.storage_missing"},
      {"storage short", BuildZip({data_pkl, {"a/data/0", "1234567"}}), "torchsave.storage_size"},
      {"storage long", BuildZip({data_pkl, {"a/data/0", "123456789"}}), "torchsave.storage_size"},
      {"more bytes than 2^64", BuildZip({{"a/data.pkl", StoragePickle("0", int64_t{1} << 62)}, data}),
       "torchsave.limit_exceeded"},
      {"no storage", BuildZip({{"a/data.pkl", "\x80\x02K\x01Q."}}), "torchsave.bad_tensor"},
      {"cut pickle", BuildZip({{"a/data.pkl", pickle.substr(0, pickle.size() - 1)}, data}), "pickle.no_stop"},
      {"legacy, nothing more", kLegacyMagic, "pickle.no_stop"},
      {"legacy of another protocol", kLegacyMagic + "\x80\x02K\x07.", "torchsave.not_torch"},
      {"legacy without byte order", kLegacyMagic + "\x80\x02M\xe9\x03.\x80\x02}.", "torchsave.not_torch"},
      {"legacy, big-endian",
       kLegacyMagic + "\x80\x02M\xe9\x03.\x80\x02}X\x0d" + std::string(3, '\0') + "little_endian\x89s.",
       "torchsave.big_endian"},
  };
  for (const auto& c : kCases) EXPECT_EQ(IdOf(c.file), c.id) << c.what;
}

TEST(TorchSaveRead, OneStorageHasOneSize) {
  Graph graph;
  const auto storage = [&](int64_t elements) {
    return graph.NewPersistent(graph.NewTuple({graph.NewString("storage"), graph.NewGlobal("torch", "FloatStorage"),
                                               graph.NewString("0"), graph.NewString("cpu"), graph.NewInt(elements)}));
  };
  const Ref root = graph.NewList({storage(2), storage(1)});
  const std::string pickle = pickle::Pickle(graph, root, pickle::Protocol::k2);
  EXPECT_EQ(IdOf(BuildZip({{"a/data.pkl", pickle}, {"a/data/0", "12345678"}})), "torchsave.storage_size");
}

// [magic, 1001, system, object] of the legacy form, from a real file; the keys and storages follow.
std::string LegacyHead() {
  const std::string file = Fixture("t214_legacy.pt");
  const size_t keys = file.rfind("\x80\x02]");
  EXPECT_NE(keys, std::string::npos);
  return file.substr(0, keys);
}

TEST(TorchSaveRead, LegacyStorages) {
  const std::string file = Fixture("t214_legacy.pt"), head = LegacyHead();
  const std::string keys = file.substr(head.size(), file.find('.', head.size()) + 1 - head.size());
  const std::string data = file.substr(head.size() + keys.size());
  EXPECT_EQ(IdOf(head + keys + data), "");
  EXPECT_EQ(IdOf(head + "\x80\x02]." + data), "torchsave.storage_missing");
  EXPECT_EQ(IdOf(head + "\x80\x02]X\x01" + std::string(3, '\0') + "9a." + data), "torchsave.storage_missing");
  EXPECT_EQ(IdOf(head + "\x80\x02]K\x01" + "a." + data), "torchsave.not_torch");
  EXPECT_EQ(IdOf(head + "\x80\x02K\x01." + data), "torchsave.not_torch");
  EXPECT_EQ(IdOf(head + keys + data.substr(0, 5)), "torchsave.storage_size");
  EXPECT_EQ(IdOf(head + keys + data.substr(0, data.size() - 1)), "torchsave.storage_size");
  EXPECT_EQ(IdOf(head + keys + "\x05" + data.substr(1)), "torchsave.storage_size");
}

// A pickle of more than 64 KiB: the head is read in several pieces.
TEST(TorchSaveRead, LegacyWithALongPickle) {
  const std::string system = Fixture("t214_legacy.pt");
  const std::string before = system.substr(0, system.find("\x80\x02", system.find("little_endian")));
  Graph graph;
  const Ref root = graph.NewString(std::string(1'000'000, 'x'));
  const SavedObject object = Read(before + pickle::Pickle(graph, root, pickle::Protocol::k2) + "\x80\x02].");
  EXPECT_EQ(object.graph.kind(object.root), Kind::kString);
  EXPECT_EQ(object.graph.bytes(object.root).size(), 1'000'000u);
}

TEST(TorchSaveRead, OnlyTheWholeFileIsRead) {
  for (const char* name : {"t113_common.pt", "t26_foo.bar.pt", "t214_common.pt", "t26_legacy.pt", "t214_legacy.pt"}) {
    const std::string file = Fixture(name);
    for (size_t length = 0; length < file.size(); ++length)
      ASSERT_NE(IdOf(file.substr(0, length)), "") << name << " cut to " << length;
    EXPECT_EQ(IdOf(file), "");
  }
}

TEST(TorchSaveRead, FlippedBitsNeverCrash) {
  for (const char* name : {"t214_foo.bar.pt", "t214_nocrc.pt", "t214_legacy.pt"}) {
    const std::string original = Fixture(name);
    size_t refused = 0;
    for (size_t bit = 0; bit < original.size() * 8; ++bit) {
      std::string file = original;
      file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << bit % 8));
      try {
        const SavedObject object = Read(file);
        for (Ref ref = 0; ref < object.graph.size(); ++ref) {
          const auto view = AsTensor(object, ref);
          if (view && Volume(view->shape) > 0) {
            EXPECT_LT(view->data_offset(), file.size());
          }
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kInput) << error.message();
        ++refused;
      }
    }
    EXPECT_GT(refused, 500u) << name;
  }
}

// Counts what is read.
class CountingSource : public bytes::StringSource {
 public:
  using StringSource::StringSource;
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override {
    ++reads;
    read_bytes += length;
    StringSource::ReadInto(offset, length, out);
  }
  mutable uint64_t reads = 0, read_bytes = 0;
};

// An item around a transposed parameter: shape [3, rows], strides (1, 3).
std::string TransposedItem(int64_t rows) {
  Graph graph;
  const auto number = [&](int64_t value) { return graph.NewInt(value); };
  const Ref id = graph.NewTuple({graph.NewString("storage"), graph.NewGlobal("torch", "ByteStorage"),
                                 graph.NewString("0"), graph.NewString("cpu"), number(3 * rows)});
  const Ref args = graph.NewTuple({graph.NewPersistent(id), number(0), graph.NewTuple({number(3), number(rows)}),
                                   graph.NewTuple({number(1), number(3)}), graph.NewBool(false), graph.NewNone()});
  const Ref root = graph.NewObject(pickle::Form::kReduce, graph.NewGlobal("torch._utils", "_rebuild_tensor_v2"), args);
  return BuildZip({{"archive/data.pkl", pickle::Pickle(graph, root, pickle::Protocol::k2)},
                   {"archive/byteorder", "little"},
                   {"archive/data/0", std::string(static_cast<size_t>(3 * rows), 'd')},
                   {"archive/version", "3\n"}});
}

TEST(TensorItem, OfASmallItemOneReadGetsAll) {
  const std::string item = Items(Fixture("t214_basic/__0_0.distcp")).back();
  const CountingSource source(item);
  const TensorView view = ReadTensorItem(source);
  EXPECT_EQ(source.reads, 1u);
  EXPECT_LT(view.storage.offset, item.size());
}

TEST(TensorItem, OfALongItemTwoReadsGetTheEnds) {
  const std::string item = TransposedItem(400'000);
  const CountingSource source(item);
  const TensorView view = ReadTensorItem(source);
  EXPECT_EQ(source.reads, 2u);
  EXPECT_EQ(source.read_bytes, 8192u);
  EXPECT_EQ(view.shape, (Dims{3, 400'000}));
  EXPECT_EQ(view.strides, (Dims{1, 3}));
  EXPECT_FALSE(view.IsRowMajor());
  EXPECT_EQ(item.substr(view.data_offset(), 1'200'000), std::string(1'200'000, 'd'));
}

TEST(TensorItem, AnObjectIsNone) {
  for (const char* file : {"t214_common.pt", "t26_common.pt"}) {
    const std::string item = Fixture(file);
    try {
      ReadTensorItem(bytes::StringSource(item, "item"));
      ADD_FAILURE() << file;
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "torchsave.bad_tensor");
      EXPECT_EQ(error.message(), "item: the saved object is no tensor");
    }
  }
}

}  // namespace
}  // namespace ck::torchsave
