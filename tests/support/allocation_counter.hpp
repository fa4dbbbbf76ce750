// How often this program has asked for heap memory so far. Linking allocation_counter.cpp replaces operator new by one
// that counts; in a file of its own, so that no caller sees new and delete as a mismatched pair.
//
//   const std::uint64_t before = allocation_count();
//   run_the_steady_path();
//   EXPECT_EQ(allocation_count(), before);
#pragma once

#include <cstdint>

namespace wizloop {

std::uint64_t allocation_count();

}  // namespace wizloop
