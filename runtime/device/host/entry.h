// The end of a host library: how the runtime calls the kernels above; a CONVTGEN_HOST_KERNEL(name) follows for
// each.

template <int... I>
struct ConvtgenIndices {};

// A slot holds the parameter, or of a tensor map its first word.
template <typename T>
__forceinline__ T convtgen_argument(unsigned long long slot) {
  T value = {};
  __builtin_memcpy(&value, &slot, sizeof(T) < 8 ? sizeof(T) : 8);
  return value;
}

template <typename... Parameter, int... I>
CONVTGEN_HOST_UNCHECKED void convtgen_call(void (*kernel)(Parameter...), const unsigned long long* slots,
                                           ConvtgenIndices<I...>) {
  kernel(convtgen_argument<Parameter>(slots[I])...);
}

template <typename... Parameter>
constexpr int convtgen_count(void (*)(Parameter...)) {
  return sizeof...(Parameter);
}

#if defined(__clang__)
template <typename T, T... I>
using ConvtgenSequence = ConvtgenIndices<I...>;
template <int kCount>
using ConvtgenSlots = __make_integer_seq<ConvtgenSequence, int, kCount>;
#else
template <int kCount>
using ConvtgenSlots = ConvtgenIndices<__integer_pack(kCount)...>;
#endif

#define CONVTGEN_HOST_EXPORT __attribute__((visibility("default"), no_sanitize_thread))
extern "C" {
extern __attribute__((visibility("default"))) const int convtgen_host_version;
const int convtgen_host_version = CONVTGEN_HOST_ABI_VERSION;

CONVTGEN_HOST_EXPORT void convtgen_host_attach(const ConvtgenHostTable* table) {
  convtgen_host_table = *table;
}
}

// How many parameters a kernel has, and a call of it, under names that end in its own.
#define CONVTGEN_HOST_KERNEL(kernel)                                                         \
  extern "C" {                                                                               \
  extern __attribute__((visibility("default"))) const int convtgen_host_parameters_##kernel; \
  const int convtgen_host_parameters_##kernel = convtgen_count(kernel);                      \
  CONVTGEN_HOST_EXPORT void convtgen_host_entry_##kernel(const unsigned long long* slots) {  \
    convtgen_call(kernel, slots, ConvtgenSlots<convtgen_count(kernel)>{});                   \
  }                                                                                          \
  }

// Of a kernel that is always launched in clusters of so many blocks.
#define CONVTGEN_HOST_CLUSTER(kernel, blocks)                                             \
  extern "C" {                                                                            \
  extern __attribute__((visibility("default"))) const int convtgen_host_cluster_##kernel; \
  const int convtgen_host_cluster_##kernel = blocks;                                      \
  }
