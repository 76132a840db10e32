// A plan without a server: in each round all clients work and then exchange their updates by a
// collective. The next round begins when all have everything.
#pragma once

#include <cstdint>
#include <functional>

#include "scenarios/federated/plan.h"

namespace legacy {

// Runs the plan of a request that has an exchange, as RunPlan does. Rounds have counted tasks of
// all clients; bytes and USD of uploads are those that clients send, and downloads have none.
// Throws Error.
Plan RunExchangePlan(const PlanRequest& request, const Remedy& remedy,
                     const std::function<void(int64_t versions)>& progress, const StopFlag* stop);

}  // namespace legacy
