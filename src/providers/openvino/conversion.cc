#include "providers/openvino/conversion.h"

#include <algorithm>
#include <unordered_map>

#include <openvino/core/graph_util.hpp>
#include <openvino/op/constant.hpp>

#include "base/format.h"
#include "providers/openvino/element_type.h"

namespace switchyard::openvino {
namespace {

// Smaller ones travel inside the ONNX bytes.
constexpr std::uint64_t kByAddress = 1024;
constexpr std::size_t kHashed = std::size_t{1}
                                << 20;  // bytes of a constant that one thread sums up

// The front end may have copied: constants that are the initializers of the group are replaced by
// ones over our storage.
void ShareWeights(ov::Model& model, const GraphViewer& group) {
  std::unordered_map<std::string, const NodeArg*> large;
  for (const NodeArg* value : group.GetConstants()) {
    if (value->constant()->bytes() >= kByAddress) large.emplace(value->Name(), value);
  }
  for (const std::shared_ptr<ov::Node>& node : model.get_ordered_ops()) {
    const auto constant = ov::as_type_ptr<ov::op::v0::Constant>(node);
    if (!constant) continue;
    const auto found = large.find(constant->get_friendly_name());
    if (found == large.end()) continue;
    const Tensor& ours = found->second->constant()->tensor();
    const ov::Shape dims(ours.dims().begin(), ours.dims().end());
    if (constant->get_element_type() != ElementType(ours.type()) || constant->get_shape() != dims ||
        constant->get_byte_size() != ours.bytes()) {
      continue;
    }
    const auto owner = std::make_shared<Tensor>(ours);
    const auto shared = std::make_shared<ov::op::v0::Constant>(
        constant->get_element_type(), dims, owner->raw(), std::static_pointer_cast<void>(owner));
    shared->set_friendly_name(constant->get_friendly_name());
    shared->output(0).set_names(constant->output(0).get_names());
    ov::replace_node(constant, shared);
  }
}

}  // namespace

std::shared_ptr<ov::Model> ConvertGroup(Library& library, const ModelWriter& writer,
                                        const GraphViewer& group) {
  ModelWriteOptions options;
  options.by_address_from = kByAddress;
  const std::string onnx = writer.Write(group, options);
  std::shared_ptr<ov::Model> model;
  try {
    model = library.Convert(onnx, false);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    Throw(ErrorCode::kNotImplemented, "OpenVINO's ONNX front end: {}", Reason(error));
  }
  if (model->get_parameters().size() != group.GetInputs().size() ||
      model->get_results().size() != group.GetOutputs().size()) {
    Throw(ErrorCode::kNotImplemented, "the converted model has {} inputs and {} outputs of {}, {}",
          model->get_parameters().size(), model->get_results().size(), group.GetInputs().size(),
          group.GetOutputs().size());
  }
  ShareWeights(*model, group);
  return model;
}

std::string KeyOfGroup(const ModelWriter& writer, const GraphViewer& group, const BlobCache& cache,
                       ThreadTeam* team) {
  std::vector<const Constant*> constants;
  ModelWriteOptions options;
  options.by_address_from = kByAddress;
  options.address = [&](const Constant& constant) {
    const auto known = std::find(constants.begin(), constants.end(), &constant);
    const auto at = known - constants.begin();
    if (known == constants.end()) constants.push_back(&constant);
    return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(at + 1));
  };
  std::string content = writer.Write(group, options);
  struct Piece {
    const Constant* constant;
    std::size_t begin;
    std::string sum;
  };
  std::vector<Piece> pieces;
  for (const Constant* constant : constants) {
    for (std::size_t at = 0; at < constant->bytes(); at += kHashed)
      pieces.push_back({constant, at, {}});
  }
  const auto sum_up = [&](std::int64_t i, int) {
    Piece& piece = pieces[static_cast<std::size_t>(i)];
    std::vector<std::byte> bytes(std::min(kHashed, piece.constant->bytes() - piece.begin));
    piece.constant->Read(piece.begin, bytes);
    ContentHash hash;
    hash.Add(bytes);
    piece.sum = hash.Hex();
  };
  if (team != nullptr) {
    team->ParallelFor(static_cast<std::int64_t>(pieces.size()), sum_up);
  } else {
    for (std::size_t i = 0; i < pieces.size(); ++i) sum_up(static_cast<std::int64_t>(i), 0);
  }
  for (const Piece& piece : pieces) content += piece.sum;
  return cache.KeyOf(content);
}

}  // namespace switchyard::openvino
