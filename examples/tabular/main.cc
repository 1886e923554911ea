// Predictions for the rows of a CSV file with a header: each input of the model is the column of
// its name. tabular model.onnx rows.csv

#include <array>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "switchyard/session/inference_session.h"

namespace {

using switchyard::DataType;
using switchyard::OrtValue;

using Table = std::map<std::string, std::vector<std::string>>;  // columns by name

std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) {
    if (!field.empty() && field.back() == '\r') field.pop_back();
    fields.push_back(field);
  }
  return fields;
}

Table ReadTable(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) throw std::runtime_error(path + ": can't be read");
  const std::vector<std::string> header = Fields(line);
  Table table;
  for (int row = 2; std::getline(file, line); ++row) {
    const std::vector<std::string> fields = Fields(line);
    if (fields.size() != header.size())
      throw std::runtime_error(path + ":" + std::to_string(row) + ": expected " +
                               std::to_string(header.size()) + " fields");
    for (std::size_t i = 0; i < header.size(); ++i) table[header[i]].push_back(fields[i]);
  }
  return table;
}

OrtValue Column(const switchyard::SessionArg& input, const Table& table) {
  const auto column = table.find(input.name);
  if (column == table.end()) throw std::runtime_error("the table has no column " + input.name);
  const std::vector<std::string>& texts = column->second;
  const std::array<std::int64_t, 2> dims = {static_cast<std::int64_t>(texts.size()), 1};
  if (input.type.elem == DataType::kString) return OrtValue::FromData<std::string>(dims, texts);
  if (input.type.elem == DataType::kInt64) {
    std::vector<std::int64_t> numbers;
    for (const std::string& text : texts) numbers.push_back(std::stoll(text));
    return OrtValue::FromData<std::int64_t>(dims, numbers);
  }
  std::vector<float> numbers;
  for (const std::string& text : texts) numbers.push_back(std::stof(text));
  return OrtValue::FromData<float>(dims, numbers);
}

void Print(const std::string& name, const OrtValue& value) {
  std::cout << name << ":";
  if (!value.is_tensor()) {
    std::cout << " " << value.type().ToString() << "\n";
    return;
  }
  const switchyard::Tensor& tensor = value.tensor();
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    std::cout << " ";
    if (tensor.type() == DataType::kFloat) std::cout << tensor.data<float>()[i];
    if (tensor.type() == DataType::kInt64) std::cout << tensor.data<std::int64_t>()[i];
    if (tensor.type() == DataType::kString) std::cout << tensor.data<std::string>()[i];
  }
  std::cout << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: tabular model.onnx rows.csv\n";
    return 2;
  }
  try {
    const Table table = ReadTable(argv[2]);
    switchyard::InferenceSession session(std::make_shared<switchyard::Environment>(),
                                         std::string(argv[1]));
    std::vector<std::string> names;
    std::vector<OrtValue> feeds;
    for (const switchyard::SessionArg& input : session.inputs()) {
      names.push_back(input.name);
      feeds.push_back(Column(input, table));
    }
    const std::vector<OrtValue> outputs = session.Run({}, names, feeds, {});
    for (std::size_t i = 0; i < outputs.size(); ++i) Print(session.outputs()[i].name, outputs[i]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
