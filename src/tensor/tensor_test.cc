#include "switchyard/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "switchyard/tensor/constant.h"
#include "switchyard/tensor/ort_value.h"
#include "switchyard/tensor/shape.h"

namespace switchyard {
namespace {

TEST(Dim, NumbersDivideTowardsMinusInfinity) {
  for (std::int64_t a = -7; a <= 7; ++a) {
    for (std::int64_t b = -4; b <= 4; ++b) {
      if (b == 0) {
        EXPECT_TRUE(FloorDiv(Dim(a), Dim(b)).is_unknown());
        EXPECT_TRUE(CeilDiv(Dim(a), Dim(b)).is_unknown());
        EXPECT_TRUE(Modulo(Dim(a), Dim(b)).is_unknown());
        continue;
      }
      const double q = static_cast<double>(a) / static_cast<double>(b);
      EXPECT_EQ(FloorDiv(Dim(a), Dim(b)).value(), static_cast<std::int64_t>(std::floor(q)));
      EXPECT_EQ(CeilDiv(Dim(a), Dim(b)).value(), static_cast<std::int64_t>(std::ceil(q)));
      EXPECT_EQ(Modulo(Dim(a), Dim(b)).value(), a - b * static_cast<std::int64_t>(std::floor(q)));
    }
  }
}

TEST(Dim, WhatOverflowsIsUnknown) {
  const Dim most(std::numeric_limits<std::int64_t>::max());
  const Dim least(std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE((most + 1).is_unknown());
  EXPECT_TRUE((least - 1).is_unknown());
  EXPECT_TRUE((most * 2).is_unknown());
  EXPECT_TRUE(FloorDiv(least, Dim(-1)).is_unknown());
  SymbolTable table;
  const Dim n = table.Symbol("N");
  EXPECT_TRUE((n * most + n).is_unknown());
  EXPECT_FALSE((n * least).is_unknown());
  EXPECT_NE(FloorDiv(n * least, Dim(-1)).ToString(), (n * least).ToString());
}

TEST(Dim, EqualExpressionsAreEqual) {
  SymbolTable table;
  const Dim n = table.Symbol("N"), m = table.Symbol("M");
  EXPECT_EQ((n + 1) * 2, n * 2 + 2);
  EXPECT_EQ(n * m, m * n);
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_EQ(FloorDiv(n * m * 6, m * 2), n * 3);
  EXPECT_EQ(FloorDiv(n, n), Dim(1));
  EXPECT_EQ(Modulo(n * 4, Dim(2)), Dim(0));
  EXPECT_FALSE(n == m);
  EXPECT_FALSE(Dim() == Dim());
  EXPECT_TRUE((n + Dim()).is_unknown());
  EXPECT_EQ(Min(n, n + 1), n);
  EXPECT_EQ(Max(n, n + 1), n + 1);
  EXPECT_EQ(Min(n, m), Min(m, n));
  EXPECT_TRUE(IsNonNegative(n * m + 3));
  EXPECT_FALSE(IsNonNegative(n - 1));
  EXPECT_FALSE(IsNonNegative(Dim()));
}

TEST(Dim, TextAndBack) {
  SymbolTable table;
  const Dim n = table.Symbol("N"), m = table.Symbol("batch_size");
  const Dim dims[] = {Dim(0),       Dim(-5),    Dim(17),           n,     n + 1,
                      n * 2 - 3,    -1 * n + 4, n * m * 2 + m + 7, n * n, FloorDiv(n, Dim(2)),
                      Max(n, m) + 1};
  for (const Dim& dim : dims) EXPECT_EQ(table.Parse(dim.ToString()), dim) << dim.ToString();
  EXPECT_TRUE(table.Parse("?").is_unknown());
  EXPECT_TRUE(table.Parse("").is_unknown());
  SymbolTable other;
  EXPECT_EQ(other.Parse("2*N+1").ToString(), "2*N+1");
  EXPECT_EQ(other.Parse("2*N+1"), other.Symbol("N") * 2 + 1);
  for (const char* odd : {"some text", "a+", "*", "+", "-", "a**b", "99999999999999999999"})
    EXPECT_TRUE(other.Parse(odd).is_symbolic()) << odd;
  EXPECT_FALSE(other.Fresh() == other.Fresh());
}

TEST(Shape, Broadcasting) {
  SymbolTable table;
  const Dim n = table.Symbol("N"), m = table.Symbol("M");
  EXPECT_EQ(BroadcastShapes({2, 1, 4}, {3, 1})->ToString(), "[2,3,4]");
  EXPECT_EQ(BroadcastShapes({n, 1}, {n, 5})->ToString(), "[N,5]");
  EXPECT_EQ(BroadcastShapes({n}, {7})->ToString(), "[7]");
  EXPECT_EQ(BroadcastShapes({n}, {m})->ToString(), "[?]");
  EXPECT_EQ(BroadcastShapes({0, 3}, {1, 3})->ToString(), "[0,3]");
  EXPECT_EQ(BroadcastShapes(Shape::Scalar(), {2, 3})->ToString(), "[2,3]");
  EXPECT_FALSE(BroadcastShapes({2}, {3}).has_value());
  EXPECT_FALSE(BroadcastShapes({0}, {2}).has_value());
  EXPECT_FALSE(BroadcastShapes(Shape(), {2})->ranked());
  EXPECT_EQ(MergeShapes({n, 3}, {4, Dim()})->ToString(), "[4,3]");
  EXPECT_FALSE(MergeShapes({2}, {3}).has_value());
  EXPECT_FALSE(MergeShapes({2}, {2, 1}).has_value());
}

TEST(Shape, CountsAreChecked) {
  const auto count = [](std::initializer_list<std::int64_t> dims) {
    return ElementCount(std::vector<std::int64_t>(dims));
  };
  EXPECT_EQ(count({}), 1);
  EXPECT_EQ(count({2, 3, 4}), 24);
  EXPECT_EQ(count({std::int64_t{1} << 62, 4, 0}), 0);
  EXPECT_THROW(count({std::int64_t{1} << 32, std::int64_t{1} << 32}), Error);
  EXPECT_THROW(count({0, -1}), Error);
}

TEST(DataType, Bytes) {
  for (int i = 1; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(DataTypeFromName(DataTypeName(type)), type);
    EXPECT_EQ(BytesOf(type, 0), 0u);
    if (IsPacked(type)) continue;
    EXPECT_EQ(BytesOf(type, 5) * 8, static_cast<std::size_t>(BitsOf(type)) * 5);
  }
  EXPECT_EQ(BytesOf(DataType::kInt4, 5), 3u);
  EXPECT_EQ(BytesOf(DataType::kUint4, 4), 2u);
  EXPECT_EQ(BytesOf(DataType::kUint2, 5), 2u);
  EXPECT_EQ(BytesOf(DataType::kInt2, 4), 1u);
  EXPECT_EQ(BytesOf(DataType::kFloat4E2M1, 1), 1u);
  EXPECT_THROW(BytesOf(DataType::kDouble, std::numeric_limits<std::int64_t>::max()), Error);
  EXPECT_THROW(BytesOf(DataType::kFloat, -1), Error);
  EXPECT_FALSE(DataTypeFromName("undefined").has_value());
}

// By the definition of the formats, without bit tricks.
double Reference(std::uint16_t code, int exponent_bits, int mantissa_bits) {
  const int exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (code & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

template <typename ToFloat, typename FromFloat>
void CheckAllCodes(int exponent_bits, int mantissa_bits, ToFloat to_float, FromFloat from_float) {
  for (int c = 0; c < 65536; ++c) {
    const auto code = static_cast<std::uint16_t>(c);
    const double expected = Reference(code, exponent_bits, mantissa_bits);
    const float got = to_float(code);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << c;
      ASSERT_TRUE(std::isnan(Reference(from_float(got), exponent_bits, mantissa_bits))) << c;
      continue;
    }
    ASSERT_EQ(static_cast<double>(got), expected) << c;
    ASSERT_EQ(std::signbit(got), (code & 0x8000) != 0) << c;
    ASSERT_EQ(from_float(got), code) << c;
    // Between this code and the next in magnitude: ties go to the even code.
    const double next =
        Reference(static_cast<std::uint16_t>(code + 1), exponent_bits, mantissa_bits);
    if ((code & 0x7fff) == 0x7fff || std::isnan(next) || std::isinf(expected)) continue;
    const double step = std::isinf(next)
                            ? expected - Reference(static_cast<std::uint16_t>(code - 1),
                                                   exponent_bits, mantissa_bits)
                            : next - expected;
    const double middle = expected + step / 2;
    if (static_cast<double>(static_cast<float>(middle)) != middle) continue;
    const auto even = static_cast<std::uint16_t>(code % 2 == 0 ? code : code + 1);
    ASSERT_EQ(from_float(static_cast<float>(middle)), even) << c;
    const float away = code >= 0x8000 ? -INFINITY : INFINITY;
    ASSERT_EQ(from_float(std::nextafter(static_cast<float>(middle), away)), code + 1) << c;
    ASSERT_EQ(from_float(std::nextafter(static_cast<float>(middle), 0.0f)), code) << c;
  }
}

TEST(NarrowFloat, HalfIsExact) { CheckAllCodes(5, 10, HalfToFloat, FloatToHalf); }
TEST(NarrowFloat, BFloat16IsExact) { CheckAllCodes(8, 7, BFloat16ToFloat, FloatToBFloat16); }
TEST(NarrowFloat, WhatDoesNotFit) {
  EXPECT_EQ(FloatToHalf(1e30f), 0x7c00);
  EXPECT_EQ(FloatToHalf(-1e30f), 0xfc00);
  EXPECT_EQ(FloatToHalf(1e-30f), 0);
  EXPECT_EQ(FloatToBFloat16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(Allocator, LimitAndFigures) {
  const AllocatorPtr allocator = MakeHostAllocator(10000);
  EXPECT_EQ(allocator->Alloc(0), nullptr);
  void* a = allocator->Alloc(6000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % allocator->info().alignment, 0u);
  EXPECT_EQ(allocator->Stats().bytes_in_use, 6000);
  try {
    allocator->Alloc(4001);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRuntimeException);
    for (const char* figure : {"4001", "6000", "10000"})
      EXPECT_NE(error.message().find(figure), std::string::npos) << error.message();
  }
  void* b = allocator->Alloc(4000);
  allocator->Free(a);
  allocator->Free(b);
  allocator->Free(nullptr);
  EXPECT_EQ(allocator->Stats().bytes_in_use, 0);
  EXPECT_EQ(allocator->Stats().max_in_use, 10000);
  EXPECT_THROW(MakeHostAllocator()->Alloc(std::numeric_limits<std::size_t>::max()), Error);
}

TEST(Tensor, HoldsWhatItSays) {
  const std::int64_t dims[] = {2, 3};
  Tensor tensor(DataType::kInt32, dims, MakeHostAllocator());
  EXPECT_EQ(tensor.Describe(), "int32[2,3]");
  EXPECT_EQ(tensor.bytes(), 24u);
  EXPECT_THROW(tensor.data<float>(), Error);
  EXPECT_THROW(Tensor(DataType::kFloat, dims, nullptr), Error);
  for (int i = 0; i < 6; ++i) tensor.data_mutable<std::int32_t>()[i] = i;
  const Tensor copy = tensor.Clone(MakeHostAllocator());
  tensor.data_mutable<std::int32_t>()[0] = 9;
  EXPECT_EQ(copy.values<std::int32_t>()[0], 0);
  EXPECT_EQ(copy.values<std::int32_t>()[5], 5);
}

TEST(Tensor, ScalarsEmptyOnesAndStrings) {
  const Tensor scalar(DataType::kFloat, {}, MakeHostAllocator());
  EXPECT_EQ(scalar.size(), 1);
  const std::int64_t none[] = {0, 4};
  const Tensor empty(DataType::kFloat, none, nullptr);
  EXPECT_EQ(empty.Clone(MakeHostAllocator()).size(), 0);
  const std::int64_t two[] = {2};
  Tensor words(DataType::kString, two, MakeHostAllocator());
  words.data_mutable<std::string>()[1] = std::string(100, 'x');
  const Tensor copy = words.Clone(MakeHostAllocator());
  words = Tensor();
  EXPECT_EQ(copy.values<std::string>()[0], "");
  EXPECT_EQ(copy.values<std::string>()[1], std::string(100, 'x'));
  const OrtValue value(copy);
  EXPECT_THROW(value.sequence(), Error);
  EXPECT_THROW(OrtValue().tensor(), Error);
  EXPECT_THROW(OrtValue::FromData<float>(two, std::vector<float>{1}), Error);
}

class CountingSource final : public ByteSource {
 public:
  std::uint64_t size() const override { return 64; }
  void Read(std::uint64_t offset, std::span<std::byte> destination) const override {
    ++reads;
    for (std::size_t i = 0; i < destination.size(); ++i)
      destination[i] = static_cast<std::byte>(offset + i);
  }
  mutable int reads = 0;
};

TEST(Constant, IsReadOnceUntilItIsReleased) {
  const auto source = std::make_shared<CountingSource>();
  const Constant constant(DataType::kUint8, {2, 3}, source, 10);
  EXPECT_EQ(constant.bytes(), 6u);
  EXPECT_EQ(constant.source_id(), source.get());
  EXPECT_EQ(constant.tensor().values<std::uint8_t>()[5], 15);
  EXPECT_EQ(constant.tensor().values<std::uint8_t>()[0], 10);
  EXPECT_EQ(source->reads, 1);
  const Tensor kept = constant.tensor();
  constant.Release();
  EXPECT_EQ(kept.values<std::uint8_t>()[1], 11);
  EXPECT_EQ(constant.tensor().values<std::uint8_t>()[1], 11);
  EXPECT_EQ(source->reads, 2);
  std::byte part[2];
  constant.Read(4, part);
  EXPECT_EQ(static_cast<int>(part[1]), 15);
  EXPECT_THROW(constant.Read(5, part), Error);
}

class RepeatingSource final : public ByteSource {
 public:
  std::uint64_t size() const override { return 64; }
  void Read(std::uint64_t offset, std::span<std::byte> destination) const override {
    for (std::size_t i = 0; i < destination.size(); ++i) destination[i] = element[(offset + i) % 4];
  }
  std::span<const std::byte> repeated() const override { return element; }
  std::byte element[4] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
};

TEST(Constant, KnowsWhenOneElementRepeats) {
  const auto source = std::make_shared<RepeatingSource>();
  EXPECT_EQ(Constant(DataType::kFloat, {3, 5}, source, 4).repeated().size(), 4u);
  EXPECT_TRUE(Constant(DataType::kFloat, {3}, source, 2).repeated().empty());
  EXPECT_TRUE(Constant(DataType::kDouble, {3}, source, 0).repeated().empty());
  EXPECT_TRUE(Constant(DataType::kUint8, {3}, source, 0).repeated().empty());
  EXPECT_TRUE(
      Constant(DataType::kFloat, {3}, std::make_shared<CountingSource>(), 0).repeated().empty());
  const Constant constant(DataType::kFloat, {3}, source, 0);
  EXPECT_FALSE(constant.is_loaded());
  constant.tensor();
  EXPECT_TRUE(constant.is_loaded());
  constant.Release();
  EXPECT_FALSE(constant.is_loaded());
}

TEST(Constant, MustLieInItsSource) {
  const auto source = std::make_shared<CountingSource>();
  EXPECT_NO_THROW(Constant(DataType::kUint8, {64}, source, 0));
  EXPECT_NO_THROW(Constant(DataType::kFloat, {0}, source, 64));
  EXPECT_THROW(Constant(DataType::kUint8, {64}, source, 1), Error);
  EXPECT_THROW(Constant(DataType::kFloat, {17}, source, 0), Error);
  EXPECT_THROW(Constant(DataType::kUint8, {1}, source, ~std::uint64_t{0}), Error);
  const Constant held(OrtValue::FromData<float>({}, std::vector<float>{3}).tensor());
  held.Release();
  EXPECT_EQ(held.tensor().values<float>()[0], 3);
}

}  // namespace
}  // namespace switchyard
