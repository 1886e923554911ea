// Inference of operators, as text cases: a body over given inputs, and what its last value is.

#include "switchyard/ir/inference.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "switchyard/base/error.h"
#include "switchyard/ir/text.h"

namespace {
std::atomic<std::size_t> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* block = std::malloc(size != 0 ? size : 1)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace switchyard {
namespace ir::ops {
void RegisterAll(InferenceRegistry& registry);
}  // namespace ir::ops
namespace {

const InferenceRegistry& Registry() {
  static const InferenceRegistry* registry = [] {
    auto* made = new InferenceRegistry;
    ir::ops::RegisterAll(*made);
    return made;
  }();
  return *registry;
}

std::unique_ptr<Graph> Parse(std::string_view inputs, std::string_view body, int opset = 21) {
  std::string text = "ir 10\nopset " + std::to_string(opset);
  text += "\nopset com.microsoft 1\nopset ai.onnx.ml 5\n";
  text.append("graph g (").append(inputs).append(") => (y) {\n").append(body).append("\n}\n");
  return ParseGraph(text);
}

// "float[2,N]", and " = {..}" where the integers are known.
std::string Infer(std::string_view inputs, std::string_view body, int opset = 21) {
  const std::unique_ptr<Graph> graph = Parse(inputs, body, opset);
  InferGraph(*graph, Registry());
  const ValueInfo& info = graph->FindValue("y")->info();
  if (!info.type.is_tensor()) return info.type.ToString();
  std::string text(DataTypeName(info.type.elem));
  text += info.type.shape.ToString();
  if (!info.has_value) return text;
  text += " = {";
  for (std::size_t i = 0; i < info.value.size(); ++i) {
    text += (i != 0 ? "," : "") + info.value[i].ToString();
  }
  return text + "}";
}

std::string Failure(std::string_view inputs, std::string_view body, int opset = 21) {
  try {
    return "no failure: " + Infer(inputs, body, opset);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidGraph);
    return error.message();
  }
}

TEST(Inference, Elementwise) {
  EXPECT_EQ(Infer("float[N,1,3] a, float[4,3] b", "y = Add(a, b)"), "float[N,4,3]");
  EXPECT_EQ(Infer("float[N] a, float[N] b", "y = Less(a, b)"), "bool[N]");
  EXPECT_EQ(Infer("float[2,3] a, float[3] b", "y = Add<axis=1, broadcast=1>(a, b)", 6),
            "float[2,3]");
  EXPECT_EQ(Failure("float[2,3] a, float[4] b", "y = \"sum\": Add(a, b)"),
            "Add 'sum' (opset 14): input 1 of shape [4] does not broadcast with [2,3]");
  EXPECT_EQ(Infer("float[N] a", "y, m = Dropout(a)"), "float[N]");
}

TEST(Inference, FollowsShapeArithmetic) {
  const std::string_view x = "float[N,3,H,W] x";
  EXPECT_EQ(Infer(x, "y = Shape(x)"), "int64[4] = {N,3,H,W}");
  EXPECT_EQ(Infer(x, "y = Shape<start=-2>(x)"), "int64[2] = {H,W}");
  EXPECT_EQ(Infer(x, "y = Size(x)"), "int64[] = {3*N*H*W}");
  EXPECT_EQ(Infer(x, R"(int64[] i = {0}
    s = Shape(x)  n = Gather(s, i)  int64[1] z = {0}  u = Unsqueeze(n, z)
    int64[1] m = {-1}  t = Concat<axis=0>(u, m)  y = Reshape(x, t))"),
            "float[N,3*H*W]");
  EXPECT_EQ(Infer(x, R"(int64[1] a = {2}  int64[1] b = {4}  int64[2] two = {2, 2}
    s = Shape(x)  h = Slice(s, a, b)  y = Mul(h, two))"),
            "int64[2] = {2*H,2*W}");
  EXPECT_EQ(Infer(x, R"(int64[4] ones = {1,1,1,1}  int64[1] m = {-1}
    s = Shape(x)  e = Equal(s, m)  y = Where(e, ones, s))"),
            "int64[4] = {N,3,H,W}");
  EXPECT_EQ(Infer("int64[] n", R"(int64[] z = {0} int64[] five = {5} int64[] one = {1}
    y = Range(z, five, one))"),
            "int64[5] = {0,1,2,3,4}");
  EXPECT_EQ(Infer(x, "s = Shape(x)  y = ReduceProd<keepdims=0>(s)"), "int64[] = {3*N*H*W}");
  EXPECT_EQ(Infer(x, "s = Shape(x)  f = Cast<to=1>(s)  g = Floor(f)  y = Cast<to=7>(g)"),
            "int64[4] = {N,3,H,W}");
  EXPECT_EQ(Infer("int64[3] x", R"(int64[4] v = {1,2,3,4}  int64[2] r = {2,2}
    m = Reshape(v, r)  int64[1] last = {-1}  int64[1] all = {-9223372036854775807}
    int64[1] axis = {0}  s = Slice(m, last, all, axis, last)  t = Transpose(s)
    y = Reshape(t, last))"),
            "int64[4] = {3,1,4,2}");
}

TEST(Inference, RoundsDivisionTowardsZeroOrLeavesItOpen) {
  EXPECT_EQ(Infer("float[N] x", R"(int64[1] two = {2}  s = Shape(x)  y = Div(s, two))"),
            "int64[1] = {floordiv(N,2)}");
  EXPECT_EQ(Infer("float[N] x", R"(int64[1] two = {2}  s = Shape(x)  n = Neg(s)
    y = Div(n, two))"),
            "int64[1] = {?}");
  EXPECT_EQ(Infer("float[5] x", R"(int64[1] two = {2}  s = Shape(x)  n = Neg(s)
    y = Div(n, two))"),
            "int64[1] = {-2}");
}

TEST(Inference, ReshapeFamily) {
  EXPECT_EQ(Infer("float[N,S,768] x", "int64[4] s = {0,0,12,64}  y = Reshape(x, s)"),
            "float[N,S,12,64]");
  EXPECT_EQ(Infer("float[0,3] x", "int64[2] s = {0,5}  y = Reshape<allowzero=1>(x, s)"),
            "float[0,5]");
  EXPECT_EQ(Failure("float[2,3] x", "int64[2] s = {4,-1}  y = Reshape(x, s)"),
            "Reshape making 'y' (opset 21): a tensor of shape [2,3] cannot be reshaped to [4,-1]");
  EXPECT_EQ(Infer("float[2,3] x, int64[3] s", "y = Reshape(x, s)").substr(0, 6), "float[");
  EXPECT_EQ(Infer("float[1,N,1] x", "int64[1] a = {-1}  y = Squeeze(x, a)"), "float[1,N]");
  EXPECT_EQ(Infer("float[1,N,1] x", "y = Squeeze<axes=[0,2]>(x)", 11), "float[N]");
  EXPECT_EQ(Infer("float[N] x", "int64[2] a = {0,-1}  y = Unsqueeze(x, a)"), "float[1,N,1]");
  EXPECT_EQ(Infer("float[N,2,3] x", "y = Flatten<axis=2>(x)"), "float[2*N,3]");
  EXPECT_EQ(Infer("float[1,3] x", "int64[3] s = {2,4,1}  y = Expand(x, s)"), "float[2,4,3]");
}

TEST(Inference, Movement) {
  EXPECT_EQ(Infer("float[N,2] a, float[N,M] b", "y = Concat<axis=-1>(a, b)"), "float[N,M+2]");
  EXPECT_EQ(Failure("float[3,2] a, float[4,2] b", "y = Concat<axis=1>(a, b)"),
            "Concat making 'y' (opset 13): input 1 of shape [4,2] has another dim 0 than the "
            "inputs before "
            "(3)");
  EXPECT_EQ(Infer("float[7] x", "a, b, y = Split<num_outputs=3>(x)"), "float[1]");
  EXPECT_EQ(Infer("float[N,10] x", R"(int64[1] s = {-3}  int64[1] e = {2147483647}
    int64[1] a = {1}  y = Slice(x, s, e, a))"),
            "float[N,3]");
  EXPECT_EQ(Infer("float[N,10] x", R"(int64[1] s = {0}  int64[1] e = {2147483647}
    int64[1] a = {0}  y = Slice(x, s, e, a))"),
            "float[N,10]");
  EXPECT_EQ(Infer("float[9] x", "y = Slice<starts=[8], ends=[-10]>(x)", 9), "float[0]");
  EXPECT_EQ(Infer("float[9] x", R"(int64[1] s = {-1}  int64[1] e = {-100}  int64[1] a = {0}
    int64[1] t = {-2}  y = Slice(x, s, e, a, t))"),
            "float[5]");
  EXPECT_EQ(Infer("float[N,2,3] x", "y = Transpose<perm=[2,0,1]>(x)"), "float[3,N,2]");
  EXPECT_EQ(Infer("float[N,3] x", "int64[4] p = {0,1,0,2}  y = Pad(x, p)"), "float[N,6]");
  EXPECT_EQ(Infer("float[N,3] x, int64[2,K] i", "y = Gather<axis=1>(x, i)"), "float[N,2,K]");
  EXPECT_EQ(Infer("float[2,3,4] x, int64[5,2] i", "y = GatherND(x, i)"), "float[5,4]");
  EXPECT_EQ(Infer("float[N,9] x", "int64[1] k = {4}  y, i = TopK(x, k)"), "float[N,4]");
}

TEST(Inference, Windows) {
  EXPECT_EQ(Infer("float[N,3,224,W] x, float[64,3,7,7] w",
                  "y = Conv<pads=[3,3,3,3], strides=[2,2]>(x, w)"),
            "float[N,64,112,floordiv(W-1,2)+1]");
  EXPECT_EQ(Failure("float[1,32,8,8] x, float[8,64,3,3] w", "y = \"c\": Conv(x, w)", 13),
            "Conv 'c' (opset 11): weight has 64 input channels, input has 32, group 1");
  EXPECT_EQ(Infer("float[1,2,5,5] x",
                  "y = MaxPool<kernel_shape=[2,2], strides=[2,2], "
                  "ceil_mode=1>(x)"),
            "float[1,2,3,3]");
  EXPECT_EQ(Infer("float[1,2,5,5] x",
                  "y = AveragePool<kernel_shape=[3,3], strides=[2,2], "
                  "auto_pad=\"SAME_UPPER\">(x)"),
            "float[1,2,3,3]");
  EXPECT_EQ(Infer("float[1,2,5,5] x, float[2,4,3,3] w",
                  "y = ConvTranspose<strides=[2,2], output_padding=[1,1]>(x, w)"),
            "float[1,4,12,12]");
  EXPECT_EQ(Infer("float[N,3,H,W] x", R"(float[0] r = {}  float[4] s = {1.0,1.0,2.0,0.5}
    y = Resize(x, r, s))"),
            "float[N,3,2*H,floordiv(W,2)]");
  EXPECT_EQ(Infer("float[N,3,H,W] x", "y = GlobalAveragePool(x)"), "float[N,3,1,1]");
}

TEST(Inference, ProductsAndReductions) {
  EXPECT_EQ(Infer("float[N,1,2,3] a, float[4,3,5] b", "y = MatMul(a, b)"), "float[N,4,2,5]");
  EXPECT_EQ(Infer("float[3] a, float[3] b", "y = MatMul(a, b)"), "float[]");
  EXPECT_EQ(Failure("float[2,3] a, float[4,5] b", "y = MatMul(a, b)"),
            "MatMul making 'y' (opset 13): shapes [2,3] and [4,5] cannot be multiplied: 3 columns "
            "against 4 "
            "rows");
  EXPECT_EQ(Infer("float[3,M] a, float[5,3] b", "y = Gemm<transA=1, transB=1>(a, b)"),
            "float[M,5]");
  EXPECT_EQ(Infer("float[B,i,j] a, float[B,j,k] b", "y = Einsum<equation=\"bij,bjk->bik\">(a, b)"),
            "float[B,i,k]");
  EXPECT_EQ(Infer("float[N,2,3] x", "int64[1] a = {-1}  y = ReduceSum(x, a)"), "float[N,2,1]");
  EXPECT_EQ(Infer("float[N,2,3] x", "y = ReduceMean<axes=[1], keepdims=0>(x)", 13), "float[N,3]");
  EXPECT_EQ(Infer("float[N,2,3] x", "y = ArgMax<axis=2, keepdims=0>(x)"), "int64[N,2]");
}

TEST(Inference, ControlFlow) {
  EXPECT_EQ(Infer("bool[] c, float[N,3] x, float[N,4] z", R"(y = If<
    then_branch=graph t () => (a) { a = Relu(x) },
    else_branch=graph e () => (b) { b = Relu(z) }>(c))")
                .substr(0, 7),
            "float[N");
  EXPECT_EQ(Infer("int64[] n, bool[] c, float[2,3] x", R"(y = Loop<
    body=graph b (int64[] i, bool[] p, float[2,3] v) => (p, w) { w = Relu(v) }>(n, c, x))"),
            "float[2,3]");
  EXPECT_EQ(Infer("float[2] s, float[T,3] x", R"(z, y = Scan<num_scan_inputs=1,
    body=graph b (float[2] a, float[3] e) => (d, f) { d = Relu(a)  f = Neg(e) }>(s, x))"),
            "float[T,3]");
}

TEST(Inference, OtherDomains) {
  EXPECT_EQ(Infer("float[N,S,768] x, float[768,2304] w",
                  "y = com.microsoft.Attention<num_heads=12>(x, w)"),
            "float[N,S,768]");
  EXPECT_EQ(Infer("float[N,S,64] x, uint8[128,2,16] w, float[256] s",
                  "y = com.microsoft.MatMulNBits<K=64, N=128, block_size=32>(x, w, s)"),
            "float[N,S,128]");
  EXPECT_EQ(Infer("float[N,4] x", R"(l, y = ai.onnx.ml.LinearClassifier<coefficients=[1.0],
    classlabels_ints=[0,1,2]>(x))"),
            "float[N,3]");
}

// With numbers as dims, as in a run, no operator of a small rank takes memory from the heap.
TEST(Inference, DoesNotAllocateForNumbers) {
  const std::unique_ptr<Graph> graph = Parse("float[2,3,8,8] x, float[4,3,3,3] w", R"(
    c = Conv<pads=[1,1,1,1]>(x, w)  r = Relu(c)  a = Add(c, r)  s = Shape(a)
    int64[] zero = {0}  g = Gather(s, zero)  int64[1] axis = {0}  u = Unsqueeze(g, axis)
    int64[1] m = {-1}  t = Concat<axis=0>(u, m)  f = Reshape(a, t)  p = Transpose<perm=[1,0]>(f)
    q = MatMul(f, p)  int64[1] e = {1}  k = Slice(q, axis, e, axis)  v = Softmax(k)
    o = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r)  n = ReduceMean(v, axis)
    y = Squeeze(n, axis))");
  InferGraph(*graph, Registry());
  for (const NodeIndex index : graph->TopologicalOrder()) {
    const Node& node = *graph->node(index);
    std::vector<const ValueInfo*> inputs;
    for (const NodeArg* input : node.inputs()) inputs.push_back(&input->info());
    std::vector<ValueInfo> outputs(node.outputs().size());
    InferenceContext context(node, *graph, inputs, outputs);
    const InferenceFn infer = Registry().Find(node);
    ASSERT_NE(infer, nullptr) << node.OpType();
    const std::size_t before = allocations;
    infer(context);
    EXPECT_EQ(allocations - before, 0U) << node.OpType();
    EXPECT_EQ(outputs[0].type.shape, node.outputs()[0]->type().shape) << node.OpType();
  }
}

}  // namespace
}  // namespace switchyard
