#pragma once
// The packed form of a constant right-hand matrix: read in blocks through a small buffer, so that
// the matrix is never held dense, and filled where all its elements are equal.

#include <algorithm>
#include <memory>

#include "providers/cpu/kernels/common/wide_input.h"

namespace switchyard::cpu {

// A matrix [k, n] of T, or [n, k] if transposed, on its way into panels of the compute type.
template <typename T>
class MatrixPacker {
  using C = ComputeOf<T>;

 public:
  MatrixPacker(math::IsaLevel level, std::int64_t k, std::int64_t n, bool transposed, bool filled)
      : ops_(&GemmOpsOf<C>(level)),
        widen_(Widening<T>(level).widen()),
        k_(k),
        n_(n),
        transposed_(transposed),
        filled_(filled) {
    // A part is a panel, or a block of whole rows.
    const std::int64_t run = transposed ? std::min(ops_->tile_cols, n) : n;
    depth_ =
        std::min(k, std::max<std::int64_t>(
                        16, kBlockBytes / (run * static_cast<std::int64_t>(sizeof(T))) / 16 * 16));
  }

  std::int64_t parts() const {
    return transposed_ || filled_ ? ops_->b_panels(n_) : (k_ + depth_ - 1) / depth_;
  }

  void operator()(const Constant& source, std::int64_t begin, std::int64_t end,
                  std::byte* destination) const {
    auto* to = reinterpret_cast<C*>(destination);
    if (filled_) {
      for (std::int64_t p = begin; p < end; ++p) Fill(source, p, to);
      return;
    }
    const std::int64_t run = transposed_ ? std::min(ops_->tile_cols, n_) : n_;
    const auto room = static_cast<std::size_t>(run * depth_);
    const auto block = std::make_unique_for_overwrite<T[]>(room);
    std::unique_ptr<C[]> wide;
    if constexpr (kIsHalf<T>) wide = std::make_unique_for_overwrite<C[]>(room);
    for (std::int64_t p = begin; p < end; ++p) {
      if (transposed_) {
        for (std::int64_t at = 0; at < k_; at += depth_)
          PackColumns(source, p, at, block.get(), wide.get(), to);
      } else {
        PackRows(source, p * depth_, block.get(), wide.get(), to);
      }
    }
  }

 private:
  static constexpr std::int64_t kBlockBytes = 256 << 10;

  static void Read(const Constant& source, std::int64_t at, std::int64_t count, T* to) {
    source.Read(static_cast<std::size_t>(at) * sizeof(T),
                std::as_writable_bytes(std::span(to, static_cast<std::size_t>(count))));
  }
  const C* Widened(const T* block, C* wide, std::int64_t count) const {
    if constexpr (kIsHalf<T>) {
      math::RunCast(widen_, block, wide, 0, count);
      return wide;
    } else {
      return block;
    }
  }

  void PackColumns(const Constant& source, std::int64_t panel, std::int64_t at, T* block, C* wide,
                   C* to) const {
    const std::int64_t first = panel * ops_->tile_cols;
    const std::int64_t columns = std::min(ops_->tile_cols, n_ - first);
    const std::int64_t depth = std::min(depth_, k_ - at);
    if (depth == k_) {
      Read(source, first * k_, columns * k_, block);
    } else {
      for (std::int64_t i = 0; i < columns; ++i)
        Read(source, (first + i) * k_ + at, depth, block + i * depth);
    }
    ops_->pack_b_rows(Widened(block, wide, columns * depth), depth, math::MatrixForm::kTransposed,
                      k_, n_, at, at + depth, panel, panel + 1, to);
  }

  void PackRows(const Constant& source, std::int64_t at, T* block, C* wide, C* to) const {
    const std::int64_t depth = std::min(depth_, k_ - at);
    Read(source, at * n_, depth * n_, block);
    ops_->pack_b_rows(Widened(block, wide, depth * n_), n_, math::MatrixForm::kRowMajor, k_, n_, at,
                      at + depth, 0, ops_->b_panels(n_), to);
  }

  void Fill(const Constant& source, std::int64_t panel, C* to) const {
    T element;
    std::memcpy(&element, source.repeated().data(), sizeof(T));
    const C value = Widen(element);
    const std::int64_t cols = ops_->tile_cols, first = panel * cols;
    C* start = to + first * k_;
    if (first + cols <= n_) {
      std::fill_n(start, cols * k_, value);
      return;
    }
    const auto width = static_cast<std::int64_t>(ops_->packed_b_elements(1, n_ - first));
    for (std::int64_t i = 0; i < k_; ++i) {
      std::fill_n(start + i * width, n_ - first, value);
      std::fill_n(start + i * width + n_ - first, width - (n_ - first), C(0));
    }
  }

  const math::GemmOpsT<C>* ops_;
  math::CastKernel widen_;
  std::int64_t k_, n_, depth_;
  bool transposed_, filled_;
};

// Of a constant matrix [k, n], or [n, k] if transposed.
template <typename T>
PackedForm PackedMatrix(const Constant& matrix, math::IsaLevel level, bool transposed) {
  using C = ComputeOf<T>;
  const std::int64_t k = matrix.dims()[transposed ? 1 : 0], n = matrix.dims()[transposed ? 0 : 1];
  const auto& ops = GemmOpsOf<C>(level);
  MatrixPacker<T> packer(level, k, n, transposed, !matrix.repeated().empty());
  PackedForm form;
  form.id = std::string("gemm.b.") + (sizeof(C) == 8 ? "f64." : "f32.") +
            std::to_string(ops.tile_cols) + "." + std::to_string(static_cast<int>(level)) +
            (transposed ? ".t" : "");
  form.bytes = ops.packed_b_elements(k, n) * sizeof(C);
  form.parts = packer.parts();
  form.pack_ranges = std::move(packer);
  return form;
}

// Whether input i is a constant matrix that is worth a packed form.
inline const Constant* PackableMatrix(const OpKernelInfo& info, std::size_t i) {
  const Constant* matrix = info.stored(i);
  return matrix != nullptr && matrix->dims().size() == 2 && matrix->size() != 0 ? matrix : nullptr;
}

}  // namespace switchyard::cpu
