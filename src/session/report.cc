#include "switchyard/session/session_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/format.h"

namespace switchyard {
namespace {

using nlohmann::json;

std::string PathPrefix(const std::string& graph) { return graph.empty() ? "" : graph + "/"; }

std::string ProvidersText(const SessionReport& report) {
  std::map<std::string, int> per_provider;
  for (const auto& node : report.nodes)
    ++per_provider[node.followed ? "(shape arithmetic)" : node.provider];
  std::string text = "providers, in order:";
  for (const std::string& provider : report.providers) text += " " + provider;
  text += "\n";
  for (const auto& [provider, count] : per_provider)
    text += fmt::format("  {:<28} {} nodes\n", provider, count);
  text += fmt::format("partitions: {}\n", report.partitions.size());
  for (std::size_t i = 0; i < report.partitions.size(); ++i) {
    const auto& partition = report.partitions[i];
    text += fmt::format("  {:<3} {}{}, {} nodes\n", i, PathPrefix(partition.graph),
                        partition.provider, partition.nodes);
  }
  return text;
}

std::string CopiesText(const SessionReport& report) {
  std::string text =
      fmt::format("copies between memory spaces per run: {}\n", report.copies.size());
  for (const auto& copy : report.copies) {
    text += fmt::format("  {} {} -> {}{}\n", copy.value, copy.from, copy.to,
                        copy.bytes >= 0 ? fmt::format(", {} bytes", copy.bytes) : std::string());
  }
  return text;
}

std::string PassesText(const SessionReport& report) {
  std::string text = fmt::format("passes ({} patches):\n", report.patches.size());
  for (const PassResult& pass : report.passes) {
    if (pass.applied == 0 && pass.refused == 0) continue;
    text += fmt::format("  {:<32} {} applied, {} refused, {:.2f} ms\n", pass.name, pass.applied,
                        pass.refused, pass.milliseconds);
  }
  return text;
}

std::string NodesText(const SessionReport& report) {
  std::string text = "nodes:\n";
  for (const auto& node : report.nodes) {
    text += fmt::format("  {}{} '{}' -> {}: {}", PathPrefix(node.graph), node.op, node.name,
                        node.provider, node.cause);
    if (!node.variant.empty()) text += "; " + node.variant;
    text += "\n";
    for (const std::string& inside : node.inside) text += "      holds " + inside + "\n";
    for (const auto& [provider, reason] : node.refusals)
      text += fmt::format("      not {}: {}\n", provider, reason);
  }
  return text;
}

std::string MemoryText(const MemoryReport& memory) {
  if (memory.arenas.empty()) return "memory: not planned before a run\n";
  std::string text = "memory of the last run:\n";
  for (const MemoryReport::Arena& arena : memory.arenas) {
    std::uint64_t sum = 0;
    const MemoryReport::Row* largest = nullptr;
    for (const MemoryReport::Row& row : arena.rows) {
      sum += row.bytes;
      if (largest == nullptr || row.bytes > largest->bytes) largest = &row;
    }
    text += fmt::format("  {}arena on {}, segment {}: {} bytes for {} values and scratch areas",
                        PathPrefix(arena.graph), arena.device, arena.segment, arena.bytes,
                        arena.rows.size());
    text += fmt::format(" of {} bytes together", sum);
    if (largest != nullptr) {
      text += fmt::format("; largest {}'{}', {} bytes, steps {} to {}",
                          largest->scratch ? "the scratch of " : "", largest->name, largest->bytes,
                          largest->first, largest->last);
    }
    text += "\n";
  }
  return text;
}

json ValuesJson(const std::vector<SessionReport::Value>& values) {
  json rows = json::array();
  for (const auto& value : values) rows.push_back({{"name", value.name}, {"type", value.type}});
  return rows;
}

json NodeJson(const SessionReport::NodeRow& node) {
  json row{{"name", node.name},           {"op", node.op},
           {"domain", node.domain},       {"opset", node.since_version},
           {"provider", node.provider},   {"partition", node.partition},
           {"cause", node.cause},         {"graph", node.graph},
           {"followed", node.followed},   {"inputs", node.inputs},
           {"constants", node.constants}, {"outputs", ValuesJson(node.outputs)}};
  if (!node.variant.empty()) row["variant"] = node.variant;
  if (!node.inside.empty()) row["inside"] = node.inside;
  json& refusals = row["refusals"] = json::array();
  for (const auto& [provider, reason] : node.refusals)
    refusals.push_back({{"provider", provider}, {"reason", reason}});
  return row;
}

json MemoryJson(const MemoryReport& memory) {
  json arenas = json::array();
  for (const MemoryReport::Arena& arena : memory.arenas) {
    json rows = json::array();
    for (const MemoryReport::Row& row : arena.rows) {
      rows.push_back({{"name", row.name},
                      {"scratch", row.scratch},
                      {"offset", row.offset},
                      {"bytes", row.bytes},
                      {"first_step", row.first},
                      {"last_step", row.last}});
    }
    arenas.push_back({{"graph", arena.graph},
                      {"device", arena.device},
                      {"segment", arena.segment},
                      {"bytes", arena.bytes},
                      {"rows", std::move(rows)}});
  }
  return arenas;
}

json PassesJson(const SessionReport& report) {
  json results = json::array();
  for (const PassResult& pass : report.passes) {
    results.push_back({{"name", pass.name},
                       {"applied", pass.applied},
                       {"refused", pass.refused},
                       {"milliseconds", pass.milliseconds}});
  }
  return results;
}

}  // namespace

std::string SessionReport::Text() const {
  std::string text = fmt::format("model {}: {} nodes, {:.1f} ms to load, {} bytes of constants\n",
                                 model.empty() ? "(bytes)" : model, nodes.size(), load_milliseconds,
                                 constant_bytes);
  text += ProvidersText(*this) + CopiesText(*this) + PassesText(*this) + MemoryText(memory) +
          NodesText(*this);
  for (const std::string& warning : warnings) text += "warning: " + warning + "\n";
  return text;
}

std::string SessionReport::Json() const {
  json root{{"schema_version", 1},
            {"model", model},
            {"inputs", ValuesJson(inputs)},
            {"outputs", ValuesJson(outputs)},
            {"providers", providers},
            {"load_milliseconds", load_milliseconds},
            {"constant_bytes", constant_bytes},
            {"passes", PassesJson(*this)},
            {"patches", patches},
            {"memory", MemoryJson(memory)},
            {"warnings", warnings}};
  json& rows = root["nodes"] = json::array();
  for (const NodeRow& node : nodes) rows.push_back(NodeJson(node));
  json& parts = root["partitions"] = json::array();
  for (const PartitionRow& part : partitions)
    parts.push_back({{"graph", part.graph}, {"provider", part.provider}, {"nodes", part.nodes}});
  json& moves = root["copies"] = json::array();
  for (const CopyRow& copy : copies) {
    moves.push_back({{"value", copy.value},
                     {"result", copy.result},
                     {"from", copy.from},
                     {"to", copy.to},
                     {"bytes", copy.bytes}});
  }
  return root.dump(1, ' ', false, json::error_handler_t::replace);
}

std::string SessionReport::Show(ReportFormat format) const {
  switch (format) {
    case ReportFormat::kJson:
      return Json();
    case ReportFormat::kHtml:
      return Html();
    case ReportFormat::kText:
      break;
  }
  return Text();
}

}  // namespace switchyard
