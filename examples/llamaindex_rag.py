"""A LlamaIndex query engine under test: with given documents, and with a retriever of its own.

pip install llama-index-core
ragbed export ragbed-mini-en_base --to corpus -o corpus.jsonl
ragbed run -m python/llamaindex_rag:answer -d ragbed-mini-en_base --testbeds noise,own-retrieval --noise 0
"""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from local_model import chat  # in your system: any LLM class of LlamaIndex
from own_retrieval import search  # in your system: an index's as_retriever()


class LocalModel(CustomLLM):
    """The model that answers."""

    @property
    def metadata(self) -> LLMMetadata:
        """How long its prompts may be."""
        return LLMMetadata(context_window=8192, num_output=256)

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """Asks it."""
        return CompletionResponse(text=chat(prompt))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponseGen:
        """Asks it, in one piece."""
        yield self.complete(prompt)


class Found(BaseRetriever):
    """Gives the nodes that it was made with, or those that a corpus has for a question."""

    def __init__(self, documents: list[str] | None, corpus: str, k: int) -> None:
        super().__init__()
        self._documents, self._corpus, self._k = documents, corpus, k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._documents is not None:
            nodes = [TextNode(text=text) for text in self._documents]
        else:
            found = search(self._corpus, query_bundle.query_str, self._k)
            nodes = [TextNode(id_=one["id"], text=one["text"]) for one in found]
        return [NodeWithScore(node=node) for node in nodes]


def answer(question: str, lang: str, documents: list[str] | None = None, corpus: str = "", k: int = 5) -> object:
    """Called by ragbed with documents, or with the id of a corpus to find them in."""
    engine = RetrieverQueryEngine.from_args(Found(documents, corpus, k), llm=LocalModel())
    told = engine.query(question)
    return {"answer": str(told), "retrieved": [{"id": one.node_id, "text": one.text} for one in told.source_nodes]}
