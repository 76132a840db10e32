// Times of recorded trainings on one switch, as the fidelity "analytic" gives them to the
// nanosecond. Workers and servers have one link each, all of one rate and delay. What a flow takes
// on a link has a closed form (ns3-module/fabric/engine/analytic.cc); the flows of a step add up in
// the order in which their first frames reach the links, so that buckets that overlap and workers
// that differ are exact, too. Times are whole nanoseconds. Nothing here reads the page.

// ---- The switch.

// Returns a function that gives the nanoseconds of a number of bytes at `rate` bit/s, rounded up.
function wireTime(rate) {
  const known = new Map();
  const bits = BigInt(rate);
  return (bytes) => {
    let time = known.get(bytes);
    if (time === undefined) {
      time = Number((BigInt(bytes) * 8_000_000_000n + bits - 1n) / bits);
      known.set(bytes, time);
    }
    return time;
  };
}

// A heap of events {time, number, act}, the earliest first. Those of one instant come in the order
// of their numbers, which is that of pushing.
class Events {
  heap = [];
  made = 0;
  now = 0;

  push(time, act) {
    const {heap} = this;
    const event = {time, number: this.made++, act};
    let at = heap.push(event) - 1;
    while (at > 0 && Events.before(event, heap[(at - 1) >> 1])) {
      heap[at] = heap[(at - 1) >> 1];
      at = (at - 1) >> 1;
    }
    heap[at] = event;
  }

  run() {
    const {heap} = this;
    while (heap.length > 0) {
      const first = heap[0];
      const last = heap.pop();
      if (heap.length > 0) this.sink(last);
      this.now = first.time;
      first.act();
    }
    if (!Number.isSafeInteger(this.now)) throw new Error('a step takes longer than 100 days');
  }

  sink(event) {
    const {heap} = this;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && Events.before(heap[child + 1], heap[child])) ++child;
      if (!Events.before(heap[child], event)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = event;
  }

  static before = (a, b) => a.time < b.time || (a.time === b.time && a.number < b.number);
}

// A link in one direction serves one flow after the other.
class Line {
  free = 0;
  ends = [];  // of the flows that it serves; those before `next` are over
  next = 0;

  // Returns how many flows it serves after `now`.
  waiting(now) {
    while (this.next < this.ends.length && this.ends[this.next] <= now) ++this.next;
    return this.ends.length - this.next;
  }

  take(end) {
    this.free = end;
    this.ends.push(end);
  }
}

// Returns a function that sends a flow of `bytes` from one endpoint to another, and calls
// `delivered` when it has arrived. `nodes` has the node of each endpoint.
function makeSwitch({nodes, framing}, {rate, delay}, events) {
  const {segment, header, message, padding, ack, segments_per_ack: perAck} = framing;
  const time = wireTime(rate);
  const toSwitch = delay + framing.switch_delay;
  const lines = () => Array.from({length: Math.max(...nodes) + 1}, () => new Line());
  const [up, down] = [lines(), lines()];
  const connections = new Map();

  // Takes the flow's place on a line. Returns when its first frame begins to leave; a frame waits
  // for no more than a frame of each flow before. `onward` is the flow's time beyond the start.
  function serve(line, flow, onward) {
    const others = line.waiting(events.now);
    const start = Math.max(events.now, line.free);
    line.take(start + flow.whole);
    if (line === up[flow.from] || start > events.now) {
      flow.arrival = Math.max(flow.arrival, start + onward + flow.whole - flow.first);
    }
    return Math.min(start, events.now + others * flow.first);
  }

  return (source, destination, bytes, delivered) => {
    const [from, to] = [nodes[source], nodes[destination]];
    if (bytes === 0 || from === to) {
      events.push(events.now, delivered);
      return;
    }
    const segments = Math.ceil(bytes / segment);
    const wire = Math.ceil(bytes / padding) * padding + segments * header + message;
    const acks = time(Math.ceil(segments / perAck) * ack);
    const flow = {from, arrival: events.now, whole: time(wire),
                  first: time(Math.min(wire, segment + header + message))};
    const key = source * nodes.length + destination;
    if (!connections.has(key)) connections.set(key, {head: 0, arrival: 0});
    const connection = connections.get(key);
    const head = serve(up[from], flow, 2 * flow.first + toSwitch + delay) + flow.first + toSwitch;
    connection.head = Math.max(connection.head, head);
    events.push(connection.head, () => {
      serve(down[to], flow, flow.first + delay);
      connection.arrival = Math.max(connection.arrival, flow.arrival);
      events.push(connection.arrival, () => {
        up[to].take(Math.max(events.now, up[to].free) + acks);  // before its next message
        delivered();
      });
    });
  };
}

// ---- Collectives. Each maker takes a call {algorithm, bytes, root, pull}, the number of workers,
// send(source, destination, bytes, mark) and done(worker). It returns {start(worker),
// arrived(source, destination, mark)}.

// Returns the size of block `index` of `parts` blocks that differ by at most a byte, the larger
// ones first.
const balanced = (total, parts, index) =>
  Math.floor(total / parts) + (index < total % parts ? 1 : 0);

function ring({algorithm, bytes}, n, send, done) {
  const reduces = algorithm === 'ring-allreduce';
  const rounds = (reduces ? 2 : 1) * (n - 1);
  const blocks = reduces ? bytes.map((_, i) => balanced(bytes[0], n, i)) : bytes;
  const came = new Array(n).fill(0);    // rounds that came in, without a gap
  const taken = new Array(n).fill(-1);  // rounds that were answered; -1: the worker has not started
  const early = new Set();              // empty messages that overtook others
  const pass = (w, round) => send(w, (w + 1) % n, blocks[((w - round) % n + n) % n], round);
  function take(w) {
    while (taken[w] < came[w]) {
      if (++taken[w] === rounds) done(w); else pass(w, taken[w]);
    }
  }
  return {
    start(w) {
      taken[w] = 0;
      pass(w, 0);
      take(w);
    },
    arrived(_, w, round) {
      if (round !== came[w]) {
        early.add(w * rounds + round);
        return;
      }
      ++came[w];
      while (early.delete(w * rounds + came[w])) ++came[w];
      if (taken[w] >= 0) take(w);
    },
  };
}

// Recursive halving and doubling. If N is not a power of two, the even ones of the first 2 (N - P)
// workers give their message to their right neighbour and get the result from it; the workers after
// these wait for a message of one byte (ns3-module/fabric/collective/halving.h).
function halving({bytes: [bytes]}, n, send, done) {
  const levels = 31 - Math.clz32(n);
  const chunks = 1 << levels;
  const extra = n - chunks;
  const [unfold, word] = [2 * levels + 1, 2 * levels + 2];
  const before = [0];  // bytes of the first 0, 1, 2, ... chunks
  for (let i = 0; i < chunks; ++i) before.push(before[i] + balanced(bytes, chunks, i));
  const rankOf = (w) => w < 2 * extra ? w >> 1 : w - extra;
  const workerOf = (rank) => rank < extra ? 2 * rank + 1 : rank + extra;
  const folds = (w) => w < 2 * extra && w % 2 === 1;
  function kept(rank, halvings) {
    let [size, first] = [chunks, 0];
    for (let i = 0; i < halvings; ++i) {
      size /= 2;
      first += (rank >> i & 1) * size;
    }
    return before[first + size] - before[first];
  }
  const workers = Array.from({length: n}, () => ({came: 0, stage: 0, started: false}));
  function enter(w, stage) {
    workers[w].stage = stage;
    if (stage < unfold) {
      const rank = rankOf(w);
      const partner = rank ^ 1 << (stage <= levels ? stage - 1 : 2 * levels - stage);
      send(w, workerOf(partner),
           stage <= levels ? kept(partner, stage) : kept(rank, 2 * levels + 1 - stage), stage);
      return;
    }
    if (folds(w)) send(w, w - 1, bytes, unfold);
    done(w);
  }
  function endFold(w) {
    const ranks = [];
    if (folds(w)) for (let r = rankOf(w) + extra; r < chunks; r += extra) ranks.push(r);
    for (const rank of ranks.reverse()) send(w, workerOf(rank), Math.min(bytes, 1), word);
    enter(w, 1);
  }
  function take(w) {
    const state = workers[w];
    while (state.came >> state.stage & 1) {
      if (state.stage === unfold) {
        done(w);
        return;
      }
      if (state.stage === 0 || state.stage === word) endFold(w); else enter(w, state.stage + 1);
    }
  }
  return {
    start(w) {
      const state = workers[w];
      state.started = true;
      if (w < 2 * extra && w % 2 === 0) {
        state.stage = unfold;
        send(w, w + 1, bytes, 0);
        return;
      }
      if (extra > 0 && w >= 2 * extra) state.stage = word; else if (!folds(w)) enter(w, 1);
      take(w);
    },
    arrived(_, w, stage) {
      workers[w].came |= 1 << stage;
      if (workers[w].started) take(w);
    },
  };
}

const WINDOW = 64;  // flows that a sender starts before the first of them has arrived

// Everyone sends to everyone: whole messages, or parts, whose sums their owners send to all.
function direct({algorithm, bytes}, n, send, done) {
  const whole = algorithm === 'direct-allgather';
  const phases = whole ? 1 : 2;
  const peers = n - 1;
  const workers = Array.from({length: n}, () => (
    {next: 0, inFlight: 0, came: [0, 0], started: false}));
  const bytesOf = (phase, from, to) => phase === 1 ? balanced(bytes[0], n, from) :
    whole ? bytes[from] : balanced(bytes[from], n, to);
  function go(w) {
    const state = workers[w];
    const limit = phases === 2 && state.came[0] === peers ? 2 * peers : peers;
    while (state.inFlight < WINDOW && state.next < limit) {
      const phase = Math.floor(state.next / peers);
      const to = (w + state.next % peers + 1) % n;
      ++state.next;
      ++state.inFlight;
      send(w, to, bytesOf(phase, w, to), phase);
    }
  }
  function end(w) {
    if (workers[w].came[0] + workers[w].came[1] === phases * peers) done(w);
  }
  return {
    start(w) {
      workers[w].started = true;
      go(w);
      end(w);
    },
    arrived(source, w, phase) {
      --workers[source].inFlight;
      go(source);
      ++workers[w].came[phase];
      if (!workers[w].started) return;
      go(w);
      end(w);
    },
  };
}

// A parameter server is the endpoint after the workers. It answers when all have pushed.
function server({bytes, pull}, n, send, done) {
  let pushed = 0;
  return {
    start: (w) => send(w, n, bytes[w], 0),
    arrived(_, w) {
      if (w < n) done(w);
      else if (++pushed === n) for (let i = 0; i < n; ++i) send(n, i, pull, 0);
    },
  };
}

// A binomial tree: in step s every rank below 2^s that has the message sends it to rank + 2^s.
function broadcast({bytes, root}, n, send, done) {
  const workers = Array.from({length: n}, (_, w) => ({holds: w === root, started: false}));
  const rankOf = (w) => (w - root + n) % n;
  function sendOn(w, step) {
    const child = rankOf(w) + 2 ** step;
    if (child < n) send(w, (child + root) % n, bytes[root], step);
  }
  function forward(w) {
    done(w);
    sendOn(w, 32 - Math.clz32(rankOf(w)));
  }
  return {
    start(w) {
      workers[w].started = true;
      if (workers[w].holds) forward(w);
    },
    arrived(source, w, step) {
      sendOn(source, step + 1);
      workers[w].holds = true;
      if (workers[w].started) forward(w);
    },
  };
}

const COLLECTIVES = {
  'ring-allreduce': ring, 'ring-allgather': ring, 'halving-doubling-allreduce': halving,
  'direct-allreduce': direct, 'direct-allgather': direct, 'parameter-server': server,
  'broadcast': broadcast,
};
