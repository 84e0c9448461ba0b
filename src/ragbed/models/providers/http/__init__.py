"""A small HTTP/1.1 client for many short POST requests.

We use our own because a call with aiohttp takes about twice the CPU time, with httpx2 nine times and with the openai
SDK twenty times (`python -m benches http_clients`), and this time decides how long the server's slots stay empty.
Libraries do the difficult parts: llhttp (`httptools`) parses, `aiohappyeyeballs` connects, `ssl` checks certificates.
"""
