// Excerpts in the results of a search begin with the text of a page: the theme's buttons and its list of sections
// stand before the text. Words are found by their stems; "rotari" is shown as "rotary".
const { htmlToText, makeSearchSummary } = Search;

Search.htmlToText = (html, anchor) => {
  const page = new DOMParser().parseFromString(html, "text/html");
  const above = page.querySelectorAll(".bd-header-article, #jb-print-docs-body");
  above.forEach((part) => part.remove());
  return htmlToText(page.documentElement.outerHTML, anchor).trim();
};

Search.makeSearchSummary = (html, stems, anchor) => {
  const words = [...stems].map((stem) => stem.replace(/i$/, "y"));
  return makeSearchSummary(html, [...stems, ...words], anchor);
};
