import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import plotly.offline
import pytest

from sdpa.ui.frame import PAGES
from sdpa.views.palette import CATEGORICAL, DARK, LIGHT, THEMES

ROOT = Path(__file__).parents[1]
CORE = sorted((ROOT / "sdpa").glob("*.py"))
VIEWS = sorted((ROOT / "sdpa" / "views").glob("*.py"))
UI = sorted((ROOT / "sdpa" / "ui").glob("*.py"))
EXPORT = sorted((ROOT / "sdpa" / "export").glob("*.py"))
PAGE_FILES = sorted((ROOT / "pages").glob("*.py"))
ALL_PYTHON = [*CORE, *VIEWS, *UI, *EXPORT, *PAGE_FILES, ROOT / "app.py"]
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
PLOTLY_JS = ROOT / "static" / "plotly-cartesian.min.js"

STANDARD = set(sys.stdlib_module_names) - {"random"}  # its state is global, like np.random's
CORE_MODULES = {"sdpa"} | {f"sdpa.{path.stem}" for path in CORE if path.stem != "__init__"}


def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def sdpa_module(base, name):
    """``from sdpa.views import chart`` imports a module, ``from sdpa.views import VIEWS`` not."""
    inner = ROOT / base.replace(".", "/") / name
    is_module = inner.with_suffix(".py").exists() or (inner / "__init__.py").exists()
    return f"{base}.{name}" if is_module else base


def imports(path):
    """Every module that a file imports, anywhere in it, by its full name."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where data comes from"
            found |= {
                sdpa_module(node.module, alias.name)
                if node.module.split(".")[0] == "sdpa"
                else node.module
                for alias in node.names
            }
    return found


def outside(path, packages, inside):
    """What a file imports beyond the standard library, these packages and these of our own."""
    return {
        name
        for name in imports(path)
        if name.split(".")[0] not in STANDARD | packages and not inside(name)
    }


def dotted(node):
    return ast.unparse(node) if isinstance(node, ast.Attribute) else ""


def named(path):
    return str(path.relative_to(ROOT))


# --- one direction: core, views, ui, pages ---


def test_the_files_that_the_rules_speak_of_are_found():
    assert {"attention.py", "jacobian.py", "parameters.py"} <= {path.name for path in CORE}
    assert {"view.py", "palette.py", "chart.py"} <= {path.name for path in VIEWS}
    assert {"frame.py", "lesson.py", "live_figure.py"} <= {path.name for path in UI}
    assert {"command.py", "picture.py", "lecture.py"} <= {path.name for path in EXPORT}
    assert {"home.py", "gradients.py"} <= {path.name for path in PAGE_FILES}


@pytest.mark.parametrize("path", CORE, ids=named)
def test_the_core_imports_numpy_the_standard_library_and_itself(path):
    packages = {"numpy", "ml_dtypes"} if path.name == "formats.py" else {"numpy"}
    assert outside(path, packages, CORE_MODULES.__contains__) == set()


@pytest.mark.parametrize("path", VIEWS, ids=named)
def test_views_import_the_core_plotly_and_pandas(path):
    def inside(name):
        return name in CORE_MODULES or name == "sdpa.views" or name.startswith("sdpa.views.")

    assert outside(path, {"numpy", "plotly", "pandas"}, inside) == set()


@pytest.mark.parametrize("path", UI, ids=named)
def test_the_ui_imports_core_views_and_streamlit(path):
    def inside(name):
        return name in CORE_MODULES or name.startswith(("sdpa.views", "sdpa.ui"))

    assert outside(path, {"numpy", "streamlit"}, inside) == set()


@pytest.mark.parametrize("path", EXPORT, ids=named)
def test_the_export_imports_core_views_and_what_draws_pictures_and_formulas(path):
    def inside(name):
        return name in CORE_MODULES or name.startswith(("sdpa.views", "sdpa.export"))

    own = {"picture.py": {"plotly", "kaleido"}, "formula.py": {"latex2mathml"}}
    assert outside(path, own.get(path.name, set()), inside) == set()


@pytest.mark.parametrize("path", PAGE_FILES, ids=named)
def test_pages_import_streamlit_and_sdpa_alone(path):
    assert outside(path, {"streamlit"}, lambda name: name.split(".")[0] == "sdpa") == set()


@pytest.mark.parametrize("path", ALL_PYTHON, ids=named)
def test_nothing_draws_from_a_generator_that_is_shared(path):
    kept = {"np.random.default_rng", "np.random.Generator"}
    found = [dotted(node) for node in ast.walk(tree(path))]
    found = {name for name in found if re.match(r"(np|numpy)\.random\.", name)}
    assert {name for name in found if ".".join(name.split(".")[:3]) not in kept} == set()
    assert not any(name.startswith("numpy.random") for name in imports(path))


@pytest.mark.parametrize("path", [*VIEWS, *UI, *EXPORT, *PAGE_FILES], ids=named)
def test_only_the_core_draws_random_numbers(path):
    nodes = list(ast.walk(tree(path)))
    assert not any(dotted(node).startswith(("np.random", "numpy.random")) for node in nodes)
    assert not any("default_rng" in (getattr(n, "id", ""), getattr(n, "attr", "")) for n in nodes)


@pytest.mark.parametrize("path", PAGE_FILES, ids=named)
def test_pages_leave_the_address_to_the_ui_and_stay_short(path):
    assert not any("query_params" in getattr(node, "attr", "") for node in ast.walk(tree(path)))
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 100


def test_the_router_stays_short():
    assert len((ROOT / "app.py").read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.parametrize(
    "statement",
    [
        "import sdpa",
        "import sdpa.attention, sdpa.jacobian, sdpa.statistics, sdpa.formats, sdpa.parameters",
    ],
)
def test_the_core_alone_loads_no_streamlit_plotly_or_pandas(statement):
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in json.loads(ran.stdout)}
    assert "sdpa" in loaded
    assert loaded & {"streamlit", "plotly", "pandas"} == set()


def test_views_load_no_streamlit():
    code = "import sdpa.views, sys\nprint('streamlit' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "False"


# --- the page table ---


def test_the_page_table_and_the_folder_name_the_same_pages():
    assert sorted(page.file for page in PAGES) == [f"pages/{path.name}" for path in PAGE_FILES]


def test_addresses_and_menu_titles_of_pages_are_their_own():
    assert len({page.url_path for page in PAGES}) == len({page.menu for page in PAGES})
    assert len({page.url_path for page in PAGES}) == len(PAGES)
    assert PAGES[0].url_path == ""
    assert all(re.fullmatch(r"[a-z-]*", page.url_path) for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.file)
def test_a_page_begins_under_the_address_that_the_table_gives_it(page):
    calls = [node for node in ast.walk(tree(ROOT / page.file)) if isinstance(node, ast.Call)]
    begun = [call.args[0].value for call in calls if getattr(call.func, "id", "") == "begin"]
    assert begun == [page.url_path]


# --- colours ---


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_palette_is_the_theme_s(theme):
    ours, theirs = THEMES[theme], CONFIG["theme"][theme]
    assert [ours[name] for name in CATEGORICAL] == theirs["chartCategoricalColors"][:6]
    assert {
        "scaled": theirs["primaryColor"],
        "ink": theirs["textColor"],
        "paper": theirs["backgroundColor"],
        "panel": theirs["secondaryBackgroundColor"],
        "line": theirs["borderColor"],
        "sequential": theirs["chartSequentialColors"],
        "diverging": theirs["chartDivergingColors"],
    }.items() <= ours.items()


def test_the_palette_names_scaled_first_and_both_themes_have_the_same_names():
    assert CATEGORICAL == ("scaled", "unscaled", "third", "fourth", "fifth", "sixth")
    assert LIGHT.keys() == DARK.keys()
    assert THEMES == {"light": LIGHT, "dark": DARK}


def luminance(colour):
    """Relative luminance, WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_21_from_black_to_white_and_4_54_from_the_usual_grey():
    # WCAG 2.2, success criterion 1.4.3: #767676 is the lightest grey that passes on white.
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#FFFFFF", "#767676") == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["ink", *CATEGORICAL])
def test_what_is_written_or_drawn_stands_out_from_the_paper(theme, name):
    assert contrast(THEMES[theme][name], THEMES[theme]["paper"]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_panels_too(theme):
    assert contrast(THEMES[theme]["ink"], THEMES[theme]["panel"]) >= 4.5


# --- what is sent to the browser, and what is published ---


def test_the_browser_s_plotly_is_the_one_that_python_draws_with():
    with PLOTLY_JS.open(encoding="utf-8") as file:
        header = file.read(300)
    version = re.search(r"plotly\.js \(.*\) v(\d+\.\d+\.\d+)", header)
    assert version, header
    assert version[1] == plotly.offline.get_plotlyjs_version()
    assert "MIT" in header
    assert "MIT" in (ROOT / "static" / "plotly-LICENSE.txt").read_text(encoding="utf-8")


LOADED = [
    *(path for path in sorted((ROOT / "static").glob("*.js")) if path != PLOTLY_JS),
    *sorted((ROOT / "assets").glob("*.css")),
    *sorted((ROOT / "sdpa" / "export").glob("page.*s")),
]


@pytest.mark.parametrize("path", LOADED, ids=named)
def test_what_the_browser_loads_asks_no_other_host(path):
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\s'\"`)]*", text) == []
    assert re.findall(r"""(?:url\(|import\s|src\s*=\s*)\s*['"]?//""", text) == []


def published():
    kinds = {".py", ".md", ".js", ".toml", ".css", ".txt"}
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden = any(part.startswith((".", "_")) and part != ".streamlit" for part in parts[:-1])
        if path.suffix in kinds and not hidden and not {"venv", "node_modules"} & set(parts):
            yield path


def test_files_name_no_package_registry_and_no_path_of_one_machine():
    # In pieces, so that this file does not name them either.
    hosts = [
        "pypi" + r"\.org",
        "python" + r"hosted\.org",
        "npm" + r"js\.(?:org|com)",
        "crates" + r"\.io",
    ]
    folders = ["work", "tmp", "root", "home", "Users"]
    pattern = re.compile("|".join(hosts) + rf"|(?<![\w.)\]}}<])/(?:{'|'.join(folders)})\b(?![.-])")
    files = list(published())
    assert len(files) > 30
    found = {}
    for path in files:
        hits = set(pattern.findall(path.read_text(encoding="utf-8")))
        if hits:
            found[named(path)] = hits
    assert found == {}
