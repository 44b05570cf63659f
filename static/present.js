// Slides: the keys that a speaker has, and those of a remote control.
//
// A slide is a heading with its figure. Keys press the page's own buttons and links, so that a
// slide is the page in every state, with the link to it in the address.

const KEYS = [
  ['PageDown or →', 'next slide; after the last one the next page'],
  ['PageUp or ←', 'slide before; before the first one the page before'],
  ['n, p', 'next page, page before'],
  ['↓, ↑', 'next preset, preset before'],
  ['k', 'play the slider, or stop'],
  ['r', 'reveal what the prediction asks for'],
  ['q', 'share: the link to this slide as a QR code'],
  ['Esc', 'leave the slides'],
  ['?', 'these keys'],
]

const ACTIONS = {
  PageDown: () => turn(1),
  ArrowRight: () => turn(1),
  PageUp: () => turn(-1),
  ArrowLeft: () => turn(-1),
  n: () => press('.st-key-page-after a'),
  p: () => press('.st-key-page-before a'),
  ArrowDown: () => preset(1),
  ArrowUp: () => preset(-1),
  k: () => press('.play', slides()[here()]?.figure),
  r: () => press('.st-key-prediction button, .st-key-answer button'),
  q: () => press('.open-share'),
  Escape: () => press('.st-key-leave-slides button'),
  '?': () => help.showModal(),
}

let help = null
let stays = null // the slide that was turned to: in view also when the screen has changed
const chosen = new WeakMap() // a row of presets -> the place of the one pressed last

/** The page's slides in their order: a figure, and the heading above it where it has one. */
function slides() {
  const found = []
  let heading = null
  for (const element of document.querySelectorAll('h1, h2, .live-figure')) {
    if (element.matches('.live-figure')) {
      found.push({ top: heading ?? element, figure: element })
      heading = null
    } else heading = element
  }
  return found
}

/** The slide in view: the last one that begins in the upper half. */
function here() {
  const tops = slides().map(({ top }) => top.getBoundingClientRect().top)
  return Math.max(0, tops.findLastIndex((top) => top < innerHeight / 2))
}

function turn(step) {
  const all = slides()
  const to = here() + step
  stays = { page: location.pathname, slide: to }
  const way = step > 0 ? 'after' : 'before'
  // Where a page goes step by step, a step is a slide.
  const next = document.querySelector(`.st-key-step-${way} button:enabled, .st-key-page-${way} a`)
  if (all[to]) all[to].top.scrollIntoView({ block: 'start' })
  else next?.click()
}

function press(selector, within = document) {
  within?.querySelector(selector)?.click()
}

/** Press the next preset of the figure in view. */
function preset(step) {
  const bench = slides()[here()]?.figure.closest('[class*="st-key-bench-"]')
  const name = bench?.className.match(/st-key-bench-([\w-]+)/)?.[1]
  const row = document.querySelector(`.st-key-presets-${name}`)
  if (!row) return
  const buttons = [...row.querySelectorAll('button')].filter((one) => one.textContent !== 'Reset')
  const before = chosen.get(row) ?? (step > 0 ? -1 : 0)
  const to = (before + step + buttons.length) % buttons.length
  chosen.set(row, to)
  buttons[to].click()
}

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  if (document.querySelector('dialog[open], [role="listbox"], [data-testid="stPopoverBody"]')) return
  const { target, key } = event
  const typed = target.matches('textarea, input:not([type="range"], [type="checkbox"])')
  const slid = target.matches('input[type="range"]') && /^(Arrow|Page)/.test(key)
  const chosenAmong = target.matches('input[type="radio"]') && /^Arrow/.test(key)
  if (typed ? key !== 'Escape' : slid || chosenAmong) return
  const action = ACTIONS[key]
  if (!action) return
  event.preventDefault()
  action()
}

/** A slider that was dragged gives the arrows back to the slides; one reached by Tab keeps them. */
function onRelease() {
  setTimeout(() => {
    if (document.activeElement?.matches('input[type="range"]')) document.activeElement.blur()
  })
}

function onResize() {
  const top = stays?.page === location.pathname && slides()[stays.slide]?.top
  if (top) setTimeout(() => top.scrollIntoView({ block: 'start' }), 300) // once figures have grown
}

/** Called when slides begin, and at each run of the page while they are shown. */
export function start(root) {
  if (help?.isConnected) return
  root.innerHTML = `
    <button type="button" class="keys-of-slides">Keys</button>
    <dialog class="keys-of-slides" aria-labelledby="keys-of-slides">
      <h2 id="keys-of-slides">Keys</h2>
      <table>${KEYS.map(([key, does]) => `<tr><th scope="row">${key}</th><td>${does}</td></tr>`).join('')}
      </table>
      <form method="dialog"><button>Close</button></form>
    </dialog>`
  help = root.querySelector('dialog')
  root.querySelector('button').onclick = () => help.showModal()
  addEventListener('keydown', onKey)
  addEventListener('pointerup', onRelease)
  addEventListener('resize', onResize)
}

/** Called when they end. */
export function stop() {
  removeEventListener('keydown', onKey)
  removeEventListener('pointerup', onRelease)
  removeEventListener('resize', onResize)
  help = null
}
