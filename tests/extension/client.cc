// Asks the library of the extended copy whether it knows the scratch provider.

#include <iostream>

#include "switchyard/session/environment.h"

int main() {
  const switchyard::Environment environment;
  const bool found = environment.providers().Find("ScratchExecutionProvider").has_value();
  std::cout << "scratch provider: " << (found ? "known" : "unknown") << "\n";
  return found ? 0 : 1;
}
