#include "onnx/model_bytes.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include "onnx/fields.h"
#include "onnx/wire.h"
#include "switchyard/base/error.h"

namespace switchyard::onnx {
namespace {

constexpr std::uint64_t kReadWhole = std::uint64_t{4} << 20;
constexpr std::uint64_t kChunk = std::uint64_t{64} << 10;
// Smaller fields are read with their surroundings.
constexpr std::uint64_t kHole = kChunk;
constexpr int kMaxDepth = 500;

enum class Message { kNone, kModel, kGraph, kNode, kAttribute, kFunction, kTensor, kSparse };

Message Child(Message parent, FieldNumber field) {
  switch (parent) {
    case Message::kModel:
      if (field == model::kGraph) return Message::kGraph;
      return field == model::kFunctions ? Message::kFunction : Message::kNone;
    case Message::kGraph:
      if (field == graph::kNode) return Message::kNode;
      if (field == graph::kInitializer) return Message::kTensor;
      return field == graph::kSparseInitializer ? Message::kSparse : Message::kNone;
    case Message::kNode:
      return field == node::kAttribute ? Message::kAttribute : Message::kNone;
    case Message::kFunction:
      if (field == function::kNode) return Message::kNode;
      return field == function::kAttributeProto ? Message::kAttribute : Message::kNone;
    case Message::kAttribute:
      if (field == attribute::kT || field == attribute::kTensors) return Message::kTensor;
      if (field == attribute::kG || field == attribute::kGraphs) return Message::kGraph;
      if (field == attribute::kSparseTensor || field == attribute::kSparseTensors) {
        return Message::kSparse;
      }
      return Message::kNone;
    case Message::kSparse:
      return field == sparse_tensor::kValues || field == sparse_tensor::kIndices ? Message::kTensor
                                                                                 : Message::kNone;
    default:
      return Message::kNone;
  }
}

// Fields whose characters nobody looks at.
bool IsHole(Message parent, FieldNumber field) {
  if (parent == Message::kModel) return field == model::kTrainingInfo;
  return parent == Message::kTensor &&
         (field == tensor::kRawData || field == tensor::kFloatData || field == tensor::kDoubleData);
}

// Reads the parts of a file that an import looks at into memory as long as the file.
class Loader {
 public:
  Loader(const FileSource& file, char* memory)
      : file_(file), memory_(memory), loaded_((file.size() + kChunk - 1) / kChunk) {}

  void Walk(Message kind, std::uint64_t begin, std::uint64_t end, int depth) {
    if (depth > kMaxDepth) return Need(begin, end);
    std::uint64_t at = begin;
    while (at < end) {
      Need(at, std::min(end, at + 2 * protozero::max_varint_length));
      const char* next = memory_ + at;
      const char* limit = memory_ + end;
      const std::uint64_t key = protozero::decode_varint(&next, limit);
      std::uint64_t size = 0;
      switch (key & 7) {
        case 0:
          protozero::decode_varint(&next, limit);
          break;
        case 1:
          size = 8;
          break;
        case 2:
          size = protozero::decode_varint(&next, limit);
          break;
        case 5:
          size = 4;
          break;
        default:
          Broken("unknown wire type", at);
      }
      const std::uint64_t body = static_cast<std::uint64_t>(next - memory_);
      if (size > end - body) Broken("truncated field", at);
      Field(kind, key, body, body + size, depth);
      at = body + size;
    }
  }

 private:
  void Field(Message kind, std::uint64_t key, std::uint64_t begin, std::uint64_t end, int depth) {
    const auto field = static_cast<FieldNumber>(key >> 3);
    if (end - begin > kHole && (key & 7) == 2) {
      if (IsHole(kind, field)) return;
      const Message child = Child(kind, field);
      if (child != Message::kNone) return Walk(child, begin, end, depth + 1);
    }
    Need(begin, end);
  }

  void Need(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    const std::uint64_t last = (end - 1) / kChunk;
    for (std::uint64_t chunk = begin / kChunk; chunk <= last; ++chunk) {
      if (loaded_[chunk]) continue;
      std::uint64_t stop = chunk;
      while (stop <= last && !loaded_[stop]) loaded_[stop++] = true;
      const std::uint64_t from = chunk * kChunk;
      const std::uint64_t to = std::min(stop * kChunk, file_.size());
      file_.Read(from, {reinterpret_cast<std::byte*>(memory_ + from), to - from});
      chunk = stop - 1;
    }
  }

  [[noreturn]] static void Broken(const char* what, std::uint64_t at) {
    throw Error(ErrorCode::kInvalidProtobuf, fmt::format("{} at byte {}", what, at));
  }

  const FileSource& file_;
  char* memory_;
  std::vector<bool> loaded_;
};

}  // namespace

ModelBytes::ModelBytes(const std::string& path, std::uint64_t limit)
    : file_(FileSource::Open(path, true)) {
  const std::uint64_t size = file_->size();
  if (size > limit) {
    throw Error(ErrorCode::kFail, fmt::format("file has {} bytes, the limit is {}", size, limit));
  }
  if (size == 0) return;
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorCode::kFail, fmt::format("no address space for a file of {} bytes", size));
  }
  mapped_ = static_cast<char*>(memory);
  view_ = {mapped_, size};
  try {
    if (size <= kReadWhole) {
      file_->Read(0, {reinterpret_cast<std::byte*>(mapped_), size});
    } else {
      Loader(*file_, mapped_).Walk(Message::kModel, 0, size, 0);
    }
  } catch (const protozero::exception&) {
    ::munmap(mapped_, size);
    throw Error(ErrorCode::kInvalidProtobuf, "truncated or too long number");
  } catch (...) {
    ::munmap(mapped_, size);
    throw;
  }
}

ModelBytes::ModelBytes(std::span<const std::byte> bytes)
    : view_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

ModelBytes::~ModelBytes() {
  if (mapped_ != nullptr) ::munmap(mapped_, view_.size());
}

void ModelBytes::Copy(std::string_view part, void* destination) const {
  if (part.empty()) return;
  if (file_ != nullptr && part.size() > kHole) {
    return file_->Read(OffsetOf(part), {static_cast<std::byte*>(destination), part.size()});
  }
  std::memcpy(destination, part.data(), part.size());
}

}  // namespace switchyard::onnx
