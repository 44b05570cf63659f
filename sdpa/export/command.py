"""The command line: what is asked for is checked as a whole before the first file is written."""

from __future__ import annotations

import argparse
import difflib
import itertools
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from sdpa.export import formula, picture
from sdpa.export.files import write
from sdpa.export.handout import NAME as HANDOUT
from sdpa.export.handout import handout
from sdpa.export.page import page
from sdpa.export.picture import MissingError, Size
from sdpa.parameters import Parameter, Value
from sdpa.views import VIEWS
from sdpa.views.code import about, code
from sdpa.views.naming import stem
from sdpa.views.palette import Theme
from sdpa.views.view import View

FORMATS = (*picture.FORMATS, "html", "csv", "py")
SIDES = 320, 7680  # px, a picture's shortest and longest side
FAILED, WRONG, STOPPED = 1, 2, 130  # exit codes: not all was written, bad request, Ctrl-C

EXAMPLES = """
examples:
  python -m sdpa.export list
  python -m sdpa.export chain.chain --set d_k=256
  python -m sdpa.export temperature.weights variance.histogram --format svg,csv --theme dark
  python -m sdpa.export --all --format png --size 1920x1080 --out slides
  python -m sdpa.export --handout --app-url https://lesson.example.org --out .
"""


class UsageError(ValueError):
    """A request that cannot be met; says in a sentence what was required and what came."""


@dataclass(frozen=True)
class Request:
    """What the command line asked for, checked."""

    views: tuple[View, ...]
    formats: tuple[str, ...]
    theme: Theme | None
    size: Size
    small_print: bool
    out: Path
    handout: bool
    app_url: str


@dataclass(frozen=True)
class File:
    """A file to be written: its name, and what makes its bytes."""

    name: str
    content: Callable[[], bytes]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    try:
        given = _parser().parse_args(arguments)
        if _is_list(given):
            print(listing())
            return 0
        return export(_request(given))
    except UsageError as problem:
        return _complain(str(problem), WRONG)
    except OSError as problem:
        return _complain(f"The file could not be written: {problem}.", FAILED)
    except KeyboardInterrupt:
        return _complain("Stopped; the files that are there are whole.", STOPPED)


def export(request: Request) -> int:
    """Write what was asked for, and say on stderr how far it is; gives the exit code."""
    begun = time.monotonic()
    with ExitStack() as stack:
        files, missing = _files(request, stack)
        if files:
            request.out.mkdir(parents=True, exist_ok=True)
        for place, file in enumerate(files, start=1):
            write(request.out / file.name, file.content())
            print(f"[{place:{len(str(len(files)))}}/{len(files)}] {file.name}", file=sys.stderr)
    if files:
        count = "1 file" if len(files) == 1 else f"{len(files)} files"
        took = time.monotonic() - begun
        print(f"{count} in {request.out} ({took:.1f} s)", file=sys.stderr)
    for sentence in missing:
        _complain(sentence, FAILED)
    return FAILED if missing else 0


def listing() -> str:
    """List the views, what each shows, and what can be set."""
    lines = []
    for name, spec in VIEWS.items():
        lines += [name, f"    {about(name)}"]
        lines += [f"    --set {_choices(row)}" for row in spec.parameters]
    return "\n".join(lines)


def _files(request: Request, stack: ExitStack) -> tuple[list[File], list[str]]:
    """Plan the files, and name what cannot be made here and what it needs."""
    files: list[File] = []
    missing: list[str] = []
    if request.handout:
        try:
            formula.check_installed()
        except MissingError as problem:
            missing.append(str(problem))
        else:
            files.append(File(HANDOUT, lambda: handout(request.app_url, request.theme).encode()))
    draw = None
    if any(format in picture.FORMATS for format in request.formats) and request.views:
        try:
            draw = stack.enter_context(picture.drawer())
        except MissingError as problem:
            missing.append(str(problem))
    dressed = f"_{request.theme}" if request.theme else ""
    for view, format in itertools.product(request.views, request.formats):
        name = stem(view)
        if format == "csv":
            files.append(File(f"{name}.csv", partial(_csv, view)))
        elif format == "py":
            files.append(File(f"{name}.py", partial(_code, view)))
        elif format == "html":
            files.append(File(f"{name}{dressed}.html", partial(_page, view, request)))
        elif draw:
            content = partial(_picture, view, format, request, draw)
            files.append(File(f"{name}{dressed}.{format}", content))
    return files, missing


def _csv(view: View) -> bytes:
    text: str = view.table.to_csv(index=False, lineterminator="\n")
    return text.encode()


def _code(view: View) -> bytes:
    return code(view).encode()


def _page(view: View, request: Request) -> bytes:
    return page(view, request.theme).encode()


def _picture(view: View, format: str, request: Request, draw: picture.Draw) -> bytes:
    theme = request.theme or "light"
    return picture.picture(draw, view, format, request.size, theme, request.small_print)


# --- reading the request ---


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}; --help shows what there is.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m sdpa.export",
        description="Write the lesson's figures as pictures, pages, data and code.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("views", nargs="*", metavar="VIEW", help="names of views, or list for all of them")
    add("--all", action="store_true", help="every view")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="as in links: d_k=256")
    add("--format", default="png", metavar="LIST", help=f"of {','.join(FORMATS)} (png)")
    add("--theme", metavar="NAME", help="light or dark (pictures light; pages as the system)")
    add("--size", default="1920x1080", metavar="WxH", help="of pictures, in pixels (1920x1080)")
    add(
        "--small-print",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="write the state and its link at the foot of pictures (yes)",
    )
    add("--out", type=Path, default=Path("figures"), metavar="DIR", help="folder (figures)")
    add("--handout", action="store_true", help=f"the lecture as {HANDOUT}")
    add("--app-url", default="http://localhost:8501", metavar="URL", help="for its links")
    return parser


def _is_list(given: argparse.Namespace) -> bool:
    if "list" in given.views:
        if given.views != ["list"] or given.all or given.handout or given.set:
            raise UsageError("list stands alone: it names the views and writes nothing.")
        return True
    if given.views or given.all or given.handout:
        return False
    if given.set:
        raise UsageError("--set needs a view, or --all; without arguments the views are listed.")
    return True


def _request(given: argparse.Namespace) -> Request:
    if given.all and given.views:
        raise UsageError(f"Either --all or names of views, got both: {', '.join(given.views)}.")
    names = list(VIEWS) if given.all else [_name(name) for name in dict.fromkeys(given.views)]
    formats = [_one_of("--format", part.strip(), FORMATS) for part in given.format.split(",")]
    if given.theme is not None:
        _one_of("--theme", given.theme, ("light", "dark"))
    address = urlsplit(given.app_url)
    if address.scheme not in ("http", "https") or not address.netloc:
        raise UsageError(f"--app-url must be an address such as https://…, got {given.app_url!r}.")
    if given.out.exists() and not given.out.is_dir():
        raise UsageError(f"--out must be a folder, got the file {str(given.out)!r}.")
    if given.set and not names:
        raise UsageError("--set acts on views; the handout's states are those of the lecture.")
    return Request(
        views=_views(names, given.set),
        formats=tuple(dict.fromkeys(formats)),
        theme=given.theme,
        size=_size(given.size),
        small_print=given.small_print,
        out=given.out,
        handout=given.handout,
        app_url=given.app_url,
    )


def _views(names: Iterable[str], settings: Sequence[str]) -> tuple[View, ...]:
    specs = [VIEWS[name] for name in names]
    rows = {row.key: row for spec in specs for row in spec.parameters}
    state: dict[str, Value] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        key = key.strip()
        if not equals:
            raise UsageError(f"--set must be KEY=VALUE such as d_k=256, got {setting!r}.")
        if key not in rows:
            whose = specs[0].name if len(specs) == 1 else "These views"
            verb = "takes" if len(specs) == 1 else "take"
            had = ", ".join(rows) or "no parameter"
            raise UsageError(f"{whose} {verb} {had}, got {key!r}{_nearest(key, rows)}.")
        if key in state:
            raise UsageError(f"--set {key} must be given once, got it twice.")
        state[key] = _value(rows[key], text.strip())
    return tuple(
        spec(**{row.key: state[row.key] for row in spec.parameters if row.key in state})
        for spec in specs
    )


def _name(name: str) -> str:
    if name in VIEWS:
        return name
    inside = [known for known in VIEWS if known.startswith(f"{name}.")]
    near = inside or difflib.get_close_matches(name, VIEWS, n=3, cutoff=0.3)
    hint = f"the nearest {'is' if len(near) == 1 else 'are'} {', '.join(near)}" if near else ""
    raise UsageError(
        f"VIEW must be one of the {len(VIEWS)} names that 'python -m sdpa.export list' shows, "
        f"got {name!r}{f'; {hint}' if hint else ''}."
    )


def _value(row: Parameter, text: str) -> Value:
    try:
        return row.parse(text)
    except ValueError as problem:
        if row.kind == "scores":
            raise UsageError(f"{row.key}: {problem}") from None
    texts = [row.text(value) for value in row.values]
    raise UsageError(
        f"{row.key} must be one of {', '.join(texts)}, got {text!r}{_nearest(text, texts)}."
    )


def _one_of(option: str, text: str, valid: Sequence[str]) -> str:
    if text in valid:
        return text
    raise UsageError(
        f"{option} must be one of {', '.join(valid)}, got {text!r}{_nearest(text, valid)}."
    )


def _nearest(text: str, valid: Iterable[str]) -> str:
    """Name the valid texts nearest to one that is not: for numbers its neighbours."""
    valid = list(valid)
    try:
        number, numbers = float(text), {float(other): other for other in valid}
    except ValueError:
        near = difflib.get_close_matches(text, valid, n=2, cutoff=0.4)
    else:
        below = [n for n in numbers if n <= number]
        above = [n for n in numbers if n >= number]
        near = [numbers[n] for n in [*sorted(below)[-1:], *sorted(above)[:1]]]
    return f"; nearest: {' and '.join(near)}" if near else ""


def _size(text: str) -> Size:
    found = re.fullmatch(r"(\d{1,5})[xX×](\d{1,5})", text)
    low, high = SIDES
    if not found or not all(low <= int(side) <= high for side in found.groups()):
        raise UsageError(
            f"--size must be WIDTHxHEIGHT such as 1920x1080, each {low} to {high} px, got {text!r}."
        )
    return Size(int(found[1]), int(found[2]))


def _choices(row: Parameter) -> str:
    if row.kind == "scores":
        return f'{row.key}="{row.default}"  ({row.help.rstrip(".")})'
    texts = [row.text(value) for value in row.values]
    shown = texts if len(texts) <= 13 else [*texts[:4], "…", *texts[-2:]]
    return f"{row.key}={'|'.join(shown)}  ({row.text(row.default)})"


def _complain(sentence: str, code: int) -> int:
    print(sentence, file=sys.stderr)
    return code
