"""The project's own rules: who may import whom, what documents say, how files look."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("atlas", "queueing", "experiments", "benchmarks", "tests")
# What each package may import of the others.
MAY_IMPORT = {
    "atlas": (),
    "queueing": ("atlas",),
    "experiments": ("atlas", "queueing"),
    "benchmarks": ("atlas", "queueing", "experiments"),
}
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
TEXT_SUFFIXES = (".py", ".md", ".rst", ".toml", ".txt", ".bib", ".cfg", ".yml", ".csv", ".json")
TEXT_NAMES = ("Makefile", "LICENSE", ".gitignore", "run")
CITATION = re.compile(r"(?<![\w\])])\[((?:(?:P\d|[A-Z][A-Za-z]+\d{4}[a-z]?)(?:, ?)?)+)\]")


def python_files(*packages: str) -> list[Path]:
    return sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))


def text_files() -> Iterator[Path]:
    """All that the project hands out as text."""
    for folder in (ROOT, *(ROOT / name for name in (*PACKAGES, "docs", ".ci"))):
        for path in sorted(folder.glob("*") if folder == ROOT else folder.rglob("*")):
            written = path.suffix in TEXT_SUFFIXES or path.name in TEXT_NAMES
            if path.is_file() and written and "_build" not in path.parts:
                yield path


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_packages(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names


def docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def cited_keys() -> dict[str, Path]:
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    texts = [(path, path.read_text(encoding="utf-8")) for path in documents]
    texts += [(path, text) for path in python_files(*PACKAGES) for text in docstrings(path)]
    return {
        key.strip(): path
        for path, text in texts
        for match in CITATION.finditer(text)
        for key in match[1].split(",")
    }


def own_lines(function: ast.FunctionDef) -> int:
    """Lines of the body after the docstring, functions that are defined inside left out."""
    last = function.end_lineno or function.lineno
    documented = ast.get_docstring(function) is not None
    first = function.body[1 if documented and len(function.body) > 1 else 0].lineno
    inner = [node for node in function.body if isinstance(node, ast.FunctionDef)]
    return last - first + 1 - sum((node.end_lineno or 0) - node.lineno + 1 for node in inner)


def bibliography_keys() -> list[str]:
    text = (ROOT / "REFERENCES.bib").read_text(encoding="utf-8")
    return re.findall(r"^@\w+\{([^,\s]+),", text, flags=re.MULTILINE)


def code_blocks(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_dependencies_go_one_way(package):
    forbidden = set(PACKAGES) - {package, *MAY_IMPORT[package]}
    for path in python_files(package):
        wrong = imported_packages(path) & forbidden
        assert not wrong, f"{path.relative_to(ROOT)} must not import {sorted(wrong)}"


@pytest.mark.parametrize("package", ["queueing", "experiments"])
def test_packages_use_only_what_others_make_public(package):
    """A name is public if no part of its module begins with an underscore."""
    for path in python_files(package):
        for node in ast.walk(tree(path)):
            module = getattr(node, "module", None) or ""
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                root, *parts = module.split(".")
                private = root in PACKAGES and root != package and any(p[0] == "_" for p in parts)
                assert not private, f"{path.relative_to(ROOT)} imports from {module}"


def test_every_citation_has_its_entry():
    known = set(bibliography_keys())
    missing = {key: str(path) for key, path in cited_keys().items() if key not in known}
    assert not missing, f"cited, but not in REFERENCES.bib: {missing}"


def test_the_bibliography_names_each_work_once():
    keys = bibliography_keys()
    assert len(keys) == len(set(keys))
    assert {"P0", "P1", "P2", "P3", "P4"} <= set(keys)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Source: [P0], [HarrisonWilliams1987].", ["P0", "HarrisonWilliams1987"]),
        ("as in [Massart1990, P1]", ["Massart1990", "P1"]),
        ("rates[K], x[Beta2] and (E)[P0]", []),
    ],
)
def test_citations_are_told_from_indices(text, keys):
    found = [key.strip() for match in CITATION.finditer(text) for key in match[1].split(",")]
    assert found == keys


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_code_in_the_documents_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = code_blocks(name)
    assert blocks
    namespace: dict[str, object] = {"__name__": "__document__"}
    for block in blocks:
        exec(compile(block, name, "exec"), namespace)


def test_the_readme_s_example_is_short():
    assert len(code_blocks("README.md")[0].splitlines()) <= 12


def test_constraints_are_plain_and_cover_what_is_required():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    for line in pins:
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]*==[0-9][0-9a-z.]*", line), line
    versions = dict(line.split("==") for line in pins)
    assert list(versions) == sorted(versions)
    assert len(versions) == len(pins)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(text for name in extras for text in extras[name])]
    for requirement in map(Requirement, wanted):
        version = versions[requirement.name]
        assert requirement.specifier.contains(version), f"{requirement}: {version}"


def test_files_and_functions_stay_short():
    for path in python_files(*PACKAGES):
        name = path.relative_to(ROOT)
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE_LINES, name
        assert path.stem not in ("utils", "helpers", "misc", "common"), name
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef):
                code = own_lines(node)
                assert code <= MAX_FUNCTION_LINES, f"{name}: {node.name} has {code} lines"


def test_no_host_of_a_registry_and_no_path_of_a_machine_is_named():
    # Put together here, so that this file does not hold them either.
    hosts = ("python" + "hosted", "pypi" + ".org", "npm" + "js", "deb" + ".debian")
    paths = ("/work" + "/", "/farm" + "/", "/tmp/" + "probe")
    for path in text_files():
        text = path.read_text(encoding="utf-8")
        found = [word for word in (*hosts, *paths) if word in text]
        assert not found, f"{path.relative_to(ROOT)} names {found}"
