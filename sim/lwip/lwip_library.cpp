#include "sim/lwip/lwip_library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "sim/core/descriptor.hpp"

namespace wizloop {
namespace {

constexpr const char* library_name = "liblwip.so.0";

#if defined(__x86_64__)
constexpr std::uint32_t relocation_absolute = R_X86_64_64;
constexpr std::uint32_t relocation_data_slot = R_X86_64_GLOB_DAT;
constexpr std::uint32_t relocation_call_slot = R_X86_64_JUMP_SLOT;
#elif defined(__aarch64__)
constexpr std::uint32_t relocation_absolute = R_AARCH64_ABS64;
constexpr std::uint32_t relocation_data_slot = R_AARCH64_GLOB_DAT;
constexpr std::uint32_t relocation_call_slot = R_AARCH64_JUMP_SLOT;
#else
#error "the relocation types of this processor are not known here"
#endif

// The library is part of the machine: whatever is wrong with it is no mistake in what a run asked for.
template <typename... Arguments>
Error machine_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return {fmt::format(format, std::forward<Arguments>(arguments)...), ErrorKind::machine};
}

// Where the dynamic linker finds the library.
Result<std::string> find_library() {
  void* handle = dlopen(library_name, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    return machine_error("{}: {}; it comes with the Debian package liblwip0", library_name, dlerror());
  }
  link_map* map = nullptr;
  const bool found = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0;
  std::string path = found ? map->l_name : "";
  dlclose(handle);
  if (path.empty()) return machine_error("{}: the dynamic linker does not tell its path", library_name);
  return path;
}

// An anonymous file with the same contents, or -1 and errno.
int copy_to_memory(const std::string& path) {
  const int from = descriptor::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return -1;
  int copy = memfd_create("wizloop-lwip", MFD_CLOEXEC);
  struct stat status {};
  bool complete = copy >= 0 && fstat(from, &status) == 0;
  for (off_t done = 0; complete && done < status.st_size;) {
    const ssize_t count = sendfile(copy, from, nullptr, static_cast<std::size_t>(status.st_size - done));
    complete = count > 0;
    done += count;
  }
  const int error_number = errno;
  descriptor::close(from);
  if (!complete && copy >= 0) {
    descriptor::close(copy);
    copy = -1;
  }
  errno = error_number;
  return copy;
}

// The relocations of a loaded library, as the dynamic linker has processed them.
class Relocations {
 public:
  explicit Relocations(const link_map& map) : base_{map.l_addr} {
    for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
      const ElfW(Addr) address = entry->d_un.d_ptr;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          symbols_ = reinterpret_cast<const ElfW(Sym)*>(address);
          break;
        case DT_STRTAB:
          names_ = reinterpret_cast<const char*>(address);
          break;
        case DT_JMPREL:
          calls_ = reinterpret_cast<const ElfW(Rela)*>(address);
          break;
        case DT_PLTRELSZ:
          call_count_ = entry->d_un.d_val / sizeof(ElfW(Rela));
          break;
        case DT_RELA:
          data_ = reinterpret_cast<const ElfW(Rela)*>(address);
          break;
        case DT_RELASZ:
          data_count_ = entry->d_un.d_val / sizeof(ElfW(Rela));
          break;
        default:
          break;
      }
    }
  }

  // Stores `function` in each slot through which the library reaches `symbol`; false if there is none.
  bool replace(std::string_view symbol, void* function) const {
    bool found = false;
    for_each([&](const ElfW(Rela) & relocation, const ElfW(Sym) & target) {
      if (names_ + target.st_name == symbol) {
        store(relocation, reinterpret_cast<ElfW(Addr)>(function));
        found = true;
      }
    });
    return found;
  }

  // Points each slot for a symbol that the library defines itself at its own definition.
  void bind_to_itself() const {
    for_each([&](const ElfW(Rela) & relocation, const ElfW(Sym) & target) {
      if (target.st_shndx != SHN_UNDEF) {
        store(relocation, base_ + target.st_value + static_cast<ElfW(Addr)>(relocation.r_addend));
      }
    });
  }

 private:
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [entries, count] : {std::pair{calls_, call_count_}, std::pair{data_, data_count_}}) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(entries[i].r_info));
        if (type == relocation_absolute || type == relocation_data_slot || type == relocation_call_slot) {
          visit(entries[i], symbols_[ELF64_R_SYM(entries[i].r_info)]);
        }
      }
    }
  }

  // The slots lie in pages that the linker may have made read-only after its own work.
  void store(const ElfW(Rela) & relocation, ElfW(Addr) value) const {
    auto* slot = reinterpret_cast<ElfW(Addr)*>(base_ + relocation.r_offset);
    if (*slot == value) return;
    const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(slot) / page_bytes * page_bytes;
    const bool writable = mprotect(reinterpret_cast<void*>(page), page_bytes, PROT_READ | PROT_WRITE) == 0;
    WIZ_ASSERT(writable);
    *slot = value;
  }

  ElfW(Addr) base_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const ElfW(Rela) * calls_ = nullptr;
  std::size_t call_count_ = 0;
  const ElfW(Rela) * data_ = nullptr;
  std::size_t data_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<LwipLibrary>> LwipLibrary::load(std::span<const Replacement> replacements) {
  const Result<std::string> path = find_library();
  if (!path) return path.error();

  std::unique_ptr<LwipLibrary> library{new LwipLibrary};
  library->file_ = copy_to_memory(path.value());
  if (library->file_ < 0) {
    return machine_error("{}: cannot copy it into memory: {}", path.value(), std::strerror(errno));
  }
  library->handle_ = dlopen(fmt::format("/proc/self/fd/{}", library->file_).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle_ == nullptr) {
    return machine_error("{}: cannot load a copy of it: {}", path.value(), dlerror());
  }

  link_map* map = nullptr;
  if (dlinfo(library->handle_, RTLD_DI_LINKMAP, &map) != 0) {
    return machine_error("{}: cannot inspect a copy of it: {}", path.value(), dlerror());
  }
  const Relocations relocations{*map};
  relocations.bind_to_itself();
  for (const Replacement& replacement : replacements) {
    if (!relocations.replace(replacement.symbol, replacement.function)) {
      return machine_error("{}: it does not call {}, which this simulator replaces; expected lwIP 2.1.3 of Debian",
                           path.value(), replacement.symbol);
    }
  }

#define WIZ_LOOK_UP(name)                                                                        \
  library->name = reinterpret_cast<decltype(library->name)>(dlsym(library->handle_, #name));     \
  if (library->name == nullptr) {                                                                \
    return machine_error("{}: it lacks {}; expected lwIP 2.1.3 of Debian", path.value(), #name); \
  }
  WIZ_LWIP_FUNCTIONS(WIZ_LOOK_UP)
#undef WIZ_LOOK_UP
  return library;
}

LwipLibrary::~LwipLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
  if (file_ >= 0) descriptor::close(file_);
}

}  // namespace wizloop
