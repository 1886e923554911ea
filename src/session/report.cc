#include "session/report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/format.h"

namespace switchyard {

std::string SessionReport::Text() const {
  std::map<std::string, int> per_provider;
  for (const NodeRow& node : nodes)
    ++per_provider[node.followed ? "(shape arithmetic)" : node.provider];
  std::string text = fmt::format("model {}: {} nodes, {:.1f} ms to load, {} bytes of constants\n",
                                 model.empty() ? "(bytes)" : model, nodes.size(), load_milliseconds,
                                 constant_bytes);
  text += "providers, in order:";
  for (const std::string& provider : providers) text += " " + provider;
  text += "\n";
  for (const auto& [provider, count] : per_provider)
    text += fmt::format("  {:<28} {} nodes\n", provider, count);
  text += fmt::format("copies between memory spaces per run: {}\n", copies.size());
  for (const CopyRow& copy : copies) {
    text += fmt::format("  {} {} -> {}{}\n", copy.value, copy.from, copy.to,
                        copy.bytes >= 0 ? fmt::format(", {} bytes", copy.bytes) : std::string());
  }
  text += "passes:\n";
  for (const PassResult& pass : passes) {
    if (pass.applied == 0 && pass.refused == 0) continue;
    text += fmt::format("  {:<32} {} applied, {} refused, {:.2f} ms\n", pass.name, pass.applied,
                        pass.refused, pass.milliseconds);
  }
  text += "nodes:\n";
  for (const NodeRow& node : nodes) {
    text += fmt::format("  {}{} '{}' -> {}: {}", node.graph.empty() ? "" : node.graph + "/",
                        node.op, node.name, node.provider, node.cause);
    if (!node.variant.empty()) text += "; " + node.variant;
    text += "\n";
    for (const std::string& inside : node.inside) text += "      holds " + inside + "\n";
    for (const auto& [provider, reason] : node.refusals)
      text += fmt::format("      not {}: {}\n", provider, reason);
  }
  for (const std::string& warning : warnings) text += "warning: " + warning + "\n";
  return text;
}

std::string SessionReport::Json() const {
  using nlohmann::json;
  json root{{"schema_version", 1},
            {"model", model},
            {"providers", providers},
            {"load_milliseconds", load_milliseconds},
            {"constant_bytes", constant_bytes},
            {"warnings", warnings}};
  json& rows = root["nodes"] = json::array();
  for (const NodeRow& node : nodes) {
    json row{{"name", node.name},         {"op", node.op},
             {"domain", node.domain},     {"opset", node.since_version},
             {"provider", node.provider}, {"cause", node.cause},
             {"graph", node.graph},       {"followed", node.followed}};
    if (!node.variant.empty()) row["variant"] = node.variant;
    if (!node.inside.empty()) row["inside"] = node.inside;
    json& refusals = row["refusals"] = json::array();
    for (const auto& [provider, reason] : node.refusals)
      refusals.push_back({{"provider", provider}, {"reason", reason}});
    rows.push_back(std::move(row));
  }
  json& moves = root["copies"] = json::array();
  for (const CopyRow& copy : copies) {
    moves.push_back(
        {{"value", copy.value}, {"from", copy.from}, {"to", copy.to}, {"bytes", copy.bytes}});
  }
  json& results = root["passes"] = json::array();
  for (const PassResult& pass : passes) {
    results.push_back({{"name", pass.name},
                       {"applied", pass.applied},
                       {"refused", pass.refused},
                       {"milliseconds", pass.milliseconds}});
  }
  return root.dump(1, ' ', false, json::error_handler_t::replace);
}

}  // namespace switchyard
