// What-if answers of a page that is a file. The report has put the recorded trainings of one switch
// into the page (scenarios/study/what_if/closed_forms.h); their steps are timed here, with device
// times as the clock has them (trainer/clock/step_clock.cc) and collectives by closed_forms.js. The
// answers are those that `legacy-study serve` gives with the fidelity "analytic".

// Returns whole nanoseconds, halves away from zero.
function nanoseconds(seconds, factor) {
  const time = seconds * factor * 1e9;
  return Math.floor(time) + (time - Math.floor(time) >= 0.5 ? 1 : 0);
}

// Returns the device times of one worker: of its buckets {ready, calls: work before each call,
// decode}, and of its whole step.
function pricedWorker({before, whole, after, buckets}, factor, {device, codec}) {
  const computing = (seconds) => nanoseconds(seconds / device, factor);
  const coding = (seconds) => nanoseconds(seconds / codec, factor);
  const backward = buckets.reduce((sum, {compute}) => sum + computing(compute), computing(after));
  let compute = computing(before) + (whole === null ? 0 : backward);
  let [encode, late] = [0, 0];
  const priced = buckets.map(({compute: own, calls}, b) => {
    if (whole === null) compute += computing(own);
    if (calls.length > 0) {
      const first = calls[0].encode / codec + (b === 0 ? (whole ?? 0) / codec : 0);
      encode += nanoseconds(first, factor);
    }
    const works = calls.map((call, r) => {
      if (r === 0) return 0;
      late += coding(call.encode);
      return coding(calls[r - 1].decode) + coding(call.encode);
    });
    return {ready: compute + encode, works,
            decode: calls.length > 0 ? coding(calls.at(-1).decode) : 0};
  });
  if (whole === null) compute += computing(after);
  return {compute, encode, late, free: compute + encode, buckets: priced};
}

// Returns a step of the plan, with its calls {algorithm, root, bytes by worker, pull, encode,
// decode}.
function unpackedStep({templates, seconds, workers}, [number, ...values]) {
  let at = 0;
  const callOf = (call) => {
    const [bytes, encode, decode] = values.slice(at, at += 3);
    return {...call, bytes: Array.isArray(bytes) ? bytes : new Array(workers).fill(bytes),
            encode: seconds[encode], decode: seconds[decode],
            pull: call.pulls ? values[at++] : undefined};
  };
  const {buckets, ...times} = templates[number];
  return {...times, buckets: buckets.map(({compute, calls}) => (
    {compute, calls: calls.map(callOf)}))};
}

// Returns the nanoseconds of a step and its parts: {total, compute, encode, communication, decode,
// wait}. `factors` has the slow-downs of the workers.
function stepTimes(plan, step, factors, network, speeds) {
  const events = new Events();
  const send = makeSwitch(plan, network, events);
  const n = factors.length;
  const workers = factors.map((factor) => pricedWorker(step, factor, speeds));
  const device = workers.map(({free}) => free);
  const finish = [...device];
  const busy = new Array(n).fill(0);
  step.buckets.forEach(({calls}, b) => {
    const collectives = calls.map((call, r) => {
      const post = (source, destination, length, mark) => send(source, destination, length,
        () => collectives[r].arrived(source, destination, mark));
      const done = (w) => approach(r + 1, w);
      return n === 1 ? {start: done} : COLLECTIVES[call.algorithm](call, n, post, done);
    });
    // A worker enters a stage, a call or the end, when its device has run what the stage needs.
    function approach(stage, w) {
      const {works, decode} = workers[w].buckets[b];
      const work = stage < calls.length ? works[stage] : decode;
      if (work === 0) {
        enter(stage, w);
        return;
      }
      device[w] = Math.max(events.now, device[w]) + work;
      busy[w] += work;
      events.push(device[w], () => enter(stage, w));
    }
    function enter(stage, w) {
      if (stage < calls.length) collectives[stage].start(w);
      else finish[w] = Math.max(finish[w], events.now);
    }
    workers.forEach((worker, w) => events.push(worker.buckets[b].ready, () => approach(0, w)));
  });
  events.run();
  return splitOf(workers, finish, busy);
}

// Returns the mean split of a step over its workers, as SplitStep of trainer/clock/clock.cc.
function splitOf(workers, finish, busy) {
  const total = Math.max(...finish);
  const slowest = Math.max(...workers.map(({free}) => free));
  const mean = (of) =>
    Math.floor(workers.reduce((sum, one, w) => sum + of(one, w), 0) / workers.length);
  const compute = mean(({compute: own}) => own);
  const encode = mean(({encode: early, late}) => early + late);
  const decode = mean(({late}, w) => busy[w] - late);
  const communication = mean(({free}, w) => {
    const idle = finish[w] - free - busy[w];
    return idle - Math.min(idle, slowest - free);
  });
  return {total, compute, encode, communication, decode,
          wait: total - compute - encode - communication - decode};
}

// ---- Answers.

const MOST_FACTOR = 1e6;

// Returns a number of a question; throws unless it is at least `low`.
function numberFrom(question, key, low) {
  const value = Number(question[key]);
  if (Number.isFinite(value) && value >= low) return value;
  throw new Error(`${key}: got ${question[key]}; allowed: numbers from ${low} on`);
}

// Returns what a question about a plan's network asks for: {network, factors, speeds}.
function requestOf(plan, question) {
  const workers = plan.workers;
  const slow = numberFrom(question, 'slow_workers', 0);
  if (slow > workers) throw new Error(`slow_workers: got ${slow}; allowed: at most ${workers}`);
  const factor = Math.min(numberFrom(question, 'slowdown', 1), MOST_FACTOR);
  return {
    network: {rate: Math.round(numberFrom(question, 'bandwidth', 1)),
              delay: nanoseconds(numberFrom(question, 'delay', 0), 1)},
    factors: Array.from({length: workers}, (_, w) => w < workers - slow ? 1 : factor),
    speeds: {device: numberFrom(question, 'device_speed', 1e-6),
             codec: numberFrom(question, 'codec_speed', 1e-6)},
  };
}

// Returns the answer for one training from the times of its steps, of which `times(i)` has those
// of number i of the plan.
function seedOf({seed, steps, evaluated, values, reached}, times) {
  const sums = {total: 0, compute: 0, encode: 0, communication: 0, decode: 0, wait: 0};
  const ends = new Set(evaluated);
  const curve = [];
  let done = 0;
  for (const [number, count] of steps) {
    const step = times(number);
    for (let i = 0; i < count; ++i) {
      for (const part of Object.keys(sums)) sums[part] += step[part];
      if (ends.has(++done)) curve.push([sums.total * 1e-9, values[curve.length]]);
    }
  }
  const {total, ...parts} = Object.fromEntries(
    Object.entries(sums).map(([part, sum]) => [part, sum * 1e-9 / done]));
  return {seed, time_to_target: reached === null ? null : curve[reached][0],
          simulated_seconds: sums.total * 1e-9, step_seconds: total, parts, curve};
}

// Yields after each step that it times, so that the page can do something else. Returns the
// policies of the answer.
function* policiesOf(plan, question) {
  const {network, factors, speeds} = requestOf(plan, question);
  const known = new Array(plan.steps.length);
  const policies = [];
  for (const training of plan.trainings) {
    for (const [number] of training.steps) {
      if (known[number]) continue;
      const step = unpackedStep(plan, plan.steps[number]);
      known[number] = stepTimes(plan, step, factors, network, speeds);
      yield;
    }
    const answer = seedOf(training, (number) => known[number]);
    if (policies.at(-1)?.policy !== training.policy) {
      policies.push({policy: training.policy, seeds: []});
    }
    policies.at(-1).seeds.push(answer);
  }
  return policies;
}

// Returns the way to ask a server. `program` is the command by which the reader calls legacy-study.
const withServer = (program) => `run "${program} serve" on the study's folder and open the address that it prints`;
const SLICE_MILLISECONDS = 25;

// Makes the answers of a page that is a file, as SERVER_ANSWERS are those of a server.
function pageAnswers({groups, refused}, program) {
  async function ask(given, signal) {
    const begun = performance.now();
    const {plan, defaults} = groups.find(({id}) => id === given.group);
    const question = {...plan.own, ...given};
    for (const key of ['topology', 'fidelity']) {
      if ((question[key] ?? defaults[key]) === defaults[key]) continue;
      throw new Error(`${question[key]} has no closed form in this page, which answers about one ` +
        `switch (${defaults.topology}, analytic); ${withServer(program)}`);
    }
    const work = policiesOf(plan, question);
    let step = work.next();
    for (let slice = performance.now(); !step.done; step = work.next()) {
      if (performance.now() - slice < SLICE_MILLISECONDS) continue;
      await new Promise((resolve) => setTimeout(resolve, 0));
      signal.throwIfAborted();
      slice = performance.now();
    }
    return {policies: step.value, unread: {}, seconds: (performance.now() - begun) / 1000};
  }
  const note = `This page answers by closed forms, for trainings on one switch. For other ` +
    `topologies, flows that share links, random stragglers and federated clients, ${withServer(program)}.`;
  return {groups: async () => ({groups, refused}), ask, how: ': closed form (analytic), no server',
          note: groups.length > 0 ? [element('p', {class: 'hint'}, note)] : [],
          none: 'No training of this study has closed forms. To ask what-if questions, ' +
            `${withServer(program)}.`};
}
