// A population says who the clients are: groups, of which each has a number of members and a
// distribution for each property. A client is computed when it is asked for, from (seed, client,
// property), so a hundred thousand of them take no table and may be asked in any order.
//
// A file is a list of groups, or a map with `server` and `clients`:
//
//   server: {at: "aws:eu-central-1", rate: 10Gbps, delay: 0ms, price: 0.09/0}
//   clients:
//   - {count: 900, name: phones, at: {choice: [["aws:eu-west-1", 5], ["aws:us-east-1", 3]]},
//      down: {lognormal: {median: 41.4Mbps, sigma: 0.47}}, up: 20Mbps, delay: 25ms,
//      trace: {csv: "lte/*.csv", scale: mean}, error: 0, queue: 100ms, price: 0/0.02,
//      device: {profile: phone-assumed, slowdown: {uniform: [1, 4]}}, price_hour: 0,
//      samples: 60, availability: nightly, longitude: 8, per_line: 2}
//
//   longitudes: {"aws:eu-west-1": -6.3}
//
// Client numbers run through the groups in order. `longitudes` gives the degrees of places, from
// which clients have their local time. Group documents what each key means, and its default.
#pragma once

#include "availability.h"
#include "fabric/schedule/link-trace.h"
#include "fabric/topology/topology.h"
#include "value.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// A DrawnTrace is a set of recordings, of which each client has one, from a time of its own on.
struct DrawnTrace
{
    std::vector<Trace> down; ///< one for each recording
    std::vector<Trace> up;   ///< of the same recordings
    bool toMean = false;     ///< true: the mean becomes the client's drawn rate
    double scale = 1;
    bool drivesDown = true;
    bool drivesUp = true;
};

/// A Group is an entry of a population. Prices are in USD.
struct Group
{
    std::string name;      ///< default: its number, from 1
    int64_t count = 1;     ///< members
    DrawnWord at;          ///< node of the topology that the access line leads to; "": the server's
    DrawnNumber down;      ///< rate of the access line to the client, bit/s; default 100 Mbit/s
    DrawnNumber up;        ///< rate from the client; default 20 Mbit/s
    DrawnNumber delay;     ///< of the access line, one way, ns; default 20 ms
    DrawnNumber error;     ///< probability that a packet is lost on the line, each way
    DrawnNumber samples;   ///< of the client's data; default 1
    DrawnNumber slowdown;  ///< factor on the client's work; default 1
    DrawnNumber priceHour; ///< USD an hour of work
    DrawnNumber longitude; ///< degrees; gives the client's local time
    DrawnWord profile;     ///< name of the device's profile; "": none was given
    int64_t queueBytes = 0;           ///< queue of the line, each way; 0: the transport's rule
    TimeNs queueTime = 0;             ///< instead: that much of the line's highest rate, >= 64 KiB
    std::array<double, 2> usdPerGb{}; ///< of what the client sends, and of what it gets
    std::optional<DrawnTrace> trace;
    std::string availability; ///< "": that of the scenario
    int64_t perLine = 1;      ///< clients that share an access line, as in one house
    /// True where the region gives the longitude.
    bool longitudeOfRegion = true;
};

/// A ServerSite is where the server is, and its line.
struct ServerSite
{
    std::string at; ///< node of the topology; "": a star around the server
    int64_t rateBps = 10'000'000'000;
    TimeNs delay = 0;
    std::array<double, 2> usdPerGb{}; ///< of what leaves the server, and of what reaches it
};

/// A Client is one member, as it was drawn.
struct Client
{
    int64_t number = 0;
    int group = 0;
    int64_t line = 0; ///< number of the first client on its access line
    const std::string* region = nullptr;
    const std::string* profile = nullptr;
    Port down; ///< of the access line, to the client
    Port up;   ///< of the access line, from the client
    TimeNs delay = 0;
    double slowdown = 1;
    double usdPerHour = 0;
    int64_t samples = 1;
    double longitude = 0; ///< degrees
};

/// A Population answers for any client. Copies share what is large.
class Population
{
  public:
    /// Draws are keyed by `seed`. Throws Error without groups, or with more than 2^31 - 1 clients.
    Population(std::vector<Group> groups, const ServerSite& server, uint64_t seed);

    int64_t Clients() const;
    const std::vector<Group>& Groups() const;
    const ServerSite& Server() const;
    void SetServer(const ServerSite& server);

    /// Sets the factors on all rates of access lines, traces included, to clients and from them.
    void SetRateFactors(double down, double up);
    /// Sets the probability that an access line loses a packet, each way, in addition to its own.
    /// It is below 1.
    void SetLoss(double probability);
    /// Sets the factor on the prices of clients: those of their lines and hours.
    void SetPriceFactor(double factor);

    /// Return a client, and the group that it is in. The number is below Clients().
    Client At(int64_t client) const;
    int GroupOf(int64_t client) const;

    /// Return one property of a client, without drawing the others.
    double SlowdownOf(int64_t client) const;
    int64_t SamplesOf(int64_t client) const;
    double UsdPerHourOf(int64_t client) const;
    const std::string& ProfileOf(int64_t client) const;
    double LongitudeOf(int64_t client) const;

    /// Sets the longitude of clients in a region; groups with one of their own keep it.
    void SetRegionLongitude(const std::string& region, double degrees);

  private:
    uint64_t Hash(int64_t client, uint64_t field) const;
    int64_t LineOf(int64_t client, int group) const;

    std::vector<Group> m_groups;
    std::vector<int64_t> m_first; ///< first client of each group, and the number of all
    ServerSite m_server;
    uint64_t m_seed;
    double m_downFactor = 1;
    double m_upFactor = 1;
    double m_loss = 0;
    double m_priceFactor = 1;
    std::vector<std::pair<std::string, double>> m_longitudes; ///< by region, ascending
};

/// A PopulationRequest asks for a population by its text:
///
///   broadband[:down=100Mbps,up=20Mbps,delay=20ms]   every client the same
///   phones         lines and devices of phones: lognormal, fitted to the mean link speeds of 19
///                  phones and the AI-Benchmark scores of 333 (Yang et al., WWW 2021)
///   silos:FILE     CSV name,region,down,up,delay,profile,slowdown,price_hour, one line a silo;
///                  columns after `up` may be left out
///   FILE.yaml      see above
struct PopulationRequest
{
    std::string text = "broadband";
    std::optional<int64_t> clients; ///< members of a preset (default 100); a file has its own
    uint64_t seed = 1;
    std::string option = "population";             ///< what messages name
    std::optional<DrawnTrace> trace;               ///< of groups without one of their own
    std::optional<std::array<double, 2>> usdPerGb; ///< of presets, see Group
};

/// Makes the population. Throws Error with file, line and column, or naming the option.
Population MakePopulation(const PopulationRequest& request);

/// Reads what a client's line follows, from settings of the type csv or mahimahi: a trace is drawn
/// from all files that the pattern `file` names. Besides the keys of link-trace.h, `up_column` is
/// that of the uplink (default: the column of the downlink), and `direction` = both|down|up says
/// what follows the trace. Throws Error with file and line.
DrawnTrace ReadDrawnTrace(Settings& settings);

} // namespace legacy::fabric
