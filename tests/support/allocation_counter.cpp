#include "tests/support/allocation_counter.hpp"

#include <cstdlib>
#include <new>

namespace {
std::uint64_t allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace wizloop {

std::uint64_t allocation_count() { return allocations; }

}  // namespace wizloop
