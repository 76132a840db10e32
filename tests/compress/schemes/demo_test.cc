// DeMo (schemes/demo.cc), against numbers of an independent program and an oracle of its parts.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "compress/codecs/dct_codec.h"
#include "compress/exchange.h"
#include "tests/compress/test_data.h"

namespace legacy::demo_test {
namespace {

constexpr int kWorkers = 3;

Unit Shaped(std::vector<int64_t> shape) {
  int64_t numel = 1;
  for (const int64_t length : shape) numel *= length;
  Unit unit = test::MakeUnit(numel);
  unit.shape = std::move(shape);
  return unit;
}

UnitStep StepOf(int64_t step, double rate) {
  return {.info = {.seed = 1, .step = step, .learning_rate = rate}};
}

// Positions are those among the coefficients of all chunks.
struct Step {
  double rate;
  std::vector<std::vector<float>> gradients;
  std::vector<std::vector<uint32_t>> positions;
  std::vector<int> signs;
  std::vector<double> weights;  // after the step
};
struct Case {
  std::vector<int64_t> shape;
  int chunk, k, workers;
  bool senders;
  std::vector<double> weights;
  std::vector<Step> steps;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {{6, 8},
       4,
       3,
       2,
       true,
       {-0.54388818, -0.95807699,  1.0667977,   0.59408796,  1.0395301,   -1.6185514,  -1.2074919,
        0.58031711,  -0.8552859,   1.3130919,   1.6618226,   -0.13272985, 0.029494881, 0.025471531,
        -0.29296603, -0.037850231, -0.23305357, 0.4280065,   -0.33350928, -0.5212504,  -0.30004301,
        -0.61226536, -0.080618291, 0.53921343,  2.0561645,   -1.6287475,  -1.3780161,  -0.068387005,
        0.031571907, -0.044900208, 1.8722304,   -1.8257531,  -0.15507767, -1.2725667,  -0.30250577,
        0.51473206,  -1.4435761,   1.0237836,   -0.84608131, -1.0481319,  -1.6458255,  -0.69974224,
        -0.74203954, 0.82847483,   -1.5619823,  0.21307086,  0.84129849,  -0.25195994},
       {{0.1,
         {{0.76843378,  -0.69305023, 0.4141829,   -0.33382021,  2.1588926,   -0.28389974,
           -0.2992761,  0.40383785,  -0.52888405, -0.19602749,  0.33841775,  0.87523058,
           -0.59585501, 0.060715479, -0.17100749, 0.69768593,   0.82148575,  0.40396525,
           0.26630276,  1.7921331,   -0.87179996, 1.6376352,    0.5386789,   -1.5325252,
           0.13010968,  -1.4137933,  -0.12254377, -2.0282703,   0.73023498,  -0.78833025,
           1.6528132,   -0.72272778, 0.056197681, -1.3558268,   -0.12660917, 0.045923697,
           0.50885976,  2.4737725,   1.6510942,   0.78803897,   -0.32014145, -0.27695521,
           -0.29889034, -0.84317152, 0.68366065,  -0.041664214, 0.54407657,  -0.22918197},
          {0.39338621,  1.7816985,   0.37718167,  0.95494312, -0.81661731, -0.11387189, -0.34238172,
           0.5417582,   0.33925358,  -0.62724437, 0.40063779, 0.17799056,  -1.5082758,  0.031049292,
           1.2521345,   -0.82078609, 1.1630669,   0.77161587, 0.2488654,   0.52526613,  -0.72164721,
           0.79114139,  -1.3346655,  -1.0343436,  0.62898846, -1.0113563,  2.101674,    0.43269436,
           1.003026,    1.0684568,   -0.29263718, 0.12723548, 0.57780871,  0.11060204,  1.6818326,
           1.141564,    0.32839097,  1.3774677,   0.18306754, 0.88957762,  0.27453926,  -0.15601799,
           -0.82846122, -0.60979958, 0.15705307,  0.53121002, -2.0323649,  -0.31433403}},
         {{0, 4, 7, 16, 18, 21, 24, 27, 31, 36, 44, 47},
          {0, 8, 11, 14, 22, 23, 27, 31, 32, 37, 39, 40}},
         {1,  1,  1, 1,  1, -1, -1, 1, 1, -1, 1, -1, -1, -1, 1,  -1, 1,  1,  1,  1,  -1, 1, 1,  -1,
          -1, -1, 1, -1, 1, 1,  1,  1, 1, -1, 1, -1, 1,  1,  -1, 1,  -1, -1, -1, -1, 1,  1, -1, -1},
         {-0.64388818, -1.058077,  0.96679768,  0.49408796,  0.93953013,   -1.5185514,
          -1.1074919,  0.48031711, -0.9552859,  1.4130919,   1.5618226,    -0.032729846,
          0.12949488,  0.12547153, -0.39296603, 0.062149769, -0.33305357,  0.3280065,
          -0.43350928, -0.6212504, -0.20004301, -0.71226536, -0.18061829,  0.63921343,
          2.1561645,   -1.5287475, -1.478016,   0.031612995, -0.068428093, -0.14490021,
          1.7722304,   -1.9257532, -0.25507767, -1.1725667,  -0.40250577,  0.61473206,
          -1.5435762,  0.92378364, -0.74608131, -1.1481319,  -1.5458255,   -0.59974224,
          -0.64203954, 0.92847484, -1.6619823,  0.11307086,  0.94129849,   -0.15195994}},
        {0.05,
         {{0.67420749,   -0.069586924, -1.0169748,     -0.9288802,   1.7652444,   -1.5142523,
           -0.25548504,  0.9017554,    -1.9230235,     0.74548989,   -1.484109,   1.0781268,
           2.733623,     -1.1835464,   -0.00035252967, 0.43442242,   -0.50333458, 0.61312497,
           -0.64607694,  -0.49933144,  -0.75067416,    0.013713503,  0.5391638,   1.0371577,
           -0.044620243, -1.0079673,   -0.42087926,    -0.45363119,  -0.33028412, 0.64342262,
           -0.080473278, 0.15118659,   0.10757715,     -0.035087874, -0.41880649, 0.78195982,
           -0.03829637,  -0.062806855, -1.0731041,     -0.65814375,  -0.5553254,  0.61003926,
           -1.7138583,   0.76725869,   0.15754951,     -0.67879462,  -0.82130215, 0.53784174},
          {0.24311852,  -1.9535444,  -0.66286998, -0.88956645,   -0.045187737, -0.60978562,
           0.48501511,  -0.49561963, -0.24998636, 1.2663987,     -0.21453066,  -0.47244088,
           0.061977819, -1.2737098,  -1.5731248,  -0.0088123962, -0.57036733,  -1.4114614,
           0.93907116,  0.69629962,  0.2335458,   -0.52480172,   -0.19245139,  -0.56930826,
           0.86337326,  -1.4336311,  0.27375852,  0.01935441,    -1.1297801,   0.61942185,
           -0.33900665, 1.869653,    1.1744004,   -0.054879297,  -0.37545392,  -0.68124093,
           -0.72022427, 0.315886,    -1.4325253,  0.97160739,    0.69875938,   -0.13353328,
           0.75008282,  2.2978752,   0.29711407,  1.7194449,     -0.29321517,  -0.60593921}},
         {{5, 9, 11, 12, 14, 19, 31, 32, 33, 42, 43, 46},
          {0, 7, 11, 12, 17, 19, 24, 26, 27, 36, 39, 41}},
         {1, 1,  -1, -1, -1, -1, 1, 1, -1, -1, -1, 1, 1,  -1, -1, 1, 1, -1, 1,  -1, 1, 1, -1, -1,
          1, -1, 1,  1,  -1, 1,  1, 1, 1,  1,  1,  1, -1, 1,  1,  1, 1, 1,  -1, 1,  1, 1, -1, 1},
         {-0.69388818, -1.108077,  1.0167977,   0.54408796,   0.98953013,   -1.4685514,
          -1.1574919,  0.43031711, -0.9052859,  1.4630919,    1.6118226,    -0.082729846,
          0.079494881, 0.17547153, -0.34296603, 0.012149769,  -0.38305357,  0.3780065,
          -0.48350928, -0.5712504, -0.25004301, -0.76226536,  -0.13061829,  0.68921343,
          2.1061645,   -1.4787475, -1.528016,   -0.018387005, -0.018428093, -0.19490021,
          1.7222304,   -1.9757532, -0.30507767, -1.2225667,   -0.45250577,  0.56473206,
          -1.4935761,  0.87378364, -0.79608132, -1.1981319,   -1.5958255,   -0.64974224,
          -0.59203954, 0.87847484, -1.7119823,  0.063070863,  0.99129849,   -0.20195994}},
        {0.033333333,
         {{1.0017124,   -1.9154533,  0.95961176,  -0.00081892118, -0.48029796, 0.085921035,
           0.1113443,   1.2475922,   0.84180316,  0.20091412,     -0.22054574, -0.94454776,
           0.19910183,  -2.5751492,  0.96592252,  -0.0010959398,  -1.6618919,  0.56489505,
           -0.88890087, -0.46603424, -1.7860991,  -0.74892273,    0.15946887,  -0.084470517,
           0.28894491,  -0.73134537, 0.56082709,  -1.4836712,     -0.57327556, -2.6549311,
           -0.31406752, -0.55511747, -0.20342909, 0.56030575,     1.3004822,   -1.1893182,
           -0.25322651, -1.9717684,  1.8142087,   1.2864131,      0.4521306,   1.1996993,
           0.84749197,  -0.64485024, 0.71100167,  1.1666997,      0.80028621,  -0.089906474},
          {-0.38870081, 2.3723956,   0.27075608,  0.54613795,    -1.4024887,  0.68281835,
           0.24695937,  -0.86178717, 1.2895199,   -0.0026929972, 0.64819665,  0.46058796,
           -0.69919794, 0.28939598,  1.3841972,   -1.1056865,    -1.036795,   -0.91170111,
           0.74039935,  -0.46243209, 0.29392259,  1.1418057,     -1.1260792,  1.4727618,
           0.028202454, -0.17610704, 1.528649,    0.45612343,    -1.3163877,  -0.06037002,
           -0.77268524, 0.26448863,  -0.47151323, -0.34053925,   0.95741395,  -1.6948621,
           0.27954409,  -0.23522799, 0.32178095,  -2.3729202,    -0.95594808, -0.40925198,
           1.65096,     -1.2575939,  -1.1257353,  -0.19312641,   0.31606751,  -0.61463731}},
         {{0, 2, 7, 17, 18, 22, 25, 28, 29, 38, 39, 40},
          {5, 7, 8, 15, 19, 21, 26, 27, 28, 36, 44, 47}},
         {1,  -1, -1, -1, 1,  1,  -1, -1, 1, -1, -1, 1,  1,  -1, -1, 1,
          -1, -1, -1, 1,  -1, 1,  1,  -1, 1, 1,  1,  -1, -1, -1, 1,  -1,
          1,  1,  1,  -1, 1,  -1, 1,  -1, 1, 1,  1,  -1, -1, -1, 1,  -1},
         {-0.72722151, -1.0747437,  1.050131,    0.57742129,   0.95619679,  -1.5018847,
          -1.1241585,  0.46365045,  -0.93861923, 1.4964252,    1.6451559,   -0.11606318,
          0.046161547, 0.20880486,  -0.3096327,  -0.021183564, -0.34972024, 0.41133983,
          -0.45017595, -0.60458373, -0.21670968, -0.7955987,   -0.16395162, 0.72254677,
          2.0728312,   -1.5120808,  -1.5613494,  0.014946328,  0.014905241, -0.16156687,
          1.6888971,   -1.9424198,  -0.338411,   -1.2559,      -0.4858391,  0.59806539,
          -1.5269095,  0.90711697,  -0.82941465, -1.1647985,   -1.6291588,  -0.68307557,
          -0.62537287, 0.91180817,  -1.678649,   0.096404196,  0.95796516,  -0.16862661}}}},
      {{10},
       64,
       3,
       3,
       true,
       {-0.83481962, 0.10988597, 0.25487411, 0.13956919, 1.2813962, -0.69034712, -1.2607508,
        -1.1811116, 0.39543271, -0.53959143},
       {{0.1,
         {{-1.6498131, 0.92514128, 1.4003372, 0.18087744, 0.64352525, -1.396704, -1.4140018,
           0.16254851, 0.20967547, -0.1927409},
          {-0.2890257, -0.62854887, 1.4427287, -0.85661622, -0.13324384, 1.0391354, -1.0202216,
           0.14422933, -0.11445797, 0.61777505},
          {-2.4452082, -0.29656736, -0.78547957, 1.0913617, -0.055719504, -0.56286462, 0.88615687,
           0.63990478, 1.0167992, 1.0835867}},
         {{3, 4, 6}, {5, 7, 8}, {1, 3, 8}},
         {-1, -1, 1, -1, -1, 1, -1, 1, 1, 1},
         {-0.73481962, 0.20988597, 0.15487411, 0.23956919, 1.3813962, -0.79034711, -1.1607508,
          -1.2811116, 0.29543271, -0.63959142}},
        {0.05,
         {{0.76968791, -0.57222745, 0.2983487, 0.29667284, 0.36132083, 0.33835092, 0.092789403,
           -0.4185005, -0.071712526, -0.98137339},
          {-0.8977474, 0.72376496, -0.31943465, 0.092310003, -0.53840365, -1.6323957, -0.40091938,
           1.6151212, -0.10386141, -0.6819524},
          {0.69283978, -0.48446317, -0.61345568, -1.5640699, -1.7169464, 0.41520069, 0.13694144,
           0.037066245, 0.69119261, -0.46021171}},
         {{1, 7, 9}, {4, 6, 7}, {3, 4, 9}},
         {1, 1, 1, -1, 1, -1, 1, 1, -1, -1},
         {-0.78481962, 0.15988597, 0.10487411, 0.28956919, 1.3313962, -0.74034711, -1.2107508,
          -1.3311116, 0.34543271, -0.58959142}},
        {0.033333333,
         {{0.017893109, -0.86911945, -0.8627683, -0.75039, 0.96575439, 0.70511285, -1.0089265,
           -0.32073824, 0.11817745, -0.80785631},
          {0.67324984, -0.78832605, -0.33816008, -0.33797404, -1.8496494, -1.7549555, -0.86665606,
           1.1812351, 0.5768834, 0.44698416},
          {-0.62997059, -0.47239986, 0.039794081, 0.26418815, -1.526346, -0.71658505, -0.77393969,
           1.3053352, -0.55133418, -0.82453626}},
         {{0, 5, 8}, {0, 2, 5}, {0, 4, 9}},
         {1, -1, -1, -1, -1, -1, -1, 1, 1, -1},
         {-0.81815295, 0.19321931, 0.13820744, 0.32290252, 1.3647296, -0.70701378, -1.1774175,
          -1.3644449, 0.31209938, -0.55625809}}}},
      {{10},
       64,
       3,
       3,
       false,
       {0.8080517, -0.44845184, 0.9232834, -0.97405635, 1.8754191, -0.090614958, 0.1302852,
        -0.24736992, -0.055883573, 0.011145333},
       {{0.1,
         {{-0.33880165, 1.2320252, -2.263028, -1.2217704, -0.38297826, -0.14139415, 1.4317342,
           0.54356652, -0.0092010512, -0.81155281},
          {1.9556502, 0.86243145, 2.5436157, -1.4978529, 1.7167848, -0.10525262, -0.85869523,
           0.12352979, 0.11445558, -0.31756465},
          {-1.4541103, -0.35297583, -1.287189, 0.085611755, -1.3654087, 0.215061, -0.41630726,
           0.95079703, -0.79224757, -1.3618374}},
         {{3, 7, 8}, {1, 8, 9}, {0, 4, 9}},
         {1, 1, -1, -1, -1, -1, 1, 1, -1, -1},
         {0.7080517, -0.54845184, 1.0232834, -0.87405636, 1.975419, 0.0093850417, 0.030285205,
          -0.34736992, 0.044116427, 0.11114533}},
        {0.05,
         {{-1.4141451, 0.25566857, 3.9317779, -1.3922195, -0.63905959, 1.526966, 0.63763695,
           1.2531478, 0.28655232, 0.46251613},
          {0.027235547, -1.1396622, 0.18377355, -1.0046411, 0.59523881, -2.7629287, -2.1194384,
           -0.19578521, 0.036369408, 1.7849101},
          {-0.88787584, 0.55756292, -1.8836299, 2.2950138, -2.6942898, 1.4213228, -0.46497,
           -1.9244424, -0.68031106, 0.76478568}},
         {{4, 5, 8}, {2, 3, 6}, {2, 8, 9}},
         {-1, 1, 1, 1, -1, 1, -1, 1, 1, 1},
         {0.7580517, -0.59845184, 0.9732834, -0.92405636, 2.025419, -0.040614958, 0.080285205,
          -0.39736992, -0.0058835733, 0.061145333}},
        {0.033333333,
         {{-0.26866601, -0.97308898, 0.043790907, -0.14320543, 0.77694619, 0.54341076, -0.61622248,
           -0.91961781, -0.10442711, -0.30486022},
          {0.1141227, -1.1786671, -0.02598174, -0.97278407, 0.41267232, 0.11662586, -0.39927865,
           -1.7313456, 0.97604912, -1.0039433},
          {-0.62875585, -0.23596463, 0.26001409, -0.69521782, -0.67189204, -1.5766506, 0.89882991,
           -0.6388009, -0.61442455, -2.2283826}},
         {{1, 6, 7}, {4, 5, 9}, {0, 3, 6}},
         {1, -1, -1, -1, 1, -1, -1, -1, 1, -1},
         {0.72471837, -0.56511851, 1.0066167, -0.89072302, 1.9920857, -0.007281625, 0.11361854,
          -0.36403658, -0.039216907, 0.094478667}}}}};
  return cases;
}

int SignOf(float x) { return (x > 0) - (x < 0); }

TEST(Demo, EqualsVectorsOfAnotherProgram) {
  for (const Case& one : Cases()) {
    const std::string chunks = "chunk=" + std::to_string(one.chunk) + ",k=" + std::to_string(one.k);
    const auto scheme =
        MakeScheme("demo:beta=0.9,vectors=dct," + chunks + (one.senders ? "" : ",aggregate=all"));
    const Unit unit = Shaped(one.shape);
    const auto line = MakeCodec("dct:" + chunks);
    const auto own = line->ForUnit(unit);
    const auto& dct = dynamic_cast<const DctCodec&>(own ? *own : *line);
    const auto exchange = scheme->Open(unit, one.workers);
    std::vector<double> weights = one.weights;
    for (size_t s = 0; s < one.steps.size(); ++s) {
      const Step& step = one.steps[s];
      std::vector<Message> messages;
      const auto update = test::RunStep(*exchange, StepOf(static_cast<int64_t>(s), step.rate),
                                        step.gradients, &messages);
      for (int w = 0; w < one.workers; ++w) {
        EXPECT_EQ(dct.Read(messages[w].bytes, unit.numel, {}).positions, step.positions[w]);
      }
      for (int64_t i = 0; i < unit.numel; ++i) {
        EXPECT_EQ(SignOf(update[i]), step.signs[i]) << s << " " << i;
        weights[i] -= step.rate * SignOf(update[i]);
        EXPECT_NEAR(weights[i], step.weights[i], 1e-6);
      }
    }
  }
}

std::vector<std::vector<float>> Gradients(int64_t numel, int64_t step) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < kWorkers; ++w) gradients.push_back(test::Normals(numel, 10 * step + w));
  return gradients;
}

// What a worker sends and what it keeps are the decayed momentum and the gradient times the rate.
TEST(Demo, SendsOrKeepsEverything) {
  const Unit unit = Shaped({30, 48});
  const auto codec = MakeCodec("dct:k=7")->ForUnit(unit);
  const auto exchange = MakeScheme("demo:k=7")->Open(unit, kWorkers);
  std::vector<std::vector<float>> deltas(kWorkers, std::vector<float>(unit.numel));
  for (int64_t step = 0; step < 4; ++step) {
    const double rate = 0.1 / (1 + static_cast<double>(step));
    const auto gradients = Gradients(unit.numel, step);
    std::vector<Message> messages;
    test::RunStep(*exchange, StepOf(step, rate), gradients, &messages);
    for (int w = 0; w < kWorkers; ++w) {
      std::vector<float> sent(unit.numel);
      codec->DecodeAdd(messages[w].bytes, {}, sent);
      const auto kept = exchange->Residual(w);
      for (int64_t i = 0; i < unit.numel; ++i) {
        ASSERT_NEAR(sent[i] + kept[i], 0.999 * deltas[w][i] + rate * gradients[w][i], 1e-6);
      }
      deltas[w].assign(kept.begin(), kept.end());
    }
  }
}

// The mean of a coefficient is over those that sent it, or over all.
TEST(Demo, DividesBySendersOrByAll) {
  const Unit unit = Shaped({30, 48});
  const auto bound = MakeCodec("dct:k=7")->ForUnit(unit);
  const auto& dct = dynamic_cast<const DctCodec&>(*bound);
  for (const bool senders : {true, false}) {
    const auto exchange =
        MakeScheme(senders ? "demo:k=7" : "demo:k=7,aggregate=all")->Open(unit, kWorkers);
    std::vector<Message> messages;
    const auto mean = test::RunStep(*exchange, StepOf(0, 0.5), Gradients(unit.numel, 1), &messages);
    std::vector<float> sum(unit.numel), count(unit.numel), expected(unit.numel);
    for (const Message& message : messages) {
      const DctCodec::Kept kept = dct.Read(message.bytes, unit.numel, {});
      for (size_t i = 0; i < kept.positions.size(); ++i) {
        sum[kept.positions[i]] += kept.values[i];
        count[kept.positions[i]] += 1;
      }
    }
    EXPECT_TRUE(std::ranges::count(count, 1) > 0 && std::ranges::count(count, 0) > 0);
    for (int64_t i = 0; i < unit.numel; ++i) {
      sum[i] /= senders ? std::max(count[i], 1.0f) : kWorkers;
    }
    cpu::ChunkDct(dct.GridOf(unit.numel)).Inverse(sum, expected);
    for (int64_t i = 0; i < unit.numel; ++i) ASSERT_NEAR(mean[i], expected[i], 1e-6);
  }
}

// With all coefficients and without momentum, one worker's result is its gradient times the rate.
TEST(Demo, OfAllCoefficientsWithoutMomentumIsTheGradient) {
  const Unit unit = Shaped({20, 30});
  const auto exchange = MakeScheme("demo:k=600,beta=0")->Open(unit, 1);
  for (int64_t step = 0; step < 3; ++step) {
    const auto gradient = test::Normals(unit.numel, step);
    const auto mean = test::RunStep(*exchange, StepOf(step, 0.01), {gradient});
    for (int64_t i = 0; i < unit.numel; ++i) {
      ASSERT_NEAR(mean[i], 0.01f * gradient[i], 1e-7);
      ASSERT_EQ(SignOf(mean[i]), SignOf(gradient[i]));
    }
  }
}

TEST(Demo, SendsVectorsWholeUnlessTold) {
  const Unit vector = Shaped({97});
  const auto scheme = MakeScheme("demo");
  EXPECT_FALSE(scheme->Compresses(vector, 1));
  EXPECT_EQ(scheme->MessageBytes(vector, 1), 16 + 4 * 97);
  const auto exchange = scheme->Open(vector, kWorkers);
  for (int64_t step = 0; step < 3; ++step) {
    const auto gradients = Gradients(97, step);
    const auto mean = test::RunStep(*exchange, StepOf(step, 0.5), gradients);
    for (int i = 0; i < 97; ++i) {
      const double expected = (gradients[0][i] + gradients[1][i] + gradients[2][i]) / 6;
      ASSERT_NEAR(mean[i], expected, 1e-6);
    }
    EXPECT_TRUE(exchange->Residual(0).empty());
  }
  const auto line = MakeScheme("demo:vectors=dct");
  EXPECT_TRUE(line->Compresses(vector, 1));
  EXPECT_EQ(line->MessageBytes(vector, 1), 20 + 4 * 97);  // chunks of 1 have no positions
  EXPECT_EQ(line->MessageBytes(Shaped({128}), 1), 20 + 2 * 32 * 6 / 8 + 4 * 64);
}

TEST(Demo, HasTheBytesOfItsChunks) {
  const Unit unit = Shaped({1000, 1000});
  EXPECT_EQ(MakeScheme("demo")->MessageBytes(unit, 1), 70420);
  EXPECT_EQ(MakeScheme("demo")->ElementsSent(unit, 1), 400 * 32);
  EXPECT_EQ(MakeScheme("demo+fp16")->MessageBytes(unit, 1), 70420 - 2 * 400 * 32);
}

// The rate is part of the momentum, unless the optimizer is plain SGD.
TEST(Demo, RescalesOnlyMomentumOfGradients) {
  const Unit unit = Shaped({16, 16});
  for (const bool sign : {true, false}) {
    const auto scheme = MakeScheme(sign ? "demo:k=3" : "demo:k=3,sign=off");
    EXPECT_EQ(scheme->Traits().owns_rate, sign);
    EXPECT_EQ(scheme->Traits().optimizer, sign ? "sign" : "sgd");
    EXPECT_TRUE(scheme->Traits().owns_momentum);
    const auto exchange = scheme->Open(unit, 1);
    const auto gradient = test::Normals(unit.numel, 1);
    test::RunStep(*exchange, StepOf(0, 0.25), {gradient});
    const std::vector<float> before(exchange->Residual(0).begin(), exchange->Residual(0).end());
    exchange->RescaleResiduals(2);
    for (size_t i = 0; i < before.size(); ++i) {
      ASSERT_EQ(exchange->Residual(0)[i], before[i] * (sign ? 1 : 2));
    }
  }
}

TEST(Demo, WithoutSignIsErrorFeedbackOfCoefficients) {
  const Unit unit = Shaped({16, 24});
  const auto demo = MakeScheme("demo:k=3,sign=off,aggregate=all,beta=0.5")->Open(unit, kWorkers);
  const auto plain = MakeScheme("dct:k=3,decay=0.5")->Open(unit, kWorkers);
  for (int64_t step = 0; step < 4; ++step) {
    const auto gradients = Gradients(unit.numel, step);
    EXPECT_EQ(test::RunStep(*demo, StepOf(step, 0.1), gradients),
              test::RunStep(*plain, StepOf(step, 0.1), gradients));
  }
}

TEST(Demo, RefusesWhatItCannotDo) {
  EXPECT_THROW(MakeScheme("demo", {.error_feedback = false}), Error);
  for (const char* bad :
       {"demo:k=0", "demo:beta=1", "demo:chunk=0", "demo:aggregate=some", "demo:vectors=on",
        "demo:decay=0.5", "demo:dense_start=3", "demo+topk", "demo+fp16+fp16",
        "demo+qsgd:code=elias", "demo+qsgd:norm=l2", "demo:memory=momentum"}) {
    EXPECT_THROW(MakeScheme(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace legacy::demo_test
