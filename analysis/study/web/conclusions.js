// Conclusions from the figures, in sentences: for the chosen place, then along the chosen axis.

const MOST_NAMES = 5;  // most names in a sentence

function namesText(names) {
  const shown = names.length > MOST_NAMES + 1 ? [...names.slice(0, MOST_NAMES), `${names.length - MOST_NAMES} more`] : names;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

// Returns the shown policies that reached the target with all chosen seeds, the fastest one first.
function rankingAt(view, at) {
  return view.policies.map((policy) => ({policy, times: timesOf(runsOf(view, at, policy))}))
    .filter(({policy, times}) => times.spread.count > 0 && times.done === plannedOf(view, at, policy))
    .sort((a, b) => a.times.spread.mean - b.times.spread.mean);
}

// Returns those of the others that cannot be told apart from the first, with how many times as long
// they take.
function tiesAt(view, at, [first, ...others]) {
  const runs = runsOf(view, at, first.policy);
  return others.map(({policy}) => ({policy, behind: speedupOf(runsOf(view, at, policy), runs)}))
    .filter(({behind}) => cannotBeToldApart(behind));
}

// A contender is what reasons.h compares: a policy's mean step, and its number of steps to the
// target.
function contenderOf(view, at, {policy, times}) {
  const part = (name) => spreadAt(view, at, policy, `${name}_seconds`).mean;
  const total = part('step');
  return {name: view.study.names[policy], total, codec: part('encode') + part('decode'),
          traffic: part('communication'), steps: times.spread.mean / total};
}

// Returns why the winner is faster, as WhyFaster of reasons.h.
function whyText(winner, rival) {
  const seconds = (value) => quantity(value, 's', 3);
  const [stepGain, stepsGain] = [rival.total / winner.total, rival.steps / winner.steps];
  const steps = `needs ${winner.steps.toFixed(0)} steps to the target and ${rival.name} ${rival.steps.toFixed(0)}`;
  if (stepGain <= 1 && stepsGain > 1) return `${winner.name} ${steps}`;
  const traffic = rival.traffic - winner.traffic;
  const byCodec = rival.codec - winner.codec > traffic;
  const part = byCodec ? 'codec' : 'traffic';
  return `a step of ${winner.name} takes ${seconds(winner.total)} and one of ${rival.name} ${seconds(rival.total)}, ` +
    `of which ${byCodec ? 'encoding and decoding are' : 'communication is'} ${seconds(winner[part])} and ` +
    seconds(rival[part]) +
    (byCodec && traffic < 0 ? `: more than the ${seconds(-traffic)} of communication that ${rival.name} saves` : '') +
    (stepsGain > 1 && stepGain < stepsGain ? `; it also ${steps}` : '');
}

const MOST_TIMES_FASTER = 100;  // larger factors are not named, as nobody builds such links

// Returns what would turn the order, as WhatWouldTurn of reasons.h.
function turnText(winner, rival) {
  const rest = ({steps, total, traffic}) => steps * (total - traffic);
  const sent = ({steps, traffic}) => steps * traffic;
  const rate = (sent(rival) - sent(winner)) / (rest(winner) - rest(rival));
  if (!(rate > 0) || !Number.isFinite(rate) || rate === 1) {
    return `No other rate of the links alone brings ${rival.name} level.`;
  }
  if (rate > MOST_TIMES_FASTER) {
    return `${rival.name} would be level only on links more than ${MOST_TIMES_FASTER} times as fast.`;
  }
  return rate > 1 ?
    `On links ${plainNumber(rate, 3)} times as fast ${rival.name} would be level, if communication shrinks in proportion.` :
    `On links ${plainNumber(1 / rate, 3)} times slower ${rival.name} would be level, if communication grows in proportion.`;
}

const MORE_SEEDS = 'More seeds, or more frequent evaluations, may tell.';

// Returns which policy is the fastest at the chosen place, by how much, why and what would turn the
// order; or which ones cannot be told apart, and how they may be.
function firstText(view) {
  const {study} = view;
  const ranking = rankingAt(view, view.at);
  const [first, next] = ranking;
  const place = capitalised(['at', placeText(view)].join(' '));
  const target = targetText(study);
  if (!first) return `${place}, no method reaches ${target} with all seeds.`;
  const ties = tiesAt(view, view.at, ranking);
  if (ties.length > 0) {
    const seeds = view.seeds.length;
    return `${place}, ${seeds} ${seeds === 1 ? 'seed' : 'seeds'} cannot tell which method is the fastest: ` +
      namesText([`${study.names[first.policy]} (${timeText(first.times)})`, ...ties.map(({policy, behind}) =>
        `${study.names[policy]} (${plainNumber(behind.ratio, 3)} ` +
        (behind.interval ? `${intervalText(behind.interval, (ratio) => plainNumber(ratio, 3))} ` : '') +
        'times as long)')]) + `. ${MORE_SEEDS}`;
  }
  const overNext = first.policy === study.base && next;
  const speedup = overNext ?
    speedupOf(runsOf(view, view.at, next.policy), runsOf(view, view.at, first.policy)) :
    speedupAt(view, view.at, first.policy);
  const other = overNext ? `the next, ${study.names[next.policy]},` : study.baseline;
  const lead = `${place}, ${study.names[first.policy]} reaches ${target} first, in ${timeText(first.times)}` +
    (speedup && !Number.isNaN(speedup.ratio) ? `, ${speedupText(speedup)} as fast as ${other}` +
      (speedup.interval ? ` ${intervalText(speedup.interval, factorText)}` : '') : '');
  const rival = ranking.find(({policy}) => policy === study.base && policy !== first.policy) ?? next;
  if (!rival) return `${lead}.`;
  const [winner, loser] = [first, rival].map((one) => contenderOf(view, view.at, one));
  return `${lead}. Why: ${whyText(winner, loser)}. ${turnText(winner, loser)}`;
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

// Returns which policy is the fastest where along the chosen axis, and where that cannot be told.
function alongText(view) {
  const {study} = view;
  const axis = study.axes[view.x];
  const stretches = [];
  for (const i of ascending(axis)) {
    const at = atAlong(view, view.x, i);
    const ranking = rankingAt(view, at);
    if (ranking.length === 0) continue;
    const name = tiesAt(view, at, ranking).length > 0 ? '' : study.names[ranking[0].policy];
    if (stretches.at(-1)?.name !== name) stretches.push({name, from: i});
    stretches.at(-1).to = i;
  }
  if (stretches.length === 0 || axis.values.length < 2) return '';
  const parts = stretches.map(({name, from, to}) => `${name || 'none that can be told'} ` +
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
