"""Send prompts to a server with as little code as possible: the baseline of `benches run`.

    python -m benches.bare_loop URL PROMPTS.jsonl REPLIES.jsonl [--slots 64]

No deadlines, no retries, no store. Prints the seconds of the loop alone; who started it knows those of the whole.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from typing import TextIO

import aiohttp


async def ask_all(url: str, prompts: TextIO, replies: TextIO, slots: int) -> None:
    """So many workers take line after line."""

    async def work(session: aiohttp.ClientSession) -> None:
        for line in prompts:
            prompt = json.loads(line)
            text = "\n".join(prompt["positive"]) + "\n" + prompt["query"]
            body = {"model": "m", "messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 256}
            async with session.post(f"{url}/chat/completions", json=body) as response:
                told = await response.json()
            reply = {"id": prompt["id"], "reply": told["choices"][0]["message"]["content"]}
            replies.write(json.dumps(reply, ensure_ascii=False) + "\n")

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(work(session) for _ in range(slots)))


def main() -> None:
    """Reads the command line and asks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("prompts")
    parser.add_argument("replies")
    parser.add_argument("--slots", type=int, default=64)
    told = parser.parse_args()
    with open(told.prompts, encoding="utf-8") as prompts, open(told.replies, "w", encoding="utf-8") as replies:
        begun = time.monotonic()
        asyncio.run(ask_all(told.url, prompts, replies, told.slots))
        print(time.monotonic() - begun)


if __name__ == "__main__":
    main()
