#pragma once
// A vector of trivially copyable elements whose first N live in the object: shapes, small index
// lists. No heap use up to N elements. Not for types with constructors that matter.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace switchyard {

template <typename T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() = default;
  explicit InlineVector(std::size_t count, const T& value = T()) { resize(count, value); }
  InlineVector(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  template <typename It>
  InlineVector(It first, It last) {
    assign(first, last);
  }
  explicit InlineVector(std::span<const T> values) { assign(values.begin(), values.end()); }
  InlineVector(const InlineVector& other) { assign(other.begin(), other.end()); }
  InlineVector(InlineVector&& other) noexcept { Take(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) {
      Free();
      Take(other);
    }
    return *this;
  }
  ~InlineVector() { Free(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ ? heap_ : Inline(); }
  const T* data() const { return heap_ ? heap_ : Inline(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void clear() { size_ = 0; }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) Grow(capacity);
  }
  void resize(std::size_t count, const T& value = T()) {
    const T copy = value;
    reserve(count);
    for (std::size_t i = size_; i < count; ++i) data()[i] = copy;
    size_ = count;
  }
  void push_back(const T& value) {
    const T copy = value;
    if (size_ == capacity_) Grow(capacity_ * 2);
    data()[size_++] = copy;
  }
  void pop_back() { --size_; }
  void insert(T* position, const T& value) {
    const std::size_t at = static_cast<std::size_t>(position - data());
    const T copy = value;
    push_back(copy);
    std::copy_backward(data() + at, data() + size_ - 1, data() + size_);
    data()[at] = copy;
  }
  void erase(T* position) {
    std::copy(position + 1, end(), position);
    --size_;
  }
  template <typename It>
  void assign(It first, It last) {
    clear();
    for (; first != last; ++first) push_back(static_cast<T>(*first));
  }

  operator std::span<const T>() const { return {data(), size_}; }
  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T* Inline() { return reinterpret_cast<T*>(inline_); }
  const T* Inline() const { return reinterpret_cast<const T*>(inline_); }
  void Free() {
    delete[] heap_;
    heap_ = nullptr;
    size_ = 0;
    capacity_ = N;
  }
  void Grow(std::size_t capacity) {
    T* bigger = new T[capacity];
    if (size_ != 0) std::memcpy(static_cast<void*>(bigger), data(), size_ * sizeof(T));
    delete[] heap_;
    heap_ = bigger;
    capacity_ = capacity;
  }
  void Take(InlineVector& other) {
    heap_ = other.heap_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (!heap_ && size_ != 0) std::memcpy(inline_, other.inline_, size_ * sizeof(T));
    other.heap_ = nullptr;
    other.size_ = 0;
    other.capacity_ = N;
  }

  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  T* heap_ = nullptr;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

// Concrete dims or strides, in elements.
using Dims = InlineVector<std::int64_t, 8>;

}  // namespace switchyard
