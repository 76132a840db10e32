// The numbers and names of Chakra's files (mlcommons/chakra, schema/protobuf/et_def.proto), and of
// the attributes that we add. Internal to scenarios/graphs/.
#pragma once

namespace legacy::graphs::chakra {

// Fields of GlobalMetadata, Node, IOInfo and of lists of values.
inline constexpr int kVersion = 1, kMetadataAttribute = 2;
inline constexpr int kId = 1, kName = 2, kType = 3, kControlDeps = 4, kDataDeps = 5;
inline constexpr int kStart = 6, kDuration = 7, kInputs = 8, kOutputs = 9, kAttribute = 10;
inline constexpr int kValues = 1;

// Fields of AttributeProto: a name, and one value. Lists have the number after that of their type.
inline constexpr int kAttributeName = 1, kDocString = 2;
inline constexpr int kDouble = 3, kFloat = 5, kInt32 = 7, kInt64 = 9, kUint32 = 11, kUint64 = 13,
                     kSint32 = 15, kSint64 = 17, kFixed32 = 19, kFixed64 = 21, kSfixed32 = 23,
                     kSfixed64 = 25, kBool = 27, kString = 29, kBytes = 31;

// Types of nodes.
inline constexpr int kMetadataNode = 1, kLoadNode = 2, kStoreNode = 3, kComputeNode = 4,
                     kSendNode = 5, kReceiveNode = 6, kCollectiveNode = 7;

// The extensions of a rank's file, and of one with what differs from the file of another rank.
inline constexpr const char* kExtension = ".et";
inline constexpr const char* kDifferences = ".et-diff";

// The version that we write.
inline constexpr const char* kOurVersion = "0.0.4";

// Fields of a node of schema 0.0.1, which has no attributes, and whose types are one lower.
namespace old {
inline constexpr int kParent = 4, kTensorBytes = 6, kRunTime = 7, kOperations = 12, kCommType = 13,
                     kDimensions = 14, kCommunicator = 15, kSource = 16, kDestination = 17,
                     kBytes = 18, kTag = 19;
}  // namespace old

// Our attributes: of the file's metadata, and of nodes.
inline constexpr const char* kRanks = "legacy_ranks";
inline constexpr const char* kStreams = "legacy_streams";
inline constexpr const char* kOrdered = "legacy_ordered";
inline constexpr const char* kDevices = "legacy_devices";
inline constexpr const char* kCommunicators = "legacy_communicators";
inline constexpr const char* kContention = "legacy_contention";
inline constexpr const char* kHostLimit = "legacy_host_limit";
inline constexpr const char* kFirstRank = "legacy_first_rank";
inline constexpr const char* kStream = "legacy_stream";
inline constexpr const char* kLabel = "legacy_label";
inline constexpr const char* kDurationNs = "legacy_duration_ns";
inline constexpr const char* kEarliestNs = "legacy_earliest_ns";
inline constexpr const char* kCollective = "legacy_collective";
inline constexpr const char* kAlgorithm = "legacy_algorithm";
inline constexpr const char* kSpec = "legacy_spec";
inline constexpr const char* kCommunicator = "legacy_communicator";
inline constexpr const char* kIssue = "legacy_issue";

}  // namespace legacy::graphs::chakra
