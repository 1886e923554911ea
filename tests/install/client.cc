// A client outside the tree: it sees the installed headers and library only.

#include <iostream>

#include "switchyard/base/version.h"

int main() {
  std::cout << "switchyard " << switchyard::Version() << "\n";
  return switchyard::Version().empty() ? 1 : 0;
}
