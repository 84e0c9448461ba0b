"""Items without a defect, made from the questions about invented pages: base, integration and counterfactual ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ragbed.builder.counterfactuals import check_edit, check_fake, edit_passage
from ragbed.builder.item_checks import CheckedItem, check_parts
from ragbed.builder.passages import split_article
from ragbed.builder.pools import usable_passages
from ragbed.builder.statements import find_answer, label_passage
from ragbed.schema import Article, Item, Lang, Passage, Question
from tests.builder.invented_pages import Page, policy_pages, synthetic_pages


def example_items(lang: Lang) -> list[CheckedItem]:
    """Create an item for each good question about a page; its distractors are passages of other pages."""
    pages = [*policy_pages(lang), *synthetic_pages(lang, 140)]
    pieces = {page.article.id: [chunk.text for chunk in split_article(page.article, 100)] for page in pages}
    return [
        checked
        for number, page in enumerate(pages)
        for checked in _items_of(page, [other.article for other in pages[number - 8 : number - 3]], pieces)
    ]


def _items_of(page: Page, others: Sequence[Article], pieces: dict[str, list[str]]) -> Iterator[CheckedItem]:
    article = page.article
    for fact in page.facts:
        asked = Question(question=fact.question, lang=article.lang, answer=((fact.answer,),), article=article.id)
        texts = [(text, article.title) for text in pieces[article.id]]
        texts += [(pieces[other.id][0], other.title) for other in others]
        labels = [label_passage(asked, text, title=title) for text, title in texts]
        passages = tuple(
            Passage(
                text=text,
                title=title,
                stance="supports" if label.label == "positive" else "distracts",
                support=label.support,
            )
            for (text, title), label in zip(texts, labels, strict=True)
            if label.label != "mention"
        )
        passages = usable_passages(asked, passages, 0)  # as in a build
        if {"supports", "distracts"} <= {passage.stance for passage in passages}:
            item = Item(
                id="",
                question=fact.question,
                lang=article.lang,
                answer=asked.answer,
                passages=passages,
                article=article.id,
            )
            yield CheckedItem(item, article.text)


def pairs_of(items: Sequence[CheckedItem]) -> list[CheckedItem]:
    """Join each item with one about another document."""
    found = []
    for first, second in zip(items, items[len(items) // 2 :], strict=False):
        one, two = first.item, second.item
        parts = tuple(
            Passage(text=passage.text, title=passage.title, stance="supports", part=part)
            for part, checked in enumerate((first, second))
            for passage in checked.supports
        )
        texts = [passage.text for passage in (*first.distracts, *second.distracts)]
        # A distractor of one part may contain the answer to the other part.
        clean = (
            text for text in dict.fromkeys(texts) if not any(find_answer(one, text)) and not any(find_answer(two, text))
        )
        others = tuple(Passage(text=text, stance="distracts") for text in clean)
        second_half = two.question if one.lang == "zh" else two.question[0].lower() + two.question[1:]
        question = f"{one.question[:-1]}{'，以及' if one.lang == 'zh' else ', and '}{second_half}"
        item = replace(
            one, question=question, answer=(one.answer[0], two.answer[0]), passages=(*parts, *others),
            sub_questions=(one.question, two.question),
        )  # fmt: skip
        if one.article != two.article and not any(check_parts(CheckedItem(item))):
            found.append(CheckedItem(item))
    return found


def falsified(items: Sequence[CheckedItem]) -> list[CheckedItem]:
    """Use another item's answer as each item's false answer, and edit its supporting passages."""
    found = []
    for checked in items:
        item = checked.item
        answers = (other.item.answer[0][0] for other in items if other.item.article != item.article)
        fake = next((answer for answer in answers if not check_fake(item, ((answer,),))), None)
        if fake is None:
            continue
        edits = []
        for place, passage in enumerate(item.passages):
            text = edit_passage(item, ((fake,),), passage.text).text
            if passage.stance == "supports" and not check_edit(item, ((fake,),), passage.text, text):
                edits.append(Passage(text=text, stance="contradicts", edit_of=place, kind="edited"))
        if edits:
            found.append(CheckedItem(replace(item, fake=((fake,),), passages=(*item.passages, *edits))))
    return found
