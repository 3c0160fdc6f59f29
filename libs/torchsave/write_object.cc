#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checksum/crc32.h"
#include "libs/pickle/pickle.h"
#include "libs/torchsave/records.h"
#include "libs/torchsave/storage_id.h"
#include "libs/torchsave/write.h"

namespace ck::torchsave {
namespace {

// Fills a layout record by record.
class ArchiveWriter {
 public:
  explicit ArchiveWriter(zip::Layout layout) : layout_(std::move(layout)) { out_.reserve(layout_.total_size); }

  void Add(std::string_view data) {
    const size_t i = crcs_.size();
    Check(i < layout_.records.size() && data.size() == layout_.records[i].size, "a record is as long as planned");
    crcs_.push_back(Crc32(data));
    out_ += zip::LocalHeader(layout_, i);
    out_ += data;
    out_ += zip::DataDescriptor(layout_, i, crcs_.back());
  }

  std::string Finish() {
    Add(SerializationId(layout_.records, crcs_));
    out_ += zip::Tail(layout_, crcs_);
    Check(out_.size() == layout_.total_size, "an archive is as long as planned");
    return std::move(out_);
  }

 private:
  zip::Layout layout_;
  std::vector<uint32_t> crcs_;
  std::string out_;
};

// The ids of the legacy form have a sixth field, and torch's zip reader takes five.
void RefuseLegacyIds(const pickle::Graph& graph, pickle::Ref root) {
  for (const pickle::Ref ref : PersistentNodes(graph, root)) {
    const pickle::Ref id = graph.args(ref);
    if (graph.kind(id) != pickle::Kind::kTuple || graph.items(id).size() != 6) continue;
    throw InputError("torchsave.legacy_object",
                     "an object of a legacy torch.save file cannot be written as a zip archive: load it with torch and "
                     "save it again");
  }
}

}  // namespace

std::string WriteObject(const pickle::Graph& graph, pickle::Ref root, const std::string& root_name,
                        const std::function<std::string(const std::string& key)>& storage_bytes) {
  RefuseLegacyIds(graph, root);
  const std::string pickle = pickle::Pickle(graph, root, pickle::Protocol::k2);
  const std::vector<StorageId> ids = StorageIds(graph, root);
  std::vector<zip::RecordPlan> storages;
  for (const StorageId& id : ids) storages.push_back({id.key, id.size_bytes});

  ArchiveWriter writer(zip::LayOut(PlanRecords(root_name, pickle.size(), storages)));
  writer.Add(pickle);
  for (const FixedRecord& record : kBeforeStorages) writer.Add(record.data);
  for (const StorageId& id : ids) {
    const std::string data = storage_bytes(id.key);
    Check(data.size() == id.size_bytes, Cat("storage ", Quote(id.key), " has the bytes its object says"));
    writer.Add(data);
  }
  writer.Add(kVersionRecord.data);
  return writer.Finish();
}

}  // namespace ck::torchsave
