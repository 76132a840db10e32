// Conclusions from the figures, in sentences: for the chosen place, then along the chosen axis.

const MOST_NAMES = 5;  // most names in a sentence

function namesText(names) {
  const shown = names.length > MOST_NAMES + 1 ? [...names.slice(0, MOST_NAMES), `${names.length - MOST_NAMES} more`] : names;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

// Returns the shown policies that reached the target with all seeds that are done, the fastest
// first.
function rankingAt(view, at) {
  return view.policies.map((policy) => ({policy, times: timesOf(runsOf(view, at, policy))}))
    .filter(({times}) => times.spread.count > 0)
    .sort((a, b) => a.times.spread.mean - b.times.spread.mean);
}

function firstText(view) {
  const {study} = view;
  const [first, ...others] = rankingAt(view, view.at);
  const place = capitalised(['at', placeText(view)].join(' '));
  const target = targetText(study);
  if (!first) return `${place}, no policy reaches ${target} with all seeds.`;
  const speedup = speedupAt(view, view.at, first.policy);
  const runs = runsOf(view, view.at, first.policy);
  const close = others.filter(({policy}) => {
    const {interval} = speedupOf(runsOf(view, view.at, policy), runs);
    return interval && interval.low <= 1;
  });
  return `${place}, ${study.names[first.policy]} reaches ${target} first, in ${timeText(first.times)}` +
    (speedup && !Number.isNaN(speedup.ratio) ? `, ${speedupText(speedup)} as fast as ${study.baseline}` +
      (speedup.interval ? ` ${intervalText(speedup.interval, factorText)}` : '') : '') +
    (close.length ? `; ${namesText(close.map(({policy}) => study.names[policy]))} cannot be told apart from it.` : '.');
}

function missedText(view) {
  const missed = view.policies.filter((policy) => {
    const {done, reached} = timesOf(runsOf(view, view.at, policy));
    return reached < done;
  });
  return missed.length === 0 ? '' :
    `${namesText(missed.map((policy) => view.study.names[policy]))} ${missed.length === 1 ? 'does' : 'do'} not reach the ` +
    'target there with all seeds.';
}

function alongText(view) {
  const {study} = view;
  const axis = study.axes[view.x];
  const stretches = [];
  for (const i of ascending(axis)) {
    const [first] = rankingAt(view, atAlong(view, view.x, i));
    if (!first) continue;
    if (stretches.at(-1)?.policy !== first.policy) stretches.push({policy: first.policy, from: i});
    stretches.at(-1).to = i;
  }
  if (stretches.length === 0 || axis.values.length < 2) return '';
  const parts = stretches.map(({policy, from, to}) => `${study.names[policy]} ` +
    (from === to ? `at ${valueText(axis, from)}` : `from ${valueText(axis, from)} to ${valueText(axis, to)}`));
  return `Along ${humanName(axis.name)}, the first is ${parts.join(', ')}.`;
}

function breakEvenText(view) {
  const {study} = view;
  const crossings = breakEvens(view, view.at, view.policies).filter(({simulated}) => simulated.x !== null);
  if (crossings.length === 0) return '';
  return `Break-even with ${study.baseline}: ` + namesText(crossings.map(({policy, simulated}) =>
    `${study.names[policy]} at ${quantity(simulated.x, study.axes[view.x].unit, 3)}`)) + '.';
}

function metricText(view) {
  const {study} = view;
  const {metric} = study;
  if (!metric.name) return '';
  const sign = metric.better === 'higher' ? -1 : 1;
  const ranking = view.policies.map((policy) => ({policy, spread: spreadAt(view, view.at, policy, 'final_metric')}))
    .filter(({spread}) => spread.count > 0).sort((a, b) => sign * (a.spread.mean - b.spread.mean));
  return ranking.length === 0 ? 'Nothing is done there yet.' :
    `${capitalised(['at', placeText(view)].join(' '))}, ${study.names[ranking[0].policy]} ends with the ` +
    `${metric.better === 'higher' ? 'highest' : 'lowest'} ${metric.title}, ${spreadText(ranking[0].spread, metric.unit)}.`;
}

function conclusionsOf(view) {
  const {study} = view;
  const timed = study.target !== null && !study.missed;
  return [study.missed, timed ? firstText(view) : '', timed ? missedText(view) : '', metricText(view),
          timed ? alongText(view) : '', timed ? breakEvenText(view) : ''].filter(Boolean);
}
