// Seeded chance, one named stream per consumer, so that a new consumer leaves the draws of the others alone.
//
//   Random random{seed};
//   RandomStream loss = random.stream("link.loss");
//   if (loss.below(1'000'000) < loss_ppm) ...
//
// All draws are integers made here: the distributions of the standard library differ by vendor.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "sim/core/assert.hpp"
#include "sim/core/time.hpp"

namespace wizloop {

// xoshiro256** (Blackman and Vigna), its state filled by splitmix64.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9E3779B97F4A7C15;
      std::uint64_t mixed = seed;
      mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
      mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
      word = mixed ^ (mixed >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound), without bias; bound must not be 0.
  std::uint64_t below(std::uint64_t bound) {
    WIZ_ASSERT(bound != 0);
    const std::uint64_t threshold = (0 - bound) % bound;  // 2^64 mod bound
    for (;;) {
      const uint128 product = static_cast<uint128>(next()) * bound;
      if (static_cast<std::uint64_t>(product) >= threshold) return static_cast<std::uint64_t>(product >> 64);
    }
  }

 private:
  std::uint64_t state_[4];
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_{seed} {}

  std::uint64_t seed() const { return seed_; }

  RandomStream stream(std::string_view name) const {
    std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    return RandomStream{hash ^ (seed_ * 0xD6E8FEB86659FD93)};
  }

 private:
  std::uint64_t seed_;
};

}  // namespace wizloop
