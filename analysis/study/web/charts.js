// Settings of Chart.js, and additions to it: spreads as whiskers and bands, the target's line, and
// zoom by wheel, drag and keys.

const inkColour = () => isDark() ? '#d8dde3' : '#24292f';
const gridColour = () => isDark() ? '#3a424c' : '#dfe3e8';

const BOUND_ARROW = 24;  // pixels

// Draws an arrow from each point towards larger values, which are worse.
function drawBounds({ctx, scales: {x, y}}, dataset) {
  ctx.strokeStyle = dataset.borderColor;
  ctx.lineWidth = 1.3;
  for (const point of dataset.data.filter((point) => point.y !== null)) {
    const [at, from] = [x.getPixelForValue(point.x), y.getPixelForValue(point.y)];
    const to = from - BOUND_ARROW;
    ctx.beginPath();
    ctx.moveTo(at, from);
    ctx.lineTo(at, to);
    ctx.moveTo(at - 4, to + 5);
    ctx.lineTo(at, to);
    ctx.lineTo(at + 4, to + 5);
    ctx.stroke();
  }
}

// Draws whiskers along y or x at points that have low and high, or one band through them all.
function drawSpread(chart, dataset, index) {
  const {ctx, scales: {x, y}} = chart;
  if (dataset.spread === 'bound') {
    if (chart.isDatasetVisible(index)) drawBounds(chart, dataset);
    return;
  }
  const points = dataset.data.filter((point) => Number.isFinite(point.low) && Number.isFinite(point.high));
  if (!chart.isDatasetVisible(index) || points.length === 0) return;
  ctx.strokeStyle = ctx.fillStyle = dataset.borderColor;
  ctx.lineWidth = 1.3;
  if (dataset.spread === 'band') {
    ctx.globalAlpha = 0.15;
    ctx.beginPath();
    points.forEach((point) => ctx.lineTo(x.getPixelForValue(point.x), y.getPixelForValue(point.high)));
    points.reverse().forEach((point) => ctx.lineTo(x.getPixelForValue(point.x), y.getPixelForValue(point.low)));
    ctx.fill();
    ctx.globalAlpha = 1;
    return;
  }
  const along = dataset.spread === 'x';
  for (const point of points) {
    const [low, high] = [point.low, point.high].map((value) => (along ? x : y).getPixelForValue(value));
    const at = (along ? y : x).getPixelForValue(along ? point.y : point.x);
    const line = (a, b, c, d) => along ? [ctx.moveTo(b, a), ctx.lineTo(d, c)] : [ctx.moveTo(a, b), ctx.lineTo(c, d)];
    ctx.beginPath();
    line(at, low, at, high);
    line(at - 3, low, at + 3, low);
    line(at - 3, high, at + 3, high);
    ctx.stroke();
  }
}

function drawTarget(chart, {value, metric}) {
  const {ctx, chartArea, scales: {y}} = chart;
  const at = y.getPixelForValue(value);
  ctx.strokeStyle = ctx.fillStyle = inkColour();
  ctx.setLineDash([2, 4]);
  ctx.beginPath();
  ctx.moveTo(chartArea.left, at);
  ctx.lineTo(chartArea.right, at);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.textAlign = 'left';
  ctx.font = '12px system-ui, sans-serif';
  ctx.fillText(`target ${quantity(value, metric.unit, TARGET_DIGITS)}`, chartArea.left + 6, at - 5);
}

const spreadPlugin = {
  id: 'spreads',
  beforeDatasetsDraw(chart) {
    const {ctx, chartArea: {left, top, width, height}} = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    chart.data.datasets.forEach((dataset, i) => dataset.spread && drawSpread(chart, dataset, i));
    if (chart.options.target) drawTarget(chart, chart.options.target);
    ctx.restore();
  },
};

const boxPlugin = {
  id: 'box',
  afterDraw(chart) {
    if (!chart.box) return;
    const {ctx, box} = chart;
    ctx.save();
    ctx.fillStyle = 'rgba(90, 140, 200, 0.25)';
    ctx.fillRect(box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0);
    ctx.restore();
  },
};

// Leading digits of the ticks in a decade.
const DIGITS = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3]];

// Returns the ticks of a logarithmic axis with room for `room` labels: all digits of each power of
// ten, some of them, the powers alone, or every few powers.
function logTicks(low, high, room) {
  const ticks = [];
  // The axis is too narrow for whole digits, so it has even steps of 1, 2 or 5.
  if (high / low < 2) {
    const raw = (high - low) / Math.min(5, room);
    const decade = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((digit) => digit * decade).find((one) => one >= raw);
    for (let i = Math.ceil(low / step); i * step <= high; ++i) ticks.push({value: i * step});
    return ticks;
  }
  const decades = Math.log10(high / low);
  const digits = DIGITS.find((some) => decades * some.length <= room) ?? [1];
  const stride = Math.max(1, Math.ceil(decades / room));
  for (let exponent = stride * Math.floor(Math.log10(low) / stride); 10 ** exponent <= high; exponent += stride) {
    for (const digit of digits) ticks.push({value: Number(`${digit}e${exponent}`)});
  }
  return ticks.filter(({value}) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
}

// Returns a range just around the positive values, where Chart.js would show whole decades.
function logRange(values) {
  const positive = values.filter((value) => value > 0 && Number.isFinite(value));
  if (positive.length === 0) return {};
  const [low, high] = [Math.min(...positive), Math.max(...positive)];
  const margin = high > low ? (high / low) ** 0.04 : 1.5;
  return {min: low / margin, max: high * margin};
}

// Returns the options of an axis of numbers or of names that shows `values`. Ticks have their unit.
function axisOptions({title, unit, logarithmic, names, values = [], ...rest}) {
  return {
    type: logarithmic ? 'logarithmic' : 'linear',
    unit,
    title: {display: true, text: title, color: inkColour()},
    grid: {color: gridColour()},
    ticks: {
      color: inkColour(), maxRotation: 40, autoSkipPadding: 12, precision: names ? 0 : undefined,
      callback: (value) => names ? names[value] ?? '' : quantity(value, unit),
    },
    ...(logarithmic ? {...logRange(values), afterBuildTicks: (scale) => {
      const {width, height} = scale.chart;
      scale.ticks = logTicks(scale.min, scale.max, Math.max(2, scale.isHorizontal() ? width / 90 : height / 50));
    }} : {}),
    ...rest,
  };
}

// Returns the dataset of one policy's line. The legend shows its mark.
function lineDataset(look, label, data, more = {}) {
  return {
    label, data, borderColor: look.colour, borderDash: look.dash, borderWidth: 2, pointStyle: look.mark,
    pointRotation: look.rotation, pointRadius: 4, pointHoverRadius: 6, pointBorderColor: look.colour,
    pointBackgroundColor: look.filled ? look.colour : 'rgba(0, 0, 0, 0)', pointBorderWidth: 1.5,
    backgroundColor: look.filled ? look.colour : 'rgba(0, 0, 0, 0)', spanGaps: false, ...more,
  };
}

const baseOptions = () => ({
  responsive: true, maintainAspectRatio: false, animation: false, color: inkColour(),
  interaction: {mode: 'nearest', intersect: true},
  plugins: {
    legend: {position: 'bottom', labels: {usePointStyle: true, color: inkColour(), boxHeight: 7, padding: 12,
                                          filter: (item, data) => !data.datasets[item.datasetIndex].unlisted}},
    tooltip: {callbacks: {
      title: () => '',
      label: (item) => item.raw.tip ?? `${item.dataset.label}: ${item.formattedValue}`,
    }},
  },
});

// ---- Zoom. Positions on an axis are logarithms where it is logarithmic.

const forward = (scale, value) => scale.type === 'logarithmic' ? Math.log10(value) : value;
const backward = (scale, at) => scale.type === 'logarithmic' ? 10 ** at : at;

const zoomable = (chart) => Object.values(chart.scales).filter((scale) =>
  (scale.type === 'linear' || scale.type === 'logarithmic') && !scale.options.fixed);

// Sets a range, unless it is too narrow to tell its ticks apart by four digits.
function setRange(chart, scale, low, high) {
  const least = scale.type === 'logarithmic' ? 0.002 : 1e-3 * Math.max(Math.abs(low), Math.abs(high));
  if (!(high - low > least)) return;
  Object.assign(chart.options.scales[scale.id], {min: backward(scale, low), max: backward(scale, high)});
}

// Zooms in where factor > 1, around `middle` in pixels of the canvas, or around the middle of the
// axis.
function zoomBy(chart, factor, middle = null) {
  for (const scale of zoomable(chart)) {
    const [low, high] = [forward(scale, scale.min), forward(scale, scale.max)];
    const pixel = middle && (scale.isHorizontal() ? middle.x : middle.y);
    const at = middle ? forward(scale, scale.getValueForPixel(pixel)) : (low + high) / 2;
    setRange(chart, scale, at - (at - low) / factor, at + (high - at) / factor);
  }
  chart.update('none');
}

function panBy(chart, right, up) {
  for (const scale of zoomable(chart)) {
    const [low, high] = [forward(scale, scale.min), forward(scale, scale.max)];
    const shift = (high - low) * (scale.isHorizontal() ? right : up);
    setRange(chart, scale, low + shift, high + shift);
  }
  chart.update('none');
}

function zoomReset(chart) {
  for (const scale of zoomable(chart)) {
    Object.assign(chart.options.scales[scale.id], chart.home[scale.id]);
  }
  chart.update('none');
}

function zoomToBox(chart, box) {
  for (const scale of zoomable(chart)) {
    const ends = scale.isHorizontal() ? [box.x0, box.x1] : [box.y0, box.y1];
    const [low, high] = ends.map((pixel) => forward(scale, scale.getValueForPixel(pixel))).sort((a, b) => a - b);
    setRange(chart, scale, low, high);
  }
  chart.update('none');
}

const ZOOM_STEP = 1.25;
const ZOOM_KEYS = {
  '+': (chart) => zoomBy(chart, ZOOM_STEP), '=': (chart) => zoomBy(chart, ZOOM_STEP),
  '-': (chart) => zoomBy(chart, 1 / ZOOM_STEP), '_': (chart) => zoomBy(chart, 1 / ZOOM_STEP), '0': zoomReset,
  'ArrowLeft': (chart) => panBy(chart, -0.1, 0), 'ArrowRight': (chart) => panBy(chart, 0.1, 0),
  'ArrowUp': (chart) => panBy(chart, 0, 0.1), 'ArrowDown': (chart) => panBy(chart, 0, -0.1),
};

// `chartOf` returns the canvas's present chart. `moved` is called after each change.
function listenForZoom(canvas, chartOf, moved) {
  const act = (event, change) => {
    event.preventDefault();
    change(chartOf());
    moved();
  };
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !ZOOM_KEYS[event.key]) return;
    act(event, ZOOM_KEYS[event.key]);
  });
  // A figure without the focus lets the page scroll.
  canvas.addEventListener('wheel', (event) => {
    if (document.activeElement !== canvas) return;
    const middle = {x: event.offsetX, y: event.offsetY};
    act(event, (chart) => zoomBy(chart, event.deltaY < 0 ? ZOOM_STEP : 1 / ZOOM_STEP, middle));
  }, {passive: false});
  canvas.addEventListener('dblclick', (event) => act(event, zoomReset));
  listenForBox(canvas, chartOf, moved);
}

// Dragging with a mouse or a pen marks the part to zoom to. Fingers scroll the page.
function listenForBox(canvas, chartOf, moved) {
  canvas.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'touch' || event.button !== 0) return;
    chartOf().box = {x0: event.offsetX, y0: event.offsetY, x1: event.offsetX, y1: event.offsetY};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    const chart = chartOf();
    if (!chart?.box) return;
    Object.assign(chart.box, {x1: event.offsetX, y1: event.offsetY});
    chart.draw();
  });
  const end = (event) => {
    const chart = chartOf();
    const box = chart?.box;
    if (!box) return;
    chart.box = null;
    if (event.type === 'pointerup' && Math.abs(box.x1 - box.x0) > 8 && Math.abs(box.y1 - box.y0) > 8) {
      zoomToBox(chart, box);
      moved();
    } else {
      chart.draw();
    }
  };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', end);
}
