"""Evaluate a LlamaIndex query engine with provided documents and end to end with its retriever.

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
    """Calls a local model."""

    @property
    def metadata(self) -> LLMMetadata:
        """The maximum lengths of prompts and responses."""
        return LLMMetadata(context_window=8192, num_output=256)

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """Return the response to a prompt."""
        return CompletionResponse(text=chat(prompt))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponseGen:
        """Yield the response as one piece."""
        yield self.complete(prompt)


class CorpusRetriever(BaseRetriever):
    """Returns the given documents, or passages from a corpus."""

    def __init__(self, documents: list[str] | None, corpus: str, k: int) -> None:
        super().__init__()
        self._documents, self._corpus, self._k = documents, corpus, k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._documents is not None:
            nodes = [TextNode(text=text) for text in self._documents]
        else:
            passages = search(self._corpus, query_bundle.query_str, self._k)
            nodes = [TextNode(id_=passage["id"], text=passage["text"]) for passage in passages]
        return [NodeWithScore(node=node) for node in nodes]


def answer(question: str, lang: str, documents: list[str] | None = None, corpus: str = "", k: int = 5) -> object:
    """Answer a question from the given documents, or from passages that are retrieved from a corpus."""
    engine = RetrieverQueryEngine.from_args(CorpusRetriever(documents, corpus, k), llm=LocalModel())
    response = engine.query(question)
    retrieved = [{"id": node.node_id, "text": node.text} for node in response.source_nodes]
    return {"answer": str(response), "retrieved": retrieved}
