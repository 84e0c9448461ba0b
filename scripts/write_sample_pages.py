"""Write sample pages for `ragbed build`, one per line: synthetic news that no model knows, and well-known facts.

    python scripts/write_sample_pages.py pages.jsonl [--items 60]

Each event is reported by several pages of synthetic news, among pages about other years, so that base and integration
questions can be built from them. The facts are for counterfactual questions, whose answers a model must know without
documents. Five pages state each fact, and four pages are about the same subject without stating it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ragbed.schema import Lang
from ragbed.synth import SynthSpec, make_items

SEED = 11
LANGS: tuple[Lang, ...] = ("en", "zh")
GAMES = {
    1964: ("Tokyo", "东京"),
    1968: ("Mexico City", "墨西哥城"),
    1972: ("Munich", "慕尼黑"),
    1976: ("Montreal", "蒙特利尔"),
    1980: ("Moscow", "莫斯科"),
    1984: ("Los Angeles", "洛杉矶"),
    1988: ("Seoul", "首尔"),
    1992: ("Barcelona", "巴塞罗那"),
    1996: ("Atlanta", "亚特兰大"),
    2000: ("Sydney", "悉尼"),
    2004: ("Athens", "雅典"),
    2008: ("Beijing", "北京"),
    2012: ("London", "伦敦"),
    2016: ("Rio de Janeiro", "里约热内卢"),
}
BOOKS = {
    ("Pride and Prejudice", "傲慢与偏见"): ("Jane Austen", "简·奥斯汀"),
    ("Don Quixote", "堂吉诃德"): ("Miguel de Cervantes", "塞万提斯"),
    ("War and Peace", "战争与和平"): ("Leo Tolstoy", "列夫·托尔斯泰"),
    ("Crime and Punishment", "罪与罚"): ("Fyodor Dostoevsky", "陀思妥耶夫斯基"),
    ("The Old Man and the Sea", "老人与海"): ("Ernest Hemingway", "海明威"),
    ("Les Misérables", "悲惨世界"): ("Victor Hugo", "雨果"),
    ("One Hundred Years of Solitude", "百年孤独"): ("Gabriel García Márquez", "加西亚·马尔克斯"),
    ("Dream of the Red Chamber", "红楼梦"): ("Cao Xueqin", "曹雪芹"),
    ("Journey to the West", "西游记"): ("Wu Cheng'en", "吴承恩"),
    ("Water Margin", "水浒传"): ("Shi Nai'an", "施耐庵"),
    ("Romance of the Three Kingdoms", "三国演义"): ("Luo Guanzhong", "罗贯中"),
}
# Page templates for each kind of fact, one per line; templates without {fact} do not contain the answer.
SAMPLES = Path(__file__).parent / "sample_pages"


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--items", type=int, default=60, help="fictional events per language")
    options = parser.parse_args()
    pages = [page for lang in LANGS for page in (*_news(lang, options.items), *_facts(lang))]
    options.output.write_bytes(b"".join(msgspec.json.encode(page) + b"\n" for page in pages))
    print(f"{len(pages):,} pages in {options.output}")


def _news(lang: Lang, items: int) -> Iterator[dict[str, str | None]]:
    """Yield pages for a `jsonl` source of `ragbed build`."""
    spec = SynthSpec(seed=SEED, lang=lang, supports=6, distractors=6, tokens=115, perturbations=())
    for item in make_items(spec, "base", 0, items):
        for passage in item.passages:
            yield {"url": passage.url, "date": passage.date, "text": passage.text}


def _facts(lang: Lang) -> Iterator[dict[str, str | None]]:
    column = LANGS.index(lang)
    known = [("games", str(year), city[column]) for year, city in GAMES.items()]
    known += [("books", title[column], author[column]) for title, author in BOOKS.items()]
    for number, (kind, key, fact) in enumerate(known):
        templates = (SAMPLES / f"{lang}-{kind}.txt").read_text("utf-8").splitlines()
        for host, template in enumerate(templates):
            url = f"https://{lang}-notes-{host}.example/{kind}/{number}"
            yield {"url": url, "date": None, "text": template.format(key=key, fact=fact)}


if __name__ == "__main__":
    main()
