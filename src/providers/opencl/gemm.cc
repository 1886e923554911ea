#include "providers/opencl/gemm.h"

namespace switchyard::opencl {
namespace {

// Each work-item makes ROWS x W elements of Y. Work-items side by side along n read B side by side.
// W is 1 on devices whose work-items are lanes, else the vector that one work-item computes with.
// With B stored n by k the vector runs along k instead.
constexpr const char* kCode = R"CL(
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#if W == 1
#define CV C
#define LOAD(p) ((C)(p)[0])
#define SUM(v) (v)
#else
#define CV JOIN(C, W)
#define LOAD(p) JOIN(convert_, CV)(JOIN(vload, W)(0, (p)))
#define SUM(v) ((v).s0 + (v).s1 + (v).s2 + (v).s3 + (v).s4 + (v).s5 + (v).s6 + (v).s7)
#endif
#ifdef TRANS_A
#define A(i, p) ((C)a[(long)(p) * a_row + min(row + (i), m - 1)])
#else
#define A(i, p) ((C)a[(long)min(row + (i), m - 1) * a_row + (p)])
#endif

void put(__global T* y, BUFC long at, int r, int c, C value, float alpha, float beta, int c_row,
         int c_column) {
  value *= (C)alpha;
#ifdef ADDS
  value += (C)beta * (C)bias[(long)r * c_row + (long)c * c_column];
#endif
  y[at] = (T)value;
}

__kernel __attribute__((reqd_work_group_size(LX, LY, 1))) __attribute__((vec_type_hint(CV)))
void gemm(BUF(const T, a), BUF(const T, b), BUF(const T, bias), BUF(T, y), int m, int n, int k,
          int a_row, int b_row, int c_row, int c_column, int batch_rank, int8 batch_dims,
          int8 batch_a, int8 batch_b, float alpha, float beta) {
  AT(a); AT(b); AT(bias); AT(y);
  int row = get_global_id(1) * ROWS;
  int batch = get_global_id(2);
#ifdef TRANS_B
  int column = get_global_id(0);
#else
  int column = get_global_id(0) * W;
#endif
  if (row >= m || column >= n) return;
  int d[8], sa[8], sb[8];
  vstore8(batch_dims, 0, d); vstore8(batch_a, 0, sa); vstore8(batch_b, 0, sb);
  int rest = batch;
  for (int i = batch_rank - 1; i >= 0; --i) {
    int r = rest % d[i];
    rest /= d[i];
    a += (long)r * sa[i];
    b += (long)r * sb[i];
  }
  y += (long)batch * m * n;
#ifdef TRANS_B
  C acc[ROWS];
  for (int i = 0; i < ROWS; ++i) acc[i] = 0;
  b += (long)column * b_row;
  int p = 0;
#if W > 1 && !defined(TRANS_A)
  CV sums[ROWS];
  for (int i = 0; i < ROWS; ++i) sums[i] = (CV)0;
  for (; p + W <= k; p += W) {
    CV v = LOAD(b + p);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) sums[i] += LOAD(a + (long)min(row + i, m - 1) * a_row + p) * v;
  }
  for (int i = 0; i < ROWS; ++i) acc[i] = SUM(sums[i]);
#endif
  for (; p < k; ++p) {
    C v = (C)b[p];
#pragma unroll
    for (int i = 0; i < ROWS; ++i) acc[i] += A(i, p) * v;
  }
  for (int i = 0; i < ROWS && row + i < m; ++i)
    put(y, PASS (long)(row + i) * n + column, row + i, column, acc[i], alpha, beta, c_row, c_column);
#else
  b += column;
#if W > 1
  if (column + W > n) {
    for (int c = 0; column + c < n; ++c) {
      C acc[ROWS];
      for (int i = 0; i < ROWS; ++i) acc[i] = 0;
      for (int p = 0; p < k; ++p) {
        C v = (C)b[(long)p * b_row + c];
#pragma unroll
        for (int i = 0; i < ROWS; ++i) acc[i] += A(i, p) * v;
      }
      for (int i = 0; i < ROWS && row + i < m; ++i)
        put(y, PASS (long)(row + i) * n + column + c, row + i, column + c, acc[i], alpha, beta, c_row,
            c_column);
    }
    return;
  }
#endif
  CV acc[ROWS];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) acc[i] = (CV)0;
  for (int p = 0; p < k; ++p) {
    CV v = LOAD(b + (long)p * b_row);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) acc[i] += A(i, p) * v;
  }
  for (int i = 0; i < ROWS && row + i < m; ++i) {
#if W == 1
    put(y, PASS (long)(row + i) * n + column, row + i, column, acc[i], alpha, beta, c_row, c_column);
#else
    C one[W];
    JOIN(vstore, W)(acc[i], 0, one);
    for (int c = 0; c < W; ++c)
      put(y, PASS (long)(row + i) * n + column + c, row + i, column + c, one[c], alpha, beta, c_row,
          c_column);
#endif
  }
#endif
})CL";

}  // namespace

GemmLauncher::GemmLauncher(DataType type, const Builder& builder, int lanes, GemmKind kind)
    : lanes_(kind.trans_b ? 1 : lanes) {
  const int local_x = lanes == 1 ? 16 : 4, local_y = lanes == 1 ? 4 : 1;
  Defines defines{{"T", ClType(type)},
                  {"C", ComputeType(type)},
                  {"W", std::to_string(lanes)},
                  {"ROWS", std::to_string(kRows)},
                  {"LX", std::to_string(local_x)},
                  {"LY", std::to_string(local_y)},
                  {"BUFC", kind.adds ? "__global const T* bias," : ""},
                  {"PASS", kind.adds ? "bias," : ""}};
  if (kind.trans_a) defines["TRANS_A"] = "1";
  if (kind.trans_b) defines["TRANS_B"] = "1";
  if (kind.adds) defines["ADDS"] = "1";
  entry_ = builder(kCode, defines, "gemm", {local_x, local_y, 1});
}

void GemmLauncher::Run(OpKernelContext& context, const Tensor& a, const Tensor& b, const Tensor* c,
                       Tensor& y, const GemmShape& shape) const {
  Launch launch = entry_.On(context);
  launch.In(a).In(b);
  if (c != nullptr) {
    launch.In(*c);
  } else {
    launch.NoBuffer();
  }
  launch.Out(y)
      .Int(shape.m)
      .Int(shape.n)
      .Int(shape.k)
      .Int(shape.a_row)
      .Int(shape.b_row)
      .Int(shape.c_row)
      .Int(shape.c_column)
      .Int(static_cast<std::int64_t>(shape.batch_dims.size()))
      .Ints(shape.batch_dims)
      .Ints(shape.batch_a)
      .Ints(shape.batch_b)
      .Float(shape.alpha)
      .Float(shape.beta)
      .Run({(shape.n + lanes_ - 1) / lanes_, (shape.m + kRows - 1) / kRows, shape.batches});
}

}  // namespace switchyard::opencl
