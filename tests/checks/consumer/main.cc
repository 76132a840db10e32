// Uses something of each library, so that headers, symbols and the libraries that they need must be
// there.
#include <cstdio>

#include "base/random.h"
#include "compress/codec.h"
#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/topology/topology.h"

int main() {
  const auto block = legacy::Philox4x32({0, 0, 0, 0}, {0, 0});
  legacy::fabric::TopologyRequest request;
  request.text = "fat-tree:k=4";
  const auto topology = legacy::fabric::MakeTopology(request);
  const auto codec = legacy::MakeCodec("topk");
  std::printf("%08x, %zu hosts, %zu codecs\n", block[0], topology.Hosts().size(),
              legacy::CodecNames().size());
  // The first word of the known answer of Philox4x32-10 (Salmon et al., SC'11, Random123's
  // kat_vectors).
  return block[0] == 0x6627e8d5 && topology.Hosts().size() == 16 && codec ? 0 : 1;
}
