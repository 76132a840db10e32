// Puts the page together and draws it again when a choice changes.

const study = unpackStudy(JSON.parse(document.getElementById('study').textContent));
const byId = (id) => document.getElementById(id);
const lengthOf = (i) => study.axes[i].numbers.length;
// Axes with the most values come first, and axes of names last.
const byLength = study.axes.map((_, i) => i).sort((a, b) => lengthOf(b) - lengthOf(a));
// `policies` have curves, and `bars` have bars. A run begins with the curves of its pictures; a
// choice is for both.
const everyPolicy = study.policies.map((_, i) => i);
const view = {
  study,
  policies: study.run ? everyPolicy.filter((i) => study.run.shown.includes(study.policies[i])) : everyPolicy,
  bars: everyPolicy,
  seeds: study.seeds.map((_, i) => i),
  x: byLength[0],
  // A run begins with its own network, which is its first.
  at: study.axes.map((axis) => study.run ? 0 : ascending(axis)[Math.floor((axis.values.length - 1) / 2)]),
};

// Moves to the nearest place at which the study has points, because grids need not be full.
function snapToGrid() {
  const keys = [...study.byPlace.keys()];
  if (keys.length === 0 || study.byPlace.has(view.at.join())) return;
  const agree = (key) => key.split(',').filter((value, i) => Number(value) === view.at[i]).length;
  view.at = keys.reduce((best, key) => agree(key) > agree(best) ? key : best).split(',').map(Number);
}

// ---- One section of the page. make(): the figure of the moment; `controls`: elements above it.

const panels = [];

function addPanel({id, title, make, controls = [], canvas = true, visible = () => true}) {
  const summary = element('p', {class: 'summary', id: `${id}-summary`});
  const section = sectionOf(id, title, summary, element('div', {class: 'fields'}, ...controls));
  const panel = {id, title, make, visible, section, summary, chart: null, figure: null, zoomed: false};
  if (canvas) addCanvas(panel);
  addTable(panel, canvas);
  byId('figures').append(section);
  panels.push(panel);
  return panel;
}

function addCanvas(panel) {
  const hint = `${panel.id}-hint`;
  panel.canvas = element('canvas', {id: `${panel.id}-canvas`, tabindex: 0, role: 'img', 'aria-describedby': hint});
  panel.range = element('output', {class: 'hidden', 'aria-live': 'polite'});
  panel.frame = element('div', {class: 'frame'}, panel.canvas);
  const moved = () => {
    panel.zoomed = true;
    panel.range.textContent = zoomable(panel.chart).map(({min, max, options: {title, unit}}) =>
      `${title.text} from ${quantity(min, unit, 3)} to ${quantity(max, unit, 3)}`).join('; ');
  };
  const zoomButton = (text, label, act) => element('button', {type: 'button', 'aria-label': `${label}: ${panel.title}`,
    title: label, onclick: () => [act(panel.chart), moved()]}, text);
  panel.tools = element('div', {class: 'tools'},
    zoomButton('+', 'Zoom in', (chart) => zoomBy(chart, ZOOM_STEP)),
    zoomButton('−', 'Zoom out', (chart) => zoomBy(chart, 1 / ZOOM_STEP)),
    zoomButton('Whole range', 'Whole range', zoomReset),
    element('span', {id: hint, class: 'hint'},
      'Drag to zoom; once the figure has the focus: wheel, + and −, arrows, 0.'),
    panel.range);
  panel.section.append(panel.frame, panel.tools);
  listenForZoom(panel.canvas, () => panel.chart, moved);
}

function addTable(panel, folded) {
  panel.tablePlace = scrollRegion(`${panel.title}: table`);
  const button = element('button', {type: 'button', class: 'csv', onclick: () =>
    download(`${study.name}-${panel.id}.csv`, 'text/csv', csvText(panel.figure.table))}, 'Download CSV');
  if (!folded) {
    panel.section.append(panel.tablePlace, button);
    return;
  }
  panel.details = element('details', {ontoggle: () => fillTable(panel)}, element('summary', {}, 'Data table'),
    panel.tablePlace);
  panel.section.append(panel.details, button);
}

// Closed tables are empty, because building rows that nobody reads takes longer than drawing.
function fillTable(panel) {
  const wanted = panel.figure && (!panel.details || panel.details.open);
  panel.tablePlace.replaceChildren(...(wanted ? [tableElement(panel.figure.table)] : []));
}

function mergeDeep(base, over) {
  const merged = {...base};
  for (const [key, value] of Object.entries(over)) {
    const both = [value, merged[key]].every((one) => one && typeof one === 'object' && !Array.isArray(one));
    merged[key] = both ? mergeDeep(merged[key], value) : value;
  }
  return merged;
}

function drawChart(panel) {
  const {chart: {type, data, options}, key, height} = panel.figure;
  const kept = {};
  if (panel.chart && panel.zoomed && panel.key === key) {
    for (const scale of zoomable(panel.chart)) kept[scale.id] = {min: scale.min, max: scale.max};
  } else {
    panel.zoomed = false;
  }
  panel.chart?.destroy();
  panel.key = key;
  panel.frame.style.height = `${height ?? 380 + 9 * data.datasets.length}px`;
  const all = mergeDeep(baseOptions(), options);
  all.plugins.legend.onClick = (event, item) => togglePolicy(data.datasets[item.datasetIndex].label);
  const home = Object.fromEntries(Object.entries(all.scales).map(([id, {min, max}]) => [id, {min, max}]));
  panel.chart = new Chart(panel.canvas, {
    type, data, options: mergeDeep(all, {scales: kept}), plugins: [spreadPlugin, boxPlugin]});
  panel.chart.home = home;
}

const isDrawn = (point) => typeof point === 'object' ? Number.isFinite(point?.x) && Number.isFinite(point?.y) :
  Number.isFinite(point);
const isEmpty = ({data}) => !data.datasets.some((dataset) => dataset.data.some(isDrawn));

function showFigure(panel, figure) {
  panel.figure = figure;
  panel.summary.textContent = figure.summary;
  if (panel.canvas) {
    panel.canvas.setAttribute('aria-label', `${panel.title}. ${figure.summary}`);
    // A figure without a point consists of its sentence and its table, without an empty frame.
    panel.frame.hidden = panel.tools.hidden = isEmpty(figure.chart);
    if (!panel.frame.hidden) drawChart(panel);
  }
  fillTable(panel);
}

// ---- Choices.

function togglePolicy(name) {
  const box = byId(`policy-${study.names.indexOf(name)}`);
  if (box) box.click();
}

function checkBoxes(legend, prefix, names, checked, chosen) {
  const boxes = names.map((name, i) => element('input', {type: 'checkbox', id: `${prefix}-${i}`,
    checked: checked.includes(i), onchange: () => {
      chosen(boxes.map((box, j) => box.checked ? j : -1).filter((j) => j >= 0));
      redraw();
    }}));
  const swatch = (i) => element('canvas', {class: 'swatch', 'aria-hidden': 'true', 'data-policy': i});
  const labels = boxes.map((box, i) => element('label', {for: box.id, class: 'choice'}, box,
    prefix === 'policy' ? swatch(i) : null, names[i]));
  return element('fieldset', {}, element('legend', {}, legend), ...labels);
}

function placeFields() {
  if (study.axes.every(({values}) => values.length < 2)) return null;
  const along = study.axes.length < 2 ? null : selectField('Drawn along', 'along', study.axes.map((axis, i) => [i, humanName(axis.name)]), view.x,
    (value) => [view.x = value, redraw()]);
  const fields = study.axes.map((axis, i) => selectField(capitalised(humanName(axis.name)), `at-${i}`,
    ascending(axis).map((value) => [value, valueText(axis, value)]), view.at[i], (value) => {
      view.at[i] = value;
      redraw();
    }));
  return element('fieldset', {}, element('legend', {}, 'Network and training'), along, ...fields);
}

function mapControls(choice) {
  const axes = study.axes.map((axis, i) => [i, humanName(axis.name)]);
  const pick = (key) => (value) => {
    if (key !== 'policy' && value === choice[key === 'rows' ? 'columns' : 'rows']) {
      choice[key === 'rows' ? 'columns' : 'rows'] = choice[key];  // swaps the two axes
      byId(`map-${key === 'rows' ? 'columns' : 'rows'}`).value = choice[key];
    }
    choice[key] = value;
    redraw();
  };
  const policies = study.names.map((name, i) => [i, name]).filter(([i]) => i !== study.base);
  return [selectField('Method', 'map-policy', policies, choice.policy, pick('policy')),
          selectField('Rows', 'map-rows', axes, choice.rows, pick('rows')),
          selectField('Columns', 'map-columns', axes, choice.columns, pick('columns'))];
}

// ---- The page.

function showFacts() {
  const counts = [0, 0, 0];
  for (const state of study.points.state) ++counts[state];
  const [pending, done, failed] = counts;
  byId('facts').textContent = [
    `${done} of ${study.points.state.length} ${study.run ? 'timed trainings' : 'points'} done`,
    failed ? `${failed} failed` : '', pending ? `${pending} pending` : '',
    study.target === null ? ['no target', study.metric.title].filter(Boolean).join(' ') :
      `target ${study.metric.title} ${quantity(study.target, study.metric.unit, TARGET_DIGITS)}`,
    `baseline ${study.baseline}`].filter(Boolean).join(' · ');
  if (study.legend) byId('legend').textContent = `${study.legend}.`;
  if (study.curves.stride > 1) byId('thinned').textContent = `Curves show one of ${study.curves.stride} evaluations.`;
}

function addFailures() {
  const ids = Object.keys(study.points.failures);
  if (ids.length === 0) return;
  addPanel({id: 'failed', title: 'Failed points', canvas: false, make: () => ({
    summary: 'What these points stopped with; they are holes in all figures.',
    table: {caption: 'Failed points',
            head: ['Point', 'Method', 'Seed', ...study.axes.map(({name}) => humanName(name)), 'Message'],
            rows: ids.map((id) => [id, nameCell(study, study.points.policy[id]), study.seeds[study.points.seed[id]],
              ...study.axes.map((axis, a) => axis.values[study.points.axes[a][id]]), study.points.failures[id]])},
  })});
}

function addTimes() {
  if (study.target !== null) addPanel({id: 'time', title: 'Time to target', make: () => timeFigure(view)});
}

function addMap() {
  const choice = {columns: byLength[0], rows: byLength[1]};
  choice.policy = mostVaried(view, choice);
  addPanel({id: 'map', title: 'Speed-up map', make: () => mapFigure(view, choice), controls: mapControls(choice),
            canvas: false});
}

const addSteps = () => addPanel({id: 'step', title: 'Where the time of a step goes', make: () => stepFigure(view)});

function addMetric(id, against, ...column) {
  if (!study.metric.name) return;
  addPanel({id, title: `${capitalised(study.metric.title)} against ${against}`, make: () => metricFigure(view, ...column)});
}
const addBytes = () => addMetric('bytes', 'bytes', 2, 'Bytes sent by a worker', 'B');
const addSeconds = () => addMetric('seconds', 'time', 1, 'Simulated time', 's');

function addPanelsOfStudy() {
  const numeric = () => study.axes[view.x].numbers.length > 0;
  const compared = study.base >= 0 && study.policies.length > 1 && study.target !== null;
  addWhatIf();
  addTimes();
  if (compared && study.axes.length > 1) addMap();
  if (compared) addPanel({id: 'break-even', title: 'Break-even', make: () => breakEvenFigure(view), visible: numeric});
  addSteps();
  addBytes();
  addSeconds();
  addFailures();
}

// A plan has no trainings, which choices and figures are about.
const hasTrainings = study.points.state.length > 0 || !study.run;

function addPanelsOfRun() {
  const add = (section) => section && byId('figures').append(section);
  add(headerSection(study.run));
  if (hasTrainings) addSeconds();
  if (study.axes[0].values.length > 1) addTimes();
  add(tablesSection(study.run));
  if (hasTrainings) {
    addSteps();
    addBytes();
  }
  add(picturesSection(study.run));
  add(filesSection(study.run));
}

// Adds sliders with the numbers of the answer next to them and the answer's curves below.
function addWhatIf() {
  const panel = addPanel({id: 'what-if', title: 'What if', make: null});
  const form = element('fieldset', {});
  const status = element('p', {role: 'status', class: 'status'});
  const error = element('p', {role: 'alert', class: 'error'});
  const refused = element('div', {class: 'refused'});
  const plans = element('div', {class: 'plans'});
  panel.details.open = true;
  panel.summary.textContent = 'What the recorded trainings would take on a network that the study does not have.';
  const question = element('div', {}, form, status, error, refused);
  // There is nothing to draw before the first answer.
  const [shown, numbers] = [element('div', {hidden: true}), element('div', {hidden: true})];
  const parts = [...panel.section.children];
  shown.append(...parts.slice(parts.indexOf(panel.frame), parts.indexOf(panel.details)));
  numbers.append(...parts.slice(parts.indexOf(panel.details)));
  panel.section.append(element('div', {class: 'asked'}, question, shown), numbers, plans);
  form.hidden = !study.live && !study.closed_forms;
  const {redraw: again} = startWhatIf({form, status, error, refused, plans, show: (figure) => {
    shown.hidden = numbers.hidden = false;
    showFigure(panel, figure);
  }}, () => view);
  panel.again = again;
}

let redrawConclusions = () => {};

function redraw() {
  snapToGrid();
  redrawConclusions();
  study.axes.forEach((_, i) => {
    if (byId(`at-${i}`)) byId(`at-${i}`).value = view.at[i];
  });
  for (const swatch of document.querySelectorAll('.swatch')) {
    drawSwatch(swatch, lookOf(study.styles[swatch.dataset.policy]));
  }
  for (const panel of panels) {
    panel.section.hidden = !panel.visible();
    if (!panel.section.hidden && panel.make) showFigure(panel, panel.make());
    panel.again?.();
  }
}

// A run has its verdict instead of conclusions, which a choice would change.
function addConclusions() {
  const conclusions = element('ul', {});
  if (study.run) {
    byId('figures').append(sectionOf('conclusions', 'Verdict',
      element('p', {}, study.run.verdict || 'There is nothing to compare.')));
    return;
  }
  byId('figures').append(sectionOf('conclusions', 'Conclusions', conclusions));
  redrawConclusions = () => conclusions.replaceChildren(
    ...conclusionsOf(view).map((text) => element('li', {}, text)));
}

function start() {
  Chart.defaults.font.family = 'system-ui, sans-serif';
  if (hasTrainings) showFacts();
  for (const part of document.querySelectorAll('nav, footer')) part.hidden = !hasTrainings;
  byId('filters').append(...[placeFields(),
    checkBoxes('Methods', 'policy', study.names, view.policies, (chosen) => view.policies = view.bars = chosen),
    checkBoxes('Seeds', 'seed', study.seeds, view.seeds, (chosen) => view.seeds = chosen)].filter(Boolean));
  byId('choices').open = matchMedia('(min-width: 900px)').matches;
  addConclusions();
  if (study.run) addPanelsOfRun(); else addPanelsOfStudy();
  redraw();
  darkScheme.addEventListener('change', redraw);
  addEventListener('beforeprint', () => [printing = true, redraw()]);
  addEventListener('afterprint', () => [printing = false, redraw()]);
}

start();
