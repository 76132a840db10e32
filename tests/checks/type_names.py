#!/usr/bin/env python3
"""Finds types that two files define under one name in one namespace: type_names.py ROOT

The linker merges the inline functions of two such types without a word (the one-definition rule),
so that a program runs one in the place of the other. Types inside unnamed namespaces, functions and
other types do not count, nor do specialisations of templates and declarations without a body. The
programs of tests/ are linked with the product and count as well.
"""

import collections
import pathlib
import re
import sys

import sources

# Comments, raw strings, strings, characters, and lines of the preprocessor.
SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<end>[^(\s]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|[{}();<>=:,\[\]]|\S")
TYPES = ("struct", "class", "union", "enum")


def without_text(source):
    """Returns the source with blanks for what SKIPPED matches; lines keep their numbers."""
    return SKIPPED.sub(lambda match: re.sub(r"[^\n]+", " ", match[0]), source)


def head_of(words):
    """Returns what a brace opens after `words` at namespace scope: ("namespace", name),
    ("type", name), or None for everything else."""
    if "namespace" in words:
        inside = words[words.index("namespace") + 1:]
        return "namespace", "".join(inside) or "(unnamed)"
    if words and words[0] == "extern" and len(words) == 1:  # extern "C"
        return "namespace", ""
    depth, name, kind = 0, None, None
    for word in words:
        if word in "<([":
            if name is not None and word != "[":
                return None  # a specialisation, or a function that returns a struct
            depth += 1
        elif word in ">)]":
            depth -= 1
        elif depth == 0 and word == ":":
            break
        elif depth == 0 and word == "=":
            return None  # a variable
        elif depth == 0 and word in TYPES:
            kind, name = word, None
        elif depth == 0 and kind and word not in ("final", "alignas") and re.match(r"\w", word):
            if name is not None and not name.isupper():
                return None  # struct X variable {
            name = word
        elif depth == 0 and kind and word == "::":
            return None  # a member that is defined outside of its class
    return ("type", name) if name else None


def function_of(words):
    """Returns the name of the function that `words` declare or define at namespace scope, if it
    begins with a capital letter and is no template (calls of templates may be of any); else
    None."""
    at = words.index("(") if "(" in words else 0
    plain = (at >= 2 and "=" not in words[:at] and words[at - 2] != "::" and
             words[0] not in ("using", "template"))
    return words[at - 1] if plain and re.match(r"[A-Z]\w*[a-z]", words[at - 1]) else None


def statements(source):
    """Yields (namespace, words, ending, line) of each statement at namespace scope; the ending is
    "{" or ";". Namespaces themselves are none."""
    text = without_text(source)
    scopes, words, closed_scopes = [], [], 0  # scopes: names of namespaces; closed: other braces
    for match in TOKEN.finditer(text):
        word = match[0]
        if closed_scopes:
            closed_scopes += (word == "{") - (word == "}")
        elif word in "{;":
            head = head_of(words) if word == "{" else None
            if head and head[0] == "namespace":
                scopes.append(head[1])
            else:
                yield "::".join(filter(None, scopes)), words, word, (
                    text.count("\n", 0, match.start()) + 1)
                closed_scopes = word == "{"
            words = []
        elif word == "}":
            if scopes:
                scopes.pop()
            words = []
        else:
            words.append(word)


def definitions(source):
    """Yields (namespace, name, line) of each type that `source` defines at namespace scope."""
    for namespace, words, ending, line in statements(source):
        head = head_of(words) if ending == "{" else None
        if head and "(unnamed)" not in namespace:
            yield namespace, head[1], line


def declarations(source):
    """Yields (namespace, name) of each type that `source` defines at namespace scope, and of each
    function that it declares there (function_of)."""
    for namespace, words, ending, _ in statements(source):
        head = head_of(words) if ending == "{" else None
        name = head[1] if head else function_of(words)
        if name:
            yield namespace, name


def main(root):
    places = collections.defaultdict(dict)
    for file, text in sources.read(root).items():
        for namespace, name, line in definitions(text):
            places[namespace, name].setdefault(file, line)
    twice = {key: files for key, files in places.items() if len(files) > 1}
    for (namespace, name), files in sorted(twice.items()):
        print(f"{namespace}::{name} is defined in several files:")
        for file, line in files.items():
            print(f"  {file}:{line}")
    return 1 if twice else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
