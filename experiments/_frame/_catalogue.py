"""Names of the files that a command can run, and what each one's first line says of it."""

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class Catalogue:
    """The registered modules of a package, each holding one `attribute` to run.

    Arguments:
        package: dotted name of the package that holds the modules.
        names: the modules' names, in the order in which they are listed.
        attribute: the name under which each module keeps what is run.
    """

    package: str
    names: tuple[str, ...]
    attribute: str

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def summary(self, name: str) -> str:
        """The first line of the module's docstring, read without importing it."""
        spec = find_spec(f"{self.package}.{name}")
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"{self.package}/{name}.py is registered but does not exist")
        text = Path(spec.origin).read_text(encoding="utf-8")
        docstring = ast.get_docstring(ast.parse(text))
        if not docstring:
            raise ValueError(f"{spec.origin}: a first line that says what it shows is missing")
        return docstring.splitlines()[0]

    def listing(self) -> str:
        """One line for each name."""
        width = max((len(name) for name in self.names), default=0)
        return "\n".join(f"  {name:<{width}}  {self.summary(name)}" for name in self.names)

    def unknown(self, name: str) -> str:
        """What to tell someone who asked for a name that is not registered."""
        close = difflib.get_close_matches(name, self.names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        return f"unknown name {name!r}.{hint} Known:\n{self.listing()}"

    def load(self, name: str) -> object:
        """The module's `attribute`; a ValueError that lists the known names if there is none."""
        if name not in self.names:
            raise ValueError(self.unknown(name))
        return getattr(import_module(f"{self.package}.{name}"), self.attribute)
