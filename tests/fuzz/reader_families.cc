// Families of readers of files and requests, which need more than compress/.
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {

// Each is defined next to its target.
void FuzzJson(ByteSpan input);
void FuzzProfile(ByteSpan input);
void FuzzManifest(ByteSpan input);
void FuzzRun(ByteSpan input);
void FuzzRecord(ByteSpan input);
void FuzzCheckpoint(ByteSpan input);
void FuzzDdpTrace(ByteSpan input);
void FuzzTopology(ByteSpan input);
void FuzzHpcc(ByteSpan input);
void FuzzMaps(ByteSpan input);
void FuzzRegions(ByteSpan input);
void FuzzStragglers(ByteSpan input);
void FuzzImages(ByteSpan input);
void FuzzText(ByteSpan input);
void FuzzRatings(ByteSpan input);
void FuzzPhotographs(ByteSpan input);
void FuzzFlows(ByteSpan input);
void FuzzGradients(ByteSpan input);
void FuzzScenario(ByteSpan input);
void FuzzShape(ByteSpan input);
std::vector<Bytes> JsonSeeds();
std::vector<Bytes> ProfileSeeds();
std::vector<Bytes> ManifestSeeds();
std::vector<Bytes> RunSeeds();
std::vector<Bytes> RecordSeeds();
std::vector<Bytes> CheckpointSeeds();
std::vector<Bytes> DdpTraceSeeds();
std::vector<Bytes> TopologySeeds();
std::vector<Bytes> HpccSeeds();
std::vector<Bytes> MapsSeeds();
std::vector<Bytes> RegionsSeeds();
std::vector<Bytes> StragglersSeeds();
std::vector<Bytes> ImagesSeeds();
std::vector<Bytes> TextFileSeeds();
std::vector<Bytes> RatingsSeeds();
std::vector<Bytes> PhotographsSeeds();
std::vector<Bytes> FlowsSeeds();
std::vector<Bytes> GradientsSeeds();
std::vector<Bytes> ScenarioSeeds();
std::vector<Bytes> ShapeSeeds();
void FuzzFrames(ByteSpan input);
std::vector<Bytes> FramesSeeds();
void FuzzRoceText(ByteSpan input);
std::vector<Bytes> RoceTextSeeds();
#ifdef LEGACY_FUZZ_TRACES
void FuzzChakra(ByteSpan input);
void FuzzGoal(ByteSpan input);
std::vector<Bytes> ChakraSeeds();
std::vector<Bytes> GoalSeeds();
#endif
#ifdef LEGACY_FUZZ_NS3
void FuzzRoceFabric(ByteSpan input);
std::vector<Bytes> RoceFabricSeeds();
#endif
#ifdef LEGACY_FUZZ_STUDIES
void FuzzJournal(ByteSpan input);
void FuzzHttp(ByteSpan input);
void FuzzStudy(ByteSpan input);
void FuzzQuestion(ByteSpan input);
std::vector<Bytes> JournalSeeds();
std::vector<Bytes> HttpSeeds();
std::vector<Bytes> StudySeeds();
std::vector<Bytes> QuestionSeeds();
#endif

const std::vector<Family>& ReaderFamilies() {
  constexpr uint32_t kFew = 200;  // files cost more than messages
  static const std::vector<Family> families = {
      {"json", FuzzJson, JsonSeeds, kFew},
      {"profile", FuzzProfile, ProfileSeeds, kFew},
      {"manifest", FuzzManifest, ManifestSeeds, kFew},
      {"run", FuzzRun, RunSeeds, kFew},
      {"record", FuzzRecord, RecordSeeds, 2 * kFew},  // two kinds of lines
      {"checkpoint", FuzzCheckpoint, CheckpointSeeds},
      {"ddptrace", FuzzDdpTrace, DdpTraceSeeds, kFew},
      {"topology", FuzzTopology, TopologySeeds, kFew},
      {"hpcc", FuzzHpcc, HpccSeeds, kFew},
      {"maps", FuzzMaps, MapsSeeds, kFew},
      {"regions", FuzzRegions, RegionsSeeds, kFew},
      {"stragglers", FuzzStragglers, StragglersSeeds, kFew},
      {"images", FuzzImages, ImagesSeeds, kFew},
      {"text", FuzzText, TextFileSeeds, kFew},
      {"ratings", FuzzRatings, RatingsSeeds, kFew},
      {"photographs", FuzzPhotographs, PhotographsSeeds, kFew},
      {"flows", FuzzFlows, FlowsSeeds, kFew},
      {"gradients", FuzzGradients, GradientsSeeds, kFew},
      {"scenario", FuzzScenario, ScenarioSeeds, kFew},
      {"shape", FuzzShape, ShapeSeeds, kFew},
      {"frames", FuzzFrames, FramesSeeds},
      {"rocetext", FuzzRoceText, RoceTextSeeds},
#ifdef LEGACY_FUZZ_TRACES
      {"chakra", FuzzChakra, ChakraSeeds, kFew},
      {"goal", FuzzGoal, GoalSeeds, kFew},
#endif
#ifdef LEGACY_FUZZ_NS3
      {"rocefabric", FuzzRoceFabric, RoceFabricSeeds, kFew},
#endif
#ifdef LEGACY_FUZZ_STUDIES
      {"journal", FuzzJournal, JournalSeeds, kFew},
      {"http", FuzzHttp, HttpSeeds, kFew},
      {"study", FuzzStudy, StudySeeds, kFew},
      {"question", FuzzQuestion, QuestionSeeds, kFew},
#endif
  };
  return families;
}

std::vector<Bytes> TextSeeds(const std::vector<std::string>& texts, const std::string& choice) {
  constexpr size_t kCuts = 6;
  std::vector<Bytes> seeds;
  for (const std::string& text : texts) {
    seeds.push_back(BytesOf(choice + text));
    for (size_t cut = 1; cut < kCuts; ++cut) {
      const size_t at = text.size() * cut / kCuts;
      seeds.push_back(BytesOf(choice + text.substr(0, at)));
      seeds.push_back(BytesOf(choice + text.substr(0, at) + text.substr(at / 2)));
    }
  }
  return seeds;
}

}  // namespace legacy::fuzz
