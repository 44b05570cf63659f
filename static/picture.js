// A view as a picture for slides, drawn here in the browser.
//
// The picture is laid out as on the screen, on a canvas of about 850 by 480 pixels, and enlarged
// as a whole, so that text, lines and margins keep their proportions; sdpa/export/picture.py
// does the same for the command line, and a test compares the two.

import { decode, loadPlotly, paint } from './live_figure.js'

const CANVAS = [853, 480] // px, the layout's own: 16:9
const SMALLEST = [640, 360] // below this a picture shrinks as a whole, else its texts would collide
const LONGEST = 130 // characters of small print that fit the canvas

/** How many of the picture's pixels one of the layout's becomes. */
function enlargement(width, height) {
  const largest = Math.min(width / CANVAS[0], height / CANVAS[1])
  return largest >= 1 ? largest : Math.min(1, width / SMALLEST[0], height / SMALLEST[1])
}

/** Write the state, and in full the link that restores it. */
export function smallPrint({ line, query }, page) {
  const link = `${page}${query}`
  const state = query ? line.slice(0, line.lastIndexOf(` · ${query}`)) : line
  const whole = line.endsWith(query) ? `${state} · ${link}` : link // else the state was cut off
  const fits = whole.length <= LONGEST ? whole : link
  return fits.length <= LONGEST ? fits : `${fits.slice(0, LONGEST - 1)}…`
}

/** Lay a view out on the canvas of a picture. */
function figure({ view, marks, file }, { theme, width, height, print }) {
  const scale = enlargement(width, height)
  const { data, layout } = decode(view)
  const { l, r, t, b } = layout.margin
  const fitted = {
    ...layout,
    shapes: [...(layout.shapes ?? []), ...marks.shapes],
    annotations: [...(layout.annotations ?? []), ...marks.annotations],
    width: width / scale,
    height: height / scale,
    margin: { l: l + 10, r: r + 18, t: t + 12, b: b + 8 + (print ? 22 : 0) },
  }
  if (print) {
    fitted.title = {
      text: print,
      font: { size: 11 },
      x: 0,
      xref: 'container',
      y: 0,
      yref: 'container',
      yanchor: 'bottom',
      pad: { l: 14, b: 8 },
    }
  }
  const { sequential, diverging, ...colours } = file.themes[theme]
  const steps = (list) => list.map((colour, step) => [step / (list.length - 1), colour])
  const all = { ...colours, sequential: steps(sequential), diverging: steps(diverging) }
  return { figure: { data: paint(data, all), layout: paint(fitted, all) }, scale }
}

/**
 * Draw a view as a PNG or SVG of exactly this size; gives a Blob.
 *
 * `message` is what Python sends of a view, parsed; `print` the text at the picture's foot, if any.
 */
export async function picture(message, { theme, width, height, format, print = '' }) {
  const plotly = await loadPlotly()
  const drawn = figure(message, { theme, width, height, print })
  // The canvas cuts off what is less than a pixel: 1919.99 would lose a column.
  const whole = format === 'png' ? 0.25 / drawn.scale : 0
  const options = {
    format,
    width: drawn.figure.layout.width + whole,
    height: drawn.figure.layout.height + whole,
    scale: drawn.scale,
  }
  if (format === 'png') return (await fetch(await plotly.toImage(drawn.figure, options))).blob()
  const svg = await plotly.toImage(drawn.figure, { ...options, imageDataOnly: true })
  const words = document.createElement('desc')
  words.textContent = message.view.caption
  const name = `<title>${message.file.name}</title>`
  const described = svg.replace(/^<svg\b[^>]*>/, (tag) => `${tag}${name}${words.outerHTML}`)
  return new Blob([described], { type: 'image/svg+xml' })
}

/** Write the plotted data as a table of comma-separated values. */
export function csv({ view: { columns } }) {
  const names = Object.keys(columns)
  const cell = (value) => {
    if (value === 'nan') return ''
    const text = String(value ?? '')
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  const rows = columns[names[0]].map((_, row) => names.map((name) => cell(columns[name][row])))
  const lines = [names.map(cell), ...rows].map((line) => `${line.join(',')}\n`)
  return new Blob(lines, { type: 'text/csv' })
}

/** Give the program that computes the view's numbers. */
export function code({ file }) {
  return new Blob([file.code], { type: 'text/x-python' })
}
