// Frames between legacy-packet and its users: networks, orders of engines and steps.
#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/roce/roce-settings.h"
#include "ns3-module/wire/frames.h"
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {
namespace {

template <class T>
Bytes BodyOf(const T& value) {
  StateWriter out;
  ToArchive(out, value);
  return out.Take();
}

// Checks that a value that was read is written as it was.
template <class T>
T Read(const wire::Frame& frame) {
  T value = frame.As<T>();
  Require(BodyOf(value) == frame.body);
  return value;
}

void ReadNetwork(const wire::Frame& frame) {
  const auto value = Read<wire::NetworkValue>(frame);
  const fabric::Topology topology = wire::TopologyOf(value);
  Require(topology.NodeCount() == static_cast<int>(value.nodes.size()));
  const wire::NetworkValue again = wire::ValueOf(topology, value.placement);
  Require(again.links.size() == value.links.size() && again.routes.size() <= value.routes.size());
}

void ReadSubmission(const wire::Frame& frame) {
  const auto submission = Read<wire::Submission>(frame);
  if (!submission.step || submission.step->workers > 1'000) return;
  const fabric::StepGraph graph(*submission.step);
  Require(!graph.Done());
}

wire::NetworkValue ExampleFabric() {
  fabric::TopologyRequest request;
  request.text = "leaf-spine:leaves=2,hosts=1,spines=1";
  request.changes = "host0>*@steps:0s=1Gbps,1ms=2Gbps,period=2ms|spine0@outage:from=1s,for=1s";
  fabric::Topology topology = fabric::MakeTopology(request);
  std::vector<int> via;
  for (const fabric::DirectedLink link : topology.Route(0, 1, 0)) via.push_back(topology.To(link));
  via.pop_back();
  topology.AddRoute(0, 1, via);
  return wire::ValueOf(topology, fabric::MakePlacement({"packed", 2}, topology));
}

wire::Submission ExampleSubmission() {
  fabric::StepTraffic traffic;
  traffic.workers = 2;
  traffic.deviceFree = {5, 6};
  fabric::CallTraffic call;
  call.collective.bytes = {100, 100};
  fabric::BucketTraffic bucket;
  bucket.ready = {1, 2};
  bucket.calls = {call};
  bucket.decode = {3, 4};
  traffic.buckets = {bucket};
  return {7, 11, false, traffic};
}

wire::EngineOrder ExampleOrder() {
  wire::EngineOrder order;
  order.transport = fabric::MakeTransport("datacenter");
  order.roce = fabric::RoceSettings::Parse("roce:cc=hpcc", "transport");
  order.transport.attributes = {{"ns3::TcpSocket::SegmentSize", "1000"}};
  return order;
}

}  // namespace

void FuzzFrames(ByteSpan input) {
  if (input.empty()) return;
  wire::Frame frame;
  frame.body.assign(input.begin() + 1, input.end());
  Refusable([&] {
    switch (std::to_integer<int>(input[0]) % 5) {
      case 0:
        return ReadNetwork(frame);
      case 1:
        return ReadSubmission(frame);
      case 2:
        return void(Read<wire::EngineOrder>(frame));
      case 3:
        return void(Read<wire::Answer>(frame));
      default:
        return void(Read<wire::FlowNews>(frame));
    }
  });
}

std::vector<Bytes> FramesSeeds() {
  wire::Answer answer;
  answer.commands = {{wire::Command::What::Send, {0, 1, 10, 3}, 0, 0},
                     {wire::Command::What::Wake, {}, 100, 5}};
  wire::FlowNews news;
  news.roce = fabric::RoceFlow();
  std::vector<Bytes> seeds;
  char kind = 0;
  for (const Bytes& body : {BodyOf(ExampleFabric()), BodyOf(ExampleSubmission()),
                            BodyOf(ExampleOrder()), BodyOf(answer), BodyOf(news)}) {
    for (Bytes& seed : TextSeeds({TextOf(body)}, std::string(1, kind))) {
      seeds.push_back(std::move(seed));
    }
    ++kind;
  }
  return seeds;
}

}  // namespace legacy::fuzz
