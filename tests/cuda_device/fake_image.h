// What the images of modules tell, and the rule by which real drivers take or refuse them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include "runtime/device/cuda/cuda_api.h"

namespace convtgen::fake {

// What an image is, for the rule by which drivers take or refuse it.
struct Image {
  bool told = false;  // else it is taken anywhere
  bool ptx = false;
  int capability = 0;
  bool only_there = false;   // an "a" architecture
  int cuda_version = 0;      // that PTX is of
  std::string kernels = {};  // a line for each; empty of a real image, which is taken to have all
  [[nodiscard]] std::string architecture() const {
    return told ? (ptx ? "compute_" : "sm_") + std::to_string(capability) + (only_there ? "a" : "") : "";
  }
};

// The CUDA version of PTX "8.4".
inline int cuda_version_of_ptx(int major, int minor) {
  constexpr int kOf8[] = {12000, 12010, 12020, 12030, 12040, 12050, 12070, 12080, 12090};
  return major == 8 && minor < 9 ? kOf8[minor] : 1000 * (major + 4) + 10 * minor;
}

inline Image image_at(const void* bytes) {
  const auto* text = static_cast<const char*>(bytes);
  Image image;
  char kind[16] = "", suffix[2] = "";
  int major = 0, minor = 0;
  if (std::sscanf(text, "@ %15[a-z]_%d%1[a]", kind, &image.capability, suffix) >= 2) {  // of the fake NVRTC
    image.told = true;
    image.ptx = std::strcmp(kind, "compute") == 0;
    image.only_there = suffix[0] != '\0';
    image.kernels = std::strchr(text, '\n') + 1;
    (void)std::sscanf(std::strchr(text, ' ') + 1, "%*s %d", &image.cuda_version);
  } else if (std::memcmp(text, "\177ELF", 4) == 0) {
    std::uint32_t flags = 0;
    std::memcpy(&flags, text + 48, sizeof flags);
    const bool since_13 = text[7] == 0x41;
    image = {.told = true, .capability = static_cast<int>(since_13 ? flags >> 8 & 0xff : flags & 0xff)};
  } else if (const char* version = std::strstr(text, ".version "); version != nullptr) {
    image = {.told = true, .ptx = true};
    (void)std::sscanf(version, ".version %d.%d\n.target sm_%d%1[a]", &major, &minor, &image.capability, suffix);
    image.cuda_version = cuda_version_of_ptx(major, minor);
    image.only_there = suffix[0] != '\0';
  } else {
    image.kernels = text;
  }
  return image;
}

// As drivers do it: binaries for one chip run on later ones of the same major number, but none of or on Tegra's.
inline cuda::Status judgement(const Image& image, int chip, int driver_version) {
  const std::set<int> tegra{53, 62, 72, 87, 88, 101, 110};
  const bool later = image.capability <= chip && !image.only_there;
  if (!image.told || image.capability == chip) {
    return image.ptx && image.cuda_version > driver_version ? cuda::kErrorUnsupportedPtxVersion : cuda::kSuccess;
  }
  if (image.ptx) {
    return !later                                ? cuda::kErrorNoBinaryForGpu
           : image.cuda_version > driver_version ? cuda::kErrorUnsupportedPtxVersion
                                                 : cuda::kSuccess;
  }
  return later && image.capability / 10 == chip / 10 && !tegra.contains(chip) && !tegra.contains(image.capability)
             ? cuda::kSuccess
             : cuda::kErrorNoBinaryForGpu;
}

}  // namespace convtgen::fake
