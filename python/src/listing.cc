// What operators and kernels there are, as plain tuples: switchyard/_listing.py gives them names.

#include <climits>
#include <string>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "src/environment.h"
#include "src/session.h"
#include "switchyard/ep/kernel_registry.h"
#include "switchyard/ir/schema.h"

namespace switchyard::python {
namespace {

nb::list Parameters(std::span<const FormalParameter> parameters) {
  nb::list list;
  for (const FormalParameter& parameter : parameters) {
    list.append(nb::make_tuple(parameter.name, parameter.type,
                               parameter.types != nullptr ? parameter.types->ToString() : "",
                               static_cast<int>(parameter.option), parameter.homogeneous));
  }
  return list;
}

nb::list OperatorSchemas() {
  nb::list list;
  for (const OpSchema& schema : OpSchemaRegistry::BuiltIn()) {
    nb::list constraints, attributes;
    for (const TypeConstraint& constraint : schema.type_constraints)
      constraints.append(nb::make_tuple(constraint.name, constraint.types->ToString()));
    for (const AttributeDef& attribute : schema.attributes) {
      attributes.append(
          nb::make_tuple(attribute.name, static_cast<int>(attribute.type), attribute.required));
    }
    list.append(nb::make_tuple(schema.domain, schema.name, schema.since_version, schema.deprecated,
                               Parameters(schema.inputs), Parameters(schema.outputs), constraints,
                               attributes,
                               nb::make_tuple(schema.min_inputs, schema.max_inputs,
                                              schema.min_outputs, schema.max_outputs)));
  }
  return list;
}

nb::list Names(TypeSet set) {
  nb::list names;
  for (int code = 1; code < kDataTypeCount; ++code) {
    const auto type = static_cast<DataType>(code);
    if (set.Contains(type)) names.append(DataTypeName(type));
  }
  return names;
}

// Types of the arguments that a kernel names: "input 0": ["float", "double"].
nb::dict Constraints(const KernelCreateInfo& info) {
  nb::dict constraints;
  for (const auto& [i, set] : info.input_types)
    constraints[nb::str(("input " + std::to_string(i)).c_str())] = Names(set);
  for (const auto& [i, set] : info.output_types)
    constraints[nb::str(("output " + std::to_string(i)).c_str())] = Names(set);
  return constraints;
}

// Of the providers that can be made here with their default options.
nb::list Kernels() {
  nb::list list;
  for (const ProviderFactory& factory : ProcessEnvironment()->providers().all()) {
    if (factory.unavailable && factory.unavailable()) continue;
    std::shared_ptr<KernelRegistry> registry;
    try {
      registry = factory.create({}, {})->GetKernelRegistry();
    } catch (const Error&) {  // it wants options or a device that is busy
    }
    if (!registry) continue;
    for (const KernelCreateInfo* info : registry->all()) {
      list.append(nb::make_tuple(factory.name, info->domain, info->op_type, info->first_version,
                                 info->last_version == 0 ? INT_MAX : info->last_version,
                                 Constraints(*info)));
    }
  }
  return list;
}

}  // namespace

void BindListing(nb::module_& module) {
  module.def("_operator_schemas", &OperatorSchemas);
  module.def("_kernels", &Kernels);
}

}  // namespace switchyard::python
