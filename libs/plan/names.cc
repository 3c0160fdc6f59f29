#include "libs/plan/names.h"

namespace ck::plan {

const NameTable<Format>& NamesOf(Format) {
  static const NameTable<Format> kNames = {{Format::kTorchDist, "torch_dist"},
                                           {Format::kFsdpDtensor, "fsdp_dtensor"},
                                           {Format::kDcp, "dcp"},
                                           {Format::kSafetensors, "safetensors"}};
  return kNames;
}

const NameTable<SaveDtype>& NamesOf(SaveDtype) {
  static const NameTable<SaveDtype> kNames = {{SaveDtype::kSame, "same"},
                                              {SaveDtype::kFloat32, "float32"},
                                              {SaveDtype::kFloat16, "float16"},
                                              {SaveDtype::kBfloat16, "bfloat16"}};
  return kNames;
}

const NameTable<TransformerImpl>& NamesOf(TransformerImpl) {
  static const NameTable<TransformerImpl> kNames = {{TransformerImpl::kTransformerEngine, "transformer_engine"},
                                                    {TransformerImpl::kLocal, "local"}};
  return kNames;
}

const NameTable<RetargetStep::To>& NamesOf(RetargetStep::To) {
  static const NameTable<RetargetStep::To> kNames = {{RetargetStep::To::kHybrid, "hybrid"},
                                                     {RetargetStep::To::kGpt, "gpt"}};
  return kNames;
}

const NameTable<RetargetStep::Optimizer>& NamesOf(RetargetStep::Optimizer) {
  static const NameTable<RetargetStep::Optimizer> kNames = {{RetargetStep::Optimizer::kDrop, "drop"},
                                                            {RetargetStep::Optimizer::kCarry, "carry"}};
  return kNames;
}

const NameTable<RetargetStep::ExtraState>& NamesOf(RetargetStep::ExtraState) {
  static const NameTable<RetargetStep::ExtraState> kNames = {{RetargetStep::ExtraState::kMap, "map"},
                                                             {RetargetStep::ExtraState::kDrop, "drop"}};
  return kNames;
}

const NameTable<SplitStep::To>& NamesOf(SplitStep::To) {
  static const NameTable<SplitStep::To> kNames = {{SplitStep::To::kHf, "hf"}, {SplitStep::To::kMegatron, "megatron"}};
  return kNames;
}

const NameTable<SplitStep::ConfigFrom>& NamesOf(SplitStep::ConfigFrom) {
  static const NameTable<SplitStep::ConfigFrom> kNames = {{SplitStep::ConfigFrom::kTemplate, "template"},
                                                          {SplitStep::ConfigFrom::kCheckpoint, "checkpoint"}};
  return kNames;
}

const NameTable<SplitStep::Tied>& NamesOf(SplitStep::Tied) {
  static const NameTable<SplitStep::Tied> kNames = {
      {SplitStep::Tied::kAuto, "auto"}, {SplitStep::Tied::kYes, "yes"}, {SplitStep::Tied::kNo, "no"}};
  return kNames;
}

const NameTable<SplitStep::ExtraState>& NamesOf(SplitStep::ExtraState) {
  static const NameTable<SplitStep::ExtraState> kNames = {{SplitStep::ExtraState::kPlaceholders, "placeholders"},
                                                          {SplitStep::ExtraState::kDrop, "drop"}};
  return kNames;
}

}  // namespace ck::plan
