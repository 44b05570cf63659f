// Draws a View in place and lets it follow the page's sliders while they are dragged.
//
// Python sends the exact state: traces, layout, caption, and for each slider the frames of all
// its values (`sweeps`). A native slider tells Python only on release, but its
// <input type="range"> changes at every step; so each step shows that value's frame here, with
// no trip to the server. On release Python's own state arrives and equals the frame.

const NARROW = 480 // px: below this, panels stand one above the other
const PLAY = 3000 // ms for a whole sweep
const SLIDE = { width: 760, share: 0.65 } // px a slide's figure is laid out at; of the screen's height
const here = new URL('.', import.meta.url)
const figures = new Map() // parentElement -> figure

// ---- Plotly, once for all figures of a page ------------------------------------------------

let plotly = null

export function loadPlotly() {
  if (window.Plotly) plotly ??= Promise.resolve(window.Plotly) // a page in one file brings it along
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
export function decode(value) {
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
export function paint(value, colours) {
  if (typeof value === 'string') return value[0] === '$' ? colours[value.slice(1)] : value
  if (ArrayBuffer.isView(value) || value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((item) => paint(item, colours))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, paint(item, colours)]))
}

/** A narrow screen's changes go into the axes, which keep all else that they say. */
function narrowed(layout, narrow) {
  const isPlain = (item) => item && typeof item === 'object' && !Array.isArray(item)
  return Object.fromEntries(
    Object.entries(narrow).map(([key, changes]) => [
      key,
      isPlain(changes) ? { ...layout[key], ...changes } : changes,
    ]),
  )
}

// ---- Which state is shown ------------------------------------------------------------------

function sliderOf(key) {
  return document.querySelector(`.st-key-${CSS.escape(key)} input[type="range"]`)
}

/** Find what to show in place of Python's state: a step of the play, or of a slider that moved. */
function stepAhead({ playing, sweeps }) {
  if (playing) return playing
  for (const [key, sweep] of Object.entries(sweeps)) {
    const slider = sliderOf(key)
    if (slider && Number(slider.value) !== sweep.index) return { key, step: Number(slider.value) }
  }
  return null
}

/** On a slide a figure is laid out as on a small desk, and enlarged as a whole. */
export const onSlides = () => document.querySelector('.st-key-slides') !== null

function enlarge({ stage, plot, room }, height) {
  const slide = onSlides()
  const scale = slide ? Math.min(room / SLIDE.width, (SLIDE.share * innerHeight) / height) : 1
  stage.style.height = slide ? `${Math.ceil(scale * height)}px` : ''
  plot.style.width = slide ? `${SLIDE.width}px` : ''
  plot.style.transform = slide ? `scale(${scale})` : ''
  plot.style.marginLeft = slide ? `${(room - scale * SLIDE.width) / 2}px` : ''
}

function drawNow(figure) {
  const { room, view, colours, sweeps } = figure
  if (!view || !figure.plotly || !room) return // a closed expander: drawn once it opens
  const width = onSlides() ? SLIDE.width : room
  const ahead = stepAhead(figure)
  const sweep = ahead && sweeps[ahead.key]
  const state = ahead ? { ...view.state, [ahead.key]: sweep.values[ahead.step] } : view.state
  // What is shown already needs no drawing: on release Python's state is the frame on screen.
  const shown = JSON.stringify([state, view.marks, width, colours])
  const { data, layout, marks, narrow, height } = view
  const slim = width < NARROW && Object.keys(narrow).length > 0
  const tall = slim ? (narrow.height ?? height) : height
  enlarge(figure, tall)
  if (shown === figure.shown) return
  const first = figure.shown === null
  figure.shown = shown

  const frame = ahead && decode(sweep.frames[ahead.step])
  const traces = data.map((trace, index) => ({ ...trace, ...frame?.data[index] }))
  const wide = { ...layout, ...frame?.layout }
  const fitted = { ...wide, ...(slim ? narrowed(wide, narrow) : {}) }
  fitted.shapes = [...(fitted.shapes ?? []), ...marks.shapes]
  fitted.annotations = [...(fitted.annotations ?? []), ...marks.annotations]
  fitted.width = width
  fitted.height = tall
  fitted.font = { ...fitted.font, family: colours.font || fitted.font.family }
  fitted.dragmode = matchMedia('(pointer: fine)').matches ? 'zoom' : false // a finger scrolls
  setText(figure.caption, frame ? frame.caption : view.caption)
  // Given again, Plotly would compare it with its own, key by key.
  const config = first ? { displayModeBar: false, doubleClick: 'reset' } : undefined
  const drawing = figure.plotly.react(
    figure.plot, paint(traces, colours), paint(fitted, colours), config,
  )
  figure.drawn = Promise.allSettled([figure.drawn, drawing])
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text
}

// Sees every step of the sliders that some figure follows. Each is observed by itself: asked to
// observe the whole page, the browser would look here for each of the thousands of attributes
// that Plotly sets in a drawing.
const steps = new MutationObserver(() => figures.forEach(drawNow))
const watched = new WeakSet()

function watch({ sweeps }) {
  for (const slider of Object.keys(sweeps).map(sliderOf)) {
    if (!slider || watched.has(slider)) continue
    watched.add(slider)
    steps.observe(slider, { attributeFilter: ['aria-valuetext', 'value'] })
  }
}

// ---- Play: the sweep of the view's first parameter -----------------------------------------

function play(figure) {
  const [key, sweep] = Object.entries(figure.sweeps)[0]
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
    const next = ((figure.playing?.step ?? sweep.index) + 1) % sweep.frames.length
    figure.playing = { key, step: next, stepped: true } // each press goes one step
    figure.spoken.textContent = sweep.frames[next].caption
    return drawNow(figure)
  }
  const begun = performance.now()
  figure.playing = { key, step: 0 }
  showPlaying(figure)
  const advance = (now) => {
    if (!figure.playing || !figures.has(figure.root)) return
    const step = Math.floor(((now - begun) / PLAY) * sweep.frames.length)
    if (step > sweep.frames.length) return stop(figure) // the last frame stays for two turns
    figure.playing.step = Math.max(0, Math.min(step, sweep.frames.length - 1))
    drawNow(figure)
    requestAnimationFrame(advance)
  }
  requestAnimationFrame(advance)
}

function stop(figure) {
  if (!figure.playing) return
  figure.playing = null
  showPlaying(figure)
  drawNow(figure)
}

function showPlaying(figure) {
  figure.playButton.textContent = figure.playing ? 'Stop' : 'Play'
}

/** Any touch stops what plays, but for a press of its own button, which the button handles. */
function touched(event) {
  if (event.key === 'k' && onSlides()) return // there the key presses Play itself
  const press = !('key' in event) || event.key === 'Enter' || event.key === ' '
  figures.forEach((figure) => {
    watch(figure) // a slider may have been drawn after its figure
    if (!(press && figure.playButton.contains(event.target))) stop(figure)
  })
}
addEventListener('pointerdown', touched, true)
addEventListener('keydown', touched, true)
addEventListener('resize', () => onSlides() && figures.forEach(drawNow)) // a lower screen, too

// ---- The element ---------------------------------------------------------------------------

function build(root) {
  const element = document.createElement('figure')
  element.className = 'live-figure'
  element.setAttribute('role', 'figure')
  element.innerHTML = `
    <div class="stage" aria-hidden="true"><div class="plot"></div></div>
    <figcaption></figcaption>
    <p class="spoken" aria-live="polite"></p>
    <div class="tools" role="toolbar" aria-label="Tools of this figure">
      <button type="button" class="play" tabindex="0">Play</button>
      <button type="button" class="show-data" tabindex="-1" aria-expanded="false">Data</button>
      <button type="button" class="show-save" tabindex="-1" aria-expanded="false">Save</button>
    </div>
    <div class="save" role="group" aria-label="Save this figure" hidden></div>
    <div class="data" tabindex="0" role="region" aria-label="The plotted data" hidden></div>`
  root.replaceChildren(element)
  const part = (selector) => element.querySelector(selector)
  const figure = {
    root, stage: part('.stage'), plot: part('.plot'), caption: part('figcaption'), spoken: part('.spoken'),
    playButton: part('.play'), dataButton: part('.show-data'), data: part('.data'),
    saveButton: part('.show-save'), save: part('.save'), saver: null, ask: null,
    view: null, sweeps: {}, message: null, shown: null, plotly: null, playing: null,
    room: 0, colours: null, drawn: Promise.resolve(),
  }
  figure.caption.id = `caption-${crypto.randomUUID?.() ?? Math.random()}`
  element.setAttribute('aria-labelledby', figure.caption.id)
  figure.playButton.onclick = () => {
    const again = !figure.playing || figure.playing.stepped
    again ? play(figure) : stop(figure)
  }
  figure.dataButton.onclick = () => {
    toggle(figure.dataButton, figure.data)
    fillTable(figure)
  }
  figure.saveButton.onclick = () => {
    toggle(figure.saveButton, figure.save)
    openSave(figure)
  }
  part('.tools').onkeydown = (event) => moveAmongTools(event, part('.tools'))
  figure.resizing = new ResizeObserver(([entry]) => {
    figure.room = Math.floor(entry.contentRect.width)
    drawNow(figure)
  })
  figure.resizing.observe(figure.stage)
  figures.set(root, figure)
  return figure
}

/** One tab stop for all tools; arrow keys go from one to the next. */
function moveAmongTools(event, tools) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (!step) return
  const buttons = [...tools.children].filter((button) => !button.hidden)
  const next = buttons[(buttons.indexOf(event.target) + step + buttons.length) % buttons.length]
  buttons.forEach((button) => (button.tabIndex = button === next ? 0 : -1))
  next.focus()
  event.preventDefault()
}

function toggle(button, panel) {
  panel.hidden = !panel.hidden
  button.setAttribute('aria-expanded', String(!panel.hidden))
}

function openSave(figure) {
  figure.saver ??= import(new URL('save.js', here)).then(
    ({ build }) => build(figure.save, {
      message: () => JSON.parse(figure.message),
      askPage: () => figure.ask('page', true),
    }),
    () => {
      figure.save.textContent = 'The tools could not be loaded. Press Save twice to try again.'
      figure.saver = null
    },
  )
}

function fillTable({ data, view }) {
  if (data.hidden) return
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
  view.columns[names[0]].forEach((_, row) => {
    const line = body.insertRow()
    names.forEach((name) => {
      const value = view.columns[name][row]
      line.insertCell().textContent =
        typeof value === 'number' ? String(Number(value.toPrecision(6))) : value
    })
  })
  data.replaceChildren(table)
}

/** Called at each message and each switch of the theme. */
export function draw({ data, parentElement: root, setTriggerValue }) {
  const figure = figures.get(root) ?? build(root)
  figure.ask = setTriggerValue
  figure.saveButton.hidden = !setTriggerValue // a page in one file has no server to ask
  const message = new TextDecoder().decode(data)
  if (message !== figure.message) {
    const { view, state, marks, sweeps, page } = JSON.parse(message)
    if (page) figure.saver?.then((saver) => saver.savePage(page))
    const first = figure.message === null
    Object.assign(figure, { message, sweeps, playing: null })
    figure.view = { ...decode(view), state, marks }
    if (!figure.plotly) figure.caption.textContent = view.caption
    if (!first) figure.spoken.textContent = view.caption // announced when a move has ended
    if (first) figure.plot.style.minHeight = `${view.height}px`
    const still = Object.keys(sweeps).length === 0
    figure.playButton.hidden = still
    if (still) figure.dataButton.tabIndex = 0
    showPlaying(figure)
    fillTable(figure)
  }
  figure.colours = themeColours(root)
  watch(figure)
  drawNow(figure)
  // A preset moves the sliders a moment after the figure has heard of it.
  for (const moment of [50, 300]) setTimeout(() => figures.has(root) && drawNow(figure), moment)
  if (figure.plotly) return
  loadPlotly().then(
    (loaded) => {
      figure.plotly = loaded
      drawNow(figure)
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
  figure.playing = null
  // Plotly goes on after react has returned: what it draws on must outlast that.
  figure.drawn.then(() => figure.plotly?.purge(figure.plot))
}
