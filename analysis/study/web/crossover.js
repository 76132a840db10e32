// Break-even of policies with the baseline along the chosen axis, by the rules of crossover.h: for
// each seed, the logarithm of the ratio of times is interpolated over the axis's logarithm between
// neighbouring values.

// Returns the comparison of two policies at one x with one seed. `sign` is that of the true log
// ratio, or null if a censored time leaves it open.
function sampleOf(x, run, base) {
  const ratio = Math.log((base.time ?? base.end) / (run.time ?? run.end));
  const sample = {x, ratio, seconds: run.time ?? run.end, exact: run.time !== null && base.time !== null, sign: null,
                  low: Math.log(base.before / run.time), high: Math.log(base.time / run.before)};
  if (!Number.isFinite(ratio)) {
    sample.exact = false;
  } else if (sample.exact) {
    sample.sign = Math.sign(ratio);
  } else if (run.time !== null && ratio >= 0) {
    sample.sign = 1;
  } else if (base.time !== null && ratio <= 0) {
    sample.sign = -1;
  }
  return sample;
}

const logScale = {to: Math.log, from: Math.exp};
const plainScale = {to: (x) => x, from: (x) => x};
const between = (scale, a, b, part) => scale.from(scale.to(a) + part * (scale.to(b) - scale.to(a)));

// Returns the crossing between two samples of opposite signs. Samples between them have the ratio
// 1. `range` has the values of x that are possible, as times are known to within one evaluation.
function crossingOf(samples, before, after, scale) {
  const [a, b] = [samples[before], samples[after]];
  const fall = a.ratio - b.ratio;
  const part = a.ratio / fall;
  const end = (of) => {
    const there = a[of] + part * (b[of] - a[of]);
    const x = between(scale, a.x, b.x, part + there / fall);
    return Math.min(Math.max(x, samples[0].x), samples.at(-1).x);
  };
  const level = samples.slice(before + 1, after).map(({x}) => x);
  const ends = [end('low'), end('high'), ...level];
  const [first, last, middle] = level.length > 0 ? [samples[before + 1], samples[after - 1], 0.5] : [a, b, part];
  return {x: between(scale, first.x, last.x, middle), seconds: between(logScale, first.seconds, last.seconds, middle),
          below: a.sign > 0, range: {low: Math.min(...ends), high: Math.max(...ends)}};
}

function seedCrossings(samples, scale) {
  const unknown = {verdict: 'unknown', crossings: []};
  if (samples.length < 2 || samples.some(({sign}) => sign === null)) return unknown;
  const crossings = [];
  let last = null;
  for (let i = 0; i < samples.length; ++i) {
    if (samples[i].sign === 0) continue;
    if (last !== null && samples[last].sign !== samples[i].sign) {
      if (!samples[last].exact || !samples[i].exact) return unknown;
      crossings.push(crossingOf(samples, last, i, scale));
    }
    last = i;
  }
  if (crossings.length > 0) return {verdict: 'crosses', crossings};
  return {verdict: last !== null && samples[last].sign > 0 ? 'ahead' : 'behind', crossings};
}

// Returns the mean over the seeds that cross in the direction of most: {x or null, seconds, low,
// high, seeds: number of each verdict}.
function averageCrossing(all, scale) {
  const going = (below) => all.filter(({crossings}) => crossings.at(-1)?.below === below);
  const [downwards, upwards] = [going(true), going(false)];
  const below = downwards.length >= upwards.length;
  const highest = (below ? downwards : upwards).map(({crossings}) => crossings.at(-1));
  const counts = {crosses: 0, ahead: 0, behind: 0, unknown: 0};
  for (const {verdict} of all) ++counts[verdict];
  const result = {counts, below, contrary: (below ? upwards : downwards).length, x: null, low: NaN, high: NaN};
  if (highest.length === 0) return result;
  const spread = spreadOf(highest.map(({x}) => scale.to(x)));
  const interval = meanInterval(spread, highest.map(({range}) =>
    ({low: scale.to(range.low), high: scale.to(range.high)})));
  return {...result, x: scale.from(spread.mean), seconds: geometricMeanOf(highest.map(({seconds}) => seconds)).mean,
          low: interval ? scale.from(interval.low) : NaN, high: interval ? scale.from(interval.high) : NaN};
}

// Returns the textbook's run: steps to the target x alpha-beta time of a step.
function textbookRun(study, id) {
  const steps = figureOf(study, id, 'steps_to_target');
  const step = figureOf(study, id, 'alpha_beta_step_seconds');
  return {seed: study.points.seed[id], time: steps === null ? null : steps * step,
          before: figureOf(study, id, 'steps_before_target') * step,
          end: figureOf(study, id, 'steps') * step};
}

function crossoverOf(view, at, policy, textbook) {
  const {study} = view;
  const axis = study.axes[view.x];
  const scale = isLogarithmic(axis) ? logScale : plainScale;
  const runs = (place, which) => textbook ?
    doneOf(view, place, which).map((id) => textbookRun(study, id)) : runsOf(view, place, which);
  const samples = new Map(view.seeds.map((seed) => [seed, []]));
  for (const i of ascending(axis)) {
    const place = at.map((value, a) => a === view.x ? i : value);
    const bases = runs(place, study.base);
    for (const run of runs(place, policy)) {
      const base = bases.find(({seed}) => seed === run.seed);
      if (base) samples.get(run.seed).push(sampleOf(axis.numbers[i], run, base));
    }
  }
  return averageCrossing([...samples.values()].map((one) => seedCrossings(one, scale)), scale);
}

// Returns the break-even of each shown policy except the baseline, at one facet; nothing if the
// axis has names.
function breakEvens(view, at, policies) {
  const {study} = view;
  if (study.base < 0 || study.target === null || study.axes[view.x].numbers.length === 0) return [];
  return policies.filter((policy) => policy !== study.base).map((policy) => ({
    policy, simulated: crossoverOf(view, at, policy, false), textbook: crossoverOf(view, at, policy, true)}));
}

function verdictText({counts, x, contrary}) {
  const seeds = counts.crosses + counts.ahead + counts.behind + counts.unknown;
  if (x === null && counts.ahead === seeds) return 'pays over the whole range';
  if (x === null && counts.behind === seeds) return 'never pays';
  const parts = [[counts.crosses, 'cross'], [counts.ahead, 'always ahead'], [counts.behind, 'always behind'],
                 [counts.unknown, 'unknown'], [contrary, 'cross the other way']];
  return parts.filter(([count]) => count).map(([count, text]) => `${count} of ${seeds} ${text}`).join(', ');
}

// Returns the facets: the other axes' values at which the study has points.
function facetsOf(view) {
  const facets = new Map();
  for (const key of view.study.byPlace.keys()) {
    const at = key.split(',').map((value, axis) => axis === view.x ? 0 : Number(value));
    facets.set(at.join(), at);
  }
  return [...facets.values()];
}

const FACETS_DRAWN = 16;

function breakEvenFigure(view) {
  const {study} = view;
  const axis = study.axes[view.x];
  const name = humanName(axis.name);
  const facets = facetsOf(view).map((at) => ({
    parts: placeParts({...view, at}, [view.x]), results: breakEvens(view, at, view.policies)}));
  const drawn = facets.slice(0, FACETS_DRAWN);
  const shown = view.policies.filter((policy) => policy !== study.base);
  const crossing = facets.some(({results}) => results.some(({simulated}) => simulated.x !== null));
  const rowOf = (row, policy) => row + (shown.indexOf(policy) + 0.5) / shown.length * 0.8 - 0.4;
  const marks = (kind, policy) => drawn.flatMap(({parts, results}, row) => results
    .filter((result) => result.policy === policy && result[kind].x !== null)
    .map(({[kind]: {x, low, high}}) => ({
      x, y: rowOf(row, policy), low, high,
      tip: [study.names[policy], ...parts, quantity(x, axis.unit, 3), kind].join(', ')})));
  const datasets = shown.flatMap((policy) => {
    const look = lookOf(study.styles[policy]);
    return [
      lineDataset(look, study.names[policy], marks('simulated', policy), {
        showLine: false, spread: 'x', pointRadius: 5}),
      lineDataset(look, `${study.names[policy]}, textbook`, marks('textbook', policy), {
        unlisted: true, showLine: false, pointStyle: 'crossRot', pointRotation: 0, pointRadius: 5}),
    ];
  });
  return {
    key: axis.name,
    height: 150 + drawn.length * Math.max(46, 13 * shown.length),
    chart: {type: 'line', data: {datasets}, options: {scales: {
      x: axisScale(axis, `Break-even ${name}`),
      y: axisOptions({title: '', names: drawn.map(({parts}) => parts), fixed: true, reverse: true, min: -0.5,
                      max: drawn.length - 0.5, afterBuildTicks: (scale) => {
                        scale.ticks = drawn.map((_, value) => ({value}));
                      }}),
    }}},
    table: {
      caption: `Break-even ${name} with ${study.baseline}: below it compressing is ahead, unless said`,
      head: [heading('Network'), METHOD_HEADING, ...headings(axis.unit, 'Break-even', 'From', 'To', 'Textbook'),
             heading('Seeds')],
      rows: facets.flatMap(({parts, results}) => results.map(({policy, simulated, textbook}) => [
        parts.join(', ') || 'the study', nameCell(study, policy),
        ...[simulated.x, simulated.low, simulated.high, textbook.x].map((x) => numberCell(x, axis.unit)),
        verdictText(simulated) + (simulated.x !== null && !simulated.below ? ', ahead above it' : '')])),
    },
    summary: (crossing ? `Break-even ${name} of ${shown.length} methods` :
      `No break-even ${name} within the grid for ${shown.length} methods`) + ` with ${study.baseline} at ` +
      `${facets.length} ${facets.length === 1 ? 'network' : 'networks'}` +
      `${facets.length > drawn.length ? `, the first ${drawn.length} drawn` : ''}; ` +
      'crosses are the textbook\'s predictions.',
  };
}
