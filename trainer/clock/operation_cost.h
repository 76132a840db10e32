// Cost of a model's operation. This needs no LibTorch, so that recorded trainings are timed without
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace legacy {

// A MatrixProduct is a product of the forward pass: a matrix of rows x inner numbers times one of
// inner x columns. A convolution is the product that it is equal to (rows are positions of the
// result, inner the weights of an output).
struct MatrixProduct {
  double rows = 0;  // rows of one sample
  double columns = 0;
  double inner = 0;
  double count = 1;    // products of these sizes
  bool apart = false;  // true: each sample has products of its own, as attention has
  bool bias = false;   // a vector is added to each row of the result

  double MultiplyAdds() const { return rows * columns * inner * count; }
};

// A TensorCut says how tensor parallelism divides an operation (Megatron-LM, Shoeybi et al. 2019,
// section 3).
enum class TensorCut : uint8_t {
  kNone,     // every rank computes all of it
  kColumns,  // outputs: the gradients of its inputs are sums over the ranks
  kRows,     // inputs: its outputs are sums over the ranks
  kHeads,    // heads of attention
  kNumbers,  // the numbers that it reads and writes
  kWords,    // rows of a table of words, whose outputs are sums over the ranks
};

// An operation outside repeated blocks, as embeddings and heads are.
inline constexpr int kNoBlock = -1;

// An OperationCost is one operation of the forward pass, for one sample. The backward pass costs
// twice the FLOPs (gradients of inputs and of weights). Element-wise operations and pooling count
// as bytes moved.
struct OperationCost {
  // kind: "conv", "linear", "attention", "batchnorm", "elementwise", "pool", "loss" (reads and
  // writes what the head gives, in fp32)
  std::string kind;
  double forward_flops = 0;  // FLOPs; a multiply-add counts as 2
  double forward_bytes = 0;  // activations read and written, 4 bytes each
  double weight_bytes = 0;   // bytes of weights, read once per batch
  // Positions among the model's parameters, in order; may be empty.
  std::vector<int> parameters = {};
  // The products that the FLOPs are those of; empty: their sizes are not known.
  std::vector<MatrixProduct> products = {};
  int block = kNoBlock;  // repeated block that the operation belongs to, from 0
  TensorCut cut = TensorCut::kNone;
  // Numbers that tensor parallelism sums over the ranks after the forward, and after the backward
  // pass of one sample; 0: none. The costs above are then those of one rank.
  double forward_sum = 0;
  double backward_sum = 0;
  // Attention: numbers of keys and values of one sample, which context parallelism passes on.
  double keys = 0;
  // Experts of the model that the operation has one product each of, and how many of them a token
  // goes to; 0: it is none of experts.
  int experts = 0;
  int used = 0;
  // Numbers of one sample that expert parallelism sends to the ranks of experts before a pass
  // (`dispatch`), and back after it (`combine`).
  double dispatch = 0;
  double combine = 0;
  // Attention: each position sees those before it alone, so that fused kernels skip half.
  bool causal = false;
  double masks = 0;  // bytes of dropout's masks, which the backward pass of one sample needs
};

}  // namespace legacy
