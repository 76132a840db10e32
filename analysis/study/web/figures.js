// The figures turn a view of the study (what is shown and chosen) into a chart, a table and a
// sentence.

// Unpacks what report/html.cc packed. `byPlace` has the points of a place, [policy][seed].
function unpackStudy(packed) {
  const study = {...packed, byPlace: new Map()};
  if (study.axes.length === 0) {
    study.axes = [{name: 'network', unit: '', values: ['as defined'], texts: [''], numbers: []}];
    study.points.axes = [study.points.policy.map(() => 0)];
  }
  study.points.policy.forEach((policy, id) => {
    const key = study.points.axes.map((column) => column[id]).join();
    if (!study.byPlace.has(key)) study.byPlace.set(key, study.policies.map(() => []));
    study.byPlace.get(key)[policy][study.points.seed[id]] = id;
  });
  study.base = study.policies.indexOf(study.baseline);
  return study;
}

const DONE = 1;
const figureOf = (study, id, name) => study.points.figures[name][id];

// Returns the ids of the points of the chosen seeds that are done.
function doneOf(view, at, policy) {
  const seeds = view.study.byPlace.get(at.join())?.[policy] ?? [];
  return view.seeds.map((seed) => seeds[seed]).filter((id) => id !== undefined && view.study.points.state[id] === DONE);
}

// Returns the number of points of the chosen seeds that the study has.
const plannedOf = (view, at, policy) => view.seeds.filter(
  (seed) => view.study.byPlace.get(at.join())?.[policy]?.[seed] !== undefined).length;

const runsOf = (view, at, policy) => doneOf(view, at, policy).map((id) => ({
  seed: view.study.points.seed[id],
  time: figureOf(view.study, id, 'time_to_target'),
  before: figureOf(view.study, id, 'time_before_target'),
  end: figureOf(view.study, id, 'simulated_seconds'),
}));

const spreadAt = (view, at, policy, name) => spreadOf(
  doneOf(view, at, policy).map((id) => figureOf(view.study, id, name)).filter((value) => value !== null));

// Returns the speed-up over the baseline; null if there is nothing to compare with.
function speedupAt(view, at, policy) {
  const {base, target} = view.study;
  if (base < 0 || policy === base || target === null) return null;
  return speedupOf(runsOf(view, at, base), runsOf(view, at, policy));
}

const atAlong = (view, axis, position) => view.at.map((value, i) => i === axis ? position : value);
const valueText = (axis, i) => axis.numbers.length ? quantity(axis.numbers[i], axis.unit) : axis.values[i];
const positionOn = (axis, i) => axis.numbers.length ? axis.numbers[i] : i;
const isLogarithmic = (axis) => axis.numbers.length > 0 && axis.numbers.every((number) => number > 0);

// Returns the positions of an axis's values, ascending.
const ascending = (axis) => axis.values.map((_, i) => i).sort((a, b) => positionOn(axis, a) - positionOn(axis, b));

const placeParts = (view, without = []) => view.study.axes.map((axis, i) =>
  without.includes(i) ? '' : axis.texts[view.at[i]]).filter(Boolean);
const placeText = (view, without) => placeParts(view, without).join(', ');
// Returns the text followed by the place: "Mean time of a step, 1 Gbit/s, 8 workers".
const atPlace = (text, view, without) => [text, ...placeParts(view, without)].join(', ');

const axisScale = (axis, title) => axisOptions({
  title: title ?? capitalised(humanName(axis.name)), unit: axis.unit, logarithmic: isLogarithmic(axis),
  names: axis.numbers.length ? null : axis.values, values: axis.numbers,
});

// Returns what the curves leave out, and how to see it; '' for nothing.
function leftOutText({study, policies}) {
  const others = study.names.filter((_, i) => !policies.includes(i));
  return others.length === 0 ? '' : ` Not drawn: ${others.join(', ')}; tick them under “What is shown”.`;
}

const nameCell = (study, policy) => ({text: study.names[policy], value: study.policies[policy]});

const speedupCell = (speedup) => speedup === null ? {text: 'baseline', value: null} : {
  text: speedupText(speedup), value: speedup.ratio, small: intervalText(speedup.interval, factorText)};

// ---- Time to target along the chosen axis.

const LEAST_BAR = 0.1;  // end of a bar that would reach 0 or below, as part of the mean

function timePoints(view, policy) {
  const axis = view.study.axes[view.x];
  return ascending(axis).map((i) => {
    const times = timesOf(runsOf(view, atAlong(view, view.x, i), policy));
    const tip = `${view.study.names[policy]}, ${valueText(axis, i)}: ${timeText(times)}`;
    const {mean, deviation} = times.spread;
    return {i, times, exact: {x: positionOn(axis, i), y: times.spread.count ? mean : null, tip,
                              low: Math.max(mean - deviation, LEAST_BAR * mean), high: mean + deviation},
            censored: {x: positionOn(axis, i), y: times.reached < times.done ? times.bound : null, tip}};
  });
}

function timeTable(view, series) {
  const axis = view.study.axes[view.x];
  const table = {
    caption: atPlace('Time to target', view, [view.x]),
    head: [heading(capitalised(humanName(axis.name)), axis.unit), METHOD_HEADING,
           ...headings('s', 'Time to target', 'Deviation'),
           ...headings('', 'Reached', 'Seeds', 'Speed-up', 'Bound', 'From', 'To')],
    rows: [],
  };
  for (const {policy, points} of series) {
    for (const {i, times} of points) {
      if (times.done === 0) continue;
      const speedup = speedupAt(view, atAlong(view, view.x, i), policy);
      table.rows.push([
        {text: valueText(axis, i), value: axis.numbers.length ? axis.numbers[i] : axis.values[i]},
        nameCell(view.study, policy),
        {text: times.spread.count ? quantity(times.spread.mean, 's') : `≥ ${quantity(times.bound, 's')}`,
         value: times.spread.count ? times.spread.mean : null},
        numberCell(times.spread.deviation, 's', 2), times.reached, times.done,
        speedup ? {text: speedupText(speedup), value: speedup.ratio} : {text: 'baseline', value: null},
        speedup?.bound ?? '',
        ...['low', 'high'].map((end) => speedup?.interval ?
          {text: factorText(speedup.interval[end]), value: speedup.interval[end]} : ''),
      ]);
    }
  }
  return table;
}

function timeFigure(view) {
  const axis = view.study.axes[view.x];
  const series = view.policies.map((policy) => ({policy, points: timePoints(view, policy)}));
  const datasets = [];
  for (const {policy, points} of series) {
    const look = lookOf(view.study.styles[policy]);
    const name = view.study.names[policy];
    datasets.push(lineDataset(look, name, points.map((point) => point.exact), {spread: 'y'}));
    datasets.push(lineDataset(look, `${name}, not reached`, points.map((point) => point.censored), {
      unlisted: true, showLine: false, spread: 'bound', pointStyle: 'triangle', pointRotation: 0, pointRadius: 6,
      pointBackgroundColor: 'rgba(0, 0, 0, 0)'}));
  }
  if (series.some(({points}) => points.some((point) => point.censored.y !== null))) {
    datasets.push({label: 'not reached by all seeds: at least', data: [], pointStyle: 'triangle', pointBorderWidth: 1.5,
                   borderColor: inkColour(), backgroundColor: 'rgba(0, 0, 0, 0)'});
  }
  const crossings = breakEvens(view, view.at, view.policies).filter(({simulated}) => simulated.x !== null);
  datasets.push({
    label: `break-even with ${view.study.baseline}`, unlisted: crossings.length === 0, showLine: false,
    pointStyle: 'star', pointRadius: 7, pointBorderWidth: 2, borderColor: inkColour(), backgroundColor: inkColour(),
    data: crossings.map(({policy, simulated}) => ({
      x: simulated.x, y: simulated.seconds,
      tip: `${view.study.names[policy]} breaks even with ${view.study.baseline} at ` +
        quantity(simulated.x, axis.unit, 3)})),
  });
  const reached = series.reduce((sum, {points}) => sum + points.filter((point) => point.exact.y !== null).length, 0);
  return {
    key: axis.name,
    chart: {type: 'line', data: {datasets}, options: {scales: {
      x: axisScale(axis),
      y: axisOptions({title: 'Time to target', unit: 's', logarithmic: true, values: datasets.flatMap(({data}) =>
        data.flatMap(({y, low, high}) => y === null ? [] : [y, low ?? y, high ?? y]))}),
    }}},
    table: timeTable(view, series),
    summary: atPlace(`Time to target against ${humanName(axis.name)} of ${view.policies.length} methods`, view,
      [view.x]) + `: ${reached} means over ${view.seeds.length} seeds.` + leftOutText(view),
  };
}

// ---- Speed-up over two axes: a table with coloured cells.

// Returns blue where the policy is sooner than the baseline and orange where it is later, with the
// same strength for a factor and its inverse. Text on it stays dark.
function speedupColour(ratio, most) {
  const part = Math.max(-1, Math.min(1, Math.log(ratio) / Math.log(most)));
  const far = part > 0 ? [107, 174, 224] : [240, 150, 80];
  const [r, g, b] = far.map((value) => Math.round(247 + (value - 247) * Math.abs(part)));
  return `background: rgb(${r}, ${g}, ${b}); color: #111`;
}

const isKnown = (speedup) => speedup && !Number.isNaN(speedup.ratio) && !speedup.bound;

// Returns the rows of cells {r, c, speedup} of one policy.
function mapCells(view, {rows, columns, policy}) {
  return ascending(view.study.axes[rows]).map((r) => ascending(view.study.axes[columns]).map((c) => {
    const at = view.at.map((value, i) => i === rows ? r : i === columns ? c : value);
    return {r, c, speedup: speedupAt(view, at, policy)};
  }));
}

// Returns the logarithms of the speed-ups that are results.
const logsOf = (cells) => cells.flat().filter(({speedup}) => isKnown(speedup)).map(({speedup}) => Math.log(speedup.ratio));

// Returns the policy whose speed-up over the baseline depends most on the place.
function mostVaried(view, choice) {
  const range = (policy) => {
    const logs = logsOf(mapCells(view, {...choice, policy}));
    return logs.length ? Math.max(...logs) - Math.min(...logs) : -1;
  };
  const others = view.study.policies.map((_, i) => i).filter((policy) => policy !== view.study.base);
  return others.reduce((best, policy) => range(policy) > range(best) ? policy : best);
}

function mapFigure(view, choice) {
  const {study} = view;
  const [columns, rows] = [study.axes[choice.columns], study.axes[choice.rows]];
  const cells = mapCells(view, choice);
  const logs = logsOf(cells).map(Math.abs);
  const most = Math.exp(Math.max(Math.log(2), ...logs));
  return {
    table: {
      class: 'map',
      caption: atPlace(`Speed-up of ${study.names[choice.policy]} over ${study.baseline}`, view,
        [choice.rows, choice.columns]),
      head: [`${capitalised(humanName(rows.name))} \\ ${humanName(columns.name)}`,
             ...ascending(columns).map((c) => valueText(columns, c))],
      rows: cells.map((row) => [valueText(rows, row[0].r), ...row.map(({speedup}) =>
        ({...speedupCell(speedup), ...(isKnown(speedup) ? {style: speedupColour(speedup.ratio, most)} :
          {kind: 'bound'})}))]),
      csv: {
        head: [rows.name, columns.name, 'policy', 'speedup', 'bound', 'low', 'high', 'pairs'],
        rows: cells.flat().filter(({speedup}) => speedup?.pairs.length).map(({r, c, speedup}) => [
          rows.values[r], columns.values[c], study.policies[choice.policy], speedup.ratio, speedup.bound,
          speedup.interval?.low, speedup.interval?.high, speedup.pairs.length]),
      },
    },
    summary: 'Blue cells reach the target sooner than the baseline, orange ones later; in brackets the 95 % interval. ' +
      'Grey cells are no results: a bound (≥ ≤), or nothing (–) where neither reached the target.',
  };
}

// ---- Where the time of a step goes.

const PARTS = ['compute', 'encode', 'communication', 'decode', 'wait'];

function stepFigure(view) {
  const {study} = view;
  const shown = view.bars.filter((policy) => doneOf(view, view.at, policy).length > 0);
  const parts = PARTS.map((part) => shown.map((policy) => spreadAt(view, view.at, policy, `${part}_seconds`).mean));
  return {
    key: 'step',
    height: 120 + 34 * shown.length,
    chart: {
      type: 'bar',
      data: {
        labels: shown.map((policy) => study.names[policy]),
        datasets: PARTS.map((part, i) => ({
          label: part, data: parts[i], backgroundColor: onScheme(PART_COLOURS[part]), borderColor: inkColour(),
          borderWidth: 0.5, pointStyle: 'rect',
        })),
      },
      options: {
        indexAxis: 'y',
        interaction: {mode: 'nearest', intersect: true, axis: 'y'},
        plugins: {tooltip: {callbacks: {
          label: (item) => `${item.label}, ${item.dataset.label}: ${quantity(item.raw, 's', 3)}`,
        }}},
        scales: {
          x: {...axisOptions({title: 'Time of a step', unit: 's'}), stacked: true},
          y: {stacked: true, ticks: {color: inkColour()}, grid: {display: false}},
        },
      },
    },
    table: {
      caption: atPlace('Mean time of a step', view),
      head: [METHOD_HEADING, ...headings('s', ...PARTS.map(capitalised), 'Step', 'Deviation over seeds')],
      rows: shown.map((policy, row) => {
        const step = spreadAt(view, view.at, policy, 'step_seconds');
        return [nameCell(study, policy), ...parts.map((values) => numberCell(values[row], 's')),
                numberCell(step.mean, 's'), numberCell(step.deviation, 's', 2)];
      }),
    },
    summary: `${atPlace(`Mean time of a step and its parts for ${shown.length} methods`, view)}.`,
  };
}

// ---- The metric against bytes or simulated time.

const SEEDS_OF_BAND = 3;  // fewer seeds have no band

// Returns mean and band of the seeds' values of the metric. A value is null if the training
// diverged, and so is the mean then.
function pointOf(values) {
  const {mean, deviation} = spreadOf(values.includes(null) ? [] : values);
  const half = values.length < SEEDS_OF_BAND ? NaN : deviation;
  return {y: Number.isNaN(mean) ? null : mean, low: mean - half, high: mean + half};
}

// Returns means over the seeds at the steps that all of them evaluated. `column` is the position of
// x in the packed curve: 1 for seconds, 2 for bytes.
function meanCurve(study, ids, column) {
  const {points, sequences} = study.curves;
  const curves = ids.map((id) => points[id]).filter(Boolean).map((at) => at.map((i) => sequences[i]));
  if (curves.length === 0) return [];
  return curves[0][0].map((step) => {
    const rows = curves.map((curve) => curve[0].indexOf(step));
    if (rows.includes(-1)) return null;
    return {step, x: spreadOf(curves.map((curve, seed) => curve[column][rows[seed]])).mean,
            ...pointOf(curves.map((curve, seed) => curve[3][rows[seed]]))};
  }).filter(Boolean);
}

const LEAST_BAND = 0.1;  // end of a band on a logarithmic axis, as part of the mean

// True where a linear axis would hide the small values of a metric that is not a fraction.
function isWide(metric, values) {
  const known = values.filter((value) => value !== null);
  if (metric.unit === 'fraction' || known.length === 0) return false;
  const least = Math.min(...known);
  return least > 0 && Math.max(...known) > 5 * least;
}

// Returns the chart of `series` [{name, look, points, more}], where `more` has options of a line. The
// what-if panel uses it as well.
function metricChart(series, xTitle, xUnit, {metric, target}, {title = `Test ${metric.title}`, linear = false} = {}) {
  const values = series.flatMap(({points}) => points.map(({y}) => y));
  const wide = !linear && isWide(metric, values);
  const lines = series.map(({name, look, points, more}) => lineDataset(look, name, points.map((point) => ({
    ...point, low: wide ? Math.max(point.low, LEAST_BAND * point.y) : point.low,
    tip: `${name}: ${quantity(point.y, metric.unit, 3)} at ${quantity(point.x, xUnit, 3)}`})),
  {spread: 'band', pointRadius: 2.5, ...more}));
  const ends = series.map(({points}) => points[points.length - 1]?.x).filter((x) => x > 0);
  const logarithmic = ends.length > 1 && Math.max(...ends) > 5 * Math.min(...ends);
  return {type: 'line', data: {datasets: lines}, options: {target: target === null ? null : {value: target, metric}, scales: {
    x: axisOptions({title: xTitle, unit: xUnit, logarithmic,
                    values: series.flatMap(({points}) => points.map(({x}) => x))}),
    y: axisOptions({title, unit: metric.unit, logarithmic: wide,
                    values: wide && target !== null ? [...values, target] : values}),
  }}};
}

const TARGET_WINDOW = 3;  // evaluations whose mean reaches the target

// Returns whether a curve crosses the target earlier than the time to target that is given for its
// method, as CrossesEarlier of summary.h.
function crossesEarlier({metric, target}, values) {
  if (target === null) return false;
  const reaches = (value, limit) => metric.better === 'higher' ? value >= limit : value <= limit;
  const slack = (metric.better === 'higher' ? -1 : 1) * 1e-9 * Math.max(1, target);
  const first = values.findIndex((value) => reaches(value, target));
  const reached = values.findIndex((_, i) => i >= TARGET_WINDOW - 1 && reaches(
    values.slice(i + 1 - TARGET_WINDOW, i + 1).reduce((sum, value) => sum + value, 0), TARGET_WINDOW * target + slack));
  return first >= 0 && (reached < 0 || first < reached);
}

function metricFigure(view, column, xTitle, xUnit) {
  const {study} = view;
  const {title, unit} = study.metric;
  const series = view.policies.map((policy) => ({
    policy, name: study.names[policy], look: lookOf(study.styles[policy]),
    points: meanCurve(study, doneOf(view, view.at, policy), column),
  })).filter(({points}) => points.length > 0);
  return {
    key: xTitle,
    chart: metricChart(series, xTitle, xUnit, study),
    table: {
      caption: atPlace(`Test ${title}, means over seeds`, view),
      head: [METHOD_HEADING, heading('Step'), heading(xTitle, xUnit),
             ...headings(unit, `Test ${title}`, 'Deviation')],
      rows: series.flatMap(({policy, points}) => points.map(({step, x, y, high}) => [
        nameCell(study, policy), step, numberCell(x, xUnit), numberCell(y, unit),
        numberCell(high - y, unit, 2)])),
    },
    summary: `${atPlace(`Test ${title} of ${series.length} methods against ${xTitle.toLowerCase()}`, view)}.` +
      (series.some(({points}) => crossesEarlier(study, points.map(({y}) => y))) ?
        ` Times to target are those of the mean of ${TARGET_WINDOW} evaluations, which comes later than a curve's crossing.` : '') + leftOutText(view),
  };
}
