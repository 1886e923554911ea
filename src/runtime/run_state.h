#pragma once
// What one Run needs beside the Plan: values, shapes, arena, streams. Pooled by the session; one
// Run at a time uses it. Frames remember the last shape bindings, so that a Run with shapes seen
// before binds nothing.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/memory_planner.h"
#include "runtime/plan.h"
#include "switchyard/ep/run_options.h"

namespace switchyard {

// Blocks for results that callers keep: cached by size, returned when the last view dies.
class OutputPool : public std::enable_shared_from_this<OutputPool> {
 public:
  explicit OutputPool(AllocatorPtr host) : host_(std::move(host)) { cached_.reserve(kMaxCached); }
  ~OutputPool();
  StoragePtr Take(std::size_t bytes);

 private:
  struct Entry {
    void* block;
    std::size_t bytes;
  };
  static constexpr std::size_t kMaxCached = 32;
  static constexpr std::size_t kMaxCachedBytes = std::size_t{64} << 20;
  void Return(void* block, std::size_t bytes) noexcept;
  AllocatorPtr host_;
  std::mutex mutex_;
  std::vector<Entry> cached_;
  std::size_t cached_bytes_ = 0;
};

// Where the bytes of a value that asked for memory lie after all.
enum class PlacedKind : std::uint8_t {
  kArena,
  kOutput,    // a main output: given with each Run
  kElsewhere  // inside a main output, or a view of memory that is not the segment's
};

// One contiguous stretch of a block whose shapes are all known before it starts.
struct SegmentBinding {
  struct Read {  // contents that the shapes depend on
    PlanValueId value;
    std::vector<std::byte> bytes;
  };
  struct Placed {
    PlanValueId value;
    std::uint32_t request;
    std::size_t offset = 0;  // in it
    PlacedKind kind = PlacedKind::kArena;
  };
  struct Outside {  // in a main output, whose memory is given with each Run
    PlanValueId value;
    PlanValueId whole;
    std::size_t offset;
  };
  struct Scratch {
    std::uint32_t step;
    std::uint32_t request;
  };
  std::uint32_t first_item = 0, end_item = 0;
  std::vector<std::int64_t> entry;  // dims of what the step before it made
  std::vector<Read> reads;
  std::vector<Placed> placed;
  std::vector<Outside> outside;
  std::vector<Scratch> scratch;
  std::uint64_t arena_version = 0, arena_generation = 0;
  bool bound = false;
  bool open = false;  // only its last step itself tells the shapes that it makes
};

struct BlockBinding {
  std::vector<std::int64_t> key;  // dims of the block's inputs
  std::uint64_t version = 0, parent_version = 0;
  std::size_t used = 0;  // segments in use
  std::vector<SegmentBinding> segments;
};

// What a kernel told in Prepare: OutputIsPart and InputIsPart.
struct PreparedPart {
  std::uint32_t argument;
  std::size_t offset;
};

struct PartView {
  PlanValueId output;
  PlanValueId source;
  std::size_t offset;
};

struct Frame {
  std::vector<OrtValue> values;
  std::vector<ValueInfo> infos;
  std::vector<OrtValue*> arguments;                 // parallel to Plan::arguments
  std::vector<std::vector<std::int64_t>> followed;  // contents of followed values, 8 bytes each
  std::vector<void*> scratch;                       // per step
  std::vector<std::size_t> scratch_bytes;
  std::vector<bool> prepared;                     // static steps
  std::vector<std::vector<PreparedPart>> parts;   // per step
  std::vector<std::vector<PartView>> part_views;  // per step: those in effect
  StoragePtr state;
  std::vector<BlockBinding> blocks;
  std::uint64_t last_used = 0;
};

// Memory of one segment: a plan that covers every binding seen so far, and the bytes.
struct SegmentArena {
  std::uint32_t first_item = 0, end_item = 0;
  std::vector<MemoryRequest> covered;  // the most bytes and the longest lives
  struct Chunk {
    StoragePtr storage;
    std::size_t bytes = 0;
  };
  std::vector<Chunk> chunks;         // per space
  std::vector<std::size_t> offsets;  // within the chunk of its space
  std::uint64_t version = 0;         // other addresses: segments are placed anew
  std::uint64_t generation = 0;      // other requests: segments are bound anew
};

struct RunCounters {
  std::atomic<std::uint64_t> runs{0}, plannings{0}, bindings{0}, copies{0}, copied_bytes{0},
      arena_bytes{0};
};

struct RunState {
  RunState(const Plan& plan, const ExecutionProviders& providers);
  // The host waits for all that is queued: before it looks at, reuses or frees memory that queued
  // work still reads or writes. Nothing queued: nothing done.
  void WaitForStreams();

  std::vector<std::unique_ptr<Frame>> frames;
  std::vector<std::vector<SegmentArena>> arenas;  // per block, per segment
  struct Dynamic {
    StoragePtr storage;
    std::size_t bytes = 0;
    bool ever = false;
  };
  std::vector<Dynamic> dynamic;                  // per value: outputs sized by Compute
  std::vector<std::unique_ptr<Stream>> streams;  // per provider, may be nullptr
  std::vector<bool> stream_busy;
  std::vector<ValueInfo> inferred;  // room for one node's outputs
  std::vector<const ValueInfo*> inferred_inputs;
  std::vector<MemoryRequest> requests;
  std::vector<int> request_spaces;
  NestedRequests nested;
  std::vector<std::int32_t> reach;       // per value: PlanValue::reach with all that lies in it
  std::vector<std::uint32_t> placed_at;  // per value: where SegmentBinding::placed has it, if there
  std::vector<PlanValueId> used_heap;    // values to let go of after the Run
  std::vector<std::int64_t> key;         // room for a block's key
  std::vector<std::pair<PlanValueId, void*>> redirected;  // planned values in a sink, and where
                                                          // they belong
  std::vector<const void*> placed;                        // per main output: where its sink put it
  std::uint64_t clock = 0;
};

}  // namespace switchyard
