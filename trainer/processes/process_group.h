// A process group is the processes that train together. Process p of P simulates the workers w with
// w mod P = p: it computes their gradients and encodes their messages. Messages travel between the
// processes, and every process decodes all of them, in the order of workers, so that all hold the
// same weights to the bit. Process 0 leads: it has the policy, simulates the network and writes.
//
// All processes call the same functions in the same order, from one thread each. A process that
// cannot continue ends all of them (Fail), and so does one that dies: the calls of the others throw
// Error, with the message of the one that failed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/message.h"
#include "trainer/processes/carrier.h"

namespace legacy {

// A GroupError says why all processes end.
class GroupError : public Error {
 public:
  using Error::Error;
};

// A ProcessGroup is one process's view of the group. Its functions throw GroupError.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Returns the number of processes on this machine, which share its cores, and this one's number
  // among them.
  int local_size() const { return local_size_; }
  int local_rank() const { return local_rank_; }
  // True where there is one process, so that nothing travels.
  bool Alone() const { return size_ == 1; }
  bool Leads() const { return rank_ == 0; }
  int OwnerOf(int worker) const { return worker % size_; }
  bool Owns(int worker) const { return OwnerOf(worker) == rank_; }
  // Returns the workers of `workers` that this process simulates, in order.
  std::vector<int> Own(const std::vector<int>& workers) const;

  // Waits for all processes, for five minutes at most; it comes before everything else. `same` is a
  // text that has to be the same for all, such as the scenario. Throws Error naming the process
  // that did not come, and the first line that differs.
  virtual void Meet(const std::string& same) = 0;

  // Returns the bytes of every process, by rank. Lengths may differ.
  virtual std::vector<Bytes> AllGather(ByteSpan own) = 0;
  // Returns process `root`'s bytes; those of the others are ignored.
  virtual Bytes Broadcast(ByteSpan bytes, int root) = 0;
  // Moves bytes from one process to another, which returns them; all others return nothing.
  virtual Bytes Move(ByteSpan bytes, int from, int to) = 0;

  // Throws GroupError where this process knows that the group ends. Code that waits for other
  // processes without a call of the group has to call this again and again.
  virtual void Check() {}
  // Has `carrier` gather what is too long for the first message of AllGather; null: nothing has.
  // All processes call it before the same call.
  virtual void CarryBy(std::unique_ptr<Carrier> carrier) = 0;

  // Waits until all processes are done, and leaves the group.
  virtual void End() = 0;
  // Leaves the group for a reason that ends all processes, which their calls then throw. The first
  // reason counts. Returns true where process 0 learns it, which then prints it.
  virtual bool Fail(const std::string& reason) noexcept = 0;

 protected:
  ProcessGroup(int rank, int size, int local_size, int local_rank)
      : rank_(rank), size_(size), local_size_(local_size), local_rank_(local_rank) {}

 private:
  int rank_;
  int size_;
  int local_size_;
  int local_rank_;
};

// Returns the values of all workers, one worker's after the other's, from those that each process
// has of its own workers in that order. All workers have equally many. All processes call it.
std::vector<float> GatherWorkers(ProcessGroup& processes, int workers, std::span<const float> own);

// Returns the group of one process, in which nothing travels.
ProcessGroup& OneProcess();

}  // namespace legacy
