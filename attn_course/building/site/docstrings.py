"""How Sphinx reads the docstrings of `attn_utils`: arguments as a list, signatures also without torch."""

import inspect
import re

ARGUMENT = re.compile(r"^(\w+(?:, \w+)*): (.*)")


def setup(app):
    app.connect("autodoc-process-signature", class_signature)
    app.connect("autodoc-process-docstring", list_arguments)
    app.connect("autodoc-skip-member", skip_fields)


def class_signature(app, what, name, value, options, signature, returned):
    """The arguments of a class, also where its base is a stand-in for a class of torch."""
    if what != "class" or "__init__" not in vars(value):
        return None
    found = inspect.signature(value.__init__)
    kept = [parameter for name, parameter in found.parameters.items() if name != "self"]
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in kept]
    return str(inspect.Signature(bare)), returned


def list_arguments(app, what, name, value, options, lines):
    """Make an item of each line that says what an argument is: "mask: boolean, ..."."""
    names = set()
    if callable(value):
        function = vars(value).get("__init__", value) if inspect.isclass(value) else value
        names = set(inspect.signature(function).parameters)
    told = lines.copy()
    lines.clear()
    indent = ""
    for line in told:
        found = ARGUMENT.match(line)
        if found and names.issuperset(found[1].split(", ")):
            lines += ["", f"- `{found[1]}`: {found[2]}"]
            indent = "  "
        elif line:
            lines.append(indent + line)
        else:
            lines.append("")
            indent = ""


def skip_fields(app, what, name, value, skip, options):
    """Leave out the fields of a named tuple, whose docstrings say nothing."""
    is_field = str(value.__doc__).startswith("Alias for field number")
    return True if is_field else None
