// All figures of the lecture in one ZIP, drawn and packed here in the browser.

import { code, csv, picture, smallPrint } from './picture.js'
import { download } from './save.js'

const NAME = 'why-attention-divides'

function build(root) {
  root.innerHTML = `
    <div class="takeaway">
      <button type="button">All figures, ZIP</button>
      <label>Format <select class="format">
        <option value="png">PNG</option><option value="svg">SVG</option>
      </select></label>
      <label>Size <select class="size">
        <option>3840×2160</option><option selected>1920×1080</option><option>1280×720</option>
      </select></label>
      <label>Colours <select class="theme">
        <option value="light">light</option><option value="dark">dark</option>
      </select></label>
      <label><input type="checkbox" class="print" checked> State and link in small print</label>
      <p class="told" role="status"></p>
    </div>`
  const part = (selector) => root.querySelector(selector)
  const kit = { root, part, ordered: 0, answered: 0, button: part('button') }
  kit.button.onclick = () => {
    kit.button.disabled = true // until all is packed, or has failed
    part('.told').textContent = 'Fetching the figures…'
    kit.ask()
  }
  return kit
}

async function pack({ part, button }, figures) {
  const tell = (text) => (part('.told').textContent = text)
  try {
    const { downloadZip } = await import(new URL('client-zip.js', import.meta.url))
    const format = part('.format').value
    const theme = part('.theme').value
    const [width, height] = part('.size').value.split('×').map(Number)
    const files = []
    for (const { prefix, page, message } of figures) {
      tell(`Drawing ${files.length / 3 + 1} of ${figures.length}…`)
      const address = new URL(page || '.', document.baseURI).href
      const print = part('.print').checked ? smallPrint(message.file, address) : ''
      const stem = `${prefix}_${message.file.stem}`
      const dressed = theme === 'dark' ? '_dark' : ''
      files.push(
        {
          name: `${stem}${dressed}.${format}`,
          input: await picture(message, { theme, width, height, format, print }),
        },
        { name: `data/${stem}.csv`, input: csv(message) },
        { name: `code/${stem}.py`, input: code(message) },
      )
    }
    tell(download(await downloadZip(files).blob(), `${NAME}-${theme}-${format}.zip`))
  } catch (problem) {
    tell(`That did not work: ${problem.message}`)
  } finally {
    button.disabled = false
  }
}

const kits = new WeakMap()

/** Called at each run of the page, and with the figures once they were asked for. */
export function offer({ data, parentElement: root, setTriggerValue }) {
  if (!kits.has(root)) kits.set(root, build(root))
  const kit = kits.get(root)
  kit.ask = () => setTriggerValue('wanted', ++kit.ordered)
  if (data.length === 0) return
  const { order, figures } = JSON.parse(new TextDecoder().decode(data))
  if (order === kit.answered) return // a switch of the theme calls again with the same
  kit.answered = order
  pack(kit, figures)
}
