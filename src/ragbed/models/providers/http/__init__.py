"""A small HTTP/1.1 client for many short POST requests.

We use our own client because a call takes about twice as much CPU time with aiohttp, nine times as much with httpx2 and
twenty times as much with the openai SDK. The server's slots are idle meanwhile.
Libraries do the difficult parts: llhttp (`httptools`) parses responses, `aiohappyeyeballs` opens connections, and `ssl`
checks certificates.
"""
