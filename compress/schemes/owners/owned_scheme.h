// The common part of schemes whose messages go to the owners of slices (owned_slices.h).
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "compress/exchange.h"
#include "compress/schemes/owners/owned_slices.h"
#include "compress/schemes/slices.h"

namespace legacy {

// An OwnedScheme serves slices that `cut` makes; a derived class gives calls and exchanges.
class OwnedScheme : public SlicedScheme {
 public:
  OwnedScheme(std::shared_ptr<const Scheme> scheme, const Cut& cut)
      : SlicedScheme(std::move(scheme)), cut_(cut) {}

  SchemeTraits Traits() const override {
    SchemeTraits traits = scheme()->Traits();
    traits.owners = cut_.owners;
    return traits;
  }
  // A unit is compressed if its largest slice is.
  bool Compresses(const Unit& unit, double parameter) const override {
    return scheme()->Compresses(SlicesOf(unit).front(), parameter);
  }

 protected:
  const Cut& cut() const { return cut_; }
  std::vector<Unit> SlicesOf(const Unit& unit) const override { return CutUnit(unit, cut_); }

 private:
  Cut cut_;
};

// Returns the scheme with which slices are units of their own.
std::unique_ptr<Scheme> WithSlices(std::shared_ptr<const Scheme> scheme, const Cut& cut);

}  // namespace legacy
