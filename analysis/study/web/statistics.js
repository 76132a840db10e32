// Statistics over seeds, by the rules of statistics.h: seeds are paired, a training that ended
// before its target is censored at its end (it is never dropped and never gets a time), and a ratio
// with one such time is a bound. A "run" is one policy with one seed: {seed, time: seconds to the
// target or null, before: those of the evaluation before, end: seconds of the training}. Times are
// known to within one evaluation, and no interval is narrower than that.

function spreadOf(values) {
  const count = values.length;
  if (count === 0) return {count, mean: NaN, deviation: NaN};
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return {count, mean, deviation: count > 1 ? Math.sqrt(squares / (count - 1)) : NaN};
}

// Returns P(|T| <= t) for t = sqrt(degrees) tan(angle), by Abramowitz and Stegun, 26.7.3 and
// 26.7.4.
function studentWithin(angle, degrees) {
  const cosine = Math.cos(angle);
  const odd = degrees % 2 === 1;
  let term = odd ? cosine : 1;
  let sum = degrees > 1 ? term : 0;
  for (let i = odd ? 2 : 1; i <= degrees - 3; i += 2) {
    term *= cosine * cosine * i / (i + 1);
    sum += term;
  }
  return odd ? 2 / Math.PI * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
}

// Returns t with P(|T| <= t) = within.
const studentQuantile = (() => {
  const known = new Map();
  return (within, degrees) => {
    const key = `${within} ${degrees}`;
    if (!known.has(key)) {
      let [low, high] = [0, Math.PI / 2];
      for (let i = 0; i < 60; ++i) {
        const middle = (low + high) / 2;
        if (studentWithin(middle, degrees) < within) low = middle; else high = middle;
      }
      known.set(key, Math.sqrt(degrees) * Math.tan(low));
    }
    return known.get(key);
  };
})();

const CONFIDENCE = 0.95;

// Returns the t-interval of a mean, widened to hold the means of the ends of `ranges`, in which the
// values are known to lie; null below two values.
function meanInterval(spread, ranges = []) {
  if (spread.count < 2) return null;
  const half = studentQuantile(CONFIDENCE, spread.count - 1) * spread.deviation / Math.sqrt(spread.count);
  const interval = {low: spread.mean - half, high: spread.mean + half};
  if (ranges.length === 0) return interval;
  return {low: Math.min(interval.low, spreadOf(ranges.map(({low}) => low)).mean),
          high: Math.max(interval.high, spreadOf(ranges.map(({high}) => high)).mean)};
}

function geometricMeanOf(values, ranges = []) {
  const spread = spreadOf(values.map(Math.log));
  const interval = meanInterval(spread, ranges.map(({low, high}) => ({low: Math.log(low), high: Math.log(high)})));
  return {
    count: spread.count,
    mean: Math.exp(spread.mean),
    interval: interval && {low: Math.exp(interval.low), high: Math.exp(interval.high)},
  };
}

// Returns time of `base` / time of `run`, at least one of which is known.
function pairedRatio(base, run) {
  const bound = run.time === null ? 'at most' : base.time === null ? 'at least' : '';
  const range = bound ? null : {low: base.before / run.time, high: base.time / run.before};
  return {seed: run.seed, ratio: (base.time ?? base.end) / (run.time ?? run.end), bound, range};
}

// Returns the speed-up. Runs of the same seed are pairs. `ratio` is NaN if there is no pair, or if
// there are bounds of both kinds.
function speedupOf(baseRuns, runs) {
  const pairs = [];
  let missed = 0;
  for (const run of runs) {
    const base = baseRuns.find((other) => other.seed === run.seed);
    if (!base) continue;
    if (base.time === null && run.time === null) {
      ++missed;
      continue;
    }
    const pair = pairedRatio(base, run);
    // Times of 0 have no ratio.
    if (pair.ratio > 0 && Number.isFinite(pair.ratio)) pairs.push(pair);
  }
  const bounds = new Set(pairs.map((pair) => pair.bound).filter(Boolean));
  const mean = geometricMeanOf(pairs.map((pair) => pair.ratio), pairs.map((pair) => pair.range).filter(Boolean));
  const known = pairs.length > 0 && bounds.size < 2;
  return {
    pairs, missed,
    ratio: known ? mean.mean : NaN,
    bound: known ? [...bounds][0] ?? '' : '',
    interval: known && bounds.size === 0 ? mean.interval : null,
  };
}

// Returns whether the two of a speed-up cannot be told apart, as StandingOf of statistics.h: its
// interval holds 1, or with one seed the times, each known to within one evaluation, allow both
// orders.
function cannotBeToldApart({pairs, ratio, bound, interval}) {
  if (Number.isNaN(ratio) || bound) return false;
  const {low, high} = interval ?? pairs[0].range;
  return low <= 1 && high >= 1;
}

// Returns times to the target over runs. `spread` is empty unless all reached it. `bound` is a
// lower bound of the mean.
function timesOf(runs) {
  const reached = runs.filter((run) => run.time !== null);
  return {
    done: runs.length,
    reached: reached.length,
    spread: spreadOf(reached.length === runs.length ? reached.map((run) => run.time) : []),
    bound: spreadOf(runs.map((run) => run.time ?? run.end)).mean,
  };
}
