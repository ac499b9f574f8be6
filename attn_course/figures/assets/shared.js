// What moving figures share: they take the place of the still picture that stands before them.
const OUTPUTS = ".jp-OutputArea, .cell_output, .output_wrapper, .cell, body";
// What does not move: a picture outside a widget, or a widget that was exported without its kernel.
const STILL = 'img:not(.jupyter-widgets *), script[type="application/vnd.jupyter.widget-view+json"]';
const PATIENCE = 3000; // milliseconds for a kernel's widget to appear

function hideStill(root) {
  for (let place = root; place && !place.matches(OUTPUTS); place = place.parentElement) {
    const before = place.previousElementSibling;
    if (before && (before.matches("img") || before.querySelector(STILL))) {
      before.style.display = "none";
      delete root.dataset.widget;
      root.hidden = false;
      return;
    }
  }
  setTimeout(() => { root.hidden = false; }, PATIENCE); // a widget on the page hides it by style
}

// Each figure of the page is started once, however often the script runs.
function startAll(selector, start) {
  for (const root of document.querySelectorAll(`${selector}:not([data-ready])`)) {
    root.dataset.ready = "true";
    start(root);
    hideStill(root);
  }
}

function element(name, parent, attributes = {}) {
  const drawing = /^(svg|g|path|circle|text|rect)$/.test(name);
  const made = drawing
    ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}
