// The memory of one lwIP: blocks are made once and used over and over, and all go when the stack goes, whatever it
// still held.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "sim/core/assert.hpp"

namespace wizloop {

class LwipHeap {
 public:
  void* allocate(std::size_t bytes) {
    const std::size_t size_class = class_of(bytes);
    WIZ_ASSERT(size_class < class_count);
    Header* block = free_[size_class];
    if (block != nullptr) {
      free_[size_class] = block->next_free;
    } else {
      all_.push_back(std::make_unique<std::byte[]>(sizeof(Header) + (smallest << size_class)));
      block = new (all_.back().get()) Header{nullptr, size_class};
    }
    return block + 1;
  }

  void* allocate_zeroed(std::size_t bytes) {
    void* memory = allocate(bytes);
    std::memset(memory, 0, bytes);
    return memory;
  }

  void release(void* memory) {
    if (memory == nullptr) return;
    Header* block = static_cast<Header*>(memory) - 1;
    block->next_free = free_[block->size_class];
    free_[block->size_class] = block;
  }

 private:
  struct alignas(std::max_align_t) Header {
    Header* next_free;
    std::size_t size_class;
  };

  // Each class holds blocks of twice the size of the one before.
  static constexpr std::size_t smallest = 32;
  static constexpr std::size_t class_count = 13;  // up to 128 KiB: the largest datagram and its headers
  static std::size_t class_of(std::size_t bytes) {
    return bytes <= smallest ? 0 : static_cast<std::size_t>(std::bit_width((bytes - 1) / smallest));
  }

  std::vector<std::unique_ptr<std::byte[]>> all_;
  Header* free_[class_count] = {};
};

}  // namespace wizloop
