"""Measure the evaluation of own RAG systems: located evidence, causes of wrong answers, and speed.

    python -m benches own_rag

A system for 40 documents of an invented company answers 60 questions. Its retriever is real; its reader is simulated
and knows the answers, so the true cause of each wrong answer is known. Six versions of the system are each broken in
one way. Exit code 1 if a figure misses its target.
"""

from __future__ import annotations

import csv
import math
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ragbed
from benches import ROOT, check_figure
from ragbed.analysis.causes import describe_causes, read_causes
from ragbed.builder.folder import read_folder
from ragbed.data.questions_file import read_questions
from ragbed.retrieval.evidence import find_evidence

DATA = ROOT / "benches" / "own_rag_data"
DOCS = DATA / "handbook"
CONDITIONS = "clean,withheld,noisy,false"
RETRIEVED, READ = 8, 4  # numbers of passages that the system retrieves and puts into its prompt
REFUSALS = ("The documents do not contain this information.", "I could not find this in the handbook, sorry.")
# Each broken version, and the cause that the first sentence must name.
VERSIONS = {
    "wrong documents": "not-retrieved",
    "truncated contexts": "ranked-too-low",
    "always answers": "answered-without-evidence",
    "always refuses": "refused-despite-evidence",
    "ignores documents": "not-used",
    "believes every document": "contradicted",
}


class Fact(NamedTuple):
    """A question with its answers and the file that states the true one."""

    question: str
    answer: str
    false: str
    file: str


class Chunk(NamedTuple):
    """A section of a file."""

    file: str
    text: str


def main() -> int:
    """Measure all figures."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        passed = [measure_evidence(), *measure_causes(read_facts(), folder), *measure_speed(folder)]
    return int(not all(passed))


def read_facts() -> dict[str, Fact]:
    """Return the facts by question."""
    with (DATA / "qa.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        row["question"]: Fact(
            row["question"], row["answer"].split("|")[0], row["false_answer"], row["source"].partition("#")[0]
        )
        for row in rows
    }


def measure_evidence() -> bool:
    """Locate the evidence without `source`, and count the questions for which it is right."""
    rows = read_questions(DATA / "qa.csv")
    documents, _ = read_folder(DOCS)
    right = wrong = 0
    items, _ = find_evidence([row._replace(source="") for row in rows], documents)
    for row, item in zip(rows, items, strict=True):
        if item.passages:
            is_right = item.passages[0].url == row.source.partition("#")[0]
            right, wrong = right + is_right, wrong + (not is_right)
    print(f"evidence located without `source`: {right} of {len(rows)}, {wrong} wrong, the others listed as not found")
    return check_figure("questions without located evidence", 100 * (1 - right / len(rows)), 5, "%")


def measure_causes(facts: dict[str, Fact], folder: Path) -> list[bool]:
    """Evaluate the system and its broken versions, and compare the causes with the true ones."""
    named, agreed, total = 0, 0, 0
    for version in ("", *VERSIONS):
        truth: dict[tuple[str, str], str] = {}
        run = ragbed.run(
            ragbed.system(factory=make_factory(version, facts, truth), name=version.replace(" ", "-") or "good"),
            DATA / "qa.csv",
            docs=DOCS,
            corpus=CONDITIONS,
            out=folder / (version or "good"),
            progress=False,
        )
        (summary,) = read_causes(run.folder)
        print(f"{version or 'good'}: {describe_causes(summary)}")
        for trial in run.trials():
            if "cause" in trial["scores"]:
                total += 1
                agreed += trial["scores"]["cause"] == truth.get((trial["corpus"], trial["question"]))
        named += bool(version) and summary.causes[0].name == VERSIONS[version]
    print(f"first sentence names the cause: {named} of {len(VERSIONS)}; causes that agree: {agreed} of {total}")
    return [
        check_figure("broken versions whose cause is not named", len(VERSIONS) - named, 0, ""),
        check_figure("wrong causes", 100 * (1 - agreed / max(1, total)), 10, "%"),
    ]


def make_factory(
    version: str, facts: dict[str, Fact], truth: dict[tuple[str, str], str]
) -> Callable[[Path], Callable[..., Any]]:
    """Return the factory of a version, which notes the true cause of each wrong answer."""
    originals = {fact.file for fact in facts.values()}

    def make(folder: Path) -> Callable[..., Any]:
        search = make_retriever(folder)

        def answer(case: ragbed.SystemCase) -> dict[str, object]:
            fact = facts[case.question]
            found = search("zebra xylophone" if version == "wrong documents" else case.question)
            contexts = found[:READ]
            if version == "truncated contexts":
                contexts = [Chunk(chunk.file, chunk.text[:45]) for chunk in contexts]
            reply, cause = respond(version, fact, found, contexts, originals)
            if cause:
                truth[case.corpus or "", case.question] = cause
            return {
                "answer": reply,
                "retrieved": [chunk.text for chunk in found],
                "contexts": [chunk.text for chunk in contexts],
            }

        return answer

    return make


def respond(  # noqa: PLR0911 - one return for each kind of answer
    version: str, fact: Fact, found: list[Chunk], contexts: list[Chunk], originals: set[str]
) -> tuple[str, str | None]:
    """Return the simulated reader's answer and, if it is wrong, the true cause."""

    def states(chunks: list[Chunk], text: str) -> list[Chunk]:
        return [chunk for chunk in chunks if text in chunk.text and stem(chunk.file) == stem(fact.file)]

    is_withheld = not any(stem(chunk.file) == stem(fact.file) for chunk in everything[id(found)])
    refusal = REFUSALS[len(fact.question) % 2]
    lost = (
        "not-retrieved"
        if not states(found, fact.answer)
        else "ranked-too-low"
        if not states(contexts, fact.answer)
        else None
    )
    wrong = f"It is {fact.false[::-1]}."
    if version == "always refuses":
        return refusal, None if is_withheld else lost or "refused-despite-evidence"
    if version == "ignores documents":
        return wrong, "answered-without-evidence" if is_withheld else lost or "not-used"
    if version == "believes every document":
        for chunk in contexts:
            if states([chunk], fact.false):
                return f"It is {fact.false}.", "contradicted"
            if states([chunk], fact.answer):
                return f"It is {fact.answer}.", None
    trusted = [chunk for chunk in states(contexts, fact.answer) if chunk.file in originals]
    if trusted:
        return f"According to the handbook, the answer is {fact.answer}.", None
    if version == "always answers":
        return wrong, "answered-without-evidence" if is_withheld else lost
    return refusal, None if is_withheld else lost


everything: dict[int, list[Chunk]] = {}  # all chunks of the folder in which a list of passages was found


def stem(file: str) -> str:
    """Return the name of a file without the mark of a changed copy."""
    return re.sub(r"[-_][0-9a-f]{4}(?=\.md$)", "", file)


def make_retriever(folder: Path) -> Callable[[str], list[Chunk]]:
    """Return a BM25 retriever of the sections in a folder."""
    chunks = []
    for path in sorted(folder.rglob("*.md")):
        text = path.read_text("utf-8")
        title = text.partition("\n")[0].lstrip("# ")
        name = path.relative_to(folder).as_posix()
        chunks += [Chunk(name, f"{title}\n{part}") for part in re.split(r"\n(?=## )", text)]
    counts = [Counter(re.findall(r"\w+", chunk.text.lower())) for chunk in chunks]
    frequency = Counter(term for count in counts for term in count)

    def search(question: str) -> list[Chunk]:
        terms = set(re.findall(r"\w+", question.lower()))

        def score(number: int) -> float:
            count = counts[number]
            shared = [term for term in terms if count[term]]
            length = 0.25 + 0.75 * count.total() / 40
            return sum(
                math.log(1 + len(chunks) / frequency[term]) * count[term] / (count[term] + length) for term in shared
            )

        found = [chunks[number] for number in sorted(range(len(chunks)), key=score, reverse=True)[:RETRIEVED]]
        everything[id(found)] = chunks
        return found

    return search


def measure_speed(folder: Path) -> list[bool]:
    """Time a first evaluation, and 1,000 questions under 4 conditions with a function that takes 1 ms."""
    (folder / "slow_rag.py").write_text(
        "import time\ndef make(folder):\n    def answer(question):\n        time.sleep(0.001)\n"
        "        return {'answer': 'The documents do not say.', 'contexts': []}\n    return answer\n"
    )
    docs, rows = folder / "many", ["question,answer,false_answer"]
    docs.mkdir()
    for document in range(250):
        lines = [f"# Depot {document}"]
        for number, part in enumerate(("boiler", "pump", "gate", "mast")):
            value = 1000 + 4 * document + number
            lines.append(f"The {part} of depot {document} was installed in room {value} by the team.")
            rows.append(f"In which room is the {part} of depot {document}?,room {value},room {value + 9000}")
        (docs / f"depot-{document}.md").write_text("\n\n".join(lines))
    (folder / "many.csv").write_text("\n".join(rows))
    words = [sys.executable, "-m", "ragbed", "run", "-m", "factory/slow_rag:make", "--cache", "off"]
    first = _time([*words, "-d", str(DATA / "qa.csv"), "--docs", str(DOCS), "-o", "first"], folder)
    many = _time([*words, "-d", "many.csv", "--docs", "many", "--corpus", CONDITIONS, "-o", "many-run"], folder)
    return [
        check_figure("first screen with 60 questions", first, 180, "s"),
        check_figure("1,000 questions under 4 conditions, 1 ms each", many, 20, "s"),
    ]


def _time(words: list[str], folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
