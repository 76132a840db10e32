// The what-if panel asks the study's server for the times of its recorded trainings on another
// network, or, of federated trainings, on other lines of clients. Those whose learning depends on
// the network are planned instead: rounds without learning. docs/what-if.md has the API. If the
// page is a file, it answers by itself (page_answers.js) if the study has trainings on one switch;
// else the panel is disabled. Either way it says how to serve the study.

const DEBOUNCE_MILLISECONDS = 150;

// Sliders have the range of `to(value)`. Number fields have value / size in `unit`.
const FACTOR = {unit: 'times', size: 1, low: 0.1, high: 10, first: 1, logarithmic: true};
const RATE = {unit: 'Mbit/s', size: 1e6, low: 1e6, high: 1e12, first: 1e9, logarithmic: true, text: 'bit/s'};
const FIDELITY = {key: 'fidelity', label: 'Fidelity', options: ['flow', 'analytic']};
// Any other topology, and a file, may be typed.
const TOPOLOGIES = ['star', 'fat-tree', 'fat-tree:k=8', 'leaf-spine', 'leaf-spine:oversubscription=4', 'ring', 'torus',
                    'dragonfly', 'dumbbell', 'rail-optimised', 'nodes'];
// The questions of the panel of each kind of trainings: sliders, texts and choices, and the parts
// of the time that it shows.
const KINDS = {
  workers: {
    legend: 'Another network',
    knobs: [
      {key: 'bandwidth', label: 'Bandwidth of the links', ...RATE},
      {key: 'delay', label: 'Latency of a link', unit: 'µs', size: 1e-6, low: 1e-7, high: 1, first: 1e-5,
       logarithmic: true, text: 's'},
      {key: 'slow_workers', label: 'How many workers are slow', unit: 'workers', size: 1, low: 0, high: 64, first: 0,
       whole: true},
      {key: 'slowdown', label: 'How many times slower these are', ...FACTOR, low: 1, high: 20},
      {key: 'device_speed', label: 'Speed of the devices', ...FACTOR},
      {key: 'codec_speed', label: 'Speed of the codecs', ...FACTOR, low: 0.01, high: 100},
    ],
    fields: [{key: 'topology', label: 'Topology', suggestions: TOPOLOGIES}, FIDELITY],
    step: 'Step', parts: PARTS,
  },
  clients: {
    legend: 'Other lines, devices and prices',
    knobs: [
      {key: 'down_rates', label: 'Rates of access lines to clients', ...FACTOR, low: 0.01, high: 100},
      {key: 'up_rates', label: 'Rates of access lines from clients', ...FACTOR, low: 0.01, high: 100},
      {key: 'packet_loss', label: 'Packets that access lines lose beside their own', unit: '%', size: 0.01, low: 0, high: 0.05,
       first: 0, text: 'fraction'},
      {key: 'core_rates', label: 'Rates of the links between places', ...FACTOR, low: 0.01, high: 100},
      {key: 'core_delays', label: 'Latencies of the links between places', ...FACTOR},
      {key: 'server_rate', label: "Rate of the server's line", ...RATE},
      {key: 'streams', label: 'Connections that share a transfer', unit: 'streams', size: 1, low: 1, high: 16, first: 1,
       whole: true},
      {key: 'device_speed', label: 'Speed of the devices', ...FACTOR},
      {key: 'prices', label: 'All prices', ...FACTOR},
    ],
    fields: [{key: 'server_at', label: 'Place of the server', options: []},
             {key: 'connections', label: 'Connections', options: ['warm', 'cold', 'tls', 'quic', 'quic-0rtt', 'persistent']},
             FIDELITY],
    step: 'Round', parts: ['download', 'work', 'upload', 'wait'],
  },
};

// Returns "1Gbps" or "10us" (or a number) in bit/s or seconds.
function parseQuantity(text) {
  const [, number, prefix, unit] = /^\s*([0-9.eE+-]+?)\s*([kMGTnuµm]?)(bps|bit\/s|s)\s*$/.exec(String(text)) ?? [];
  if (unit === undefined) return Number(text);
  return unit === 's' ? Number(number) / {n: 1e9, u: 1e6, 'µ': 1e6, m: 1e3, '': 1}[prefix] :
    Number(number) * {'': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12}[prefix];
}

// Makes a slider and a number field of one value. `changed` is called on the input of either.
function makeKnob(knob, changed) {
  const to = (value) => knob.logarithmic ? Math.log10(value) : value;
  const from = (at) => knob.logarithmic ? 10 ** at : at;
  const id = `what-if-${knob.key}`;
  const slider = element('input', {type: 'range', id, min: to(knob.low), max: to(knob.high),
                                   step: knob.whole ? 1 : 'any'});
  const field = element('input', {type: 'number', id: `${id}-number`, step: knob.whole ? 1 : 'any', min: 0,
                                  'aria-label': `${knob.label}, ${knob.unit}`});
  let current = knob.first;
  const show = (value, source) => {
    current = value;
    if (source !== slider) slider.value = to(Math.max(value, knob.low));
    if (source !== field) field.value = Number((value / knob.size).toPrecision(4));
    slider.setAttribute('aria-valuetext', quantity(value, knob.text ?? knob.unit, 3));
  };
  slider.addEventListener('input', () => {
    show(Number(from(Number(slider.value)).toPrecision(3)), slider);
    changed();
  });
  // A key moves the slider by a 40th of its range. With the step "any" it would not move.
  slider.addEventListener('keydown', (event) => {
    const way = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5}[event.key];
    if (!way || knob.whole) return;
    event.preventDefault();
    slider.value = Number(slider.value) + way * (slider.max - slider.min) / 40;
    slider.dispatchEvent(new Event('input'));
  });
  field.addEventListener('input', () => {
    if (field.value === '' || !field.checkValidity()) return;
    show(Number((Number(field.value) * knob.size).toPrecision(12)), field);
    changed();
  });
  const why = element('small', {class: 'hint'});
  const row = element('div', {class: 'knob'}, element('label', {for: id}, knob.label, ' ', why), slider,
    element('span', {class: 'number'}, field, ` ${knob.unit}`));
  return {row, key: knob.key, get: () => current, set: (value) => show(value, null),
          limit: (most) => slider.max = to(most),
          enable(on, reason = '') {
            slider.disabled = field.disabled = !on;
            why.textContent = reason && `(${reason})`;
          }};
}

// Makes a text field, which may have suggestions, or a choice, of one value, as makeKnob does.
function makeField({key, label, options, suggestions}, changed) {
  const id = `what-if-${key}`;
  const input = options ? element('select', {id, onchange: changed}) :
    element('input', {id, type: 'text', oninput: changed, spellcheck: 'false', ...suggestions && {list: `${id}-list`}});
  const offer = (names) => input.replaceChildren(...names.map((name) => element('option', {value: name}, name)));
  if (options) offer(options);
  const why = element('small', {class: 'hint'});
  const list = (suggestions ?? []).map((value) => element('option', {value}));
  return {row: element('div', {class: 'field'}, element('label', {for: id}, label), input,
                       ...suggestions ? [element('datalist', {id: `${id}-list`}, ...list)] : [], why), key, offer,
          get: () => input.value, set: (value) => input.value = value,
          enable(on, reason = '') {
            input.disabled = !on;
            why.textContent = reason;
          }};
}

// Returns the time of the evaluation before the one that reached the target; that of a step if
// there is none.
const beforeTarget = (run) =>
  run.curve.filter(([seconds]) => seconds < run.time_to_target).at(-1)?.[0] ?? run.step_seconds;

// Returns the answer for each policy that is shown: runs of the chosen seeds.
function answeredSeries(view, answer) {
  const seeds = new Set(view.seeds.map((seed) => view.study.seeds[seed]));
  const shown = new Set(view.policies.map((policy) => view.study.policies[policy]));
  return answer.policies.map(({policy, seeds: runs}) => {
    const position = view.study.policies.indexOf(policy);
    const chosen = runs.filter((run) => seeds.has(String(run.seed)));
    return {
      policy, chosen,
      name: view.study.names[position] ?? policy,
      shown: shown.has(policy),
      look: lookOf(view.study.styles[Math.max(0, position)]),
      runs: chosen.map((run) => ({seed: run.seed, time: run.time_to_target, before: beforeTarget(run),
                                  end: run.simulated_seconds})),
    };
  });
}

// Returns means over the evaluations that all seeds have.
function answeredCurve(chosen) {
  const curves = chosen.map((run) => run.curve);
  const length = curves.length ? Math.min(...curves.map((curve) => curve.length)) : 0;
  return Array.from({length}, (_, i) => {
    return {x: spreadOf(curves.map((curve) => curve[i][0])).mean,
            ...pointOf(curves.map((curve) => curve[i][1]))};
  });
}

// Returns a function of a series: the mean over its seeds, NaN if one has none (null).
const meanOf = (value) => ({chosen}) => {
  const values = chosen.map(value);
  return values.includes(null) ? NaN : spreadOf(values).mean;
};
const partsOf = ({parts}) =>
  parts.map((part) => ({name: capitalised(part), unit: 's', of: meanOf((run) => run.parts[part])}));

// Numbers of the answer's table besides time to target and speed-up.
function measuresOf(kind, answers) {
  const measures = [{name: kind.step, unit: 's', of: meanOf((run) => run.step_seconds)}, ...partsOf(kind)];
  const priced = answers.some(({policies}) => policies.some(({seeds}) => seeds.some((run) => run.usd_to_target > 0)));
  if (priced) measures.push({name: 'USD to target', unit: 'USD', of: meanOf((run) => run.usd_to_target)});
  return measures;
}

// `own` is the answer for the study's own network, which is shown next to the other one.
function whatIfFigure(view, answer, own, kind) {
  const all = answeredSeries(view, answer);
  const base = all.find(({policy}) => policy === view.study.baseline);
  const series = all.filter(({shown}) => shown);
  const owns = answeredSeries(view, own).filter(({shown}) => shown);
  const measures = measuresOf(kind, [answer, own]);
  const meanTime = (times) => times.spread.count ? times.spread.mean : null;
  const rows = series.map((one, i) => {
    const {policy, name, runs} = one;
    const [times, ownTimes] = [timesOf(runs), timesOf(owns[i].runs)];
    const speedup = base && policy !== base.policy ? speedupOf(base.runs, runs) : null;
    return {look: one.look, times, ownTimes, values: measures.map(({of}) => [of(one), of(owns[i])]), cells: [
      {text: name, value: policy}, {text: timeText(times), value: meanTime(times), small: `study ${timeText(ownTimes)}`},
      `${times.reached} of ${times.done}`, speedupCell(speedup),
      ...measures.map(({of, unit}) => (
        {...numberCell(of(one), unit, 3), small: `study ${quantity(of(owns[i]), unit, 3)}`}))]};
  });
  // Times come first. A policy that did not reach the target with all seeds has no time but a bound.
  const placeOf = ({times}) => times.spread.count ? times.spread.mean : Infinity;
  rows.sort((a, b) => placeOf(a) === placeOf(b) ? b.times.reached - a.times.reached : placeOf(a) - placeOf(b));
  const longest = Math.max(...rows.map(placeOf).filter(Number.isFinite));
  for (const row of rows) {  // a bar after a time; that of a bound is hatched and has no end
    const known = Number.isFinite(placeOf(row));
    const part = known ? 100 * placeOf(row) / longest : 100;
    row.cells[1].style = `--bar: ${part.toFixed(1)}%; --bar-colour: ${row.look.colour}`;
    if (!known) row.cells[1].kind = 'bound';
  }
  const moved = JSON.stringify(answer.policies) !== JSON.stringify(own.policies);
  const faint = (look) => ({...look, colour: `${look.colour}66`});
  const lines = series.map(({name, look, chosen}) => ({name, look, points: answeredCurve(chosen)}));
  const ownLines = owns.map(({name, look, chosen}) => ({
    name: `${name}, study`, look: faint(look), points: answeredCurve(chosen),
    more: {spread: null, pointRadius: 0, borderWidth: 1.5, unlisted: true}}));
  return {
    key: 'what-if',
    chart: metricChart(moved ? [...lines, ...ownLines] : lines, 'Simulated time', 's', view.study),
    table: {
      class: 'bars',
      caption: "Answer: time to target on this network, and on the study's own",
      head: [METHOD_HEADING, heading('Time to target', 's'), heading('Reached'),
             heading(`Speed-up over ${view.study.baseline}`), ...measures.map(({name, unit}) => heading(name, unit))],
      rows: rows.map(({cells}) => cells),
      csv: {
        head: ['policy', 'time to target (s)', "study's time to target (s)", 'reached', 'speedup',
               ...measures.flatMap(({name, unit}) => [heading(name, unit).value, `study's ${heading(name, unit).value}`])],
        rows: rows.map(({times, ownTimes, values, cells}) => [cells[0], meanTime(times), meanTime(ownTimes), cells[2],
          cells[3], ...values.flat()]),
      },
    },
    summary: `Test ${view.study.metric.title} against simulated time of ${series.length} methods on the network asked for` +
      `${moved ? "; faint lines are the study's own" : ''}.`,
  };
}

const PLAN = 'plan: no learning, times only';
// Numbers of a plan's table. Data and USD are of all rounds.
const PLAN_MEASURES = [
  {name: 'All rounds', unit: 's', of: meanOf((run) => run.simulated_seconds)},
  {name: 'Median round', unit: 's', of: meanOf(({plan}) => plan.round_median)},
  {name: '95th percentile', unit: 's', of: meanOf(({plan}) => plan.round_95)},
  ...partsOf(KINDS.clients),
  {name: 'Data down', unit: 'MB', of: meanOf(({plan}) => plan.mb_down)},
  {name: 'Data up', unit: 'MB', of: meanOf(({plan}) => plan.mb_up)},
  {name: 'USD of all rounds', unit: 'USD', of: meanOf(({plan}) => plan.usd)},
  {name: 'Tasks', unit: '', of: meanOf(({plan}) => plan.started)},
  {name: 'Counted', unit: '', of: meanOf(({plan}) => plan.counted)},
  {name: 'Clients never counted', unit: '', of: meanOf(({plan}) => plan.never_counted)},
];

// The same for a group that is planned.
function planFigure(view, answer, own) {
  const series = answeredSeries(view, answer).filter(({shown}) => shown);
  const owns = answeredSeries(view, own).filter(({shown}) => shown);
  const made = ({chosen}) => {
    const stopped = chosen.map(({plan}) => plan.stopped).filter(Boolean);
    return {text: chosen.map(({plan}) => `${plan.versions} of ${plan.wanted}`).join(', '), small: stopped.join('; ')};
  };
  const lines = (all, more) => all.map(({name, look, chosen}) => ({...more(name, look), points: answeredCurve(chosen)}));
  const moved = JSON.stringify(answer.policies) !== JSON.stringify(own.policies);
  const asked = lines(series, (name, look) => ({name, look}));
  const ownLines = lines(owns, (name, look) => (
    {name: `${name}, study`, look: {...look, colour: `${look.colour}66`},
     more: {spread: null, pointRadius: 0, borderWidth: 1.5, unlisted: true}}));
  return {
    key: 'what-if-plan',
    chart: metricChart(moved ? [...asked, ...ownLines] : asked, 'Simulated time', 's',
      {metric: {title: 'versions', unit: ''}, target: null}, {title: 'Versions made', linear: true}),
    table: {
      caption: "Plan without learning (times only): rounds on this network, and on the study's own",
      head: [METHOD_HEADING, heading('Versions'), ...PLAN_MEASURES.map(({name, unit}) => heading(name, unit))],
      rows: series.map((one, i) => [{text: one.name, value: one.policy}, made(one),
        ...PLAN_MEASURES.map(({of, unit}) => (
          {...numberCell(of(one), unit, 3), small: `study ${quantity(of(owns[i]), unit, 3)}`}))]),
    },
    summary: `Versions against simulated time of ${series.length} methods, planned without learning: times only` +
      `${moved ? "; faint lines are the study's own" : ''}.`,
  };
}

// The tables that legacy-federated plan prints, of each policy's first seed, below its command line.
function planTables(view, answer) {
  const one = ({name, chosen: [first]}) => element('details', {},
    element('summary', {}, `${name}, seed ${first.seed}: tables of the plan (no learning, times only)`),
    element('p', {}, element('code', {}, first.plan.command)),
    ...first.plan.tables.map(({title, header, rows}) =>
      scrollRegion(title, tableElement({caption: title, head: header, rows}))));
  return answeredSeries(view, answer).filter(({shown, chosen}) => shown && chosen.length > 0).map(one);
}

// Makes the form of a question about `groups`, which are of one kind. `ask` is called on each input.
// Returns {answered(answer), question(), kind}.
function makeQuestion(form, groups, ask) {
  const kind = KINDS[groups[0].kind];
  let codecs = true;  // true if some policy encodes
  let unread = {};  // keys that the network does not read, with the reason
  const changed = () => {
    effects();
    ask();
  };
  const group = element('select', {id: 'what-if-group', onchange: () => [setDefaults(), changed()]},
    ...groups.map(({id, label, planned}) => element('option', {value: id}, planned ? `${label} (${PLAN})` : label)));
  const fields = kind.fields.map((one) => makeField(one, changed));
  const knobs = kind.knobs.map((knob) => makeKnob(knob, changed));
  const controls = [...fields, ...knobs];
  const controlOf = (key) => controls.find((control) => control.key === key);
  const FIRST_SLOWDOWN = 2;
  // Disables controls without effect. If workers are slow, a factor of 1 becomes FIRST_SLOWDOWN.
  function effects() {
    for (const {key, enable} of controls) enable(!(key in unread), unread[key]);
    controlOf('codec_speed')?.enable(codecs);
    if (!controlOf('slow_workers')) return;
    const slow = controlOf('slow_workers').get() > 0;
    controlOf('slowdown').enable(slow);
    if (slow && controlOf('slowdown').get() === 1) controlOf('slowdown').set(FIRST_SLOWDOWN);
  }
  knobs.forEach((knob, i) => knob.set(kind.knobs[i].first));
  form.append(element('legend', {}, kind.legend),
    element('div', {class: 'fields'},
      element('div', {class: 'field'}, element('label', {for: group.id}, 'Training'), group), ...fields.map(({row}) => row)),
    ...knobs.map(({row}) => row));

  function setDefaults() {
    const asked = groups.find(({id}) => id === Number(group.value));
    unread = asked.unread;
    controlOf('slow_workers')?.limit(asked.workers);
    controlOf('server_at')?.offer(asked.places);
    for (const knob of knobs) {
      const value = parseQuantity(asked.defaults[knob.key]);
      if (Number.isFinite(value)) knob.set(value);
    }
    for (const {key, set} of fields) set(asked.defaults[key]);
    effects();
  }
  // The address keeps the last question. A page that is opened again begins with it.
  const kept = new URLSearchParams(location.hash.slice(1));
  if (groups.some(({id}) => String(id) === kept.get('group'))) group.value = kept.get('group');
  setDefaults();
  for (const {key, set} of kept.has('group') ? fields : []) if (kept.has(key)) set(kept.get(key));
  for (const {key, set} of kept.has('group') ? knobs : []) {
    if (kept.get(key) && Number.isFinite(Number(kept.get(key)))) set(Number(kept.get(key)));
  }
  effects();
  return {
    kind,
    answered(answer) {
      codecs = answer.policies.some(({seeds}) => seeds.some(({parts}) => parts.encode + parts.decode > 0));
      unread = answer.unread;
      effects();
    },
    question: () => ({group: Number(group.value),
                      ...Object.fromEntries(controls.map((control) => [control.key, control.get()]))}),
  };
}

// Lists the trainings whose learning cannot be asked about, with the commands or plans that answer
// instead.
function refusedList(refused) {
  if (refused.length === 0) return [];
  const command = (what, line) => line ? element('p', {}, `${what}: `, element('code', {}, line)) : null;
  return [element('details', {}, element('summary', {}, 'Trainings that cannot be asked about'),
    element('ul', {}, ...refused.map(({label, policies, reason, command: line, plan, group}) =>
      element('li', {}, `${label} (${policies.join(', ')}): ${reason}.` +
        (Number.isInteger(group) ? ' Its rounds are planned here, where it is chosen as the training.' : ''),
        command('On other lines', line), command('Rounds without accuracy', plan)))))];
}

// Returns the content of an answer of the server. Throws the server's message if it refuses.
async function fetchJson(path, options) {
  const response = await fetch(path, options);
  const content = await response.json();
  if (!response.ok) throw new Error(content.error ?? `HTTP ${response.status}`);
  return content;
}

const SERVER_ANSWERS = {
  groups: () => fetchJson('/api/groups'),
  ask: (question, signal) => fetchJson('/api/what-if', {
    method: 'POST', signal, body: JSON.stringify(question), headers: {'Content-Type': 'application/json'}}),
  how: '', note: [], none: 'No training of this study can be asked about.',
};

// Starts the panel {form, status, error, refused, plans, show(figure)}. view() returns what is shown.
// Returns {redraw}.
function startWhatIf(panel, view) {
  let [timer, request, answer, form] = [null, null, null, null];
  const {live, closed_forms: closedForms, program} = view().study;
  const answers = live ? SERVER_ANSWERS : closedForms ? pageAnswers(closedForms, program) : null;
  const owns = new Map();  // answers for the study's own network, by group
  const say = (status, error = '') => [panel.status.textContent, panel.error.textContent] = [status, error];
  function redraw() {
    if (!answer) return;
    const {content, own} = answer;
    const planned = content.policies.some(({seeds}) => seeds.some(({plan}) => plan));
    panel.show(planned ? planFigure(view(), content, own) : whatIfFigure(view(), content, own, form.kind));
    const open = [...panel.plans.children].map((one) => one.open);
    panel.plans.replaceChildren(...(planned ? planTables(view(), content) : []));
    [...panel.plans.children].forEach((one, i) => one.open = open[i] ?? false);
  }
  const changed = () => {
    history.replaceState(null, '', `#${new URLSearchParams(form.question())}`);
    clearTimeout(timer);
    timer = setTimeout(ask, DEBOUNCE_MILLISECONDS);
  };

  // A new question cancels the previous one, so that the server learns that its answer is not
  // wanted any more.
  async function ask() {
    request?.abort();
    const mine = request = new AbortController();
    const post = (question) => answers.ask(question, mine.signal);
    say('Asking …');
    try {
      const question = form.question();
      const own = owns.get(question.group) ?? await post({group: question.group});
      owns.set(question.group, own);
      const content = await post(question);
      if (mine !== request) return;
      answer = {content, own};
      form.answered(content);
      redraw();
      say(`Answered in ${quantity(content.seconds, 's', 3)}${answers.how}.`);
    } catch (error) {
      if (error.name !== 'AbortError' && mine === request) say('', `No answer: ${error.message}`);
    }
  }
  async function start() {
    try {
      const {groups, refused} = await answers.groups();
      panel.refused.replaceChildren(...answers.note, ...refusedList(refused));
      if (groups.length === 0) {
        panel.form.hidden = true;
        say(answers.none);
        return;
      }
      form = makeQuestion(panel.form, groups, changed);
      panel.form.disabled = false;
      await ask();
    } catch (error) {
      say('', `No answer: ${error.message}`);
    }
  }
  panel.form.disabled = true;
  if (answers) start(); else say(`This page is a file. To ask what-if questions, ${withServer(program)}.`);
  return {redraw};
}
