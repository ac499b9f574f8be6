"""Sphinx's settings for the site. `attn site` copies this folder, adds the notebooks, and builds the copy.

Nothing is executed, and no page fetches anything from another host.
"""

import inspect
import os
import re
from pathlib import Path

project = "The attention course"
author = "The attention course contributors"
html_title = project
# Both are set by `attn site`; there is no repository where the course is not published.
repository = os.environ.get("ATTN_REPOSITORY", "")
release = os.environ.get("ATTN_VERSION", "")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["downloads/*"]
default_role = "code"
suppress_warnings = ["myst.header"]
toc_object_entries_show_parents = "hide"

nb_execution_mode = "off"
nb_ipywidgets_js = {}
nb_render_markdown_format = "myst"  # formulas in outputs, such as chains
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_url_schemes = ["mailto", "http", "https"]

autodoc_member_order = "bysource"
autodoc_mock_imports = ["numpy", "torch"]
autodoc_typehints = "none"

templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["course.css", "figures.css"]
html_js_files = [("figures.js", {"defer": "defer"})]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_last_updated_fmt = None
html_use_index = False
html_domain_indices = False
html_show_sphinx = False

html_theme = "sphinx_book_theme"
html_context = {"default_mode": "auto"}
html_sidebars = {"**": ["search-button-field.html", "course-navigation.html"]}
html_theme_options = {
    "footer_content_items": ["extra-footer.html"],
    "extra_footer": (
        f'<a href="install.html">Get the course</a>, version {release}. '
        "Code under the MIT licence, text and figures under CC BY 4.0."
    ),
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
}
if repository:
    html_theme_options["extra_footer"] += (
        f' <a href="{repository}">Repository</a>'
        f' · <a href="{repository}/issues">Report a mistake</a>'
    )
    html_theme_options |= {
        "repository_url": repository,
        "repository_branch": "main",
        "path_to_docs": "notebooks",
        "use_issues_button": True,
        "use_repository_button": True,
        "launch_buttons": {
            "notebook_interface": "jupyterlab",
            "binderhub_url": "https://mybinder.org",
            "colab_url": "https://colab.research.google.com",
        },
    }

# The words under which a reader may search for what a notebook treats, beside those in its text.
SYNONYMS = {
    "01_copying": "hard attention, temperature, softmax",
    "05_keys_queries_values": "QKV, projections, routing",
    "06_transformer_attention": "self-attention, masking, MHA, multihead, scaled dot product",
    "07_synthesizer": "random synthesizer, dense synthesizer",
    "08_pretrained_knowledge": "pretraining, fine-tuning, hallucination, span corruption",
    "09_seq2seq": "Bahdanau, Luong, additive attention, encoder, decoder, GRU, RNN, teacher forcing",
    "10_translation": "NMT, machine translation, beam search, alignment, Multi30k",
    "11_bleu_comparison": "sacrebleu, chrF, bootstrap, significance, perplexity",
    "12_position": "rotary, RoPE, sinusoidal, positional encoding, ALiBi, NTK, extrapolation",
    "13_fast_attention": "FlashAttention, online softmax, log-sum-exp, tiling, backward pass",
    "14_induction": "in-context learning, circuits, interpretability, mechanistic, patching",
    "15_decoding": "KV cache, GQA, MQA, grouped query, sliding window, MLA, linear attention, sinks",
    "16_gates_and_memory": "DeltaNet, delta rule, QK-norm, soft cap, gated attention, sparse attention",
}
ARGUMENT = re.compile(r"^(\w+(?:, \w+)*): (.*)")  # of a docstring: "mask: boolean, ..."


def setup(app):
    app.connect("autodoc-process-signature", class_signature)
    app.connect("autodoc-process-docstring", list_arguments)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("doctree-read", add_synonyms)
    app.connect("html-page-context", add_search_script)
    app.connect("build-finished", remove_unused, priority=900)  # after MathJax is copied


def class_signature(app, what, name, value, options, signature, returned):
    """Return the arguments of a class, also where its base is a stand-in for a class of torch."""
    if what != "class" or "__init__" not in vars(value):
        return None
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in inspect.signature(value.__init__).parameters.items()
        if name != "self"
    ]
    return str(inspect.Signature(parameters)), returned


def list_arguments(app, what, name, value, options, lines):
    """Make an item of each line that describes an argument: "mask: boolean, ..."."""
    names = set()
    if callable(value):
        function = vars(value).get("__init__", value) if inspect.isclass(value) else value
        names = set(inspect.signature(function).parameters)
    docstring = lines.copy()
    lines.clear()
    indent = ""
    for line in docstring:
        argument = ARGUMENT.match(line)
        if argument and names.issuperset(argument[1].split(", ")):
            lines += ["", f"- `{argument[1]}`: {argument[2]}"]
            indent = "  "
        elif line:
            lines.append(indent + line)
        else:
            lines.append("")
            indent = ""


def skip_fields(app, what, name, value, skip, options):
    """Leave out the fields of a named tuple: their docstrings say nothing."""
    is_field = str(value.__doc__).startswith("Alias for field number")
    return True if is_field else None


def add_synonyms(app, doctree):
    """Add a last line with the page's SYNONYMS: the search finds the page by them and shows the line."""
    from docutils import nodes

    words = SYNONYMS.get(app.env.docname)
    if words:
        line = f"Words to search for: {words}."
        page = next(doctree.findall(nodes.section))
        page.append(nodes.paragraph("", "", nodes.emphasis("", line)))


def add_search_script(app, name, template, context, doctree):
    """Add the script that improves the excerpts, on the page of the search alone."""
    if name == "search":
        app.add_js_file("search.js", loading_method="defer")


def remove_unused(app, error):
    """Remove files that no page needs: outputs of MathJax that are not used, source maps."""
    if error:
        return
    site = Path(app.outdir)
    mathjax = site / "_static" / "mathjax"
    for path in mathjax.rglob("*"):
        inside = path.relative_to(mathjax)
        is_font = inside.match("output/chtml/fonts/woff-v2/*.woff")
        if path.is_file() and not is_font and inside != Path("tex-chtml.js"):
            path.unlink()
    for path in [*site.rglob("*.map"), site / ".buildinfo", site / "objects.inv"]:
        path.unlink(missing_ok=True)
