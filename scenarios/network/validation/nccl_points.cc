#include "scenarios/network/validation/nccl_points.h"

namespace legacy {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kGiB = 1024 * kMiB;

constexpr NcclPoint kA100[] = {{64 * kKiB, 30.2},    {128 * kKiB, 29},   {256 * kKiB, 26.2},
                               {512 * kKiB, 26.8},   {1 * kMiB, 37.9},   {2 * kMiB, 55.3},
                               {4 * kMiB, 81.7},     {8 * kMiB, 127.8},  {16 * kMiB, 213.3},
                               {32 * kMiB, 377.6},   {64 * kMiB, 614.8}, {128 * kMiB, 1181.6},
                               {256 * kMiB, 2217.6}, {512 * kMiB, 4246}, {1 * kGiB, 8244}};
constexpr NcclPoint kH100[] = {{1 * kMiB, 45.9},   {2 * kMiB, 45.8},    {4 * kMiB, 57.9},
                               {8 * kMiB, 85.3},   {16 * kMiB, 125.9},  {32 * kMiB, 203.3},
                               {64 * kMiB, 327.8}, {128 * kMiB, 579.2}, {256 * kMiB, 1089.8},
                               {512 * kMiB, 2106}, {1 * kGiB, 4018}};
constexpr NcclPoint k2A100[] = {{64 * kKiB, 50.1},    {128 * kKiB, 53.3}, {256 * kKiB, 65.8},
                                {512 * kKiB, 72.9},   {1 * kMiB, 84.5},   {2 * kMiB, 99.2},
                                {4 * kMiB, 127},      {8 * kMiB, 168.4},  {16 * kMiB, 265.9},
                                {32 * kMiB, 452},     {64 * kMiB, 812.7}, {128 * kMiB, 1542},
                                {256 * kMiB, 3042.7}, {512 * kMiB, 6070}, {1 * kGiB, 9073}};
constexpr NcclPoint k2OtherA100[] = {{64 * kKiB, 49.4},  {128 * kKiB, 50.2}, {256 * kKiB, 100},
                                     {512 * kKiB, 68},   {1 * kMiB, 81.7},   {2 * kMiB, 102.2},
                                     {4 * kMiB, 123.5},  {8 * kMiB, 183},    {16 * kMiB, 265.9},
                                     {32 * kMiB, 490.5}, {64 * kMiB, 853.5}, {128 * kMiB, 1479},
                                     {256 * kMiB, 2700}, {512 * kMiB, 5300}, {1 * kGiB, 10472}};
constexpr NcclPoint k2H100[] = {{64 * kKiB, 33.1},  {128 * kKiB, 38.1}, {256 * kKiB, 46.8},
                                {512 * kKiB, 70.3}, {1 * kMiB, 71.5},   {2 * kMiB, 76.2},
                                {4 * kMiB, 94.2},   {8 * kMiB, 131.4},  {16 * kMiB, 183.8},
                                {32 * kMiB, 267.7}, {64 * kMiB, 466.1}, {128 * kMiB, 748.3},
                                {256 * kMiB, 1276}, {512 * kMiB, 2355}, {1 * kGiB, 4470}};
constexpr NcclPoint k2OtherH100[] = {{1 * kMiB, 83},     {2 * kMiB, 93.5},    {4 * kMiB, 110.9},
                                     {8 * kMiB, 150.5},  {16 * kMiB, 201.6},  {32 * kMiB, 269.7},
                                     {64 * kMiB, 469.6}, {128 * kMiB, 750.7}, {256 * kMiB, 1290},
                                     {512 * kMiB, 2371}, {1 * kGiB, 4497}};
constexpr NcclPoint k4H100[] = {{64 * kKiB, 47.6},  {128 * kKiB, 55.1}, {256 * kKiB, 66.9},
                                {512 * kKiB, 72.8}, {1 * kMiB, 82.2},   {2 * kMiB, 132.2},
                                {4 * kMiB, 151.1},  {8 * kMiB, 202.4},  {16 * kMiB, 258.3},
                                {32 * kMiB, 370.3}, {64 * kMiB, 574.4}, {128 * kMiB, 990.7},
                                {256 * kMiB, 1768}, {512 * kMiB, 3109}, {1 * kGiB, 5803}};
constexpr NcclPoint k8H100[] = {{1 * kMiB, 115.7},  {2 * kMiB, 143.3},    {4 * kMiB, 203.8},
                                {8 * kMiB, 321.4},  {16 * kMiB, 373.5},   {32 * kMiB, 508.2},
                                {64 * kMiB, 709.2}, {128 * kMiB, 1149.5}, {256 * kMiB, 1955},
                                {512 * kMiB, 3509}, {1 * kGiB, 7370}};
constexpr NcclPoint kA100OneProcess[] = {
    {64 * kKiB, 34.2},    {128 * kKiB, 37.5}, {256 * kKiB, 44},   {512 * kKiB, 57.5},
    {1 * kMiB, 76.7},     {2 * kMiB, 112.4},  {4 * kMiB, 134.5},  {8 * kMiB, 183.2},
    {16 * kMiB, 241.4},   {32 * kMiB, 397.6}, {64 * kMiB, 587.8}, {128 * kMiB, 1182.6},
    {256 * kMiB, 2110.9}, {512 * kMiB, 4208}, {1 * kGiB, 8165}};
constexpr NcclPoint kV100[] = {{64 * kKiB, 52.6},  {128 * kKiB, 55.6}, {256 * kKiB, 59.5},
                               {512 * kKiB, 61.3}, {1 * kMiB, 88.4},   {2 * kMiB, 116.7},
                               {4 * kMiB, 145.1},  {8 * kMiB, 203.8},  {16 * kMiB, 324.1},
                               {32 * kMiB, 550.8}, {64 * kMiB, 992.7}, {128 * kMiB, 1818.8}};
constexpr NcclPoint k12V100[] = {{64 * kKiB, 65},    {128 * kKiB, 64.7},  {256 * kKiB, 68.3},
                                 {512 * kKiB, 75.5}, {1 * kMiB, 88.1},    {2 * kMiB, 143.5},
                                 {4 * kMiB, 183.7},  {8 * kMiB, 282.9},   {16 * kMiB, 482.8},
                                 {32 * kMiB, 563.6}, {64 * kMiB, 1051.8}, {128 * kMiB, 2046},
                                 {256 * kMiB, 4037}, {512 * kMiB, 8021},  {1 * kGiB, 15986}};
constexpr NcclPoint k2H200[] = {{64 * kKiB, 65.5},  {128 * kKiB, 81.2}, {256 * kKiB, 63.4},
                                {512 * kKiB, 79.9}, {1 * kMiB, 76.9},   {2 * kMiB, 86},
                                {4 * kMiB, 105.6},  {8 * kMiB, 149.1},  {16 * kMiB, 207.6},
                                {32 * kMiB, 276.9}, {64 * kMiB, 460.8}, {128 * kMiB, 742},
                                {256 * kMiB, 1275}, {512 * kMiB, 2322}, {1 * kGiB, 4385}};
constexpr NcclPoint k4A100[] = {{1 * kMiB, 132.7},   {2 * kMiB, 161.3},    {4 * kMiB, 226.9},
                                {8 * kMiB, 313.7},   {16 * kMiB, 381},     {32 * kMiB, 581.3},
                                {64 * kMiB, 1079.5}, {128 * kMiB, 2137.8}, {256 * kMiB, 3083},
                                {512 * kMiB, 5657},  {1 * kGiB, 11069}};
constexpr NcclPoint k2V100[] = {{1 * kMiB, 192.4},  {2 * kMiB, 271.3},  {4 * kMiB, 374.1},
                                {8 * kMiB, 540.1},  {16 * kMiB, 865.2}, {32 * kMiB, 1535},
                                {64 * kMiB, 2711},  {128 * kMiB, 5108}, {256 * kMiB, 9663},
                                {512 * kMiB, 18620}};

constexpr NcclMachine kMachines[] = {
    {"1 node of 8 A100", 1, 8, 240, 0, 12, 0, true, kA100},
    {"1 node of 8 H100", 1, 8, 370.8, 0, 12, 0, true, kH100},
    {"2 nodes of 8 A100 (c)", 2, 8, 240, 200, 8, 0, true, k2A100},
    {"2 nodes of 8 A100 (d)", 2, 8, 240, 200, 8, 0, true, k2OtherA100},
    {"2 nodes of 8 H100 (a)", 2, 8, 370.8, 400, 8, 512 * kKiB, true, k2H100},
    {"2 nodes of 8 H100 (b)", 2, 8, 370.8, 400, 8, 512 * kKiB, true, k2OtherH100},
    {"4 nodes of 8 H100 (a)", 4, 8, 370.8, 400, 8, 2 * kMiB, true, k4H100},
    {"8 nodes of 8 H100 (b)", 8, 8, 370.8, 400, 8, 8 * kMiB, true, k8H100},
    {"1 node of 8 A100, one process", 1, 8, 240, 0, 12, 0, false, kA100OneProcess},
    {"1 node of 8 V100, one process", 1, 8, 120, 0, 6, 0, false, kV100},
    {"1 node of 12 V100, one process", 1, 12, 120, 0, 6, 0, false, k12V100},
    {"2 nodes of 8 H200", 2, 8, 370.8, 400, 8, 0, false, k2H200},
    {"4 nodes of 8 A100, 2020", 4, 8, 240, 200, 8, 0, false, k4A100},
    {"2 nodes of 8 V100, 2019", 2, 8, 120, 50, 8, 0, false, k2V100},
};

}  // namespace

std::span<const NcclMachine> NcclMachines() { return kMachines; }

}  // namespace legacy
