// Share: the link to exactly this state, large enough for the last row to scan.
//
// The link is the address as it stands when the dialog opens; what is chosen in the dialog
// changes the link, and nothing on the page.

const LOCAL = /^(localhost|127(\.\d+){3}|\[::1\])$/
const OWN = ['embed', 'embed_options'] // not the state's, but of how the page is shown just now

/** Compose the link to a state from an address. */
export function compose(address, { host = '', present = false, hide = [], embed = '' } = {}) {
  const url = new URL(address)
  if (host) url.hostname = host
  url.hash = ''
  const set = (name, value) =>
    value ? url.searchParams.set(name, value) : url.searchParams.delete(name)
  OWN.forEach((name) => url.searchParams.delete(name))
  set('present', present && 'true')
  set('hide', hide.join(','))
  if (embed) {
    set('embed', 'true')
    set('embed_options', embed === 'system' ? '' : `${embed}_theme`)
  }
  url.search = url.search.replaceAll('%2C', ',') // shorter to scan and to read
  return url.href
}

/** Write the snippet that shows the page within another one. */
export function snippet(link, title) {
  const safe = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  return (
    `<iframe src="${safe(link)}" title="${safe(title)}" width="100%" height="760" ` +
    'style="border: 0" loading="lazy" allow="clipboard-write"></iframe>'
  )
}

/** Called at each run of the page; the dialog is built once. */
export function build(root, { parts, network }) {
  if (root.querySelector('dialog')) return
  root.innerHTML = `
    <button type="button" class="open-share">Share</button>
    <dialog class="share" aria-labelledby="share-title">
      <h2 id="share-title">Share what is shown</h2>
      <div class="scan"><canvas role="img" aria-label="QR code of the link"></canvas>
        <p class="link"></p></div>
      <div class="choose">
        <p class="note"></p>
        <div class="copies">
          <button type="button" class="copy-link">Copy link</button>
          <button type="button" class="copy-here">Copy link for this computer</button>
          <button type="button" class="copy-embed">Copy code to embed</button>
        </div>
        <p class="told" role="status"></p>
        <label><input type="checkbox" class="as-slides"> As slides</label>
        <fieldset><legend>Leave out</legend>${Object.entries(parts).map(([part, name]) =>
          `<label><input type="checkbox" name="${part}"> ${name}</label>`).join('')}
        </fieldset>
        <label>Embedded, in colours <select class="theme">
          <option value="system">of the reader's system</option>
          <option value="light">light</option><option value="dark">dark</option>
        </select></label>
        <textarea readonly rows="4" aria-label="Code to embed" class="embed"></textarea>
        <form method="dialog"><button>Close</button></form>
      </div>
    </dialog>`
  const part = (selector) => root.querySelector(selector)
  const dialog = part('dialog')
  const boxes = [...root.querySelectorAll('fieldset input')]
  const local = LOCAL.test(location.hostname)
  const host = local ? network : ''
  const links = () => {
    const hide = boxes.filter((box) => box.checked).map((box) => box.name)
    const state = { present: part('.as-slides').checked, hide }
    const link = compose(location.href, { ...state, host })
    const embed = compose(location.href, { ...state, host, embed: part('.theme').value })
    return { link, here: compose(location.href, state), embed: snippet(embed, document.title) }
  }
  const show = async () => {
    const { link, embed } = links()
    part('.link').textContent = link
    part('.embed').value = embed
    part('.told').textContent = ''
    const { generate } = await import(new URL('lean-qr.js', import.meta.url))
    generate(link).toCanvas(part('canvas'), { on: [0, 0, 0, 255], off: [255, 255, 255, 255] })
  }
  const copy = async (text) => {
    part('.told').textContent = (await toClipboard(text, dialog))
      ? 'Copied.'
      : 'This browser allows no copying here; the text is selected.'
  }
  part('.open-share').onclick = () => {
    const query = new URLSearchParams(location.search)
    const hidden = (query.get('hide') ?? '').split(',')
    part('.as-slides').checked = query.get('present') === 'true'
    boxes.forEach((box) => (box.checked = hidden.includes(box.name)))
    part('.copy-here').hidden = !host
    part('.note').textContent = !local
      ? ''
      : host
        ? 'The code is for those on the same network as this computer.'
        : 'Only this computer can open this link. Start the lesson with ' +
          '--server.address=0.0.0.0 and others on the same network can, too.'
    show()
    dialog.showModal()
  }
  part('.copy-link').onclick = () => copy(links().link)
  part('.copy-here').onclick = () => copy(links().here)
  part('.copy-embed').onclick = () => copy(links().embed)
  dialog.onchange = show
  dialog.onclick = ({ target }) => {
    if (target === dialog) dialog.close() // a press beside it
  }
}

/** Copy a text, also where plain http keeps the clipboard away; else leave it selected. */
async function toClipboard(text, within) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const field = within.querySelector('.embed')
    field.value = text
    field.select()
    return document.execCommand('copy')
  }
}
