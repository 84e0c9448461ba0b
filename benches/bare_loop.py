"""Send prompts to a server with as little code as possible, as the baseline for `benches run`.

    python -m benches.bare_loop URL PROMPTS.jsonl REPLIES.jsonl [--slots 64]

There are no time limits, no retries and no store.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from typing import TextIO

import aiohttp


async def send_all(url: str, prompts: TextIO, replies: TextIO, slots: int) -> None:
    """Send all prompts with this many workers."""

    async def work(session: aiohttp.ClientSession) -> None:
        for line in prompts:
            prompt = json.loads(line)
            text = "\n".join(prompt["positive"]) + "\n" + prompt["query"]
            body = {"model": "m", "messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 256}
            async with session.post(f"{url}/chat/completions", json=body) as response:
                completion = await response.json()
            reply = {"id": prompt["id"], "reply": completion["choices"][0]["message"]["content"]}
            replies.write(json.dumps(reply, ensure_ascii=False) + "\n")

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(work(session) for _ in range(slots)))


def main() -> None:
    """Send the prompts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("prompts")
    parser.add_argument("replies")
    parser.add_argument("--slots", type=int, default=64)
    options = parser.parse_args()
    with open(options.prompts, encoding="utf-8") as prompts, open(options.replies, "w", encoding="utf-8") as replies:
        asyncio.run(send_all(options.url, prompts, replies, options.slots))


if __name__ == "__main__":
    main()
