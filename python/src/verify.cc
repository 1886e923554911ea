#include "src/verify.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "src/environment.h"
#include "src/session.h"
#include "switchyard/session/provider_names.h"
#include "switchyard/session/verify.h"

namespace switchyard::python {
namespace {

nb::dict ToPython(const OutputError& error) {
  nb::dict row;
  row["name"] = error.name;
  row["type"] = error.type;
  row["error"] = error.error;
  row["largest"] = error.largest;
  row["relative"] = error.relative;
  row["elements"] = error.elements;
  row["differing"] = error.differing;
  row["fault"] = error.fault;
  row["within"] = error.within;
  return row;
}

nb::dict ToPython(const VerifyRow& row) {
  nb::list outputs;
  for (const OutputError& error : row.outputs) outputs.append(ToPython(error));
  nb::dict result;
  result["candidate"] = row.label;
  result["ok"] = row.ok();
  result["error"] = row.error;
  result["other_bits_than"] = row.other_bits;
  result["outputs"] = outputs;
  return result;
}

nb::dict ToPython(const Bisection& found) {
  constexpr const char* kCulprits[] = {"none", "pass", "kernel", "unknown"};
  nb::dict result;
  result["culprit"] = kCulprits[static_cast<int>(found.culprit)];
  result["patch"] = found.patch;
  result["patches"] = found.patches;
  result["pass"] = found.pass;
  result["node"] = found.node;
  result["provider"] = found.provider;
  result["variant"] = found.variant;
  result["error"] = ToPython(found.error);
  result["text"] = found.text;
  return result;
}

using NamedCandidate = std::pair<std::string, std::string>;  // label, group

// One candidate per entry of `options`, with the providers of the entry in `providers`.
std::vector<VerifyCandidate> Candidates(const Environment& environment,
                                        const std::vector<NamedCandidate>& names,
                                        const nb::list& options,
                                        const std::vector<std::vector<NamedProvider>>& providers) {
  std::vector<VerifyCandidate> candidates;
  for (std::size_t i = 0; i < names.size(); ++i) {
    VerifyCandidate candidate{names[i].first, nb::cast<const PySessionOptions&>(options[i]).core,
                              names[i].second};
    if (!providers[i].empty())
      static_cast<void>(
          AppendProvidersByName(environment.providers(), providers[i], candidate.options));
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

nb::dict RunVerify(const PySession& plain, const std::string& path, nb::bytes model,
                   nb::handle feed, const std::map<std::string, std::int64_t>& dims,
                   std::uint32_t seed, double tolerance, bool bisect,
                   const std::vector<NamedCandidate>& names, const nb::list& options,
                   const std::vector<std::vector<NamedProvider>>& providers) {
  VerifySetup setup;
  setup.environment = plain.loaded->environment;
  setup.model.path = path;
  setup.model.bytes = {reinterpret_cast<const std::byte*>(model.c_str()), model.size()};
  setup.reference = plain.options.core;
  setup.sample = {seed, dims};
  setup.tolerance = tolerance;
  Feeds feeds;
  if (!feed.is_none()) {
    CollectFeeds(*plain.loaded, feed, feeds);
    setup.feeds = {*feeds.names, feeds.values};
  }
  const auto candidates = Candidates(*setup.environment, names, options, providers);
  std::vector<VerifyRow> rows;
  std::vector<Bisection> found;
  {
    const nb::gil_scoped_release release;
    rows = Verify(setup, candidates);
    for (std::size_t i = 0; bisect && found.empty() && i < rows.size(); ++i) {
      if (!rows[i].ok()) found.push_back(Bisect(setup, candidates[i]));
    }
  }
  nb::list list;
  bool ok = true;
  for (const VerifyRow& row : rows) {
    list.append(ToPython(row));
    ok = ok && row.ok();
  }
  nb::dict result;
  result["ok"] = ok;
  result["candidates"] = list;
  for (const Bisection& bisection : found) result["bisection"] = ToPython(bisection);
  return result;
}

}  // namespace

void BindVerify(nb::module_& module) {
  module.def("_verify", &RunVerify, nb::arg("plain"), nb::arg("path"), nb::arg("model"),
             nb::arg("feed").none(), nb::arg("dims"), nb::arg("seed"), nb::arg("tolerance"),
             nb::arg("bisect"), nb::arg("names"), nb::arg("options"), nb::arg("providers"));
}

}  // namespace switchyard::python
