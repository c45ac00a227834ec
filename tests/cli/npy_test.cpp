#include "cli/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.h"

namespace convtgen::cli {
namespace {

using test::Folder;
using testing::HasSubstr;

/// A file as numpy.save writes it, with this header.
std::string file_with(const std::string& header, const std::string& data, int version = 1) {
  std::string padded = header;
  const std::size_t before = version == 1 ? 10 : 12;
  padded.append(63 - (before + padded.size()) % 64, ' ');
  padded += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (std::size_t i = 0; i < before - 8; ++i) {
    file += static_cast<char>(padded.size() >> (8 * i) & 0xff);
  }
  return file + padded + data;
}

std::string error_of(const std::string& bytes, Dtype dtype = Dtype::kF32) {
  const Folder folder;
  test::write(folder / "x.npy", bytes);
  const auto array = read_npy(folder / "x.npy", dtype);
  EXPECT_FALSE(array);
  if (array) {
    return "";
  }
  EXPECT_THAT(array.error().message, HasSubstr("x.npy: "));
  return array.error().message;
}

const std::string kTwoFloats("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8);  // 1, -2

TEST(Npy, EveryDtypeSurvives) {
  const Folder folder;
  for (const Dtype dtype : {Dtype::kF64, Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
    for (const std::vector<std::int64_t>& shape : {
             std::vector<std::int64_t>{7}, {2, 3, 5, 4}, {0, 3, 2, 2}, {}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                                            1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                                            1, 1, 1, 1, 1, 1, 1, 1, 2}}) {
      const HostArray array = random_array(dtype, shape, 5, 1.0);
      test::write(folder / "a.npy", npy_bytes(array));
      const auto again = read_npy(folder / "a.npy", dtype);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(again->shape, array.shape);
      EXPECT_EQ(again->bytes, array.bytes);
      EXPECT_EQ((npy_bytes(array).size() - array.bytes.size()) % 64, 0U);
    }
  }
}

TEST(Npy, HeadersAsOthersWriteThem) {
  const Folder folder;
  for (const std::string& file :
       {file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", kTwoFloats),
        file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", kTwoFloats, 2),
        file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", kTwoFloats, 3),
        file_with("{'shape': (1L, 2L), \"fortran_order\": False, 'descr': '<f4'}" + std::string(150, ' '),
                  kTwoFloats)}) {
    test::write(folder / "a.npy", file);
    const auto array = read_npy(folder / "a.npy", Dtype::kF32);
    ASSERT_TRUE(array) << array.error().message;
    EXPECT_EQ(array->shape, (std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(array->at(0), 1);
    EXPECT_EQ(array->at(1), -2);
  }
}

/// The bytes that numpy 2.4.6 and ml_dtypes 0.6.0 save of np.array([[1, -2.5]], dtype=ml_dtypes.bfloat16).
const std::string kSavedBfloat16 =
    std::string("\x93NUMPY\x01\x00v\x00{'descr': '<V2', 'fortran_order': False, 'shape': (1, 2), }", 69) +
    std::string(58, ' ') + "\n" + std::string("\x80\x3f\x20\xc0");

TEST(Npy, Bfloat16OfMlDtypes) {
  ASSERT_EQ(kSavedBfloat16.size(), 128U + 4U);
  const Folder folder;
  std::string void_bytes = kSavedBfloat16;  // as of a view with dtype "V2"
  void_bytes[void_bytes.find('<')] = '|';
  for (const std::string& file : {kSavedBfloat16, void_bytes}) {
    test::write(folder / "a.npy", file);
    const auto array = read_npy(folder / "a.npy", Dtype::kBf16);
    ASSERT_TRUE(array) << array.error().message;
    EXPECT_EQ(array->shape, (std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(array->at(0), 1);
    EXPECT_EQ(array->at(1), -2.5);
    EXPECT_THAT(error_of(file, Dtype::kF16), HasSubstr("holds ml_dtypes' bfloat16, or other raw bytes ("));
    EXPECT_THAT(error_of(file, Dtype::kF16), HasSubstr("the layer's dtype f16 takes little-endian float16 (<f2)"));
    EXPECT_THAT(error_of(file, Dtype::kF64), HasSubstr("takes little-endian float64"));
  }
  std::string swapped = kSavedBfloat16;
  swapped[swapped.find('<')] = '>';
  EXPECT_THAT(error_of(swapped, Dtype::kBf16), HasSubstr("'>V2'"));
}

TEST(Npy, ErrorsNameTheFileAndWhatIsLegal) {
  const std::string right = file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", kTwoFloats);
  EXPECT_THAT(error_of(right, Dtype::kF16),
              HasSubstr("holds float32 (<f4); the layer's dtype f16 takes little-endian float16 (<f2)"));
  EXPECT_THAT(error_of(right, Dtype::kBf16), HasSubstr("uint16 (the bits of bf16) (<u2)"));
  EXPECT_THAT(error_of(file_with("{'descr': '>f4', 'fortran_order': False, 'shape': (1, 2), }", kTwoFloats)),
              HasSubstr("big-endian float32"));
  EXPECT_THAT(error_of(file_with("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", kTwoFloats)),
              HasSubstr("Fortran order; save it in C order"));
  EXPECT_THAT(error_of(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }", kTwoFloats)),
              HasSubstr("8 bytes follow the header, and 1x3 elements of f32 take 12"));
  EXPECT_THAT(error_of(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }", "")),
              HasSubstr("more than can be addressed"));
  EXPECT_THAT(error_of(file_with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", kTwoFloats)),
              HasSubstr("header can't be read"));
  EXPECT_THAT(error_of(file_with("{'descr': '<f4', 'shape': (1, 2), }", kTwoFloats)), HasSubstr("header"));
  EXPECT_THAT(error_of(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2), }", kTwoFloats)),
              HasSubstr("header"));
  EXPECT_THAT(error_of(right.substr(0, 40)), HasSubstr("cut short"));
  EXPECT_THAT(error_of("PK\x03\x04 not an array"), HasSubstr("not a .npy file"));
  EXPECT_THAT(error_of(""), HasSubstr("not a .npy file"));
  EXPECT_THAT(error_of(file_with("{'descr': '<f4'}", "", 4)), HasSubstr("version 4"));
  for (std::size_t length = 0; length < right.size(); ++length) {
    error_of(right.substr(0, length));  // never more than an error
  }
  EXPECT_FALSE(read_npy("/nowhere/x.npy", Dtype::kF32));
}

}  // namespace
}  // namespace convtgen::cli
