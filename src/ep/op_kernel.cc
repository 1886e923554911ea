#include "switchyard/ep/op_kernel.h"

#include "base/format.h"

namespace switchyard {

OpKernel::~OpKernel() = default;
void OpKernel::Prepare(PrepareContext&) const {}
PrepareContext::~PrepareContext() = default;
void PrepareContext::OutputIsPart(std::size_t, std::size_t) {}
void PrepareContext::InputIsPart(std::size_t, std::size_t) {}
OpKernelContext::~OpKernelContext() = default;

const Tensor* OpKernelInfo::constant(std::size_t i) const {
  if (!has_input(i)) return nullptr;
  const NodeArg* input = node_.inputs()[i];
  return input->is_constant() ? &input->constant()->tensor() : nullptr;
}

const Constant* OpKernelInfo::stored(std::size_t i) const {
  if (!has_input(i)) return nullptr;
  const NodeArg* input = node_.inputs()[i];
  return input->is_constant() ? input->constant().get() : nullptr;
}

int OpKernelInfo::RequestPacked(std::size_t input, PackedForm form) {
  SY_CHECK(has_input(input) && node_.inputs()[input]->is_constant());
  packed_.push_back({input, std::move(form)});
  return static_cast<int>(packed_.size()) - 1;
}

void OpKernelInfo::Fail(std::string_view text, ErrorCode code) const {
  Throw(code, "{}: {}", node_.Describe(), text);
}

void PrepareContext::Fail(std::string_view text) const {
  Throw(ErrorCode::kInvalidArgument, "{}: {}", node().Describe(), text);
}

void OpKernelContext::Fail(std::string_view text, ErrorCode code) const {
  Throw(code, "{}: {}", node_->Describe(), text);
}

void OpKernelContext::Missing(std::size_t i) const {
  Throw(ErrorCode::kInvalidArgument, "{}: argument {} is absent", node_->Describe(), i);
}

}  // namespace switchyard
