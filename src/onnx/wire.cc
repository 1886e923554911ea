#include "onnx/wire.h"

#include <fmt/format.h>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

#include "switchyard/base/error.h"

namespace switchyard::onnx {

void Reader::Fail(const char* what) const {
  throw Error(ErrorCode::kInvalidProtobuf, fmt::format("{} at byte {} of a message of {} bytes",
                                                       what, field_at_ - begin_, end_ - begin_));
}

bool Reader::Next() {
  if (at_ == end_) return false;
  field_at_ = at_;
  try {
    key_ = protozero::decode_varint(&at_, end_);
    if ((key_ >> 3) == 0 || (key_ >> 3) > 0x1fffffff) Fail("impossible field number");
    switch (key_ & 7) {
      case 0:
        number_ = protozero::decode_varint(&at_, end_);
        return true;
      case 1:
      case 5: {
        const std::ptrdiff_t size = (key_ & 7) == 1 ? 8 : 4;
        if (end_ - at_ < size) Fail("truncated number");
        number_ = 0;
        std::memcpy(&number_, at_, static_cast<std::size_t>(size));
        at_ += size;
        return true;
      }
      case 2: {
        const std::uint64_t size = protozero::decode_varint(&at_, end_);
        if (size > static_cast<std::uint64_t>(end_ - at_)) Fail("truncated field");
        bytes_ = {at_, static_cast<std::size_t>(size)};
        at_ += size;
        return true;
      }
      default:
        Fail("unknown wire type");
    }
  } catch (const protozero::exception&) {
    Fail("truncated or too long number");
  }
}

void AppendPacked(std::string_view packed, std::vector<std::int64_t>* out) {
  const char* at = packed.data();
  const char* end = at + packed.size();
  try {
    while (at != end) {
      out->push_back(static_cast<std::int64_t>(protozero::decode_varint(&at, end)));
    }
  } catch (const protozero::exception&) {
    throw Error(ErrorCode::kInvalidProtobuf,
                fmt::format("truncated or too long number at byte {} of a packed field of {} bytes",
                            at - packed.data(), packed.size()));
  }
}

}  // namespace switchyard::onnx
