"""Choose testbeds for a user's settings and generate their cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from ragbed.data import Dataset, kind_of
from ragbed.errors import UsageError, option
from ragbed.schema import Case, Kind
from ragbed.testbeds import DEFAULT_TESTBEDS, TESTBEDS, Testbed, find_testbed
from ragbed.testbeds.ability import Ability, fit_defaults
from ragbed.testbeds.cases import selected_items
from ragbed.testbeds.conflict import CONFLICT
from ragbed.testbeds.given import GIVEN, Given
from ragbed.testbeds.own_rag import OwnRag
from ragbed.testbeds.settings import DEFAULT_DOCS, Settings, show_ratio
from ragbed.text import squeezed

# Name suffixes of the bundled datasets, keyed by item kind.
_MINI = {"base": "base", "integration": "int", "counterfactual": "fact"}


# Options that select documents, which has no effect on given ones.
_SELECTING = ("noise", "num_docs", "supporting")


def choose_testbeds(names: Sequence[str] | None, settings: Settings) -> list[Testbed]:
    """Return the named testbeds, or the default testbeds that support the noise ratios and distractors in the settings.

    `conflict` includes `closed-book`, which measures the model's answers without documents.
    """
    needed = ["closed-book"] if names and CONFLICT.name in names else []
    chosen = [find_testbed(name) for name in dict.fromkeys((*(names or DEFAULT_TESTBEDS), *needed))]
    abilities = {testbed.name: testbed for testbed in chosen if isinstance(testbed, Ability)}
    if settings.noise and not abilities:
        shown = ",".join(testbed.name for testbed in chosen)
        raise UsageError(
            f"{option('testbeds', shown)} does not use {option('noise')}. Remove {option('noise')}, or choose another "
            "testbed."
        )
    for noise in settings.noise or ():
        if not any(ability.allows(noise, settings.original is not None) for ability in abilities.values()):
            raise UsageError(
                f"{option('noise', show_ratio(noise))}: {_allowed_noise(abilities)}. Choose another ratio or testbed."
            )
    if len(settings.num_docs or ()) > 1 and any(isinstance(testbed, OwnRag) for testbed in chosen):
        raise UsageError(f"the own-rag testbed accepts only one value for {option('num_docs')}. Use a single value.")
    unused = {name: ability for name, ability in abilities.items() if not ability.conditions(settings)}
    if names and unused:
        first = next(iter(unused))
        if set(settings.distractors) == {"fixed"}:
            raise UsageError(
                f"{option('testbeds', first)}: {option('distractors', 'fixed')} applies only to the noise testbed. Add "
                "'related' to "
                f"{option('distractors')}."
            )
        fix = "noise" if settings.supporting is None else "supporting"
        raise UsageError(
            f"{option('testbeds', first)}: {_allowed_noise(unused)}. Change {option(fix)} or {option('testbeds')}."
        )
    return [testbed for testbed in chosen if testbed.name not in unused]


def stored_options(settings: Settings, testbeds: Sequence[Testbed]) -> dict[str, str]:
    """Return all settings that affect the testbeds' cases, keyed by the names under which a run stores them."""
    has_other_default = any(isinstance(testbed, Ability) and testbed.docs != (DEFAULT_DOCS,) for testbed in testbeds)
    is_default = settings.num_docs is None and has_other_default
    corpora = {"corpus": ",".join(settings.corpora)} if any(isinstance(one, OwnRag) for one in testbeds) else {}
    return settings.as_options() | ({"docs": "default"} if is_default else {}) | corpora


def generate_cases(
    datasets: Sequence[Dataset],
    testbeds: Sequence[Testbed],
    settings: Settings,
    *,
    named: bool,
    strategies: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Case]:
    """Yield the cases for the datasets; cases with documents are repeated for every prompting strategy.

    Each dataset is evaluated with the testbeds for which it has items. If the user specified the testbeds (`named`),
    `tell` is called with a message for each testbed for which a dataset has no items.

    Raises:
        UsageError: A dataset has no item for any testbed, or no dataset has an item for a named testbed.
    """
    unused: list[tuple[Dataset, list[Testbed]]] = []
    abilities = [testbed for testbed in testbeds if isinstance(testbed, Ability)]
    for dataset in datasets:
        fitted, without = fit_defaults(dataset, abilities, settings)
        if fitted.replaced:
            tell(_describe_replaced(dataset, fitted))
        suited = [testbed for testbed in testbeds if testbed not in without]
        repeated = _find_repeated_questions(dataset, settings)
        used: set[str] = set()
        for case in _dataset_cases(dataset, suited, fitted, strategies):
            used.add(case.testbed)
            question = squeezed(case.question) if repeated and case.event is None else ""
            # Items that ask the same question are not independent, so they are one cluster in all intervals.
            yield structs.replace(case, event=f"question {question}") if question in repeated else case
        unused.append((dataset, [testbed for testbed in testbeds if testbed.name not in used]))
        if not used:
            raise UsageError(_describe_lack([dataset], testbeds if named else (), settings))
        if GIVEN.name in used and (unable := [name for name in _SELECTING if getattr(settings, name) is not None]):
            tell(f"{', '.join(map(option, unable))}: no effect on {dataset.name}, whose documents are fixed.")
    for testbed in testbeds if named else ():
        lacking = [dataset for dataset, without in unused if testbed in without]
        if len(lacking) == len(unused):
            raise UsageError(_describe_lack(lacking, [testbed], settings))
        for dataset in lacking:
            tell(f"Skipped {testbed.name} for {dataset.name}, which has no {_item_kinds([testbed])}{_where(settings)}.")


def _find_repeated_questions(dataset: Dataset, settings: Settings) -> set[str]:
    """Return the questions that several items ask, ignoring case and white space."""
    seen: set[int] = set()
    repeated: set[str] = set()
    for item in selected_items(dataset, settings, given=None):
        question = squeezed(item.question)
        key = hash(question)
        if key in seen:
            repeated.add(question)
        seen.add(key)
    return repeated


def _dataset_cases(
    dataset: Dataset, testbeds: Sequence[Testbed], settings: Settings, strategies: Sequence[str]
) -> Iterator[Case]:
    """Yield the cases for one dataset."""
    for testbed in testbeds:
        yield from testbed.cases(dataset, settings)
    for strategy in strategies:
        for testbed in testbeds:
            if isinstance(testbed, Ability | Given):
                yield from testbed.cases(dataset, replace(settings, strategy=strategy))


def _describe_replaced(dataset: Dataset, settings: Settings) -> str:
    replaced = []
    for testbed, conditions in settings.replaced.items():
        mixes = (f"{condition.docs} ({condition.distracting} distracting)" for condition in conditions)
        replaced.append(f"{testbed} {', '.join(mixes)}")
    return (
        f"{dataset.name} has too few documents for the default conditions. Instead, these numbers of documents per "
        f"question are used: {'; '.join(replaced)}. Set others with {option('num_docs')} and {option('noise')}."
    )


def _describe_lack(datasets: Sequence[Dataset], named: Sequence[Testbed], settings: Settings) -> str:
    have = f"{', '.join(dataset.name for dataset in datasets)} {'has' if len(datasets) == 1 else 'have'}"
    start = f"{option('testbeds', ','.join(testbed.name for testbed in named))}: " if named else ""
    kinds = _item_kinds(named) if named else "item for these testbeds"
    limit = "" if settings.limit is None else f", {option('limit')}"
    return (
        f"{start}{have} no {kinds}{_where(settings)}. {_describe_supply(datasets)} Change {option('testbeds')}{limit} "
        "or "
        f"{option('lang')}, or use another dataset{_example(datasets[0], named, settings)}."
    )


def _example(dataset: Dataset, named: Sequence[Testbed], settings: Settings) -> str:
    """Return a hint that names a bundled dataset for the first testbed and the given dataset's language."""
    kinds = [kind for testbed in named if (kind := getattr(testbed, "takes", None)) is not None]
    found = {item.lang for item in dataset.items()}
    lang = next((lang for lang in settings.langs if lang in found), settings.langs[0])
    return f", e.g. ragbed-mini-{lang}_{_MINI[kinds[0]]}" if kinds and kinds[0] in _MINI else ""


def _describe_supply(datasets: Sequence[Dataset]) -> str:
    """Describe the kinds of items that the datasets have, and the testbeds that can use them."""
    found = Counter((kind_of(item), item.lang) for dataset in datasets for item in dataset.items())
    items = ", ".join(f"{count:,} {kind} item{'s' * (count > 1)} in {lang}" for (kind, lang), count in found.items())
    kinds: set[Kind | None] = {kind for kind, _ in found}
    # None represents the closed-book testbed, which accepts every kind except items with given documents.
    kinds |= {None} if kinds != {"given"} else set()
    fitting = [name for name in DEFAULT_TESTBEDS if getattr(TESTBEDS[name], "takes", None) in kinds]
    fixed = " The documents of given items are fixed, so none can be selected." if "given" in kinds else ""
    return f"Found: {items} (testbeds {', '.join(fitting)}).{fixed}"


def _item_kinds(testbeds: Sequence[Testbed]) -> str:
    kinds = (getattr(testbed, "takes", None) for testbed in testbeds)
    return " or ".join(dict.fromkeys(f"{kind} item" if kind else "item with passages to select from" for kind in kinds))


def _where(settings: Settings) -> str:
    langs = f" in {' or '.join(settings.langs)}"
    return langs if settings.limit is None else f"{langs} among the first {settings.limit}"


def _allowed_noise(abilities: Mapping[str, Ability]) -> str:
    return "; ".join(f"{name} accepts {ability.accepted_noise}" for name, ability in abilities.items())
