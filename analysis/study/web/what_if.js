// The what-if panel asks the study's server for the times of its recorded trainings on another
// network. docs/studies.md has the API. Where the page is a file, the panel is disabled and says
// how to serve it.

const DEBOUNCE_MILLISECONDS = 150;

// Sliders have the range of `to(value)`. Number fields have value / size in `unit`.
const KNOBS = [
  {key: 'bandwidth', label: 'Bandwidth of the links', unit: 'Mbit/s', size: 1e6, low: 1e6, high: 1e12, first: 1e9,
   logarithmic: true, text: 'bit/s'},
  {key: 'delay', label: 'Latency of a link', unit: 'µs', size: 1e-6, low: 1e-7, high: 1, first: 1e-5,
   logarithmic: true, text: 's'},
  {key: 'slow_workers', label: 'How many workers are slow', unit: 'workers', size: 1, low: 0, high: 64, first: 0,
   whole: true},
  {key: 'slowdown', label: 'How many times slower these are', unit: 'times', size: 1, low: 1, high: 20, first: 1,
   logarithmic: true},
  {key: 'device_speed', label: 'Speed of the devices', unit: 'times', size: 1, low: 0.1, high: 10, first: 1,
   logarithmic: true},
  {key: 'codec_speed', label: 'Speed of the codecs', unit: 'times', size: 1, low: 0.01, high: 100, first: 1,
   logarithmic: true},
];
const FIDELITIES = ['flow', 'analytic'];

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
  const row = element('div', {class: 'knob'}, element('label', {for: id}, knob.label), slider,
    element('span', {class: 'number'}, field, ` ${knob.unit}`));
  return {row, key: knob.key, get: () => current, set: (value) => show(value, null),
          limit: (most) => slider.max = to(most),
          enable: (on) => slider.disabled = field.disabled = !on};
}

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
      runs: chosen.map((run) => ({seed: run.seed, time: run.time_to_target, end: run.simulated_seconds})),
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

function whatIfFigure(view, answer) {
  const all = answeredSeries(view, answer);
  const base = all.find(({policy}) => policy === view.study.baseline);
  const series = all.filter(({shown}) => shown);
  const rows = series.map(({policy, name, chosen, runs}) => {
    const times = timesOf(runs);
    const speedup = base && policy !== base.policy ? speedupOf(base.runs, runs) : null;
    const part = (name) => numberCell(spreadOf(chosen.map((run) => run.parts[name])).mean, 's', 3);
    return {times, cells: [
      {text: name, value: policy}, {text: timeText(times), value: times.spread.count ? times.spread.mean : null},
      `${times.reached} of ${times.done}`, speedupCell(speedup),
      numberCell(spreadOf(chosen.map((run) => run.step_seconds)).mean, 's', 3), ...PARTS.map(part)]};
  });
  const longest = Math.max(...rows.map(({times}) => times.bound).filter(Number.isFinite));
  rows.forEach(({times, cells}, i) => {  // bar behind a time
    const part = 100 * times.bound / longest;
    cells[1].style = `--bar: ${part.toFixed(1)}%; --bar-colour: ${series[i].look.colour}`;
  });
  return {
    key: 'what-if',
    chart: metricChart(series.map(({name, look, chosen}) => ({name, look, points: answeredCurve(chosen)})),
      'Simulated time', 's', view.study),
    table: {
      class: 'bars',
      caption: 'Answer: time to target on this network',
      head: [heading('Policy'), heading('Time to target', 's'), heading('Reached'),
             heading(`Speed-up over ${view.study.baseline}`), ...headings('s', 'Step', ...PARTS.map(capitalised))],
      rows: rows.map(({cells}) => cells),
    },
    summary: `Test ${view.study.metric.title} against simulated time of ${series.length} policies on the network asked for.`,
  };
}

// Makes the form of a question. `ask` is called on each input. Returns {answered(answer),
// question(), setGroups(groups)}.
function makeQuestion(form, ask) {
  let codecs = true;  // true where some policy encodes
  let unread = [];  // keys of knobs that the network of the last answer does not read
  const changed = () => {
    effects();
    ask();
  };
  const knobs = KNOBS.map((knob) => makeKnob(knob, changed));
  const knobOf = (key) => knobs.find((knob) => knob.key === key);
  const FIRST_SLOWDOWN = 2;
  // Disables controls without effect. Where workers are slow, a factor of 1 becomes FIRST_SLOWDOWN.
  function effects() {
    const slow = knobOf('slow_workers').get() > 0;
    knobOf('slowdown').enable(slow);
    if (slow && knobOf('slowdown').get() === 1) knobOf('slowdown').set(FIRST_SLOWDOWN);
    knobOf('codec_speed').enable(codecs);
    for (const key of ['bandwidth', 'delay']) knobOf(key).enable(!unread.includes(key));
  }
  knobs.forEach((knob, i) => knob.set(KNOBS[i].first));
  const field = (label, input) =>
    element('div', {class: 'field'}, element('label', {for: input.id}, label), input);
  const group = element('select', {id: 'what-if-group', onchange: () => [setDefaults(), changed()]});
  const topology = element('input', {id: 'what-if-topology', type: 'text', oninput: changed, spellcheck: 'false'});
  const fidelity = element('select', {id: 'what-if-fidelity', onchange: changed},
    ...FIDELITIES.map((name) => element('option', {value: name}, name)));
  form.append(element('div', {class: 'fields'}, field('Training', group), field('Topology', topology),
    field('Fidelity', fidelity)), ...knobs.map(({row}) => row));
  let groups = [];

  function setDefaults() {
    const {defaults, workers} = groups.find(({id}) => id === Number(group.value));
    knobOf('slow_workers').limit(workers);
    for (const knob of knobs) {
      const value = parseQuantity(defaults[knob.key]);
      if (Number.isFinite(value)) knob.set(value);
    }
    topology.value = defaults.topology;
    fidelity.value = FIDELITIES.includes(defaults.fidelity) ? defaults.fidelity : FIDELITIES[0];
    effects();
  }
  return {
    answered(answer) {
      codecs = answer.policies.some(({seeds}) => seeds.some(({parts}) => parts.encode + parts.decode > 0));
      unread = answer.unread;
      effects();
    },
    question: () => ({group: Number(group.value), topology: topology.value, fidelity: fidelity.value,
                      ...Object.fromEntries(knobs.map((knob) => [knob.key, knob.get()]))}),
    setGroups(all) {
      groups = all;
      group.append(...groups.map(({id, label}) => element('option', {value: id}, label)));
      setDefaults();
    },
  };
}

// Returns the content of an answer of the server. Throws the server's message where it refuses.
async function fetchJson(path, options) {
  const response = await fetch(path, options);
  const content = await response.json();
  if (!response.ok) throw new Error(content.error ?? `HTTP ${response.status}`);
  return content;
}

const NOT_SERVED = 'This page is a file. To ask what-if questions, run "legacy-study serve" on the study\'s folder and ' +
  'open the address that it prints.';

// Starts the panel {form, status, error, show(figure)}. view() returns what is shown. Returns
// {redraw}.
function startWhatIf(panel, view) {
  let [timer, request, answer] = [null, null, null];
  const say = (status, error = '') => [panel.status.textContent, panel.error.textContent] = [status, error];
  const redraw = () => answer && panel.show(whatIfFigure(view(), answer));
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, DEBOUNCE_MILLISECONDS);
  };
  const form = makeQuestion(panel.form, changed);

  async function ask() {
    request?.abort();
    const mine = request = new AbortController();
    say('Asking …');
    try {
      const content = await fetchJson('/api/what-if', {
        method: 'POST', signal: mine.signal, body: JSON.stringify(form.question()),
        headers: {'Content-Type': 'application/json'}});
      if (mine !== request) return;
      answer = content;
      form.answered(answer);
      redraw();
      say(`Answered in ${quantity(answer.seconds, 's', 3)}.`);
    } catch (error) {
      if (error.name !== 'AbortError' && mine === request) say('', `No answer: ${error.message}`);
    }
  }
  async function start() {
    try {
      form.setGroups((await fetchJson('/api/groups')).groups);
      panel.form.disabled = false;
      await ask();
    } catch (error) {
      say('', `No answer: ${error.message}`);
    }
  }
  panel.form.disabled = true;
  if (view().study.live) start(); else say(NOT_SERVED);
  return {redraw};
}
