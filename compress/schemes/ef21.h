// EF21 (Richtarik, Sokolov, Fatkhullin: EF21: A New, Simpler, Theoretically Better, and Practically
// Faster Error Feedback, NeurIPS 2021) compresses the difference between a worker's gradient and
// what receivers already know of it. EF21M does so with a momentum of the gradient (Fatkhullin,
// Tyurin, Richtarik: Momentum Provably Improves Error Feedback!, NeurIPS 2023).
//
//   m_i = (1 - eta) m_i + eta g_i       (ef21: eta = 1);  m_i = g_i in the first step
//   send C(m_i - h_i);  h_i += C(m_i - h_i);  H += mean of C(m_i - h_i);  the optimizer gets H
//
// h and H start at the first gradient, which is sent whole. What is left, r_i = m_i - h_i, is the
// residual of plain error feedback on the increments of m: r_i + (m_i' - m_i) = m_i' - h_i. So the
// state of a worker is m_i and the residual of the scheme that compresses, and every scheme with
// error feedback can take part. Residuals owe no updates, so learning rates do not rescale them.
//
// A worker that is not active keeps its h_i: the mean over all N workers changes by the sum over
// the active ones / N (EF21-PP; Fatkhullin et al., EF21 with Bells & Whistles, 2021). A worker that
// is not active in the first step starts with the mean of those that are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "compress/exchange.h"
#include "compress/options.h"

namespace legacy {

// The share eta of the gradient in the momentum, and the number of steps before the first one of
// EF21, which send everything whole (dense_start.h).
struct Ef21Options {
  double eta = 1;
  int64_t dense_start = 0;
};

// The values of the option "memory" that ask for this, and the option "eta".
inline constexpr std::string_view kEf21 = "ef21";
inline constexpr std::string_view kEf21Momentum = "ef21m";
const OptionSpec& EtaOption();
// Reads both options: what `memory` asks for, nothing if it names another memory. Throws Error
// without error feedback.
std::optional<Ef21Options> ReadEf21(std::string_view memory, const OptionReader& reader,
                                    const SchemeOptions& options);

// Returns the scheme that compresses differences with `scheme`, which was made with error feedback.
// Units that `scheme` sends whole are sent as m_i. Throws Error for schemes that compress the
// mean, and for residuals that decay.
std::unique_ptr<Scheme> WithEf21(std::unique_ptr<Scheme> scheme, const Ef21Options& options);

}  // namespace legacy
