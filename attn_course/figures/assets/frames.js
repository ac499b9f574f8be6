// Shows the packed frame that belongs to the sliders' places.
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

startAll(".attn-moving", async (root) => {
  const sliders = JSON.parse(root.dataset.sliders);
  const controls = element("div", root, { class: "attn-controls" });
  const picture = element("div", root);
  const frames = await unpack(root.dataset.frames);
  const inputs = sliders.map((slider) => {
    const row = element("label", controls);
    element("span", row).textContent = slider.name;
    const last = slider.values.length - 1;
    const input = element("input", row, { type: "range", min: 0, max: last, value: slider.start });
    const shown = element("output", row);
    return { slider, input, shown };
  });
  const show = () => {
    let number = 0;
    for (const { slider, input, shown } of inputs) {
      const value = slider.values[input.value];
      const text = String(+value.toPrecision(4));
      shown.textContent = text;
      input.setAttribute("aria-valuetext", text);
      number = number * slider.values.length + Number(input.value);
    }
    picture.innerHTML = frames[number];
  };
  controls.addEventListener("input", show);
  show();
});
