#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "compress/codec.h"
#include "compress/gradients/gradients.h"
#include "trainer/calibration/kernel_rates.h"

namespace legacy::elias_cost_test {
namespace {

// A profile charges for Elias codes, relative to codes of a fixed length, the time that they take.
// The bounds are wide: the times are of a machine that does other things, too.
TEST(KernelRates, EliasCodesCostWhatIsCharged) {
  const Profile profile = LoadProfile("cpu-reference");
  const std::vector<float> values = DrawGradient("laplace:n=65536");
  const auto cost = [&](const char* text, bool decodes) {
    const auto codec = MakeCodec(text);
    CodecContext context;
    context.parameter = codec->Parameter().fallback;
    const Message message = codec->Encode(values, context);
    std::vector<float> sum(values.size());
    const double measured = MedianSeconds(
        [&] {
          if (decodes) return codec->DecodeAdd(message.bytes, context, sum);
          codec->Encode(values, context);
        },
        {.runs = 9, .seconds = 0});
    double charged = 0;
    for (const Work& work : decodes ? codec->DecodeWork(65536, context.parameter)
                                    : codec->EncodeWork(65536, context)) {
      charged += profile.WorkSeconds(work);
    }
    return std::pair(measured, charged);
  };
  for (const bool decodes : {false, true}) {
    const auto [fixed, fixed_charged] = cost("qsgd", decodes);
    const auto [elias, elias_charged] = cost("qsgd:code=elias", decodes);
    const double ratio = (elias / fixed) / (elias_charged / fixed_charged);
    EXPECT_GT(ratio, 1.0 / 6) << decodes;
    EXPECT_LT(ratio, 6) << decodes;
    EXPECT_GT(elias_charged, 10 * fixed_charged) << decodes;
  }
}

}  // namespace
}  // namespace legacy::elias_cost_test
