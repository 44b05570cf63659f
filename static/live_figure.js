// Draws a View in place and lets it follow the page's sliders while they are dragged.
//
// Python sends the exact state: traces, layout, caption, and for each slider the frames of all
// its values (`sweeps`). A native slider tells Python only on release, but its
// <input type="range"> changes at every step; so each step shows that value's frame here, with
// no trip to the server. On release Python's own state arrives and equals the frame.

const NARROW = 560 // px: below this, panels stand one above the other
const here = new URL('.', import.meta.url)
const figures = new Map() // parentElement -> figure

// ---- Plotly, once for all figures of a page ------------------------------------------------

let plotly = null

function loadPlotly() {
  plotly ??= new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = new URL('plotly-cartesian.min.js', here)
    script.onload = () => resolve(window.Plotly)
    script.onerror = () => {
      plotly = null // so that the next draw tries again
      script.remove()
      reject(new Error('plotly-cartesian.min.js did not load'))
    }
    document.head.append(script)
  })
  return plotly
}

// ---- What is sent, made ready for Plotly ---------------------------------------------------

const ARRAYS = { f4: Float32Array, f8: Float64Array }

/** Decode the arrays of a message: {dtype, bdata} holds base64. */
function decode(value) {
  if (Array.isArray(value)) return value.map(decode)
  if (value === null || typeof value !== 'object') return value
  if (!('bdata' in value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, decode(item)]))
  }
  const bytes = Uint8Array.from(atob(value.bdata), (character) => character.charCodeAt(0))
  const flat = new ARRAYS[value.dtype](bytes.buffer)
  if (!value.shape) return flat
  const [rows, columns] = value.shape
  return Array.from({ length: rows }, (_, row) => flat.subarray(row * columns, (row + 1) * columns))
}

/** Read the theme's colours by the names that the views use. */
function themeColours(element) {
  const style = getComputedStyle(element)
  const read = (name) => style.getPropertyValue(`--st-${name}`).trim()
  const list = (name) => read(name).split(',').map((colour) => colour.trim())
  const scale = (name) => list(name).map((colour, step, all) => [step / (all.length - 1), colour])
  const [scaled, unscaled, third, fourth, fifth, sixth] = list('chart-categorical-colors')
  return {
    scaled, unscaled, third, fourth, fifth, sixth,
    ink: read('text-color'),
    paper: read('background-color'),
    panel: read('secondary-background-color'),
    line: read('border-color'),
    sequential: scale('chart-sequential-colors'),
    diverging: scale('chart-diverging-colors'),
    font: read('font'),
  }
}

/** Copy a trace or layout with every "$name" replaced by its colour; Plotly may alter the copy. */
function paint(value, colours) {
  if (typeof value === 'string') return value[0] === '$' ? colours[value.slice(1)] : value
  if (ArrayBuffer.isView(value) || value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((item) => paint(item, colours))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, paint(item, colours)]))
}

// ---- Which state is shown ------------------------------------------------------------------

function sliderOf(key) {
  return document.querySelector(`.st-key-${CSS.escape(key)} input[type="range"]`)
}

/** The frame under the one slider that has moved on from Python's state, if there is one. */
function frameAhead(figure) {
  for (const [key, sweep] of Object.entries(figure.sweeps)) {
    const step = sliderOf(key)?.value
    if (step !== undefined && Number(step) !== sweep.index) return [key, step, sweep.frames[step]]
  }
  return ['', '', undefined]
}

function requestDraw(figure) {
  figure.request ??= requestAnimationFrame(() => {
    figure.request = null
    drawNow(figure)
  })
}

function drawNow(figure) {
  const width = Math.floor(figure.plot.clientWidth)
  if (!figure.view || !figure.plotly || width === 0) return // closed expander: drawn once it opens
  const { data, layout, marks, narrow, height } = figure.view
  const [key, step, frame] = frameAhead(figure)
  const colours = themeColours(figure.root)
  const state = [figure.version, key, step, width, colours.ink, colours.paper].join('|')
  if (state === figure.shown) return
  figure.shown = state

  const slim = width < NARROW && Object.keys(narrow).length > 0
  const traces = data.map((trace, index) => ({ ...trace, ...frame?.data[index] }))
  const wide = { ...layout, ...frame?.layout }
  const fitted = { ...wide, ...(slim ? narrowed(wide, narrow) : {}) }
  fitted.shapes = [...(fitted.shapes ?? []), ...marks.shapes]
  fitted.annotations = [...(fitted.annotations ?? []), ...marks.annotations]
  fitted.width = width
  fitted.height = slim ? (narrow.height ?? height) : height
  fitted.font = { ...fitted.font, family: colours.font || fitted.font.family }
  figure.plot.style.minHeight = `${fitted.height}px`
  figure.plotly.react(figure.plot, paint(traces, colours), paint(fitted, colours), {
    displayModeBar: false,
    doubleClick: 'reset',
  })
  figure.caption.textContent = frame ? frame.caption : figure.view.caption
}

/** A narrow screen's changes go into the axes, which keep all else that they say. */
function narrowed(layout, narrow) {
  return Object.fromEntries(
    Object.entries(narrow).map(([key, changes]) => [
      key,
      changes && typeof changes === 'object' && !Array.isArray(changes)
        ? { ...layout[key], ...changes }
        : changes,
    ]),
  )
}

// One observer for the page: it sees every step of every slider, also of sliders drawn later.
new MutationObserver((changes) => {
  if (!changes.some(({ target }) => target.type === 'range')) return
  figures.forEach((figure) => Object.keys(figure.sweeps).length && requestDraw(figure))
}).observe(document.body, { subtree: true, attributeFilter: ['aria-valuetext', 'value'] })

// ---- The element ---------------------------------------------------------------------------

function build(root) {
  root.querySelector('.live-figure')?.remove()
  const figure = document.createElement('figure')
  figure.className = 'live-figure'
  figure.setAttribute('role', 'figure')
  figure.innerHTML = `
    <div class="plot" aria-hidden="true"></div>
    <figcaption></figcaption>
    <p class="spoken" aria-live="polite"></p>
    <details><summary>Data</summary><div class="data" tabindex="0" role="region"></div></details>`
  root.append(figure)
  const caption = figure.querySelector('figcaption')
  caption.id = `caption-${crypto.getRandomValues(new Uint32Array(1))[0]}`
  figure.setAttribute('aria-labelledby', caption.id)
  const entry = {
    root, caption,
    plot: figure.querySelector('.plot'),
    spoken: figure.querySelector('.spoken'),
    details: figure.querySelector('details'),
    sweeps: {}, view: null, message: null, version: 0, shown: null, request: null, plotly: null,
  }
  entry.resizing = new ResizeObserver(() => requestDraw(entry))
  entry.resizing.observe(entry.plot)
  entry.details.ontoggle = () => fillTable(entry)
  figures.set(root, entry)
  return entry
}

function fillTable({ details, view }) {
  if (!details.open) return
  const table = document.createElement('table')
  const names = Object.keys(view.columns)
  const head = table.createTHead().insertRow()
  names.forEach((name) => {
    const cell = document.createElement('th')
    cell.scope = 'col'
    cell.textContent = name
    head.append(cell)
  })
  const body = table.createTBody()
  for (let row = 0; row < view.columns[names[0]].length; row += 1) {
    const line = body.insertRow()
    names.forEach((name) => {
      const value = view.columns[name][row]
      line.insertCell().textContent =
        typeof value === 'number' ? Number(value.toPrecision(6)).toString() : value ?? ''
    })
  }
  const region = details.querySelector('.data')
  region.setAttribute('aria-label', 'The plotted data')
  region.replaceChildren(table)
}

/** Called at each message and each switch of the theme. */
export function draw({ data, parentElement: root }) {
  const figure = figures.get(root) ?? build(root)
  const message = new TextDecoder().decode(data)
  if (message !== figure.message) {
    figure.message = message
    const { view, marks, sweeps } = decode(JSON.parse(message))
    const first = figure.view === null
    figure.view = { ...view, marks }
    figure.sweeps = sweeps
    figure.version += 1
    figure.caption.textContent = view.caption
    figure.plot.style.minHeight = `${view.height}px`
    if (!first) figure.spoken.textContent = view.caption // announced when a move has ended
    fillTable(figure)
  }
  requestDraw(figure)
  loadPlotly().then(
    (loaded) => {
      figure.plotly = loaded
      requestDraw(figure)
    },
    () => {
      figure.plot.textContent = 'The chart could not be loaded; its numbers stand below.'
    },
  )
}

/** Called when the figure leaves the page. */
export function remove(root) {
  const figure = figures.get(root)
  if (!figure) return
  figures.delete(root)
  figure.resizing.disconnect()
  if (figure.request) cancelAnimationFrame(figure.request)
  figure.plotly?.purge(figure.plot)
}
