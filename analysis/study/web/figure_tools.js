// Tools that all figures use: texts for people, elements, tables, files, colours.

const SCALES = {
  's': [[1e-6, 'µs'], [1e-3, 'ms'], [1, 's'], [3600, 'h']],
  'bit/s': [[1, 'bit/s'], [1e3, 'kbit/s'], [1e6, 'Mbit/s'], [1e9, 'Gbit/s'], [1e12, 'Tbit/s']],
  'B': [[1, 'B'], [1e3, 'kB'], [1e6, 'MB'], [1e9, 'GB'], [1e12, 'TB']],
};

function plainNumber(value, digits = 4) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 1).replace(/\.?0+e\+?/, 'e');
  return String(Number(value.toPrecision(digits)));
}

// Returns the number in the largest unit in which it is at least 1: "1.5 Gbit/s".
function quantity(value, unit, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (unit === 'fraction') return `${plainNumber(100 * value, digits)} %`;
  if (!SCALES[unit] || value === 0) return unit ? `${plainNumber(value, digits)} ${unit}` : plainNumber(value, digits);
  let [size, name] = SCALES[unit][0];
  for (const [larger, largerName] of SCALES[unit]) {
    if (Math.abs(value) >= larger * (1 - 1e-9)) [size, name] = [larger, largerName];
  }
  return `${plainNumber(value / size, digits)} ${name}`;
}

// A target is shown as it was given, and not rounded.
const TARGET_DIGITS = 12;

// Returns the target in a sentence: "80 %" or "perplexity 120".
const targetText = ({metric, target}) =>
  `${metric.unit === 'fraction' ? '' : `${metric.title} `}${quantity(target, metric.unit, TARGET_DIGITS)}`;

// Returns mean and deviation, or the mean alone if all seeds agree.
const spreadText = (spread, unit) => spread.count === 0 ? '–' : quantity(spread.mean, unit, 3) +
  (spread.deviation > 1e-9 * Math.abs(spread.mean) ? ` ± ${quantity(spread.deviation, unit, 2)}` : '');

function timeText(times) {
  if (times.done === 0) return 'no result';
  if (times.reached === times.done) return spreadText(times.spread, 's');
  return `reached ${times.reached} of ${times.done}, mean ≥ ${quantity(times.bound, 's', 3)}`;
}

const BOUND_SIGNS = {'at least': '≥ ', 'at most': '≤ ', '': ''};
const factorText = (ratio) => `${Number(ratio.toPrecision(3))}×`;
const speedupText = (speedup) => Number.isNaN(speedup.ratio) ? '–' :
  BOUND_SIGNS[speedup.bound] + factorText(speedup.ratio);
const intervalText = (interval, text) => interval ? `[${text(interval.low)}, ${text(interval.high)}]` : '';

const humanName = (name) => name.replace(/_/g, ' ');
const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// Makes an element: element('p', {class: 'note', onclick: f}, 'text', child). Texts are never
// markup.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) {
      made.addEventListener(key.slice(2), value);
    } else if (value === true) {
      made.setAttribute(key, '');
    } else if (value !== false && value !== null && value !== undefined) {
      made.setAttribute(key, value);
    }
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function selectField(label, id, options, selected, onchange) {
  const select = element('select', {id, onchange: (event) => onchange(Number(event.target.value))},
    ...options.map(([value, text]) => element('option', {value, selected: value === selected}, text)));
  return element('div', {class: 'field'}, element('label', {for: id}, label), select);
}

// A table is data: head and rows of cells. A cell is a text or {text, value (for CSV), style, kind
// ('bound': a bound and no result), small}. The first cell of a row is its heading. heading('Step', 's') is for numbers that CSV has
// in seconds: "step (s)".
const heading = (text, unit) => ({text, value: unit ? `${text.toLowerCase()} (${unit})` : text.toLowerCase()});
// Methods are the policies of CSV.
const METHOD_HEADING = {text: 'Method', value: 'policy'};
const headings = (unit, ...texts) => texts.map((text) => heading(text, unit));
const cellText = (cell) => cell !== null && typeof cell === 'object' ? cell.text : String(cell ?? '');
function cellValue(cell) {
  const value = cell !== null && typeof cell === 'object' ? cell.value : cell;
  return value === null || value === undefined || Number.isNaN(value) ? '' : value;
}
// Returns the cell of a number with its unit, for people and for CSV.
const numberCell = (value, unit, digits = 4) => ({text: quantity(value, unit, digits), value});

const LONG_CELL = 28;  // characters; shorter cells are kept on one line

function tableElement(table) {
  const head = element('tr', {}, ...table.head.map((cell) => element('th', {scope: 'col'}, cellText(cell))));
  const rows = table.rows.map((row) => element('tr', {}, ...row.map((cell, i) => {
    const {style, small, kind} = cell !== null && typeof cell === 'object' ? cell : {};
    const attributes = {scope: i === 0 ? 'row' : null, style, 'data-value': cellValue(cell),
                        class: [kind, cellText(cell).length > LONG_CELL ? 'long' : ''].filter(Boolean).join(' ') || null};
    return element(i === 0 ? 'th' : 'td', attributes, cellText(cell), small ? element('small', {}, small) : null);
  })));
  return element('table', {class: table.class}, element('caption', {}, table.caption),
    element('thead', {}, head), element('tbody', {}, ...rows));
}

// Returns a region that scrolls by itself, so that wide tables do not widen the page. It has a
// name, Tab reaches it, and it is marked if it is wider than its place.
function scrollRegion(label, ...children) {
  const region = element('div', {class: 'scroll', role: 'region', tabindex: 0, 'aria-label': label}, ...children);
  const mark = () => region.classList.toggle('wide', region.scrollWidth > region.clientWidth + 1);
  new ResizeObserver(mark).observe(region);
  new MutationObserver(mark).observe(region, {childList: true});
  return region;
}

function csvText(table) {
  const line = (cells) => cells.map((cell) => {
    const text = String(cell);
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  }).join(',');
  const columns = table.csv ?? {head: table.head, rows: table.rows};
  return [columns.head, ...columns.rows].map((row) => line(row.map(cellValue))).join('\n') + '\n';
}

function download(name, type, text) {
  const link = element('a', {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// Colours, marks and dashes of policies are those of the printed figures (policy_style.h). Dark
// mode has lighter colours.
const LIGHTER = {
  '#000000': '#FFFFFF', '#0072B2': '#4DA6DB', '#009E73': '#1FC79A', '#D55E00': '#F07A33', '#882255': '#D977A8',
  '#332288': '#9C8CFF',
};
const MARKS = {  // Chart.js's mark, its rotation
  'circle': ['circle', 0], 'square': ['rect', 0], 'triangle': ['triangle', 0], 'triangle-down': ['triangle', 180],
  'diamond': ['rectRot', 0], 'pentagon': ['rectRounded', 0], 'open-square': ['rect', 0], 'open-circle': ['circle', 0],
};
const DASHES = {1: [], 2: [7, 3], 3: [2, 3], 4: [8, 3, 2, 3], 5: [8, 3, 2, 3, 2, 3]};
const PART_COLOURS = {
  compute: '#7F7F7F', encode: '#E69F00', communication: '#0072B2', decode: '#009E73', wait: '#D9D9D9',
};

const darkScheme = matchMedia('(prefers-color-scheme: dark)');
let printing = false;
const isDark = () => darkScheme.matches && !printing;
const onScheme = (colour) => isDark() ? LIGHTER[colour] ?? colour : colour;

function lookOf(style) {
  const [mark, rotation] = MARKS[style.mark];
  return {colour: onScheme(style.colour), dash: DASHES[style.dashes], mark, rotation,
          filled: !style.mark.startsWith('open-')};
}

const SWATCH = 16;  // pixels

// Draws the mark as legends of figures show it.
function drawSwatch(canvas, look) {
  const scale = Math.max(1, window.devicePixelRatio);
  canvas.width = canvas.height = SWATCH * scale;
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  context.strokeStyle = look.colour;
  context.fillStyle = look.filled ? look.colour : 'rgba(0, 0, 0, 0)';
  Chart.helpers.drawPoint(context, {pointStyle: look.mark, rotation: look.rotation, radius: 7 * Math.SQRT1_2,
                                    borderWidth: 1.5}, SWATCH / 2, SWATCH / 2);
}
