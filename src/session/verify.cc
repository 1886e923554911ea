#include "switchyard/session/verify.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/format.h"

namespace switchyard {
namespace {

std::unique_ptr<InferenceSession> Open(const VerifySetup& setup, const SessionOptions& options) {
  if (!setup.model.path.empty())
    return std::make_unique<InferenceSession>(setup.environment, setup.model.path, options);
  return std::make_unique<InferenceSession>(setup.environment, setup.model.bytes, options);
}

SessionOptions ReferenceOptions(const VerifySetup& setup) {
  SessionOptions options = setup.reference;
  options.optimization_level = GraphOptimizationLevel::kDisableAll;
  options.intra_op_num_threads = 1;
  options.ClearProviders();
  return options;
}

struct Results {
  std::vector<std::string> names;
  std::vector<OrtValue> values;
};

Results RunOn(InferenceSession& session, const NamedValues& feeds) {
  Results results;
  for (const SessionArg& output : session.outputs()) results.names.push_back(output.name);
  results.values = session.Run({}, feeds.names, feeds.values, results.names);
  for (OrtValue& value : results.values) {
    if (value.is_tensor() && !value.tensor().device().is_host())
      value = session.CopyTo(value, OrtDevice());
  }
  return results;
}

// The reference's results and the feeds that made them.
struct Reference {
  NamedValues feeds;
  Results results;
};

Reference RunReference(const VerifySetup& setup, const SessionOptions& options) {
  const auto session = Open(setup, options);
  Reference reference;
  reference.feeds =
      setup.feeds.names.empty() ? SampleInputs(session->inputs(), setup.sample) : setup.feeds;
  reference.results = RunOn(*session, reference.feeds);
  return reference;
}

std::vector<OutputError> Compare(const Results& reference, const Results& results,
                                 double tolerance) {
  std::vector<OutputError> rows;
  for (std::size_t i = 0; i < reference.names.size(); ++i) {
    const std::string& name = reference.names[i];
    const auto found = std::find(results.names.begin(), results.names.end(), name);
    if (found == results.names.end()) {
      OutputError& row = rows.emplace_back();
      row.name = name;
      row.fault = "no such output";
      row.within = false;
      continue;
    }
    const auto at = static_cast<std::size_t>(found - results.names.begin());
    rows.push_back(CompareValues(name, reference.values[i], results.values[at], tolerance));
  }
  return rows;
}

void Tell(const VerifySetup& setup, std::size_t done, std::size_t total, std::string_view what) {
  if (setup.progress) setup.progress(done, total, what);
}

std::string ErrorText(const OutputError& error) {
  if (!error.fault.empty()) return fmt::format("'{}': {}", error.name, error.fault);
  return fmt::format("'{}' is off by {:.3g}, {:.3g} of its largest value", error.name, error.error,
                     error.relative);
}

// What one candidate makes of the model once `patches` have been applied.
class Bisector {
 public:
  Bisector(const VerifySetup& setup, const VerifyCandidate& candidate)
      : setup_(setup), candidate_(candidate) {}

  Bisection Run() {
    Tell(setup_, 0, 0, "reference");
    reference_ = RunReference(setup_, ReferenceOptions(setup_));
    const std::optional<OutputError> all = FirstWrong(-1);
    if (!all) {
      found_.text = "nothing differs: " + candidate_.label;
      return std::move(found_);
    }
    found_.error = *all;
    found_.patches = patches_;
    if (const std::optional<OutputError> none = FirstWrong(0)) {
      found_.error = *none;
      FindKernel();
    } else {
      FindPatch();
    }
    return std::move(found_);
  }

 private:
  SessionOptions Limited(std::int64_t patches) const {
    SessionOptions options = candidate_.options;
    if (patches >= 0)
      options.AddConfigEntry("switchyard.stop_after_patches", std::to_string(patches));
    return options;
  }

  // The first output out of tolerance; patches -1: no limit.
  std::optional<OutputError> FirstWrong(std::int64_t patches) {
    Tell(setup_, tried_++, 0, patches < 0 ? candidate_.label : fmt::format("{} patches", patches));
    try {
      const auto session = Open(setup_, Limited(patches));
      const auto& applied = session->report().patches;
      patches_ = static_cast<std::int64_t>(applied.size());
      last_patch_ = applied.empty() ? "" : applied.back();
      const Results results = RunOn(*session, reference_.feeds);
      for (OutputError& row : Compare(reference_.results, results, setup_.tolerance)) {
        if (!row.within) return std::move(row);
      }
      return std::nullopt;
    } catch (const Error& error) {
      OutputError row;
      row.fault = error.message();
      row.within = false;
      return row;
    }
  }

  void FindPatch() {
    std::int64_t good = 0, bad = found_.patches;
    if (bad == 0) {  // the session could not be made, so nobody counted
      for (bad = 1; bad < kMostPatches && !FirstWrong(bad); bad *= 2) good = bad;
    }
    while (bad - good > 1) {
      const std::int64_t middle = good + (bad - good) / 2;
      (FirstWrong(middle) ? bad : good) = middle;
    }
    last_patch_.clear();
    if (const auto error = FirstWrong(bad)) found_.error = *error;
    found_.culprit = Bisection::Culprit::kPass;
    found_.patch = bad;
    found_.text = fmt::format("patch {} of {}", bad, std::max(found_.patches, bad));
    if (const std::size_t at = last_patch_.find(" at "); at != last_patch_.npos) {
      found_.pass = last_patch_.substr(0, at);
      found_.node = last_patch_.substr(at + 4);
      found_.text += fmt::format(", of the pass {}, at {}", found_.pass, found_.node);
    }
    found_.text += ": " + ErrorText(found_.error);
  }

  // Keeps every value of the main graph on both sides and looks for the first that differs.
  void FindKernel() {
    Tell(setup_, tried_++, 0, "all values");
    found_.culprit = Bisection::Culprit::kUnknown;
    try {
      SessionOptions plain = ReferenceOptions(setup_), tested = Limited(0);
      for (SessionOptions* options : {&plain, &tested})
        options->AddConfigEntry("switchyard.expose_values", "1");
      VerifySetup same = setup_;
      same.feeds = reference_.feeds;
      const Reference reference = RunReference(same, plain);
      const auto session = Open(setup_, tested);
      const Results results = RunOn(*session, reference_.feeds);
      std::map<std::string, std::size_t> wanted;
      for (std::size_t i = 0; i < reference.results.names.size(); ++i)
        wanted.emplace(reference.results.names[i], i);
      std::map<std::string, std::size_t> made;
      for (std::size_t i = 0; i < results.names.size(); ++i) made.emplace(results.names[i], i);
      for (const SessionReport::NodeRow& node : session->report().nodes) {
        if (!node.graph.empty()) continue;
        for (const SessionReport::Value& output : node.outputs) {
          const auto a = wanted.find(output.name), b = made.find(output.name);
          if (a == wanted.end() || b == made.end()) continue;
          OutputError error = CompareValues(output.name, reference.results.values[a->second],
                                            results.values[b->second], setup_.tolerance);
          if (!error.within) return Blame(node, std::move(error));
        }
      }
      found_.text =
          "it differs with no patch applied, but no longer once every value is kept: a kernel that "
          "works on several nodes or in place";
    } catch (const Error& error) {
      found_.text = "it differs with no patch applied: " + error.message();
    }
  }

  void Blame(const SessionReport::NodeRow& node, OutputError error) {
    found_.culprit = Bisection::Culprit::kKernel;
    found_.node = fmt::format("{} '{}' (opset {})", node.op, node.name, node.since_version);
    found_.provider = node.provider;
    found_.variant = node.variant;
    found_.error = std::move(error);
    found_.text =
        fmt::format("the kernel of {} on {}{}: {}", found_.node, node.provider,
                    node.variant.empty() ? "" : " (" + node.variant + ")", ErrorText(found_.error));
  }

  static constexpr std::int64_t kMostPatches = std::int64_t{1} << 20;
  const VerifySetup& setup_;
  const VerifyCandidate& candidate_;
  Reference reference_;
  Bisection found_;
  std::size_t tried_ = 1;
  std::int64_t patches_ = 0;  // applied in the session made last
  std::string last_patch_;
};

std::string FirstOfGroupWithOtherBits(const Results& results, const std::string& first_label,
                                      const Results& first) {
  for (const OutputError& row : Compare(first, results, 0)) {
    if (!row.fault.empty() || row.differing != 0) return first_label;
  }
  return "";
}

}  // namespace

bool VerifyRow::ok() const {
  return error.empty() && other_bits.empty() &&
         std::all_of(outputs.begin(), outputs.end(), [](const auto& row) { return row.within; });
}

std::vector<VerifyRow> Verify(const VerifySetup& setup,
                              std::span<const VerifyCandidate> candidates) {
  Tell(setup, 0, candidates.size() + 1, "reference");
  const Reference reference = RunReference(setup, ReferenceOptions(setup));
  std::map<std::string, std::pair<std::string, Results>> first_of_group;
  std::vector<VerifyRow> rows;
  for (const VerifyCandidate& candidate : candidates) {
    Tell(setup, rows.size() + 1, candidates.size() + 1, candidate.label);
    VerifyRow row;
    row.label = candidate.label;
    try {
      const auto session = Open(setup, candidate.options);
      Results results = RunOn(*session, reference.feeds);
      row.outputs = Compare(reference.results, results, setup.tolerance);
      if (!candidate.group.empty()) {
        const auto [first, added] =
            first_of_group.try_emplace(candidate.group, candidate.label, results);
        if (!added)
          row.other_bits =
              FirstOfGroupWithOtherBits(results, first->second.first, first->second.second);
      }
    } catch (const Error& error) {
      row.error = error.message();
    }
    rows.push_back(std::move(row));
  }
  Tell(setup, candidates.size() + 1, candidates.size() + 1, "");
  return rows;
}

Bisection Bisect(const VerifySetup& setup, const VerifyCandidate& candidate) {
  return Bisector(setup, candidate).Run();
}

}  // namespace switchyard
