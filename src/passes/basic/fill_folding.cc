// ConstantOfShape of a known shape becomes a constant whose bytes are made when they are read:
// weights that an exporter replaced by a fill are packed like any others, and take no memory here.
#include <cstring>

#include "passes/rewrite.h"

namespace switchyard::passes::basic::fill_folding {
namespace {

// Larger ones stay nodes: whoever reads them would have to hold them.
constexpr std::size_t kMaxBytes = std::size_t{1} << 29;

// One element, repeated.
class FillSource final : public ByteSource {
 public:
  FillSource(std::vector<std::byte> element, std::uint64_t bytes)
      : element_(std::move(element)), bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_; }
  std::span<const std::byte> repeated() const override { return element_; }
  void Read(std::uint64_t offset, std::span<std::byte> destination) const override {
    for (std::size_t i = 0; i < destination.size(); ++i) {
      if (i >= element_.size()) {
        // The rest repeats what is there: copies of doubling length.
        for (std::size_t done = i; done < destination.size(); done *= 2) {
          std::memcpy(destination.data() + done, destination.data(),
                      std::min(done, destination.size() - done));
        }
        return;
      }
      destination[i] = element_[(offset + i) % element_.size()];
    }
  }

 private:
  std::vector<std::byte> element_;
  std::uint64_t bytes_;
};

std::optional<Patch> Propose(const Graph& graph, const Node& node, PassContext&) {
  const NodeArg* output = node.outputs()[0];
  if (node.inputs().empty() || !ConstantTensor(InputOf(node, 0)) || !IsRead(graph, output) ||
      graph.is_output(output)) {
    return std::nullopt;
  }
  const auto dims = KnownInts(InputOf(node, 0));
  if (!dims) return std::nullopt;
  const ConstantPtr value = node.attributes().Tensor("value");
  const DataType type = value ? value->type() : DataType::kFloat;
  if (IsPacked(type) || type == DataType::kString || (value && value->size() != 1))
    return std::nullopt;
  std::vector<std::byte> element(static_cast<std::size_t>(BitsOf(type)) / 8);
  if (value) value->Read(0, element);
  std::size_t bytes = 0;
  try {
    bytes = BytesOf(type, ElementCount(*dims));
  } catch (const Error&) {
    return std::nullopt;  // the Run will tell
  }
  if (bytes > kMaxBytes) return std::nullopt;
  auto source = std::make_shared<const FillSource>(std::move(element), bytes);
  Patch patch(graph);
  patch.ReplaceUses(const_cast<NodeArg*>(output),
                    patch.AddConstant(std::make_shared<const Constant>(
                                          type, Dims(dims->begin(), dims->end()), source, 0),
                                      output->Name()));
  return patch;
}

}  // namespace

void Register(PassRegistry& registry) {
  registry.Register(MakePass({"fill_folding", {"ConstantOfShape"}, Propose}));
}

}  // namespace switchyard::passes::basic::fill_folding
