#include "libs/megatron/keys.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "libs/base/text.h"

namespace ck::megatron {
namespace {

constexpr std::string_view kNames[] = {"model", "extra_state", "optimizer", "rng", "rerun_state_machine", "common_state", "other"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "model12.": the root of one virtual pipeline chunk.
bool HasNumberedRoot(std::string_view key, std::string_view root, char end) {
  if (!StartsWith(key, root)) return false;
  size_t i = root.size();
  while (i < key.size() && IsDigit(key[i])) ++i;
  return i > root.size() && i < key.size() && key[i] == end;
}

bool StartsWithAny(std::string_view key, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) { return StartsWith(key, prefix); });
}

bool IsExtraState(std::string_view key) {
  return key == "_extra_state" || EndsWith(key, "._extra_state") || StartsWith(key, "_extra_state/") ||
         key.find("._extra_state/") != std::string_view::npos || key.find("._extra_state.") != std::string_view::npos;
}

// The part after `decoder.layers.`, wherever a prefix puts it; empty when the key has none.
std::string_view AfterLayers(std::string_view key) {
  constexpr std::string_view kLayers = "decoder.layers.";
  const size_t at = key.find(kLayers);
  return at == std::string_view::npos ? std::string_view() : key.substr(at + kLayers.size());
}

}  // namespace

KeyClass Classify(std::string_view key) {
  if (StartsWith(key, "optimizer.") || HasNumberedRoot(key, "chained_", '.')) return KeyClass::kOptimizer;
  if (IsExtraState(key)) return KeyClass::kExtraState;
  if (StartsWithAny(key, {"model.", "decoder.", "embedding.", "output_layer.", "mtp."}) || HasNumberedRoot(key, "model", '.')) return KeyClass::kModel;
  if (StartsWithAny(key, {"rng_state/", "rng_state."})) return KeyClass::kRng;
  if (StartsWithAny(key, {"rerun_state_machine_state/", "rerun_state_machine."})) return KeyClass::kRerun;
  if (StartsWith(key, "common_state/")) return KeyClass::kCommon;
  static constexpr std::string_view kLoose[] = {"args", "iteration", "checkpoint_version", "num_floating_point_operations_so_far", "content_metadata"};
  if (std::find(std::begin(kLoose), std::end(kLoose), key) != std::end(kLoose) || StartsWith(key, "opt_param_scheduler")) return KeyClass::kCommon;
  return KeyClass::kOther;
}

std::string_view Name(KeyClass key_class) { return kNames[static_cast<size_t>(key_class)]; }

bool KeepsDtype(std::string_view key) {
  return EndsWith(key, ".expert_bias") || EndsWith(key, ".A_log") || EndsWith(key, "mixer.D") || EndsWith(key, ".dt_bias");
}

bool IsPerLayerKey(std::string_view key) {
  const std::string_view rest = AfterLayers(key);
  return !rest.empty() && IsDigit(rest[0]);
}

bool IsStackedKey(std::string_view key) {
  const std::string_view rest = AfterLayers(key);
  return !rest.empty() && !IsDigit(rest[0]);
}

}  // namespace ck::megatron
