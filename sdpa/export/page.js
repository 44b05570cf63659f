
// ---- A page in one file: its own sliders, and the messages that a server would send ----------

{
  const redraws = []

  /** Find a state's frame: the last slider moves fastest. */
  const place = (sliders, at) => sliders.reduce((sum, { texts }, i) => sum * texts.length + at[i], 0)

  /** Write the message of a state, as Python does on a slider's release. */
  const message = ({ view, marks, sliders, frames }, at) => {
    const now = frames[place(sliders, at)]
    const { formula, ...rest } = now
    const sweep = ({ texts }, axis) => ({
      index: at[axis],
      values: texts,
      frames: texts.map((_, step) => frames[place(sliders, at.with(axis, step))]),
    })
    return JSON.stringify({
      view: {
        ...view,
        ...rest,
        data: view.data.map((trace, i) => ({ ...trace, ...now.data[i] })),
        layout: { ...view.layout, ...now.layout },
      },
      state: Object.fromEntries(sliders.map(({ key, texts }, i) => [key, texts[at[i]]])),
      marks,
      sweeps: Object.fromEntries(sliders.map((slider, axis) => [slider.key, sweep(slider, axis)])),
    })
  }

  for (const block of document.querySelectorAll('.block')) {
    const parts = JSON.parse(block.querySelector('script').textContent)
    const parentElement = block.querySelector('.figure')
    const formula = block.querySelector('.formula')
    const inputs = parts.sliders.map(({ key }) => document.getElementById(key))
    const at = () => inputs.map((input) => Number(input.value))
    let data
    const release = () => {
      data = new TextEncoder().encode(message(parts, at()))
      draw({ data, parentElement })
    }
    inputs.forEach((input, i) => {
      input.addEventListener('input', () => {
        const text = parts.sliders[i].texts[input.value]
        input.previousElementSibling.value = text
        input.setAttribute('aria-valuetext', text) // the live figure follows this
        const shown = parts.frames[place(parts.sliders, at())].formula
        if (shown !== undefined) formula.innerHTML = shown
      })
      input.addEventListener('change', release)
    })
    redraws.push(() => draw({ data, parentElement }))
    release()
  }

  for (const media of ['(prefers-color-scheme: dark)', 'print']) {
    matchMedia(media).addEventListener('change', () => redraws.forEach((redraw) => redraw()))
  }
}
