"""The testbed `own-rag`: a system answers from its own corpus, of which ragbed makes variants.

The variants are folders of documents. In `withheld`, the questions are divided among several folders, each of which
lacks the evidence for its own questions, so every question is asked exactly once without its evidence and no folder is
empty. `noisy` adds copies of the evidence without the sentences that state answers, and `false` adds edited copies that
state a false answer, or replaces the evidence by them. `injected` has a folder for each kind of instruction, in
which the evidence for a share of the questions contains such an instruction.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from msgspec import Struct

from ragbed.data import Dataset
from ragbed.data.corpus import Named, passage_id
from ragbed.data.evidence import DocumentNames, find_sentence, fold, replace_answer, states
from ragbed.errors import UnknownName, UsageError, option
from ragbed.schema import (
    Answer,
    Case,
    Expectation,
    Injection,
    Item,
    Lang,
    Message,
    Passage,
    Retrieved,
    ScoreName,
    Stance,
)
from ragbed.testbeds.cases import count_parts, make_case, selected_items
from ragbed.testbeds.document_order import digest
from ragbed.testbeds.prompts.injection import KINDS, insert_at, make_canary, write_instruction
from ragbed.testbeds.settings import CLEAN, DEFAULT_DOCS, Settings, parse_ratio, show_ratio
from ragbed.text import mentions_answer, split_sentences, to_terms

NAME = "own-rag"
NOISY, FALSE, WITHHELD, INJECTED = "noisy", "false", "withheld", "injected"
VARIANTS = (CLEAN, NOISY, FALSE, WITHHELD, INJECTED)
_FOLDS = 5  # number of folders for `withheld`; a folder lacks about a fifth of the evidence
_OVERLAP = 0.6  # a text with at least this share of the words of the evidence's sentence contains the sentence
_MAX_COPIES = 9  # maximum number of edited copies per document
_WRITING = threading.Lock()  # held while a variant is written to a folder
_MAX_PATH = 4_096  # maximum length of a path
_MAX_NAME = 80  # maximum length of the stored ID of a text from outside the corpus


class CorpusCondition(Struct, frozen=True):
    """A condition of the testbed.

    Attributes:
        kind: clean, withheld, noisy, false or injected.
        share: For `false`, the share of edited copies in the evidence; 1 if they replace it.
    """

    kind: str
    share: Fraction = Fraction(1, 2)

    @property
    def name(self) -> str:
        """Its name in case names and tables."""
        return self.kind if self.share == Fraction(1, 2) else f"{self.kind}={show_ratio(self.share)}"

    @property
    def expect(self) -> Expectation:
        """The expected behaviour."""
        return "refuse" if self.kind == WITHHELD else "correct" if self.kind == FALSE else "answer"


def parse_corpus(text: str) -> CorpusCondition:
    """Parse one value of `corpus`, e.g. `withheld` or `false=0.75`.

    Raises:
        UsageError: The name is unknown, or the share is 0 or not a ratio.
    """
    kind, equals, share = text.partition("=")
    if kind not in VARIANTS or (equals and kind != FALSE):
        raise UnknownName("corpus", text, (*VARIANTS, "false=SHARE"))
    if not equals:
        return CorpusCondition(kind)
    ratio = parse_ratio(share, "corpus")
    if not ratio:
        raise UsageError(
            f"{option('corpus', text)} has no edited copies. Use {option('corpus', CLEAN)}, or a share above 0."
        )
    return CorpusCondition(kind, ratio)


def read_conditions(settings: Settings) -> list[CorpusCondition]:
    """Return the conditions that the settings select."""
    return [parse_corpus(text) for text in settings.corpora]


class _Evidence(NamedTuple):
    """A statement of an answer, by which texts that contain it are recognised."""

    document: str
    stance: Stance
    part: int | None
    slots: Answer  # the required parts of the answer that it states, with their forms
    terms: frozenset[str]  # words of its sentences


class RagCorpora:
    """The documents of a dataset, the evidence in them, and the variants for the conditions.

    Args:
        dataset: The dataset. Its documents are those of its folder if it has one, otherwise its passages.
        settings: The settings, which select the conditions and the items.
    """

    def __init__(self, dataset: Dataset, settings: Settings) -> None:
        self.data, self.source = dataset.name, dataset.folder
        self.items = {item.id: item for item in dataset.items()}
        self.asked = [item.id for item in selected_items(dataset, settings)]
        self.documents: dict[str, str] = {}
        if dataset.folder is not None:
            self.documents = {document.name: document.text for document in dataset.folder.documents}
        else:
            kept = (passage for item in self.items.values() for passage in item.passages)
            self.documents = {_file_of(passage): passage.text for passage in kept if passage.stance != "contradicts"}
        self._names = DocumentNames(self.documents)
        alike: dict[str, list[Item]] = defaultdict(list)
        for item in self.items.values():
            alike[item.event or item.question].append(item)
        self.evidence = {name: self._find_evidence(self.items[name], alike) for name in self.asked}
        self._fold_of: dict[str, str] = {}
        self._seed = settings.seed
        self.variants = {
            variant.name: variant
            for condition in read_conditions(settings)
            for variant in self._make_variants(condition)
        }

    def _find_evidence(self, item: Item, alike: Mapping[str, Sequence[Item]]) -> tuple[_Evidence, ...]:
        """Return the statements of an item's answers, then those in other items about the same event."""
        found = []
        for other in sorted(alike[item.event or item.question], key=lambda other: other.id != item.id):
            for passage in other.passages:
                answer = item.answer if passage.stance == "supports" else item.fake or ()
                is_own = other.id == item.id
                slots = tuple(forms for forms in answer if states(fold(passage.text), forms, item.lang))
                if passage.stance == "distracts" or not (slots or is_own):
                    continue
                document = self._document_of(passage)
                if document is not None:
                    slots = slots or answer[:1]
                    part = passage.part if is_own else None
                    terms = _terms_around(passage, slots, item.lang)
                    found.append(_Evidence(document, passage.stance, part, slots, terms))
        return tuple(found)

    def _document_of(self, passage: Passage) -> str | None:
        """Return the document that contains a passage; an edited passage belongs to the document it was made from."""
        if self.source is None or passage.url is None:
            name = _file_of(passage)
            return name if name in self.documents or passage.stance == "contradicts" else None
        names = self._names.find(passage.url)
        return names[0] if len(names) == 1 else None

    # Variants

    def _make_variants(self, condition: CorpusCondition) -> list[RagVariant]:
        if condition.kind == CLEAN:
            return [RagVariant(self, CLEAN)]
        if condition.kind == NOISY:
            return [RagVariant(self, NOISY, added=dict(self._noise()))]
        if condition.kind == WITHHELD:
            return self._make_folds()
        if condition.kind == INJECTED:
            variants = [self._inject(number) for number in range(len(KINDS))]
            return [variant for variant in variants if variant.injections]
        edited = dict(self._edits(condition.share))
        if not edited:
            raise UsageError(
                f"{option('corpus', FALSE)}: no question of {self.data} with evidence has a false answer. Add the "
                "column `false_answer` to the questions, or choose another corpus."
            )
        removed = {name for name, _ in self._originals()} if condition.share == 1 else set()
        return [RagVariant(self, condition.name, frozenset(removed), edited)]

    def _make_folds(self) -> list[RagVariant]:
        """Assign each question to a fold, in file order, so that every fold keeps some of the documents."""
        removed: list[set[str]] = []
        for name in self.asked:
            own = {one.document for one in self.evidence[name]} & self.documents.keys()
            if not own or len(own) == len(self.documents):
                continue  # nothing to withhold, or nothing would be left
            same = (fold for fold, without in enumerate(removed) if own <= without)
            fold = next(same, None)
            if fold is None:
                open_folds = [fold for fold, without in enumerate(removed) if len(own | without) < len(self.documents)]
                if len(removed) < min(_FOLDS, len(self.documents)) or not open_folds:
                    removed.append(set())
                    fold = len(removed) - 1
                else:
                    fold = min(open_folds, key=lambda one: (len(removed[one]), one))
                removed[fold] |= own
            self._fold_of[name] = f"{WITHHELD}-{fold + 1}"
        return [
            RagVariant(self, f"{WITHHELD}-{number}", frozenset(without)) for number, without in enumerate(removed, 1)
        ]

    def _inject(self, number: int) -> RagVariant:
        """Return a variant in which the evidence for every fourth question contains an instruction.

        All of its instructions have the same canary, because a system may also retrieve the evidence for other
        questions. An instruction follows the evidence, so that both are probably in the same passage.
        """
        kind = KINDS[number]
        canary = make_canary(digest(self._seed, INJECTED, kind), self.documents.values())
        texts: dict[str, str] = {}
        removed: set[str] = set()
        found: dict[str, Injection] = {}
        documented = [
            name
            for name in self.asked
            if any(one.stance == "supports" and one.document in self.documents for one in self.evidence[name])
        ]
        for name in documented[number :: len(KINDS)]:
            lang = self.items[name].lang
            for one in self.evidence[name]:
                text = self.documents.get(one.document)
                if one.stance != "supports" or text is None:
                    continue
                injection = write_instruction(kind, lang, digest(self._seed, kind, text), canary)
                copy = one.document if _is_plain(one.document) else _copy_name(one.document, INJECTED)
                if copy not in texts:
                    start, end = max(
                        split_sentences(text), key=lambda span: _overlap(one.terms, fold(text[slice(*span)]))
                    )
                    texts[copy] = insert_at(text, injection.text, lang, start + len(text[start:end].rstrip()))
                    removed |= {one.document} - {copy}
                found.setdefault(name, injection)
        return RagVariant(self, f"{INJECTED}-{kind}", frozenset(removed), texts, found)

    def _noise(self) -> Iterator[tuple[str, str]]:
        """Yield copies of the documents with evidence without the sentences that state an answer."""
        answers: dict[str, list[tuple[Answer, Lang]]] = defaultdict(list)
        for name in self.asked:
            for one in self.evidence[name]:
                if one.stance == "supports":
                    answers[one.document].append((one.slots, self.items[name].lang))
        for document, stated in answers.items():
            text = self.documents[document]
            kept = "".join(
                text[start:end]
                for start, end in split_sentences(text)
                if not any(states(fold(text[start:end]), forms, lang) for slots, lang in stated for forms in slots)
            ).strip()
            if kept and not any(mentions_answer(kept, slots) for slots, _ in stated):
                yield _copy_name(document, NOISY), kept

    def _originals(self) -> Iterator[tuple[str, list[Item]]]:
        """Yield the documents with evidence for questions that have a false answer."""
        items: dict[str, list[Item]] = defaultdict(list)
        for name in self.asked:
            for document in {one.document for one in self.evidence[name] if one.stance == "supports"}:
                if self.items[name].fake:
                    items[document].append(self.items[name])
        yield from items.items()

    def _edits(self, share: Fraction) -> Iterator[tuple[str, str]]:
        """Yield edited copies: as many per document as the share requires, or one if they replace the evidence."""
        copies = 1 if share == 1 else min(_MAX_COPIES, max(1, round(share / (1 - share))))
        for document, items in self._originals():
            text = self.documents[document]
            for item in items:
                text = self._edit(document, text, item)
            if text != self.documents[document]:
                for number in range(copies):
                    yield _copy_name(document, f"{FALSE}-{number + 1}" if copies > 1 else FALSE), text

    def _edit(self, document: str, text: str, item: Item) -> str:
        """Return a text in which the sentences that state an item's answer state the false one."""
        for passage in item.passages if self.source is None else ():
            if passage.edit_of is not None and _file_of(item.passages[passage.edit_of]) == document:
                return passage.text
        own = frozenset().union(*(one.terms for one in self.evidence[item.id] if one.document == document))
        parts = []
        for start, end in split_sentences(text):
            sentence = text[start:end]
            is_evidence = _overlap(own, fold(sentence)) >= _OVERLAP / 2
            parts.append(replace_answer(sentence, item.answer, item.fake or (), item.lang) if is_evidence else sentence)
        return "".join(parts)

    def variant_of(self, condition: CorpusCondition, item: str) -> str | None:
        """Return the variant in which an item is asked under a condition, or None if the condition does not apply."""
        if condition.kind == CLEAN:
            return CLEAN
        if not self.evidence[item] or (condition.kind == FALSE and not self.items[item].fake):
            return None
        if condition.kind == INJECTED:
            own = (one.name for one in self.variants.values() if item in one.injections)
            return next(own, None)
        return self._fold_of.get(item) if condition.kind == WITHHELD else condition.name


@dataclass(eq=False)
class RagVariant:
    """A variant of the documents, as a folder and as labels for the passages that a system returns.

    Attributes:
        corpora: The documents and the evidence.
        name: Its name in requests, e.g. `withheld-2`.
        removed: Names of documents that it lacks.
        added: Texts of documents that it has in addition or in place of others with the same names, by name.
        injections: The instructions in the evidence for questions, by item.
    """

    corpora: RagCorpora
    name: str
    removed: frozenset[str] = frozenset()
    added: Mapping[str, str] = field(default_factory=dict)
    injections: Mapping[str, Injection] = field(default_factory=dict)
    _folder: Path | None = field(default=None, init=False)

    def __getstate__(self) -> dict[str, object]:
        return vars(self) | {"_folder": None}  # another process writes its own folder

    @cached_property
    def texts(self) -> dict[str, str]:
        """The documents by name."""
        kept = {name: text for name, text in self.corpora.documents.items() if name not in self.removed}
        return kept | dict(self.added)

    def relevant(self, item: str) -> int:
        """Return the number of documents that state an item's answer."""
        found = {one.document for one in self.corpora.evidence[item] if one.stance == "supports"}
        return len(found if self.injections else found - self.removed)  # an instruction leaves the evidence as it is

    def folder(self) -> Path:
        """Return the folder with the documents, which is written on the first call and deleted with this object."""
        with _WRITING:
            source = self.corpora.source
            if self._folder is None and self.name == CLEAN and source is not None:
                self._folder = source.path
            if self._folder is None:
                root = Path(tempfile.mkdtemp(prefix="ragbed-"))
                weakref.finalize(self, shutil.rmtree, root, ignore_errors=True)
                self.write(root / self.name)
                self._folder = root / self.name
            return self._folder

    def write(self, folder: Path) -> int:
        """Write the documents to a folder, and return their number. Unchanged files are copied with their format."""
        source = self.corpora.source
        for name, text in self.texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if source is not None and name not in self.added:
                shutil.copyfile(source.path / name, path)
            else:
                path.write_text(text, "utf-8", "surrogatepass")
        return len(self.texts)

    def resolve(self, named: Named, case: Case) -> Retrieved:
        """Return a passage that a system returned with its label for a case's question.

        A passage without a text is a document, named by its path in the folder. A text supports the answer if it
        contains the statement of the answer, also if the system has split the document elsewhere.
        """
        name = self._find_document(named.id)
        is_name_only = named.text is None or named.text == named.id
        text = self.texts[name] if name is not None and is_name_only else named.text or ""
        shown = name or (named.id or text)[:_MAX_NAME]
        if named.text is None and name is None:
            return Retrieved(id=shown)
        folded = fold(text)
        for stance in ("supports", "contradicts"):
            for one in self.corpora.evidence.get(case.item, ()):
                is_stated = one.stance == stance and all(states(folded, forms, case.lang) for forms in one.slots)
                if is_stated and _overlap(one.terms, folded) >= _OVERLAP:
                    return Retrieved(id=shown, stance=stance, part=one.part, text=text)
        return Retrieved(id=shown, stance="distracts", text=text)

    def _find_document(self, name: str | None) -> str | None:
        """Return the document with a path that a system returned, which may be absolute or only a file name."""
        if not name or len(name) > _MAX_PATH or "\n" in name:
            return None
        inside = name if self._folder is None else name.replace("\\", "/").removeprefix(f"{self._folder.as_posix()}/")
        found = self._names.find(inside)
        return found[0] if len(found) == 1 else None

    @cached_property
    def _names(self) -> DocumentNames:
        return DocumentNames(self.texts)


class OwnRag(Struct, frozen=True):
    """The testbed `own-rag`."""

    name: str = NAME
    headline: ScoreName = "correct"
    secondary: tuple[ScoreName, ...] = ()

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yield one case per condition and item to which the condition applies."""
        corpora = open_rag(dataset, settings)
        (docs, *_) = settings.num_docs or (DEFAULT_DOCS,)
        for condition in read_conditions(settings):
            for name in corpora.asked:
                variant = corpora.variant_of(condition, name)
                if variant is not None:
                    item = corpora.items[name]
                    yield make_case(
                        dataset.name,
                        item,
                        settings,
                        NAME,
                        f"k={docs},arm={condition.name}",
                        (Message(role="user", content=item.question),),
                        k=docs,
                        arm=condition.name,
                        expect=condition.expect,
                        corpus=variant,
                        relevant=corpora.variants[variant].relevant(name),
                        parts=count_parts(item),
                        injection=corpora.variants[variant].injections.get(name),
                    )


def open_rag(dataset: Dataset, settings: Settings) -> RagCorpora:
    """Return the documents and variants of a dataset, which are the same objects if they were needed before."""
    used = Settings(corpora=settings.corpora, limit=settings.limit, langs=settings.langs, seed=settings.seed)
    return _open_rag(dataset, dataset.sha256(), used)


@lru_cache(maxsize=4)
def _open_rag(dataset: Dataset, _sha256: str, settings: Settings) -> RagCorpora:
    return RagCorpora(dataset, settings)


def open_corpora(
    datasets: Iterable[Dataset], testbeds: Iterable[object], settings: Settings
) -> dict[tuple[str, str], RagVariant]:
    """Return the variants of the datasets' documents, by dataset name and variant name, if a testbed needs them."""
    if not any(isinstance(testbed, OwnRag) for testbed in testbeds):
        return {}
    corpora = [open_rag(dataset, settings) for dataset in datasets]
    return {(one.data, variant.name): variant for one in corpora for variant in one.variants.values()}


def _file_of(passage: Passage) -> str:
    """Return the file name for a passage of a dataset without a folder, which does not reveal its item."""
    return f"{passage_id(passage.text)}.txt"


def _is_plain(document: str) -> bool:
    return PurePosixPath(document).suffix.lower() in (".md", ".markdown", ".txt")


def _copy_name(document: str, kind: str) -> str:
    """Return the name of a changed copy, which is a text file beside the original."""
    path = PurePosixPath(document)
    suffix = path.suffix if _is_plain(document) else ".txt"
    mark = hashlib.sha256(f"{kind} {document}".encode("utf-8", "surrogatepass")).hexdigest()[:4]
    # Of two equal passages, many systems return the one whose file comes first, so half of the copies come first.
    joint = "-" if mark < "8" else "_"
    return str(path.with_name(f"{path.stem}{joint}{mark}{suffix}"))


def _terms_around(passage: Passage, slots: Sequence[Sequence[str]], lang: Lang) -> frozenset[str]:
    """Return the words of the sentences that state the given parts of an answer."""
    spans = [passage.support] if passage.support else [find_sentence(passage.text, forms, lang) for forms in slots]
    texts = [passage.text[span[0] : span[1]] for span in spans if span is not None] or [passage.text]
    return frozenset(term for text in texts for term in to_terms(fold(text)))


def _overlap(terms: frozenset[str], folded: str) -> float:
    """Return the share of words that a text contains."""
    if not terms:
        return 1.0
    found = set(to_terms(folded))
    return sum(term in found for term in terms) / len(terms)


OWN_RAG = OwnRag()
