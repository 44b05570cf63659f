// What a reader takes away from a figure: a picture, its data, its code, or a page of its own.
// Loaded when a figure's Save is pressed for the first time.

import { code, csv, picture, smallPrint } from './picture.js'

const SIZES = { '3840 × 2160': [3840, 2160], '1920 × 1080': [1920, 1080], '1280 × 720': [1280, 720] }
const SLOT = '/* plotly-cartesian.min.js */' // stands for it in the page that Python sends
const here = new URL('.', import.meta.url)

/** Build the panel of one figure; `message` gives what it shows, `askPage` asks Python for a page. */
export function build(panel, { message, askPage }) {
  panel.innerHTML = `
    <button type="button" data-as="png" class="main">Picture, PNG</button>
    <button type="button" data-as="svg">Drawing, SVG</button>
    <button type="button" data-as="copy">Copy picture</button>
    <button type="button" data-as="csv">Data, CSV</button>
    <button type="button" data-as="py">Code, NumPy</button>
    <button type="button" data-as="html">Live page, HTML</button>
    <div class="choices">
      <label>Colours <select class="theme">
        <option value="light">light</option><option value="dark">dark</option>
      </select></label>
      <label>Size <select class="size">
        ${Object.keys(SIZES).map((size) => `<option>${size}</option>`).join('')}
      </select></label>
      <label><input type="checkbox" class="print" checked> State and link in small print</label>
    </div>
    <p class="told" role="status"></p>`
  const part = (selector) => panel.querySelector(selector)
  const theme = part('.theme')
  theme.value = isDark(panel) ? 'dark' : 'light'
  if (!navigator.clipboard?.write) part('[data-as="copy"]').hidden = true // plain http elsewhere
  const tell = (text) => (part('.told').textContent = text)

  const draw = (format) => {
    const [width, height] = SIZES[part('.size').value]
    const page = location.origin + location.pathname
    const print = part('.print').checked ? smallPrint(message().file, page) : ''
    return picture(message(), { theme: theme.value, width, height, format, print })
  }
  const dressed = (kind) => `${message().file.stem}${theme.value === 'dark' ? '_dark' : ''}.${kind}`
  const plain = (kind) => `${message().file.stem}.${kind}`
  const kinds = {
    png: async () => download(await draw('png'), dressed('png')),
    svg: async () => download(await draw('svg'), dressed('svg')),
    csv: async () => download(csv(message()), plain('csv')),
    py: async () => download(code(message()), plain('py')),
    html: async () => {
      askPage()
      return 'Writing the page…'
    },
    copy: async () => {
      // As a promise: Safari allows the clipboard only while the press is being handled.
      await navigator.clipboard.write([new ClipboardItem({ 'image/png': draw('png') })])
      return 'The picture is in the clipboard.'
    },
  }
  panel.onclick = async ({ target }) => {
    const kind = target.dataset?.as
    if (!kind) return
    target.disabled = true
    tell('Drawing…')
    try {
      tell(await kinds[kind]())
    } catch (problem) {
      tell(`That did not work: ${problem.message}`)
    } finally {
      target.disabled = false
      target.focus()
    }
  }
  return {
    /** Python has sent the page; Plotly, which all pages share, is put in from here. */
    async savePage(html) {
      try {
        const bundle = await (await fetch(new URL('plotly-cartesian.min.js', here))).text()
        const whole = html.replace(SLOT, () => bundle)
        tell(download(new Blob([whole], { type: 'text/html' }), plain('html')))
      } catch (problem) {
        tell(`That did not work: ${problem.message}`)
      }
    },
  }
}

/** Save a file as a press on a link does; gives the sentence that says so. */
export function download(blob, name) {
  const link = Object.assign(document.createElement('a'), {
    href: URL.createObjectURL(blob),
    download: name,
  })
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000) // the browser may still be reading
  return `Saved ${name}`
}

function isDark(element) {
  const [r, g, b] = getComputedStyle(element.closest('.stApp') ?? document.body)
    .backgroundColor.match(/\d+/g)
    .map(Number)
  return r + g + b < 384
}
