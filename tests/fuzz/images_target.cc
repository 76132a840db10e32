// Images of data sets.
#include "tests/fuzz/readers.h"
#include "trainer/data/images.h"

namespace legacy::fuzz {
namespace {

// A pair of IDX files of two images of 2 x 3 pixels.
Bytes IdxImages() {
  Bytes bytes;
  for (const uint32_t word : {0x803u, 2u, 2u, 3u}) {
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<std::byte>(word >> shift));
  }
  for (int i = 0; i < 12; ++i) bytes.push_back(static_cast<std::byte>(i));
  return bytes;
}
Bytes IdxLabels() { return BytesOf(std::string("\0\0\x08\x01\0\0\0\x02\x01\x05", 10)); }

}  // namespace

void FuzzImages(ByteSpan bytes) {
  static MemoryFile first;
  static MemoryFile second;
  Input input(bytes);
  const uint32_t choice = input.Take(1) % 4;
  first.Put(input.Rest());
  Refusable([&] {
    ImageSet set;
    if (choice < 2) {
      second.Put(choice == 0 ? IdxLabels() : IdxImages());
      const bool images = choice == 0;
      set =
          ReadIdx(images ? first.path() : second.path(), images ? second.path() : first.path(), 10);
    } else {
      set = ReadCifar({first.path()}, static_cast<int>(choice) - 1, choice == 3 ? 100 : 10);
    }
    Require(static_cast<int64_t>(set.pixels.size()) == set.samples() * set.image_bytes());
  });
}

std::vector<Bytes> ImagesSeeds() {
  const auto text = [](const Bytes& bytes) { return TextOf(bytes); };
  std::vector<Bytes> seeds = TextSeeds({text(IdxImages())}, std::string(1, '\0'));
  for (Bytes& seed : TextSeeds({text(IdxLabels())}, "\1")) seeds.push_back(std::move(seed));
  for (Bytes& seed : TextSeeds({std::string(2 * 3073, '\7')}, "\2"))
    seeds.push_back(std::move(seed));
  for (Bytes& seed : TextSeeds({std::string(3074, '\7')}, "\3")) seeds.push_back(std::move(seed));
  // gzip of the two images (RFC 1952)
  seeds.push_back(BytesOf(std::string("\0\x1f\x8b\x08\0\0\0\0\0\x02\x03\x63\x60\xe0\x66", 15)));
  return seeds;
}

}  // namespace legacy::fuzz
