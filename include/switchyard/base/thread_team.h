#pragma once
// A fixed team of threads for the loops inside one Run. Chunks have a home thread, so that the same
// thread touches the same weights each time; a thread that is done takes chunks not yet started.
// Results must not depend on which thread runs a chunk: chunks are fixed by shape.

#include <cstdint>
#include <memory>

#include "switchyard/base/export.h"
#include "switchyard/base/function_ref.h"

namespace switchyard {

class SWITCHYARD_API ThreadTeam {
 public:
  // threads counts the caller: 1 makes no thread. allow_spinning: workers spin briefly between
  // loops before they sleep.
  explicit ThreadTeam(int threads, bool allow_spinning = true);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return size_; }

  // Runs body(chunk, worker) for each chunk in [0, count), worker in [0, size()); returns when all
  // are done. A body that throws ends the loop: the first exception is rethrown here. Thread-safe:
  // a call that finds the team busy, a nested call, and loops of one chunk run on the calling
  // thread (worker 0). No allocation.
  void ParallelFor(std::int64_t count, FunctionRef<void(std::int64_t chunk, int worker)> body);

  // Splits [0, total) into ranges of at least `grain` items, at most 4 per thread, and runs
  // body(begin, end). For loops whose result is the same for every split.
  void ParallelRange(std::int64_t total, std::int64_t grain,
                     FunctionRef<void(std::int64_t begin, std::int64_t end)> body);

  // How many workers are awake costs energy, not correctness: StopSpinning puts them to sleep now.
  void StopSpinning();

 private:
  struct Shared;
  void WorkerLoop(int index);
  int size_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace switchyard
