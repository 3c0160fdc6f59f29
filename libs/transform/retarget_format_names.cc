#include "libs/transform/retarget_format_names.h"

#include "libs/base/text.h"

namespace ck::transform {
namespace {

constexpr std::string_view kExperts = "mlp.experts.";
constexpr std::string_view kLocalExperts = "mlp.experts.local_experts.";
constexpr std::string_view kStored = "mlp.experts.experts.";  // torch_dist

// Splits "weight12" into "weight" and 12.
std::optional<uint64_t> TakeNumber(std::string_view& text) {
  size_t digits = 0;
  while (digits < text.size() && text[text.size() - 1 - digits] >= '0' && text[text.size() - 1 - digits] <= '9') ++digits;
  if (digits == 0) return std::nullopt;
  const auto number = ParseUint64(text.substr(text.size() - digits));
  if (number) text.remove_suffix(digits);
  return number;
}

}  // namespace

FsdpName ParseFsdpName(std::string_view rest) {
  FsdpName out;
  std::string_view text = rest;
  if (EndsWith(text, "_w") || EndsWith(text, "_v")) {
    out.half = text.back() == 'w' ? Half::kGate : Half::kUp;
    text.remove_suffix(2);
  }
  if (StartsWith(text, kLocalExperts)) {
    text.remove_prefix(kLocalExperts.size());
    const size_t dot = text.find('.');
    out.expert = ParseUint64(text.substr(0, dot));
    if (out.expert && dot != std::string_view::npos) {
      out.rest = Cat(kStored, text.substr(dot + 1));
      return out;
    }
    out.expert.reset();
    out.rest = rest;
    return out;
  }
  if (StartsWith(text, kExperts)) {
    out.expert = TakeNumber(text);
    out.rest = Cat(kStored, text.substr(kExperts.size()));
    return out;
  }
  out.rest = text;
  return out;
}

bool IsGatedTensor(std::string_view rest) {
  return StartsWith(rest, "mlp.") && (EndsWith(rest, "linear_fc1.weight") || EndsWith(rest, "linear_fc1.bias"));
}

std::string FormatFsdpName(const FsdpName& name) {
  std::string out = name.rest;
  if (name.expert) out = Cat(kExperts, out.substr(kStored.size()), *name.expert);
  if (name.half) out += *name.half == Half::kGate ? "_w" : "_v";
  return out;
}

}  // namespace ck::transform
