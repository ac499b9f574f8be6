// Shows the packed frame that belongs to the sliders' places.
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

function addSwitch(row, slider) {
  const input = element("input", row, { type: "checkbox" });
  input.checked = slider.start === 1;
  return input;
}

function addRange(row, slider) {
  const last = slider.values.length - 1;
  return element("input", row, { type: "range", min: 0, max: last, value: slider.start });
}

startAll(".attn-frames", async (root) => {
  const sliders = JSON.parse(root.dataset.sliders);
  const controls = element("div", root, { class: "attn-controls" });
  const picture = element("div", root);
  const frames = await unpack(root.dataset.frames);
  const inputs = sliders.map((slider) => {
    const row = element("label", controls);
    element("span", row).textContent = slider.name;
    const input = slider.switch ? addSwitch(row, slider) : addRange(row, slider);
    const shown = element("output", row);
    return { slider, input, shown };
  });
  const show = () => {
    let number = 0;
    for (const { slider, input, shown } of inputs) {
      const place = Number(slider.switch ? input.checked : input.value);
      number = number * slider.values.length + place;
      if (slider.switch) continue;
      const text = String(+slider.values[place].toPrecision(4));
      shown.textContent = text;
      input.setAttribute("aria-valuetext", text);
    }
    picture.innerHTML = frames[number];
    const frame = picture.firstElementChild;
    if (frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0; // scrolled by keys, too
  };
  controls.addEventListener("input", show);
  show();
});
