#include "scenarios/network/validation/nccl_points.h"

namespace legacy {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

// Times in microseconds of a size and of each of its doubles.
constexpr double kA100[] = {30.2,  29,    26.2,  26.8,   37.9,   55.3, 81.7, 127.8,
                            213.3, 377.6, 614.8, 1181.6, 2217.6, 4246, 8244};
constexpr double kH100[] = {45.9, 45.8, 57.9, 85.3, 125.9, 203.3, 327.8, 579.2, 1089.8, 2106, 4018};
constexpr double k2A100[] = {50.1,  53.3, 65.8,  72.9, 84.5,   99.2, 127, 168.4,
                             265.9, 452,  812.7, 1542, 3042.7, 6070, 9073};
constexpr double k2OtherA100[] = {49.4,  50.2,  100,   68,   81.7, 102.2, 123.5, 183,
                                  265.9, 490.5, 853.5, 1479, 2700, 5300,  10472};
constexpr double k2H100[] = {33.1,  38.1,  46.8,  70.3,  71.5, 76.2, 94.2, 131.4,
                             183.8, 267.7, 466.1, 748.3, 1276, 2355, 4470};
constexpr double k2OtherH100[] = {83,    93.5,  110.9, 150.5, 201.6, 269.7,
                                  469.6, 750.7, 1290,  2371,  4497};
constexpr double k4H100[] = {47.6,  55.1,  66.9,  72.8,  82.2, 132.2, 151.1, 202.4,
                             258.3, 370.3, 574.4, 990.7, 1768, 3109,  5803};
constexpr double k8H100[] = {115.7, 143.3,  203.8, 321.4, 373.5, 508.2,
                             709.2, 1149.5, 1955,  3509,  7370};
constexpr double kA100OneProcess[] = {34.2,  37.5,  44,    57.5,   76.7,   112.4, 134.5, 183.2,
                                      241.4, 397.6, 587.8, 1182.6, 2110.9, 4208,  8165};
constexpr double kV100[] = {52.6,  55.6,  59.5,  61.3,  88.4,  116.7,
                            145.1, 203.8, 324.1, 550.8, 992.7, 1818.8};
constexpr double k12V100[] = {65,    64.7,  68.3,   75.5, 88.1, 143.5, 183.7, 282.9,
                              482.8, 563.6, 1051.8, 2046, 4037, 8021,  15986};
constexpr double k2H200[] = {65.5,  81.2,  63.4,  79.9, 76.9, 86,   105.6, 149.1,
                             207.6, 276.9, 460.8, 742,  1275, 2322, 4385};
constexpr double k4A100[] = {132.7,  161.3,  226.9, 313.7, 381,  581.3,
                             1079.5, 2137.8, 3083,  5657,  11069};
constexpr double k2V100[] = {192.4, 271.3, 374.1, 540.1, 865.2, 1535, 2711, 5108, 9663, 18620};

constexpr NcclMachine kMachines[] = {
    {"1 node of 8 A100", 1, 8, 240, 0, 12, 0, true, 64 * kKiB, kA100},
    {"1 node of 8 H100", 1, 8, 370.8, 0, 12, 0, true, 1 * kMiB, kH100},
    {"2 nodes of 8 A100 (c)", 2, 8, 240, 200, 8, 0, true, 64 * kKiB, k2A100},
    {"2 nodes of 8 A100 (d)", 2, 8, 240, 200, 8, 0, true, 64 * kKiB, k2OtherA100},
    {"2 nodes of 8 H100 (a)", 2, 8, 370.8, 400, 8, 512 * kKiB, true, 64 * kKiB, k2H100},
    {"2 nodes of 8 H100 (b)", 2, 8, 370.8, 400, 8, 512 * kKiB, true, 1 * kMiB, k2OtherH100},
    {"4 nodes of 8 H100 (a)", 4, 8, 370.8, 400, 8, 2 * kMiB, true, 64 * kKiB, k4H100},
    {"8 nodes of 8 H100 (b)", 8, 8, 370.8, 400, 8, 8 * kMiB, true, 1 * kMiB, k8H100},
    {"1 node of 8 A100, one process", 1, 8, 240, 0, 12, 0, false, 64 * kKiB, kA100OneProcess},
    {"1 node of 8 V100, one process", 1, 8, 120, 0, 6, 0, false, 64 * kKiB, kV100},
    {"1 node of 12 V100, one process", 1, 12, 120, 0, 6, 0, false, 64 * kKiB, k12V100},
    {"2 nodes of 8 H200", 2, 8, 370.8, 400, 8, 0, false, 64 * kKiB, k2H200},
    {"4 nodes of 8 A100, 2020", 4, 8, 240, 200, 8, 0, false, 1 * kMiB, k4A100},
    {"2 nodes of 8 V100, 2019", 2, 8, 120, 50, 8, 0, false, 1 * kMiB, k2V100},
};

}  // namespace

std::span<const NcclMachine> NcclMachines() { return kMachines; }

}  // namespace legacy
